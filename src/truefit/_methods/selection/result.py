"""Nested assessment: the estimate of a selection by nested cross-validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.assessment.estimate import Estimate, estimate, winner_factor
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.assessment.result import plain_spans, time_spans
from truefit._methods.result import Result, plot_method
from truefit._methods.selection.plan import Nested
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Splits, lacks_a_class
from truefit._methods.text import MetricText, new_rows
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._metrics.smooth import Ratios
from truefit._plots.curve import periods
from truefit._plots.forest import fold_scores
from truefit._stats.triangle import change_to_all_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class NestedAssessment(Result):
    """The nested cross-validation estimate of a selection: on each test set, the score of what was selected without it.

    The selected candidate's own cross-validation score is the best of several, so it is optimistically biased; this one
    is not.

    Attributes
    ----------
    estimate : float
        Mean over the test sets of the score of the candidate selected without them.
    interval : tuple of float or None
        The confidence interval of the estimate.
    interval_reason : str or None
        Why there is no interval.
    estimand : str
        What the estimate is an estimate of.
    """

    title = "Nested assessment of the selection"

    def __init__(
        self, nested: Nested, data: Data, metric: Metric, *, names: Sequence[str], level: float = 0.95
    ) -> None:
        # Numbers only: a fitted search is pickled with its assessment, but without the table.
        self.metric = metric.name
        self.level = level
        self.rows = data.n
        splits = nested.outer
        self.design = splits.description
        self.chosen = [names[i] for i in nested.chosen]
        self.triangle = nested.triangle
        self.fold_scores = nested.scores.get(metric.name, np.full(len(splits), np.nan))
        self._test_rows = [len(split.test) for split in splits]
        found = _estimate(nested, data, splits, metric, self.fold_scores, level)
        #: Length by which the interval was extended at its better end: the final model is trained on all rows.
        self.reach = 0.0 if found.interval is None else _gain(nested, splits, metric, self.fold_scores)
        self._estimate = _reaching(found, self.reach, metric)
        self.estimate, self.interval = self._estimate.value, self._estimate.interval
        self.interval_reason = self._estimate.reason
        #: With time: the first and the last time of each period.
        self.periods, self._time_name = time_spans(data, splits), data.time_name
        self.estimand = (
            f"{self.metric} on {new_rows(data)} of the model that this selection selects on these {self.rows:,} rows"
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per test set: the candidate selected without it, and its score there."""
        import pandas as pd

        columns: dict[str, Any] = {"chosen": self.chosen, "score": self.fold_scores, "rows": self._test_rows}
        if self.periods:
            columns["from"], columns["to"] = zip(*self.periods, strict=True)
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self.chosen), name="split"))

    def summary(self) -> str:
        """Return the estimate, its method, and the candidates selected without each test set."""
        how = "pairs of folds" if self.triangle else "splits of each training set"
        if self.periods:
            how = f"the periods before each of the last {len(self.periods)}"
        counts = ", ".join(f"{name} ({count}×)" for name, count in Counter(self.chosen).items())
        lines = [
            f"{self.metric} of the selection: {self._estimate.text(self.level)}",
            f"Estimated: {self.estimand}, by nested cross-validation ({self.design} outside, {how} inside).",
            f"Selected without each test set: {counts}",
        ]
        return "\n".join(lines)

    @plot_method("time")
    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the score on each test set.

        Parameters
        ----------
        kind : {"time"}, optional
            "time": against time, for rows in time order.
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        percent, name = is_share(self.metric), MetricText.from_name(self.metric).name
        if kind is not None:
            if not self.periods:
                raise InvalidInput("This plot is of rows in time order. There is none; pass time= to fit.")
            scores = {"selection": self.fold_scores}
            return periods(self.periods, scores, xlabel=self._time_name, ylabel=name, percent=percent, ax=ax)
        return fold_scores(["selection"], [self.fold_scores], xlabel=name, percent=percent, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "nested assessment",
            "version": 1,
            **self._values("metric", "design", "rows", "level", "estimand", "triangle", "reach"),
            **self._estimate.to_dict(),
            "chosen": self.chosen,
            "scores": [float(score) for score in self.fold_scores],
            **({"periods": plain_spans(self.periods)} if self.periods else {}),
        }


def _estimate(
    nested: Nested, data: Data, splits: Splits, metric: Metric, scores: npt.NDArray[np.float64], level: float
) -> Estimate:
    if np.isnan(scores).any():
        return Estimate(float("nan"), None, None, "fits of selected candidates failed")
    design = Design("splits", splits, "auto")
    # A rate of a class has no value on a test set without rows of it, and the mean over the test sets would be biased.
    pooled = isinstance(metric.smooth, Ratios) and lacks_a_class(data, splits)
    evidence = Evidence(nested.outcomes, (), data, design, metric, pooled_rates=pooled, scores=scores)
    # The nested estimate of one partition varies more than its losses show; the factor was found by simulation.
    return estimate(evidence, level=level, factor=winner_factor(metric))


def _gain(nested: Nested, splits: Splits, metric: Metric, scores: npt.NDArray[np.float64]) -> float:
    """Return the possible gain from training the selected candidate on all rows."""
    fewer = nested.fewer.get(metric.name, np.empty(0))
    known = np.isfinite(fewer)
    if not known.any():
        return 0.0
    folds = len(splits) // splits.repeats
    change = change_to_all_rows(scores[known].mean(), fewer[known].mean(), folds)
    best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0]
    # A curve that falls as 1/n to a perfect score gains this much by the rows of one fold; none gains more.
    most = abs(best - float(scores.mean())) / folds
    return float(np.clip(change if metric.greater_is_better else -change, 0.0, most))


def _reaching(found: Estimate, gain: float, metric: Metric) -> Estimate:
    """Extend an interval at its better end."""
    if found.interval is None or gain == 0:
        return found
    low, high = found.interval
    wider = (low, high + gain) if metric.greater_is_better else (low - gain, high)
    return replace(found, interval=metric.clipped(wider), method=f"{found.method}, extended for training on all rows")
