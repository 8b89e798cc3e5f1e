"""Nested assessment: how good the winner of a selection is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._methods.assessment.estimate import WINNER, Estimate, estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.result import Result
from truefit._methods.selection.plan import Nested
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Splits
from truefit._metrics.metric import Metric
from truefit._plots.forest import fold_scores
from truefit._stats.triangle import change_to_all_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class NestedAssessment(Result):
    """The nested-CV estimate of a selection: on each test set, the score of what was chosen without it.

    The winner's own cross-validation score is the best of several, so it is optimistic; this one is not.

    Attributes
    ----------
    estimate : float
        Mean over the test sets of the score of what was chosen without them.
    interval : tuple of float or None
    interval_reason : str or None
        Why there is no interval.
    estimand : str
        What the estimate is an estimate of.
    """

    title = "Honest assessment of the selection"

    def __init__(
        self, nested: Nested, data: Data, splits: Splits, metric: Metric, *, names: Sequence[str], level: float = 0.95
    ) -> None:
        # Numbers only: a fitted search is pickled with its assessment, and must not carry the table along.
        self.metric = metric.name
        self.level = level
        self.rows = data.n
        self.design = splits.description
        self.chosen = [names[i] for i in nested.chosen]
        self.triangle = nested.triangle
        self.fold_scores = nested.scores.get(metric.name, np.full(len(splits), np.nan))
        self._test_rows = [len(split.test) for split in splits]
        found = _estimate(nested, data, splits, metric, self.fold_scores, level)
        #: By how much the better end of the interval was moved.
        self.reach = 0.0 if found.interval is None else _gain(nested, splits, metric, self.fold_scores)
        self._estimate = _reaching(found, self.reach, metric)
        self.estimate, self.interval = self._estimate.value, self._estimate.interval
        self.interval_reason = self._estimate.reason
        self.estimand = (
            f"{self.metric} on new rows of the model that this selection chooses from these {self.rows:,} rows"
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per test set: what was chosen without it, and its score there."""
        import pandas as pd

        return pd.DataFrame(
            {
                "split": range(len(self.chosen)),
                "chosen": self.chosen,
                "score": self.fold_scores,
                "rows": self._test_rows,
            }
        ).set_index("split")

    def summary(self) -> str:
        """Return the estimate, and how it came about."""
        how = (
            "the triangle of fits" if self.triangle else "plain nesting, since the splits are no partition of 3 or more"
        )
        picks = {name: self.chosen.count(name) for name in dict.fromkeys(self.chosen)}
        return "\n".join(
            [
                f"{self.metric} of the selection: {self._estimate.text(self.level)}",
                f"Estimated: {self.estimand}, by {self.design} nested through {how}.",
                "Chosen without each test set: " + ", ".join(f"{name} ({count}×)" for name, count in picks.items()),
            ]
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the score on each test set."""
        return fold_scores(["selection"], [self.fold_scores], xlabel=self.metric, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "nested assessment",
            "version": 1,
            "metric": self.metric,
            "design": self.design,
            "rows": self.rows,
            "level": self.level,
            "estimand": self.estimand,
            "triangle": self.triangle,
            "reach": self.reach,
            **self._estimate.to_dict(),
            "chosen": self.chosen,
            "scores": [float(score) for score in self.fold_scores],
        }


def _estimate(
    nested: Nested, data: Data, splits: Splits, metric: Metric, scores: npt.NDArray[np.float64], level: float
) -> Estimate:
    if np.isnan(scores).any():
        return Estimate(float("nan"), None, None, "fits that were chosen failed")
    design = Design("splits", splits, "auto")
    evidence = Evidence(nested.outcomes, (), data, design, metric, pooled_rates=False, scores=scores)
    # One partition's nested estimate varies more than its losses show: the factor was found by simulation.
    return estimate(evidence, level=level, factor=WINNER)


def _gain(nested: Nested, splits: Splits, metric: Metric, scores: npt.NDArray[np.float64]) -> float:
    """How much better the choice may become by the rows that its folds were held out of."""
    fewer = nested.fewer.get(metric.name, np.empty(0))
    known = np.isfinite(fewer)
    if not known.any():
        return 0.0
    folds = len(splits) // splits.repeats
    change = change_to_all_rows(scores[known].mean(), fewer[known].mean(), folds)
    best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0]
    # Even a curve that falls as one over the rows, and to no error at all, gains no more by the rows of one fold.
    most = abs(best - float(scores.mean())) / folds
    return float(np.clip(change if metric.greater_is_better else -change, 0.0, most))


def _reaching(found: Estimate, gain: float, metric: Metric) -> Estimate:
    """Let the better end of an interval reach further."""
    if found.interval is None or gain == 0:
        return found
    low, high = found.interval
    wider = (low, high + gain) if metric.greater_is_better else (low - gain, high)
    return replace(found, interval=metric.clipped(wider), method=f"{found.method}, reaching to all rows")
