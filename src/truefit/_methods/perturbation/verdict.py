"""Verdict of a perturbation: how a learner responds to noise, and whether it memorises, over- or underfits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._stats.bounds import decrease_rates, rate_skill
from truefit._stats.intervals import t_interval
from truefit._stats.paired import PairedDifference, corrected_paired_t

Interval = tuple[float, float]

#: A learner whose predictions would lose less than this per unit of noise has too little to lose: of two classes it is
#: right for fewer than 60%, and a line through 100 rows is right for nearly as many when their labels mean nothing.
NEAR_CHANCE = 0.2

_NAN = float("nan")


@dataclass(frozen=True)
class NoiseResponse:
    """Agreement of a learner with its own training targets, by repeat and noise level.

    Attributes
    ----------
    levels : tuple of float
    shares, values, baselines : arrays of shape (repeats, levels)
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
    baselines: Floats
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
        return float(self.baselines[:, 0].mean()) if self.known else _NAN

    @cached_property
    def dummy_rate(self) -> float:
        """The rate of the largest class alone."""
        return float(decrease_rates(self.shares, self.baselines).mean()) if self.known else _NAN

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


Flag = Literal["memorises", "overfitted", "underfitted", "no flag"]

#: A learner memorises when more than this much of the noise is followed.
MEMORISES = 0.5
#: The same for noise that is partly a concept of its own: labels flipped in one region, rows unlike all others.
MEMORISES_LEARNABLE = 0.9
#: A learner that is no more than this above the largest class has not learned.
UNDERFITTED = 0.05
_ROUNDING = 1e-9


@dataclass(frozen=True)
class FoldErrors:
    """Errors of all candidates on the same folds.

    Attributes
    ----------
    metric : str
    scores : dict of arrays
        One per fold, by candidate; NaN where a fit failed.
    estimates : dict of (value, low, high)
        NaN where there is no number.
    share : float
        Rows of a fold over rows trained on.
    """

    metric: str
    scores: Mapping[str, npt.NDArray[np.float64]]
    estimates: Mapping[str, tuple[float, float, float]]
    share: float
    description: str

    def difference(self, one: str, other: str) -> PairedDifference | None:
        """Error of one candidate minus that of another, fold by fold; None where a fold is missing."""
        apart = self.scores[one] - self.scores[other]
        return None if np.isnan(apart).any() or len(apart) < 2 else corrected_paired_t(apart, self.share)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A flag, and why."""

    flag: Flag
    words: str


def diagnose(
    by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None, *, classes: int | None, learnable: bool = False
) -> dict[str, Diagnosis]:
    """Say of each learner whether it memorises, overfits or underfits.

    Parameters
    ----------
    by_name : dict of NoiseResponse
    errors : FoldErrors or None
        None where no cross-validation was made: nothing is called overfitted then.
    classes : int or None
        None for a regression.
    learnable : bool, default=False
        Whether the noise is partly a concept of its own, so that following some of it is no memorising.
    """
    most = MEMORISES_LEARNABLE if learnable else MEMORISES
    return {name: _diagnosis(name, by_name, errors, classes, most) for name in by_name}


def _diagnosis(
    name: str, by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None, classes: int | None, most: float
) -> Diagnosis:
    found = by_name[name]
    if not found.known:
        why = f"{found.failed} of its fits failed" if found.failed else "too few of its fits were run"
        return Diagnosis("no flag", f"not known: {why}.")
    what = "training accuracy" if classes is not None else "correlation with the training targets"
    ends = found.memorisation_ends
    if ends is not None and ends[0] > most:
        words = f"it follows {_share(found)} of the noise, more than {most:.0%}"
        better = _less_memorising(name, by_name, errors)
        if better is None:
            return Diagnosis("memorises", f"{words}.{_why_not_overfitted(name, by_name, errors)}")
        return Diagnosis("overfitted", f"{words}, and {better}.")
    above = found.training - found.dummy_training
    base = f"that of the largest class ({found.dummy_training:.3f})" if classes is not None else "0"
    if above <= UNDERFITTED + _ROUNDING:
        if classes is not None and 1 - found.dummy_training <= UNDERFITTED + _ROUNDING:
            return Diagnosis(
                "no flag",
                f"the largest class holds {found.dummy_training:.1%} of the rows, so no {what} can be far above it: "
                "underfitting cannot be told so.",
            )
        return Diagnosis(
            "underfitted",
            f"its {what} of {found.training:.3f} is not above {base} by more than {UNDERFITTED}.",
        )
    if found.memorisation is None:
        return Diagnosis(
            "no flag",
            f"its {what} of {found.training:.3f} is near chance, so how much it memorises cannot be told.",
        )
    return Diagnosis(
        "no flag",
        f"it follows {_share(found)} of the noise, and its {what} of {found.training:.3f} is above {base}.",
    )


def _share(found: NoiseResponse) -> str:
    """How much of the noise is followed, in words."""
    assert found.memorisation is not None
    interval = found.memorisation_interval
    if interval is None:
        return f"{found.memorisation:.0%} (one repeat, no interval)"
    return f"{found.memorisation:.0%} ({found.level:.0%} interval {interval[0]:.0%} to {interval[1]:.0%})"


def _less_memorising(name: str, by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None) -> str | None:
    """Return in words the candidate that memorises less and is not worse, if there is one."""
    own = by_name[name].memorisation_ends
    if errors is None or own is None:
        return None
    found: dict[str, PairedDifference] = {}
    for other, each in by_name.items():
        ends = each.memorisation_ends
        if other == name or ends is None or ends[1] >= own[0]:
            continue
        apart = errors.difference(other, name)
        # No more than one standard error of the difference: more is worse, less cannot be called so.
        if apart is not None and apart.mean <= apart.se:
            found[other] = apart
    if not found:
        return None
    best = min(found, key=lambda other: found[other].mean)
    memorisation = by_name[best].memorisation
    assert memorisation is not None
    mine, its = errors.estimates[name][0], errors.estimates[best][0]
    return (
        f"{best}, which follows {memorisation:.0%}, is not worse on rows left out: {errors.metric} {its:.4g} against "
        f"{mine:.4g} (difference {_signed(found[best].mean)}, standard error {found[best].se:.2g}, "
        f"{errors.description})"
    )


def _why_not_overfitted(name: str, by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None) -> str:
    if len(by_name) < 2:
        return " Whether that harms it is told by a candidate that memorises less; give one."
    if errors is None:
        return " Whether that harms it is told by cross-validation, which was not made."
    return " No candidate that memorises less does as well on rows left out, so that does not count against it."


def _signed(value: float) -> str:
    return "0" if value == 0 or math.isnan(value) else f"{value:+.2g}"
