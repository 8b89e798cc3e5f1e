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
class Dropped:
    """A candidate by its number, after how many folds it was dropped, and why."""

    candidate: int
    after: int
    reason: str
