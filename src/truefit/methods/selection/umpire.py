"""Umpire: how far a candidate of a race is behind the leader on what both have been tested on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.outcome import Outcome
from truefit.methods.assessment.estimates import ONE_PARTITION
from truefit.methods.selection.race import Race
from truefit.methods.selection.rungs import rungs_of
from truefit.methods.splitting.splits import Split, Splits
from truefit.metrics.metric import Metric
from truefit.stats.linearised import Linearised
from truefit.stats.paired import PairedDifference, corrected_paired_t

Floats = npt.NDArray[np.float64]

#: Values this close, relative to their mean size, differ by rounding alone.
_ROUNDING = 1e-8
#: With fewer test rows, or fewer scores of folds, nothing is said.
_FEWEST_ROWS, _FEWEST_FOLDS = 20, 3


@dataclass(frozen=True, slots=True)
class Umpire:
    """Measures candidates of a race: by single rows where that can be, else by the scores of whole folds.

    ``rows_once`` says that no row is tested twice but by another repeat of the whole partition.
    """

    race: Race
    metric: Metric
    data: Data
    rows_once: bool

    @property
    def rows_tell(self) -> bool:
        """Whether losses of single rows can be set side by side."""
        made_of_rows = self.metric.row_loss is not None or self.metric.smooth is not None
        return made_of_rows and self.rows_once and self.data.groups is None and self.data.weight is None

    def rungs(self, split: Split) -> list[Split]:
        """Smaller training sets to start on, where the race is over sizes and single rows can tell who is behind."""
        return rungs_of(self.data, split) if self.race.over == "sizes" and self.rows_tell else []

    def told(self, outcomes: Sequence[Outcome], splits: Sequence[Split]) -> Floats | None:
        """One value per tested row, greater for worse, whose mean is the metric; None where there is none."""
        pairs = list(zip(outcomes, splits, strict=True))
        smooth, sign = self.metric.smooth, -1 if self.metric.greater_is_better else 1
        if smooth is None:
            parts = [self.metric.rows(outcome, self.data, split.test) for outcome, split in pairs]
            return sign * np.concatenate([part for part in parts if part is not None])
        joined = np.concatenate([smooth.rows(outcome, self.data, split.test) for outcome, split in pairs])
        near = Linearised(joined.mean(axis=0), smooth.value, smooth.slopes, "plain")
        return sign * near.rows(joined) if near.defined else None

    def by_rows(self, candidate: Floats, leader: Floats, *, open_share: float = 1.0) -> PairedDifference | None:
        """How far behind by the values of single rows; None where they are too few to say.

        Where a share of all folds is still ``open``, the standard error is that of the mean over all folds, given those
        that are known.
        """
        apart = candidate - leader
        apart[np.abs(apart) <= _ROUNDING * np.abs(leader).mean()] = 0.0
        rows = min(len(apart), self.data.n)  # a row that another repeat tests again is no further row
        if rows < _FEWEST_ROWS:
            return None
        se = ONE_PARTITION * float(apart.std(ddof=1)) * math.sqrt(open_share / rows)
        return PairedDifference(float(apart.mean()), se, rows - 1)

    def by_scores(
        self, candidate: Floats, leader: Floats, splits: Sequence[Split], *, open_share: float = 1.0
    ) -> PairedDifference | None:
        """How far behind by the scores of whole folds; None where they are too few, or show no spread."""
        apart = candidate - leader if not self.metric.greater_is_better else leader - candidate
        if len(apart) < _FEWEST_FOLDS:
            return None
        share = sum(len(split.test) for split in splits) / sum(len(split.train) for split in splits)
        found = corrected_paired_t(apart, share)
        # A few folds that happen to differ alike, as those of small tables do, show nothing of the spread.
        return replace(found, se=found.se * math.sqrt(open_share)) if found.se > 0 else None


def tested_once(splits: Sequence[Split]) -> bool:
    """Whether no row is tested twice but by another repeat of the whole partition."""
    if isinstance(splits, Splits) and splits.partition:
        return True
    tested = np.concatenate([split.test.index for split in splits])
    return len(np.unique(tested)) == len(tested)
