"""Race: when candidates of a search are no longer worth fitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import stdtr

from truefit.core.errors import InvalidInput
from truefit.methods.splitting.splits import is_whole
from truefit.stats.paired import PairedDifference

Over = Literal["folds", "sizes"]


@dataclass(frozen=True, slots=True)
class Race:
    """How a search drops candidates on the way, so that later folds are fitted for the promising ones only.

    All candidates start. After each fold the one with the best mean score leads, and a candidate is dropped where it is
    worse than the leader by a one-sided paired test on what both have been tested on so far. The test is made on single
    rows where the metric is made of rows (its standard error is multiplied by 1.2, as for every statement from one
    partition), otherwise on the scores of at least 3 folds by the corrected resampled t. The leader is never dropped,
    and who ties with it goes on.

    Parameters
    ----------
    over : {"folds", "sizes"}, default="folds"
        With "sizes" candidates are first fitted on a quarter and a half of the first fold's training rows. One is
        dropped where its learning curve cannot reach the leader any more: curves are convex, so from the last two
        sizes on it falls no faster than between them, and even so it would end above what the leader has already. Then
        the race goes on over the folds. Worth its fits where fitting grows faster than the number of rows.
    level : float, default=0.95
        One minus the level of the test. The closer to 1, the more forgiving, and the more is fitted.
    first : int, default=1
        Folds that all candidates are fitted on before the first is dropped.

    Examples
    --------
    >>> race = Race(level=0.99)
    >>> race.drops(PairedDifference(mean=0.05, se=0.01, df=199)), race.drops(PairedDifference(0.01, 0.01, 199))
    (True, False)
    """

    over: Over = "folds"
    level: float = 0.95
    first: int = 1

    def __post_init__(self) -> None:
        if self.over not in get_args(Over):
            raise InvalidInput(f"A race must be over 'folds' or 'sizes'. Got {self.over!r} instead.")
        number = isinstance(self.level, int | float | np.number) and not isinstance(self.level, bool)
        if not (number and 0.5 <= self.level < 1):
            raise InvalidInput(f"The 'level' of a race must lie from 0.5 to below 1. Got {self.level!r} instead.")
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
        return chance(behind) < 1 - self.level


def chance(behind: PairedDifference) -> float:
    """One-sided p-value of being as far behind as this, or further, without being worse."""
    return float(stdtr(behind.df, -behind.t))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A candidate by its number, after how many folds it was dropped, and why."""

    candidate: int
    after: int
    reason: str
