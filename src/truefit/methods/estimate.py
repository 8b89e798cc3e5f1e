"""Estimate: a number with its interval, how the interval was made, and what to know about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.methods.splits import Splits
from truefit.metrics.metric import Metric
from truefit.stats.intervals import averaged_repeats, corrected_t, pooled

IntervalChoice = Literal["auto", "pooled", "corrected_t"]

#: Factors on the spread of pooled losses, found by simulation: they pay for what one partition cannot show.
ONE_PARTITION, REPEATED, WINNER = 1.2, 1.1, 1.4

_BLIND = "one partition cannot show how much the learner itself varies; repeats=5 tells more."


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with what is known of its uncertainty."""

    value: float
    interval: tuple[float, float] | None
    method: str | None
    reason: str | None = None
    note: str | None = None
    sd: float = float("nan")

    def text(self, level: float) -> str:
        """Return the estimate as a person reads it."""
        if self.interval is None:
            return f"{self.value:.4g}  (no interval: {self.reason})"
        low, high = self.interval
        return f"{self.value:.4g}  ({level:.0%} interval {low:.4g} to {high:.4g}, {self.method})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "estimate": None if np.isnan(self.value) else float(self.value),
            "interval": None if self.interval is None else [float(end) for end in self.interval],
            "method": self.method,
            "reason": self.reason,
        }


def check_interval_choice(choice: Any, level: Any) -> None:
    """Refuse an interval that is not offered."""
    if choice not in get_args(IntervalChoice):
        offered = ", ".join(map(repr, get_args(IntervalChoice)))
        raise InvalidInput(f"The 'interval' parameter must be one of {offered}. Got {choice!r} instead.")
    if not isinstance(level, float) or not 0 < level < 1:
        raise InvalidInput(
            f"The 'level' parameter must be a share between 0 and 1, such as 0.95. Got {level!r} instead."
        )


def estimate_mean(
    scores: npt.NDArray[np.float64],
    rows_each: Sequence[npt.NDArray[Any]] | None,
    splits: Splits,
    metric: Metric,
    *,
    data: Data,
    choice: IntervalChoice = "auto",
    level: float = 0.95,
    factor: float = ONE_PARTITION,
) -> Estimate:
    """Mean of the scores on the test sets, with the interval that suits the design.

    ``rows_each`` are the values of single rows in each test set, for metrics that are means over rows.
    """
    value = float(np.mean(scores))
    sd = float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
    independent = rows_each is not None and data.groups is None and data.weight is None
    loo = splits.partition and all(len(split.test) == 1 for split in splits)
    if choice == "auto" and loo:
        reason = "the spread of leave-one-out losses does not show how far off their mean is; use k-fold for one"
        return Estimate(value, None, None, reason, sd=sd)
    if choice != "corrected_t" and independent and rows_each is not None:
        options: dict[str, Any] = {"zero_one": metric.zero_one, "level": level}
        if len(splits) == 1:
            return Estimate(value, pooled(rows_each[0], factor=1.0, **options), "hold-out", sd=sd)
        if splits.partition and splits.repeats == 1:
            interval = pooled(np.concatenate(list(rows_each)), factor=factor, **options)
            return Estimate(value, interval, f"pooled losses × {factor:g}", note=_BLIND, sd=sd)
        if splits.partition:
            by_repeat = np.concatenate(list(rows_each)).reshape(splits.repeats, data.n)
            interval = averaged_repeats(by_repeat, factor=REPEATED, **options)
            return Estimate(value, interval, f"averaged repeats × {REPEATED:g}", sd=sd)
    if choice == "pooled":
        raise InvalidInput(
            f"A pooled interval needs a metric that is a mean over independent rows, each tested once. Got "
            f"{metric.name} by {splits.description}. Use interval='auto'."
        )
    if len(scores) < 2:
        return Estimate(value, None, None, f"one split shows no spread of {metric.name}", sd=sd)
    if sd == 0:
        return Estimate(value, None, None, f"{metric.name} is the same on all splits", sd=sd)
    return Estimate(value, corrected_t(scores, splits.share, level=level), "corrected t", sd=sd)
