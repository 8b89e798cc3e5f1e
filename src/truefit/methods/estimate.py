"""Estimate: a number with its interval, how the interval was made, and what to know about it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.methods.splits import Splits
from truefit.metrics.metric import Metric
from truefit.stats.intervals import averaged_repeats, corrected_t, pooled

IntervalChoice = Literal["auto", "pooled", "corrected_t"]

#: Factors on the spread of pooled losses, found by simulation: they pay for what one partition cannot show.
ONE_PARTITION, REPEATED, WINNER = 1.2, 1.1, 1.4

_BLIND = "one partition cannot show how much the learner itself varies; repeated partitions tell more."


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


class RowValues:
    """Values of single tested rows, read run by run and not held; the score of each split is noted on the way.

    Parameters
    ----------
    read : callable
        Gives the values of the rows in the test set with this number.
    splits : Splits
    weight : array, optional
        Weights of all rows, for the scores.
    """

    def __init__(
        self, read: Callable[[int], npt.NDArray[Any]], splits: Splits, weight: npt.NDArray[Any] | None = None
    ) -> None:
        self._read = read
        self._splits = splits
        self._weight = weight
        self.scores = np.full(len(splits), np.nan)

    def runs(self) -> Iterator[npt.NDArray[Any]]:
        """Values of each run through all rows; of each split, where the splits are no partition."""
        per_run = len(self._splits) // self._splits.repeats if self._splits.partition else 1
        for start in range(0, len(self._splits), per_run):
            yield np.concatenate([self._scored(place) for place in range(start, start + per_run)])

    def _scored(self, place: int) -> npt.NDArray[Any]:
        each = self._read(place)
        rows = self._splits.splits[place].test
        weight = None if self._weight is None else self._weight[rows.index]
        self.scores[place] = each.mean() if weight is None else np.average(each, weights=weight)
        return each


def estimate_rows(
    rows: RowValues, splits: Splits, metric: Metric, *, independent: bool, choice: IntervalChoice, level: float,
    factor: float = ONE_PARTITION,
) -> Estimate:  # fmt: skip
    """Estimate from the values of single rows: their mean, with an interval from their spread where that is valid.

    ``independent`` says that the rows are: no groups, no weights.
    """
    options: dict[str, Any] = {"zero_one": metric.zero_one, "level": level}
    found: tuple[tuple[float, float], str, str | None] | None = None
    one_row_each = splits.partition and all(len(split.test) == 1 for split in splits)
    if choice == "corrected_t" or not independent or (choice == "auto" and one_row_each):
        pass
    elif len(splits) == 1:
        found = pooled(next(rows.runs()), factor=1.0, **options), "hold-out", None
    elif splits.partition and splits.repeats == 1:
        found = pooled(next(rows.runs()), factor=factor, **options), f"pooled losses × {factor:g}", _BLIND
    elif splits.partition:
        found = averaged_repeats(rows.runs(), factor=REPEATED, **options), f"averaged repeats × {REPEATED:g}", None
    if found is None:
        deque(rows.runs(), maxlen=0)  # for the scores
        if choice == "auto" and one_row_each:
            reason = "the spread of leave-one-out losses does not show how far off their mean is; use k-fold for one"
            return Estimate(float(rows.scores.mean()), None, None, reason, sd=_sd(rows.scores))
        return estimate_scores(rows.scores, splits, metric, choice=choice, level=level)
    (low, high), method, note = found
    value = float(rows.scores.mean())
    if low == high:
        return Estimate(value, None, None, f"{metric.name} is the same for all rows", sd=_sd(rows.scores))
    return Estimate(value, metric.clipped((low, high)), method, note=note, sd=_sd(rows.scores))


def estimate_scores(
    scores: npt.NDArray[np.float64], splits: Splits, metric: Metric, *, choice: IntervalChoice, level: float
) -> Estimate:
    """Estimate from the scores of the test sets alone: their mean, with the corrected resampled t interval."""
    if choice == "pooled":
        raise InvalidInput(
            f"A pooled interval needs a metric that is a mean over independent rows, each tested once. Got "
            f"{metric.name} by {splits.description}. Use interval='auto'."
        )
    value, sd = float(scores.mean()), _sd(scores)
    if len(scores) < 2:
        return Estimate(value, None, None, f"one split shows no spread of {metric.name}", sd=sd)
    if sd == 0:
        return Estimate(value, None, None, f"{metric.name} is the same on all splits", sd=sd)
    interval = metric.clipped(corrected_t(scores, splits.share, level=level))
    note = f"the interval rests on the spread of {len(scores)} scores." if len(scores) < 10 else None
    return Estimate(value, interval, "corrected t", note=note, sd=sd)


def _sd(scores: npt.NDArray[np.float64]) -> float:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
