"""The racing rule: when candidates of a search are no longer worth fitting."""

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
from truefit._methods.splitting.splits import Split, Splits, is_whole, row_subset, shared_partition
from truefit._metrics.metric import Metric
from truefit._stats.delta import Linearised
from truefit._stats.paired import PairedDifference, corrected_paired_t

Over = Literal["folds", "sizes"]


@dataclass(frozen=True, slots=True)
class Race:
    r"""How a search drops candidates on the way, so that later folds are fitted for the promising ones only.

    All candidates start. After each fold the one with the best mean score leads, and a candidate is dropped where its
    chance of overtaking the leader on the folds to come is small. The chance is told by the paired differences on what
    both have been tested on: single rows where the metric is made of rows (their standard error is multiplied by 1.2,
    as for every statement from one partition), otherwise the scores of at least 3 folds, by the corrected resampled t.
    The leader is never dropped, and who ties with it goes on.

    Parameters
    ----------
    over : {"folds", "sizes"}, default="folds"
        With "sizes" candidates are first fitted on an eighth, a quarter and a half of the first fold's training rows.
        One is dropped where its learning curve can hardly reach the leader any more: curves are convex, so from the
        last two sizes on it falls no faster than between them; drawn on so to all rows, it would still end above what
        the leader has already. Then the race goes on over the folds. Worth its fits where fitting grows faster than
        the number of rows.
    chance : float, default=0.05
        The chance of overtaking below which a candidate is dropped. The smaller, the more forgiving, and the more is
        fitted.
    first : int, default=1
        Folds that all candidates are fitted on before the first is dropped for being behind.

    Notes
    -----
    Of a mean over all K folds J are known. What is still open is how the K - J folds to come differ from those seen, so
    the standard error of the difference so far is multiplied by :math:`\sqrt{1 - J/K}`: what can still change, rather
    than what is true of the population. It is a prediction of what the whole search would have chosen.

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
            raise InvalidInput(f"The 'chance' of a race must lie above 0 and up to 0.5. Got {self.chance!r} instead.")
        if not is_whole(self.first) or self.first < 1:
            raise InvalidInput(
                f"The 'first' folds of a race must be a whole number of at least 1. Got {self.first!r} instead."
            )

    @classmethod
    def of(cls, given: Any) -> Race | None:
        """Return what the option ``race`` of a search means: None, "folds", "sizes", or a race as it is.

        Examples
        --------
        >>> Race.of("folds") == Race()
        True
        """
        if given is None or isinstance(given, Race):
            return given
        if isinstance(given, str) and given in get_args(Over):
            return cls(over=given)  # type: ignore[arg-type]
        raise InvalidInput(f"The 'race' parameter must be None, 'folds', 'sizes' or a Race. Got {given!r} instead.")

    def drops(self, behind: PairedDifference) -> bool:
        """Whether so much behind the leader is too much."""
        return chance_left(behind) < self.chance


def chance_left(behind: PairedDifference) -> float:
    """Chance that who is so much behind is ahead in the end."""
    return float(stdtr(behind.df, -behind.t))


@dataclass(frozen=True, slots=True)
class DroppedCandidate:
    """A candidate by its number, after how many folds it was dropped, and why."""

    candidate: int
    after: int
    reason: str


#: Of how many parts the training rows are made, and how many of these each rung has.
_PARTS, _RUNGS = 8, (1, 2, 4)
#: With fewer rows than this a fit says nothing of the learner.
_FEWEST_RUNG_ROWS = 16


def rungs_of(data: Data, split: Split) -> list[Split]:
    """An eighth, a quarter and a half of a split's training rows; each is tested on all rows that none of them has.

    The rows are drawn by their content, class by class, so whoever asks for the rungs of these training rows gets the
    same ones. Where the rows are too few for two rungs there are none.
    """
    rows = split.train.index
    try:
        parts = shared_partition(row_subset(data, rows, rare_classes=True), _PARTS, rare=True)
    except InvalidInput:  # fewer rows, or groups, than parts; or a single class
        return []
    trained = [rows[parts < rung] for rung in _RUNGS]
    tested = Rows.of(np.concatenate([rows[parts >= _RUNGS[-1]], split.test.index]))
    found = [Split(Rows.train_of(data.n, train), tested, split.repeat) for train in trained]
    found = [rung for rung in found if len(rung.train) >= _FEWEST_RUNG_ROWS]
    return found if len(found) > 1 else []


#: Values this close, relative to their mean size, differ by rounding alone.
_ROUNDING = 1e-8
#: With fewer test rows, or fewer scores of folds, nothing is said.
_FEWEST_ROWS, _FEWEST_FOLDS = 20, 3


@dataclass(frozen=True, slots=True)
class RaceStandings:
    """Measures candidates of a race: by single rows where that can be, else by the scores of whole folds.

    ``rows_once`` says that no row is tested twice but by another repeat of the whole partition.
    """

    race: Race
    metric: Metric
    data: Data
    rows_once: bool

    @property
    def compares_rows(self) -> bool:
        """Whether losses of single rows can be set side by side."""
        is_mean_over_rows = self.metric.row_loss is not None or self.metric.smooth is not None
        return is_mean_over_rows and self.rows_once and self.data.groups is None and self.data.weight is None

    def rungs(self, split: Split) -> list[Split]:
        """Smaller training sets to start on, where the race is over sizes and single rows can tell who is behind."""
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
