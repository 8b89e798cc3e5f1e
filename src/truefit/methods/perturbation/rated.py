"""Rated: what noise did to one learner, and the numbers that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from truefit.stats.decrease_rate import decrease_rates, rate_skill
from truefit.stats.intervals import t_interval

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

#: A learner whose predictions would lose less than this per unit of noise has too little to lose: of two classes it is
#: right for fewer than 60%, and a line through 100 rows is right for nearly as many when their labels mean nothing.
NEAR_CHANCE = 0.2

_NAN = float("nan")


@dataclass(frozen=True)
class Rated:
    """Agreement of a learner with its own training targets, by repeat and noise level.

    Attributes
    ----------
    levels : tuple of float
    shares, values, dummies : arrays of shape (repeats, levels)
        What was really disturbed; the agreement there; what the largest class alone would have reached. Repeats that
        were not finished are left out.
    ideal : float
        The rate that the learner would have if its predictions did not follow the noise.
    absolute : bool
        Whether the sign of a rate is dropped, as in the paper.
    failed, missing : int
        Fits that failed, and fits that were not run.
    """

    levels: tuple[float, ...]
    shares: Floats
    values: Floats
    dummies: Floats
    ideal: float
    level: float
    absolute: bool = False
    failed: int = 0
    missing: int = 0
    fit_seconds: float = 0.0

    @property
    def known(self) -> bool:
        """Whether there is a rate at all."""
        return len(self.values) > 0

    @property
    def repeats(self) -> int:
        """How many repeats the rate is a mean of."""
        return len(self.values)

    @cached_property
    def rates(self) -> Floats:
        """The rate of each repeat."""
        if not self.known:
            return np.empty(0)
        rates = decrease_rates(self.shares, self.values)
        return np.abs(rates) if self.absolute else rates

    @property
    def rate(self) -> float:
        """Mean rate."""
        return float(self.rates.mean()) if self.known else _NAN

    @cached_property
    def interval(self) -> Interval | None:
        """Interval of the mean rate over the repeats; None where one repeat shows no spread."""
        return t_interval(self.rates, self.level) if self.repeats > 1 else None

    @property
    def training(self) -> float:
        """Agreement with the undisturbed targets."""
        return float(self.values[:, 0].mean()) if self.known else _NAN

    @property
    def dummy_training(self) -> float:
        """What the largest class alone reaches on the undisturbed targets."""
        return float(self.dummies[:, 0].mean()) if self.known else _NAN

    @cached_property
    def dummy_rate(self) -> float:
        """The rate of the largest class alone."""
        return float(decrease_rates(self.shares, self.dummies).mean()) if self.known else _NAN

    @property
    def skill(self) -> float:
        """The rate beyond that of the largest class, as a share of what is left."""
        return rate_skill(self.rate, self.dummy_rate) if self.known else _NAN

    @property
    def memorisation(self) -> float | None:
        """How much of the noise the learner follows: 1 − rate/ideal; None near chance, where it cannot be told."""
        return 1 - self.rate / self.ideal if self.known and self.ideal > NEAR_CHANCE else None

    @property
    def memorisation_interval(self) -> Interval | None:
        """The interval of the rate in terms of memorisation."""
        if self.memorisation is None or self.interval is None:
            return None
        low, high = self.interval
        return 1 - high / self.ideal, 1 - low / self.ideal

    @property
    def memorisation_ends(self) -> Interval | None:
        """The interval of memorisation; the number itself twice where there is no interval."""
        if self.memorisation is None:
            return None
        return self.memorisation_interval or (self.memorisation, self.memorisation)
