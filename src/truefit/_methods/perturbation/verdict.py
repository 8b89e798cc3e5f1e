"""Verdict of a perturbation: how a learner responds to noise, and whether it memorises, over- or underfits."""

from __future__ import annotations

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

#: Memorisation is undefined where the ideal rate is below this: with two classes that is an accuracy below 60%, which a
#: linear model of 100 rows nearly reaches on random labels.
NEAR_CHANCE = 0.2

_NAN = float("nan")


@dataclass(frozen=True)
class NoiseResponse:
    """Agreement of a learner with its own training targets, by repeat and noise level.

    Attributes
    ----------
    levels : tuple of float
        The noise levels, 0 first.
    shares : array of shape (repeats, levels)
        Share of perturbed rows; complete repeats only.
    values : array of shape (repeats, levels)
        Agreement with the perturbed targets.
    baselines : array of shape (repeats, levels)
        Agreement of the majority class with the perturbed targets.
    ideal : float
        The rate of a learner that memorises no noise.
    level : float
        Level of the intervals.
    absolute : bool
        Whether the sign of a rate is dropped, as in the paper.
    failed : int
        Number of fits that failed.
    missing : int
        Number of fits that were not run.
    fit_seconds : float
        Time spent in fits.
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
        """Interval of the mean rate over the repeats; None with one repeat."""
        return t_interval(self.rates, self.level) if self.repeats > 1 else None

    @property
    def training(self) -> float:
        """Agreement with the original targets."""
        return float(self.values[:, 0].mean()) if self.known else _NAN

    @property
    def dummy_training(self) -> float:
        """Agreement of the majority class with the original targets."""
        return float(self.baselines[:, 0].mean()) if self.known else _NAN

    @cached_property
    def dummy_rate(self) -> float:
        """The rate of the majority class."""
        return float(decrease_rates(self.shares, self.baselines).mean()) if self.known else _NAN

    @property
    def skill(self) -> float:
        """The rate above that of the majority class, as a share of what is possible."""
        return rate_skill(self.rate, self.dummy_rate) if self.known else _NAN

    @property
    def memorisation(self) -> float | None:
        """Share of the noise that is memorised: 1 − rate/ideal; None near chance, where it is undefined."""
        return 1 - self.rate / self.ideal if self.known and self.ideal > NEAR_CHANCE else None

    @property
    def memorisation_interval(self) -> Interval | None:
        """The interval of the memorisation."""
        if self.memorisation is None or self.interval is None:
            return None
        low, high = self.interval
        return 1 - high / self.ideal, 1 - low / self.ideal

    @property
    def memorisation_ends(self) -> Interval | None:
        """The interval of the memorisation; the number itself twice where there is no interval."""
        if self.memorisation is None:
            return None
        return self.memorisation_interval or (self.memorisation, self.memorisation)


Flag = Literal["memorises", "overfitted", "underfitted", "no flag"]

#: A learner memorises when it memorises more than this share of the noise.
MEMORISES = 0.5
#: The same for noise that can partly be learned: labels flipped in one region, rows unlike all others.
MEMORISES_LEARNABLE = 0.9
#: A learner whose accuracy exceeds the majority class by no more than this is underfitted.
UNDERFITTED = 0.05
_ROUNDING = 1e-9

_NOISE_NAMES = {"feature": "feature noise", "target": "target noise"}


@dataclass(frozen=True)
class FoldErrors:
    """Errors of all candidates on the same folds.

    Attributes
    ----------
    metric : str
        Name of the metric.
    scores : dict of arrays
        One per fold, by candidate; NaN where a fit failed.
    estimates : dict of (value, low, high)
        Estimate and interval by candidate; NaN where there is no number.
    share : float
        Rows of a fold divided by rows trained on.
    description : str
        The folds, as text.
    """

    metric: str
    scores: Mapping[str, npt.NDArray[np.float64]]
    estimates: Mapping[str, tuple[float, float, float]]
    share: float
    description: str

    def difference(self, one: str, other: str) -> PairedDifference | None:
        """Error of one candidate minus that of another, fold by fold; None where a fold is missing."""
        differences = self.scores[one] - self.scores[other]
        if np.isnan(differences).any() or len(differences) < 2:
            return None
        return corrected_paired_t(differences, self.share)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A flag, and the reason."""

    flag: Flag
    reason: str


def diagnose(
    by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None, *, classes: int | None, kind: str = "label"
) -> dict[str, Diagnosis]:
    """Flag each learner that memorises, overfits (only with ``errors`` of a cross-validation) or underfits."""
    return {name: _diagnosis(name, by_name, errors, classes, kind) for name in by_name}


def _diagnosis(
    name: str, by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None, classes: int | None, kind: str
) -> Diagnosis:
    found = by_name[name]
    if not found.known:
        why = f"{found.failed} of its fits failed" if found.failed else "too few of its fits were run"
        return Diagnosis("no flag", f"no rate: {why}.")
    most = MEMORISES_LEARNABLE if kind in ("boundary", "feature") else MEMORISES
    ends = found.memorisation_ends
    noise = _NOISE_NAMES.get(kind, "label noise")
    memorises = "" if ends is None else f"memorises {_share(found, ends)} of injected {noise}"
    if ends is not None and ends[0] > most:
        better = _less_memorising(name, by_name, errors)
        if better is None:
            why = _why_not_overfitted(by_name, errors)
            return Diagnosis("memorises", f"{memorises}, more than {most:.0%}. {why}")
        return Diagnosis("overfitted", f"{memorises}, more than {most:.0%}; {better}.")
    measure = "training accuracy" if classes is not None else "correlation with the training targets"
    training = f"{measure} {found.training:.3f}"
    majority = "" if classes is None else f" (majority class {found.dummy_training:.3f})"
    if found.training - found.dummy_training <= UNDERFITTED + _ROUNDING:
        if classes is not None and 1 - found.dummy_training <= UNDERFITTED + _ROUNDING:
            reason = (
                f"the majority class holds {found.dummy_training:.1%} of the rows, so {measure} does not show "
                "underfitting."
            )
            return Diagnosis("no flag", reason)
        base = "0" if classes is None else f"that of the majority class, {found.dummy_training:.3f},"
        return Diagnosis("underfitted", f"{training} does not exceed {base} by more than {UNDERFITTED}.")
    if found.memorisation is None:
        return Diagnosis("no flag", f"{training} is near chance{majority}, so memorisation is undefined.")
    return Diagnosis("no flag", f"{memorises}; {training}{majority}.")


def _share(found: NoiseResponse, ends: Interval) -> str:
    """Memorisation as a percentage with its interval, within 0% and 100%."""
    value, low, high = (f"{min(max(each, 0.0), 1.0):.0%}" for each in (found.memorisation or 0.0, *ends))
    if found.interval is None:
        return f"{value} (one repeat, no interval)"
    if low == high:
        return f"{value} ({found.level:.0%} interval narrower than 1 point)"
    return f"{value} ({found.level:.0%} interval {low} to {high})"


def _less_memorising(name: str, by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None) -> str | None:
    """Describe the best candidate that memorises less and is not worse, if there is one."""
    own = by_name[name].memorisation_ends
    if errors is None or own is None:
        return None
    found: dict[str, PairedDifference] = {}
    for other, each in by_name.items():
        ends = each.memorisation_ends
        if other == name or ends is None or ends[1] >= own[0]:
            continue
        difference = errors.difference(other, name)
        # Worse means by more than one standard error of the difference.
        if difference is not None and difference.mean <= difference.se:
            found[other] = difference
    if not found:
        return None
    best = min(found, key=lambda other: found[other].mean)
    memorisation = by_name[best].memorisation
    assert memorisation is not None
    mine, its = errors.estimates[name][0], errors.estimates[best][0]
    difference = found[best]
    signed = "0" if difference.mean == 0 else f"{difference.mean:+.2g}"
    return (
        f"{best} memorises {max(memorisation, 0.0):.0%} and is not worse on held-out rows: {errors.metric} {its:.4g} "
        f"against {mine:.4g} (difference {signed}, standard error {difference.se:.2g}, {errors.description})"
    )


def _why_not_overfitted(by_name: Mapping[str, NoiseResponse], errors: FoldErrors | None) -> str:
    if len(by_name) < 2:
        return "Add a candidate that memorises less to see whether that costs accuracy."
    if errors is None:
        return "Cross-validation was not run, so whether that costs accuracy is unknown; pass cv=5."
    return (
        "No candidate that memorises less is within one standard error of its score on held-out rows, so this is not "
        "overfitting."
    )
