"""The racing rule: when a search stops fitting a candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import stdtr

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.assessment.estimate import ONE_PARTITION
from truefit._methods.splitting.splits import Split, Splits, row_subset, shared_partition, whole_number
from truefit._metrics.metric import Metric
from truefit._stats.delta import Linearised
from truefit._stats.paired import PairedDifference, corrected_paired_t

Over = Literal["folds", "sizes"]


@dataclass(frozen=True, slots=True)
class Race:
    r"""How a search stops candidates early, so that later folds are fitted for the promising ones only.

    All candidates start. After each fold the one with the best mean score leads, and a candidate is dropped where its
    probability of overtaking the leader on the remaining folds is small. The probability is computed from the paired
    differences on the test rows so far: of single rows for a per-sample metric (their standard error is multiplied by
    1.2, as for every interval from one partition), otherwise of the scores of at least 3 folds, by the corrected
    resampled t test. The leader is never dropped.

    Parameters
    ----------
    over : {"folds", "sizes"}, default="folds"
        With "sizes" candidates are first fitted on an eighth, a quarter and a half of the first fold's training rows.
        One is dropped where its learning curve is unlikely to reach the leader: curves are convex, so it is
        extrapolated to all rows along the slope between its last two sizes, and compared with the present error of the
        leader. Then the race continues over the folds. This pays where the time of a fit grows faster than the number
        of rows.
    chance : float, default=0.05
        The probability of overtaking below which a candidate is dropped. A smaller one drops fewer candidates.
    first : int, default=1
        Number of folds that all candidates are fitted on before any is dropped.

    Notes
    -----
    Of a mean over all K folds J are known. Only the K - J other folds can still change it, so the standard error of the
    difference so far is multiplied by :math:`\sqrt{1 - J/K}`. The rule predicts which candidate the whole search would
    have selected, not which is best in the population.

    References
    ----------
    O. Maron and A. W. Moore (1997), The racing algorithm: model selection for lazy learners, Artificial Intelligence
    Review 11:193-225.

    F. Mohr and J. N. van Rijn (2021), Towards model selection using learning curve cross-validation, AutoML workshop at
    ICML.

    Examples
    --------
    >>> race = Race(chance=0.01)
    >>> race.drops(PairedDifference(mean=0.05, se=0.01, df=199)), race.drops(PairedDifference(0.01, 0.01, 199))
    (True, False)
    """

    over: Over = "folds"
    chance: float = 0.05
    first: int = 1

    def __post_init__(self) -> None:
        if self.over not in get_args(Over):
            raise InvalidInput(f"A race must be over 'folds' or 'sizes'. Got {self.over!r} instead.")
        number = isinstance(self.chance, int | float | np.number) and not isinstance(self.chance, bool)
        if not (number and 0 < self.chance <= 0.5):
            raise InvalidInput(f"The 'chance' of a race must be above 0 and at most 0.5. Got {self.chance!r} instead.")
        whole_number(self.first, "The 'first' folds of a race")

    @classmethod
    def of(cls, given: Any) -> Race | None:
        """Return the race for the ``race`` parameter of a search: None, "folds", "sizes", or a race."""
        if given is None or isinstance(given, Race):
            return given
        if isinstance(given, str) and given in get_args(Over):
            return cls(over=given)  # type: ignore[arg-type]
        raise InvalidInput(f"The 'race' parameter must be None, 'folds', 'sizes' or a Race. Got {given!r} instead.")

    def drops(self, behind: PairedDifference) -> bool:
        """Whether a candidate this far behind the leader is dropped."""
        return chance_left(behind) < self.chance


def chance_left(behind: PairedDifference) -> float:
    """Probability that a candidate this far behind is ahead in the end."""
    return float(stdtr(behind.df, -behind.t))


@dataclass(frozen=True, slots=True)
class DroppedCandidate:
    """A candidate by its number, the number of folds after which it was dropped, and the reason."""

    candidate: int
    after: int
    reason: str


#: Number of parts of the training rows, and how many of these each rung has.
_PARTS, _RUNGS = 8, (1, 2, 4)
#: Rungs have at least so many rows.
_FEWEST_RUNG_ROWS = 16


def rungs_of(data: Data, split: Split) -> list[Split]:
    """Return an eighth, a quarter and a half of a split's training rows, stratified; none with too few rows for two."""
    rows = split.train.index
    try:
        parts = shared_partition(row_subset(data, rows), _PARTS)
    except InvalidInput:  # fewer rows, or groups, than parts; or a single class
        return []
    trained = [rows[parts < rung] for rung in _RUNGS]
    tested = Rows.of(np.concatenate([rows[parts >= _RUNGS[-1]], split.test.index]))
    found = [Split(Rows.train_of(data.n, train), tested, split.repeat) for train in trained]
    found = [rung for rung in found if len(rung.train) >= _FEWEST_RUNG_ROWS]
    return found if len(found) > 1 else []


#: Values this close, relative to their mean size, differ by rounding only.
_ROUNDING = 1e-8
#: With fewer test rows, or fewer scores of folds, no candidate is dropped.
_FEWEST_ROWS, _FEWEST_FOLDS = 20, 3


@dataclass(frozen=True, slots=True)
class RaceStandings:
    """Differences between the candidates of a race: of single rows where possible, else of the scores of folds."""

    race: Race
    metric: Metric
    data: Data
    rows_once: bool

    @property
    def compares_rows(self) -> bool:
        """Whether losses of single rows can be compared."""
        is_mean_over_rows = self.metric.row_loss is not None or self.metric.smooth is not None
        independent = self.data.groups is None and self.data.weight is None and self.data.time is None
        return is_mean_over_rows and self.rows_once and independent

    def rungs(self, split: Split) -> list[Split]:
        """Smaller training sets to start with, in a race over sizes where rows are compared."""
        return rungs_of(self.data, split) if self.race.over == "sizes" and self.compares_rows else []

    def row_values(self, outcomes: Sequence[Outcome], splits: Sequence[Split]) -> Floats | None:
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
        """Difference by the values of single rows, where ``open_share`` of the folds is to come; None with too few."""
        difference = candidate - leader
        difference[np.abs(difference) <= _ROUNDING * np.abs(leader).mean()] = 0.0
        rows = min(len(difference), self.data.n)  # repeats test the same rows
        if rows < _FEWEST_ROWS:
            return None
        se = ONE_PARTITION * float(difference.std(ddof=1)) * math.sqrt(open_share / rows)
        return PairedDifference(float(difference.mean()), se, rows - 1)

    def by_scores(
        self, candidate: Floats, leader: Floats, splits: Sequence[Split], *, open_share: float = 1.0
    ) -> PairedDifference | None:
        """Difference by the scores of whole folds; None with too few of them, or without spread."""
        difference = leader - candidate if self.metric.greater_is_better else candidate - leader
        if len(difference) < _FEWEST_FOLDS:
            return None
        share = sum(len(split.test) for split in splits) / sum(len(split.train) for split in splits)
        found = corrected_paired_t(difference, share)
        return replace(found, se=found.se * math.sqrt(open_share)) if found.se > 0 else None


def tested_once(splits: Sequence[Split]) -> bool:
    """Whether no row is tested twice within one repeat of the partition."""
    if isinstance(splits, Splits) and splits.partition:
        return True
    tested = np.concatenate([split.test.index for split in splits])
    return len(np.unique(tested)) == len(tested)
