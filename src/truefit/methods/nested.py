"""Nested assessment: how good the winner of a selection is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.methods.estimate import WINNER, Estimate, estimate_mean
from truefit.methods.result import Result
from truefit.methods.search import Nested
from truefit.methods.splits import Splits
from truefit.metrics.metric import Metric
from truefit.plots.folds import fold_scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class NestedAssessment(Result):
    """The nested-CV estimate of a selection: on each test set, the score of what was chosen without it.

    The winner's own cross-validation score is the best of several, so it is optimistic; this one is not.
    """

    title = "Honest assessment of the selection"

    def __init__(
        self,
        nested: Nested,
        data: Data,
        splits: Splits,
        metric: Metric,
        *,
        names: Sequence[str],
        level: float = 0.95,
    ) -> None:
        self.metric = metric.name
        self.level = level
        self.chosen = [names[i] for i in nested.chosen]
        self.triangle = nested.triangle
        self._nested = nested
        self._data = data
        self._splits = splits
        self._metric = metric

    @cached_property
    def _estimate(self) -> Estimate:
        if any(outcome.error is not None for outcome in self._nested.outcomes):
            return Estimate(float("nan"), None, None, "fits that were chosen failed")
        rows_each: list[npt.NDArray[Any]] | None = []
        for outcome, split in zip(self._nested.outcomes, self._splits, strict=True):
            each = self._metric.rows(outcome, self._data, split.test)
            if each is None:
                rows_each = None
                break
            rows_each.append(each)  # type: ignore[union-attr]
        # One partition's nested estimate varies more than its losses show: the factor was found by simulation.
        return estimate_mean(
            self.fold_scores,
            rows_each,
            self._splits,
            self._metric,
            data=self._data,
            level=self.level,
            factor=WINNER,
        )

    @property
    def fold_scores(self) -> npt.NDArray[np.float64]:
        """Score of the choice on each test set."""
        return self._nested.scores[self.metric]

    @property
    def estimate(self) -> float:
        """Mean over the test sets of the score of what was chosen without them."""
        return self._estimate.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the estimate, or None."""
        return self._estimate.interval

    @property
    def interval_reason(self) -> str | None:
        """Why there is no interval, or None."""
        return self._estimate.reason

    @property
    def estimand(self) -> str:
        """What the estimate is an estimate of."""
        return f"{self.metric} on new rows of the model that this selection chooses from these {self._data.n:,} rows"

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per test set: what was chosen without it, and its score there."""
        import pandas as pd

        return pd.DataFrame(
            {
                "split": range(len(self._splits)),
                "chosen": self.chosen,
                "score": self.fold_scores,
                "rows": [len(split.test) for split in self._splits],
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
                f"Estimated: {self.estimand}, by {self._splits.description} nested through {how}.",
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
            "design": self._splits.description,
            "rows": self._data.n,
            "level": self.level,
            "estimand": self.estimand,
            "triangle": self.triangle,
            **self._estimate.to_dict(),
            "chosen": self.chosen,
            "scores": [float(score) for score in self.fold_scores],
        }
