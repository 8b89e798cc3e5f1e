"""Complexity curves: training and test error against a parameter of the learner."""

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
from truefit._core.outcome import Outcome
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Plan
from truefit._methods.assessment.estimate import Estimate, estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.result import Result, frame, plot_method
from truefit._methods.splitting.designs import Design
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._plots.curve import bands

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def settings_along(base: Any, parameter: str, values: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the values of a parameter, each with a clone of the estimator that has it."""
    known = base.get_params()
    if parameter not in known:
        raise InvalidInput(
            f"The 'parameter' of a complexity curve must be a parameter of {type(base).__name__}. Got {parameter!r}; "
            f"it has {', '.join(sorted(known))}."
        )
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
        raise InvalidInput(f"The 'values' of a complexity curve must be a list of values to try. Got {values!r}.")
    return [(value, clone(base).set_params(**{parameter: value})) for value in values]


def complexity_curve_plan(
    settings: Sequence[tuple[Any, Any]], data: Data, design: Design, metric: Metric, *, varied: str, level: float
) -> Plan[ComplexityCurve]:
    """Fit each setting on the same splits, and predict training and test rows alike."""
    tasks = []
    for _, estimator in settings:
        if data.weight is not None:
            check_takes_weights(estimator)
        responses = metric.responses(estimator)
        for split in design.splits:
            asks = tuple(Ask(rows, response) for rows in (split.test, split.train) for response in responses)
            tasks.append(FitTask(estimator, split.train, asks))
        tasks += [
            FitTask(estimator, split.train, tuple(Ask(split.test, response) for response in responses))
            for split in design.extra
        ]
    outcomes = iter((yield tasks))
    lines = []
    for value, _ in settings:
        tested, further = (list(islice(outcomes, len(splits))) for splits in (design.splits, design.extra))
        lines.append(_line(value, Evidence(tested, further, data, design, metric), tested, level))
    return ComplexityCurve(varied, metric, lines, level, data.n)


@dataclass(frozen=True, slots=True)
class ComplexityLine:
    """One value of the parameter: the estimate on test rows, and the scores on training rows."""

    at: Any
    test: Estimate
    train: npt.NDArray[np.float64]


def _line(at: Any, evidence: Evidence, tested: Sequence[Outcome], level: float) -> ComplexityLine:
    if any(outcome.error is not None for outcome in (*tested, *evidence.extra_outcomes)):
        return ComplexityLine(at, Estimate(float("nan"), None, None, "fits failed"), np.full(1, np.nan))
    pairs = zip(evidence.splits, tested, strict=True)
    train = [evidence.metric.value(outcome, evidence.data, split.train) for split, outcome in pairs]
    return ComplexityLine(at, estimate(evidence, level=level), np.array(train))


class ComplexityCurve(Result):
    """Training and test values along a parameter, with intervals of the test values."""

    title = "Complexity curve"

    def __init__(self, varied: str, metric: Metric, lines: Sequence[ComplexityLine], level: float, rows: int) -> None:
        self.varied = varied
        self.metric = metric.name
        self.level = level
        self.rows = rows
        self._lines = list(lines)
        self._greater_is_better = metric.greater_is_better

    @property
    def values(self) -> list[Any]:
        """The values of the parameter."""
        return [line.at for line in self._lines]

    @property
    def best(self) -> Any:
        """The value of the parameter with the best test value; the first of equal ones."""
        sign = -1 if self._greater_is_better else 1
        found = sign * np.array([line.test.value for line in self._lines])
        if np.isnan(found).all():
            return None
        return self.values[int(np.nanargmin(found))]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per value: the test value with its interval, and the training value with its standard deviation."""
        rows = []
        for line in self._lines:
            low, high = line.test.interval or (np.nan, np.nan)
            spread = float(np.std(line.train, ddof=1)) if len(line.train) > 1 else np.nan
            rows.append(
                {self.varied: line.at, "estimate": line.test.value, "low": low, "high": high}
                | {"train": float(line.train.mean()), "train_sd": spread}
            )
        return frame(rows, self.varied)

    def summary(self) -> str:
        """Return the best value of the parameter, and the ends of the curve."""
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
        lines.append("The best value was selected by these estimates, so its own estimate is optimistically biased.")
        return "\n".join(lines)

    @plot_method()
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw training and test values with their bands."""
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
        percent = is_share(self.metric)
        return bands(
            self.values, series, xlabel=self.varied, ylabel=label, log_x=log, mark=mark, percent=percent, ax=ax
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "curve",
            "version": 1,
            **self._values("metric", "varied", "rows", "level"),
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
