"""Curves: error against a parameter of the learner, on the rows it was trained on and on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.metadata import check_takes_weights
from truefit._core.outcome import Outcome
from truefit._core.protocols import Plan
from truefit._core.task import Ask, FitTask
from truefit._methods.assessment.estimate import Estimate, estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.result import Result
from truefit._methods.splitting.designs import Design
from truefit._metrics.metric import Metric
from truefit._plots.curve import bands

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class ComplexityPoint:
    """One point of a curve: where it stands, what is fitted, and on which splits."""

    at: Any
    estimator: Any
    design: Design


def points_along(base: Any, parameter: str, values: Sequence[Any], design: Design) -> list[ComplexityPoint]:
    """Return a point per value of a parameter, all on the same splits."""
    known = base.get_params()
    if parameter not in known:
        raise InvalidInput(
            f"The 'parameter' of a complexity curve must be a parameter of {type(base).__name__}. Got {parameter!r}; "
            f"it has {', '.join(sorted(known))}."
        )
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
        raise InvalidInput(f"The 'values' of a complexity curve must be a list of values to try. Got {values!r}.")
    return [ComplexityPoint(value, clone(base).set_params(**{parameter: value}), design) for value in values]


def complexity_curve_plan(
    points: Sequence[ComplexityPoint], data: Data, metric: Metric, *, varied: str, level: float
) -> Plan[ComplexityCurve]:
    """Fit each point on its splits, and ask for the predictions on training and test rows alike."""
    tasks = []
    for point in points:
        if data.weight is not None:
            check_takes_weights(point.estimator)
        responses = metric.responses(point.estimator)
        for split in point.design.splits:
            asks = tuple(Ask(rows, response) for rows in (split.test, split.train) for response in responses)
            tasks.append(FitTask(point.estimator, split.train, asks))
        tasks += [
            FitTask(point.estimator, split.train, tuple(Ask(split.test, response) for response in responses))
            for split in point.design.extra
        ]
    outcomes = iter((yield tasks))
    lines = []
    for point in points:
        tested, further = (list(islice(outcomes, len(splits))) for splits in (point.design.splits, point.design.extra))
        lines.append(_line(point, tested, further, data, metric, level))
    return ComplexityCurve(varied, metric, lines, level, data.n)


@dataclass(frozen=True, slots=True)
class ComplexityLine:
    """What a point came to: the estimate on test rows, and the scores on training rows."""

    at: Any
    test: Estimate
    train: npt.NDArray[np.float64]


def _line(
    point: ComplexityPoint,
    tested: Sequence[Outcome],
    further: Sequence[Outcome],
    data: Data,
    metric: Metric,
    level: float,
) -> ComplexityLine:
    if any(outcome.error is not None for outcome in (*tested, *further)):
        return ComplexityLine(point.at, Estimate(float("nan"), None, None, "fits failed"), np.full(1, np.nan))
    evidence = Evidence(tested, further, data, point.design, metric)
    train = [metric.value(o, data, s.train) for s, o in zip(point.design.splits, tested, strict=True)]
    return ComplexityLine(point.at, estimate(evidence, level=level), np.array(train))


class ComplexityCurve(Result):
    """Train and test values along what was varied, with the interval of the latter."""

    title = "Curve"

    def __init__(self, varied: str, metric: Metric, lines: Sequence[ComplexityLine], level: float, rows: int) -> None:
        self.varied = varied
        self.metric = metric.name
        self.level = level
        self.rows = rows
        self._lines = list(lines)
        self._greater_is_better = metric.greater_is_better

    @property
    def values(self) -> list[Any]:
        """The places along the curve."""
        return [line.at for line in self._lines]

    @property
    def best(self) -> Any:
        """The place with the best test value; of equal ones the first."""
        sign = -1 if self._greater_is_better else 1
        found = sign * np.array([line.test.value for line in self._lines])
        if np.isnan(found).all():
            return None
        return self.values[int(np.nanargmin(found))]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per place: test value with its interval, and train value with its spread over the splits."""
        import pandas as pd

        rows = []
        for line in self._lines:
            low, high = line.test.interval or (np.nan, np.nan)
            spread = float(np.std(line.train, ddof=1)) if len(line.train) > 1 else np.nan
            rows.append(
                {self.varied: line.at, "estimate": line.test.value, "low": low, "high": high}
                | {"train": float(line.train.mean()), "train_sd": spread}
            )
        return pd.DataFrame(rows).set_index(self.varied)

    def summary(self) -> str:
        """Return where the curve is best, and what happens to its ends."""
        by_place = {str(line.at): line for line in self._lines}
        best = by_place[str(self.best)] if self.best is not None else self._lines[0]
        lines = [
            f"{self.metric} against {self.varied} on {self.rows:,} rows: best at {best.at}",
            f"  test   {best.test.text(self.level)}",
            f"  train  {best.train.mean():.4g}",
        ]
        lines += [
            f"At {line.at}: test {line.test.value:.4g}, train {line.train.mean():.4g}."
            for line in (self._lines[0], self._lines[-1])
            if line is not best
        ]
        lines.append("The best place was picked by these values, so its own is a little too good.")
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw train and test values in their bands."""
        table = self.table
        train, sd = table["train"].to_numpy(), table["train_sd"].to_numpy()
        series = {
            "test": (table["estimate"].to_numpy(), table["low"].to_numpy(), table["high"].to_numpy()),
            "train": (train, train - sd, train + sd),
        }
        numbers = [float(v) for v in self.values if isinstance(v, int | float | np.number) and not isinstance(v, bool)]
        log = len(numbers) == len(self.values) and min(numbers) > 0 and max(numbers) / min(numbers) >= 50
        mark = None if self.best is None else ("test", self.best)
        label = f"{self.metric} ({self.level:.0%} interval; train ± sd)"
        return bands(self.values, series, xlabel=self.varied, ylabel=label, log_x=log, mark=mark, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "curve",
            "version": 1,
            "metric": self.metric,
            "varied": self.varied,
            "rows": self.rows,
            "level": self.level,
            "best": _plain(self.best),
            "points": [
                {"at": _plain(line.at), **line.test.to_dict(), "train": [float(score) for score in line.train]}
                for line in self._lines
            ],
        }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, int | float | str | bool | None) else repr(value)
