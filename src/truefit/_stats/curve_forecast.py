"""Forecasts of learning curves: the averaged power law, intervals calibrated on reference curves, the largest gain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats, Mask
from truefit._stats.curve_fit import Problem, power_law
from truefit._stats.curve_points import SLOWEST, Points, noise, recency, usual_noise

#: Exponents that are averaged over, and where they lie beforehand: centre and standard deviation.
EXPONENTS = np.linspace(0.01, 1.2, 41)
_CENTRE, _SPREAD = 0.45, 0.4
#: How sharply the points tell exponents apart: losses count in units of so many variances.
_SHARPNESS = 0.1


@dataclass(frozen=True, slots=True)
class Averaged:
    """Curves a + b·n^−c, one per exponent c, and what each of them counts; all of shape (curves, exponents).

    Attributes
    ----------
    weights, a, b : array of shape (curves, exponents)
    unit : array of shape (curves,)
        The size that sizes are counted in.
    """

    weights: Floats
    a: Floats
    b: Floats
    unit: Floats

    @property
    def end(self) -> Floats:
        """What the curves fall to in the end."""
        return np.asarray((self.weights * self.a).sum(axis=1))

    @property
    def exponent(self) -> Floats:
        """Mean exponent of each curve."""
        return np.asarray(self.weights @ EXPONENTS)

    def predict(self, sizes: npt.ArrayLike) -> Floats:
        """Return the curves at sizes of shape (curves, m), or (m,) for all alike."""
        at = np.asarray(sizes, dtype=np.float64) / self.unit[:, None]
        falling = at[:, None, :] ** -EXPONENTS[:, None]
        return self.end[:, None] + ((self.weights * self.b)[:, None, :] @ falling)[:, 0]


def averages(points: Points, weights: Sequence[Floats], sigma: Floats) -> list[Averaged]:
    """Fit a power law for each exponent, and weigh them by how well they fit and by what exponents usually are.

    Parameters
    ----------
    points : Points
    weights : sequence of array of shape (curves, points)
        What each point counts, 0 leaves it out; the curves are averaged once for each of these.
    sigma : array of shape (curves,)
        How much points scatter.

    Notes
    -----
    Of exponents that fit about equally well the best is a matter of chance, and what follows from it far out is
    decided by it. On the reference curves the average is closer than the best one, the more so the noisier the points.
    """
    times = len(weights)
    # In one go, since most of the time for a single curve is spent on the way into numpy and out again.
    problem = Problem.of(
        power_law(), np.tile(points.sizes, (times, 1)), np.tile(points.errors, (times, 1)), np.concatenate(weights)
    )
    solved = [
        part.solve(np.broadcast_to(EXPONENTS, (len(part.u), 1, EXPONENTS.size)))
        for part in problem.parts(EXPONENTS.size)
    ]
    a, b, loss = (np.concatenate(column) for column in zip(*solved, strict=True))
    # Losses count from the best exponent's: where all are large their differences alone are not lost in rounding.
    worse = loss - loss.min(axis=1, keepdims=True)
    variance = _SHARPNESS * np.tile(sigma, times)[:, None] ** 2
    counts = np.exp(-worse / (2 * variance) - (EXPONENTS - _CENTRE) ** 2 / (2 * _SPREAD**2))
    counts /= counts.sum(axis=1, keepdims=True)
    parts = (np.split(column, times) for column in (counts, a, b, problem.unit))
    return [Averaged(*part) for part in zip(*parts, strict=True)]


#: What tells how far an extrapolation may be off, in the order in which it is kept.
FEATURES = ("one", "ahead", "memory", "backtest", "level", "left", "learned", "noise", "rows")


def features(
    *,
    ahead: Floats,
    memory: Floats,
    backtest: Floats,
    level: Floats,
    highest: Floats,
    noise: Floats,
    rows: Floats,
) -> Floats:
    """Return the features as an array with one more axis, the last.

    Parameters
    ----------
    ahead : array
        The size asked for over the last size measured.
    memory : array
        How far the value at the size asked for moves when older points count more.
    backtest : array
        How far off the last points were when predicted from earlier ones.
    level : array
        The error at the end of what was measured.
    highest : array
        The largest error that was measured.
    noise : array
        How much points scatter.
    rows : array
        The last size measured.
    """
    columns = (
        np.ones_like(ahead),
        np.log(np.maximum(ahead, 1.0)),
        _log(memory),
        _log(backtest),
        _log(level),
        _log(1 - level),
        np.log(np.maximum(1 - level / np.maximum(highest, 1e-12), 0.0) + 0.01),
        _log(noise),
        np.log(rows),
    )
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def _log(x: Floats) -> Floats:
    return np.log(np.maximum(x, 0.0) + 0.001)


@dataclass(frozen=True, slots=True)
class Side:
    """How far the truth may lie to one side of an extrapolation: a scale, and its multiples by probability.

    Attributes
    ----------
    weights : array of shape (features,)
        The logarithm of the scale is the features times these.
    quantiles : array of shape (tails,)
        Which multiple of the scale is exceeded with each of the probabilities.
    """

    weights: Floats
    quantiles: Floats

    def reach(self, features: Floats, tails: Floats, tail: float) -> Floats:
        """Return how far the truth may lie off, beyond which it is with a probability of ``tail``."""
        return np.exp(features @ self.weights) * np.interp(np.log(tail), np.log(tails[::-1]), self.quantiles[::-1])


@dataclass(frozen=True, slots=True)
class Calibration:
    """The two sides, and the probabilities for which they are known, descending."""

    tails: Floats
    below: Side
    above: Side

    def interval(self, features: Floats, level: float) -> tuple[Floats, Floats]:
        """Return how far the interval of a level reaches down and up."""
        self.check(level)
        tail = (1 - level) / 2
        return self.below.reach(features, self.tails, tail), self.above.reach(features, self.tails, tail)

    @property
    def levels(self) -> tuple[float, float]:
        """The lowest and the highest level of an interval that the reference curves tell."""
        return float(1 - 2 * self.tails[0]), float(1 - 2 * self.tails[-1])

    def check(self, level: float) -> None:
        """Refuse a level that the reference curves do not tell."""
        narrowest, widest = self.levels
        if not isinstance(level, float) or not narrowest - 1e-9 <= level <= widest + 1e-9:
            raise InvalidInput(
                f"The 'level' of an extrapolated interval must lie between {narrowest:g} and {widest:g}, where the "
                f"reference curves tell it. Got {level!r} instead."
            )

    @classmethod
    def from_dict(cls, kept: Mapping[str, Mapping[str, list[float]]]) -> Calibration:
        """Read what ``benchmarks.curve_constants`` writes."""
        sides = [
            Side(np.array(kept[side]["weights"]), np.array(kept[side]["quantiles"])) for side in ("below", "above")
        ]
        return cls(np.array(kept["tails"]), *sides)


@cache
def shipped() -> Calibration:
    """Return the calibration that comes with the package."""
    return Calibration.from_dict(json.loads(files("truefit._stats").joinpath("curve_interval.json").read_text()))


#: Points without which nothing is fitted, and the least ratio of the last to the first size.
LEAST_POINTS, LEAST_SPAN = 5, 2.0
#: A back-test fits what was measured up to the last size over each of these, from so many points or more.
_BACK, _BACK_POINTS = (2, 4, 8), 3
#: What is assumed of a curve too short for a back-test.
_UNTESTED = 0.05
#: Nothing learned yet: fell by less than this share of its level, above this level, on fewer than so many rows.
_FLAT, _HIGH, _FEW = 0.05, 0.25, 3000
#: Scatter, in standard deviations: of the range of all points, and of a mean of three.
_RANGE_SCATTER, _RISE_SCATTER = 3.0, 3.0
#: A rise by less than this may be anything.
_RISE = 0.02
#: A back-test that is off by more than this is warned of.
_OFF = 0.1


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of curves beyond their last point. Errors are shares of 1, or of the largest error.

    Attributes
    ----------
    points : Points
    curve : Averaged
        The curve that is extrapolated.
    slow : Averaged
        The curve if older points counted more, to see how much hangs on that.
    sigma, gamma : array of shape (curves,)
        How much points scatter; how fast they lose weight with their age.
    backtests : array of shape (curves, 3)
        How far off the last two points were when predicted from a half, a quarter and an eighth of the last size;
        NaN where there were too few points.
    """

    points: Points
    curve: Averaged
    slow: Averaged
    sigma: Floats
    gamma: Floats
    backtests: Floats

    @classmethod
    def of(cls, points: Points) -> Outlook:
        """Fit the curves. Each needs at least :data:`LEAST_POINTS` points."""
        sigma = noise(points)
        gamma = recency(points, sigma)
        early = [points.used & (points.share <= (1 + 1e-9) / back) for back in _BACK]
        weights = [points.share ** gamma[:, None], points.share**SLOWEST]
        weights += [
            np.where(part, (back * points.share) ** gamma[:, None], 0.0)
            for part, back in zip(early, _BACK, strict=True)
        ]
        curve, slow, *backward = averages(points, weights, sigma)
        at, truth = np.exp(np.log(points.sizes[:, -2:]).mean(axis=1)), points.end(2)
        off = [
            np.where(part.sum(axis=1) >= _BACK_POINTS, earlier.predict(at[:, None])[:, 0] - truth, np.nan)
            for part, earlier in zip(early, backward, strict=True)
        ]
        return cls(points, curve, slow, sigma, gamma, np.stack(off, axis=1))

    @property
    def level(self) -> Floats:
        """Mean of the last three errors."""
        return self.points.end(3)

    @property
    def worst_backtest(self) -> Floats:
        """The largest back-test error of each curve."""
        known = np.isfinite(self.backtests)
        worst = np.where(known, np.abs(self.backtests), 0.0).max(axis=1)
        return np.where(known.any(axis=1), worst, _UNTESTED)

    @property
    def nothing_learned(self) -> Mask:
        """Whether a curve has not begun to fall: what it will do when it does cannot be seen."""
        errors = self.points.errors
        fell = np.nanmax(errors, axis=1) - np.nanmin(errors, axis=1) - _RANGE_SCATTER * self.sigma
        return np.asarray((fell < _FLAT * self.level) & (self.level > _HIGH) & (self.points.last < _FEW))

    @property
    def rising(self) -> Mask:
        """Whether a curve ends clearly above an earlier part.

        The fewer the rows, the more points scatter: a low point among the first is more easily chance.
        """
        middle = np.where(self.points.used, self.points.share, np.nan)[:, 1:-1]
        chance = np.maximum(_RISE_SCATTER * usual_noise(self.points)[:, None] * middle**-0.25, _RISE)
        return np.asarray((self.level[:, None] - self.points.smoothed() > chance).any(axis=1))

    @property
    def accelerating(self) -> Mask:
        """Whether a curve fell more in its last doubling than in the one before."""
        before, between = self.points.around(1 / 4), self.points.around(1 / 2)
        more = (between - self.level) - (before - between)
        return more > np.maximum(_RISE_SCATTER * self.sigma, _RISE / 2)

    @property
    def surprised(self) -> Mask:
        """Whether a back-test was far off."""
        return self.worst_backtest > _OFF

    def features(self, sizes: npt.ArrayLike) -> Floats:
        """Return what tells how far off the curves may be at sizes of shape (curves, m)."""
        at = np.asarray(sizes, dtype=np.float64)
        return features(
            ahead=at / self.points.last[:, None],
            memory=np.abs(self.curve.predict(at) - self.slow.predict(at)),
            backtest=self.worst_backtest[:, None],
            level=self.level[:, None],
            highest=np.nanmax(self.points.errors, axis=1)[:, None],
            noise=self.sigma[:, None],
            rows=self.points.last[:, None],
        )

    def predict(
        self, sizes: npt.ArrayLike, level: float, *, largest: float = 1.0, calibration: Calibration | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return value, low and high end at sizes of shape (curves, m), within 0 and the largest error there can be."""
        value = self.curve.predict(sizes)
        below, above = (calibration or shipped()).interval(self.features(sizes), level)
        return np.minimum(value, largest), np.maximum(value - below, 0.0), np.minimum(value + above, largest)


#: What tells how large a gain may be, besides what tells how far off an extrapolation may be.
GAIN_FEATURES = ("gain", "gain and noise", "long slope and noise", "short slope and noise")
#: Slopes are looked at over these last parts of the rows.
_LONG, _SHORT = 16.0, 4.5
#: A curve is looked at again and again, and ends at the first bound that is small enough. With a bound that each look
#: exceeds with so many times the probability, that is wrong as often as is meant (docs/reproduction/lcdb.md).
_LOOKS = 1.5


@dataclass(frozen=True)
class GainBound:
    """Upper ends of gains, learnt from how much the error of reference curves still fell.

    Attributes
    ----------
    tails : array of shape (tails,)
        Probabilities of a larger gain, descending.
    above : Side
    """

    tails: Floats
    above: Side

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> GainBound:
        """Read what is kept in ``curve_gain.json``."""
        return cls(np.array(kept["tails"]), Side(np.array(kept["weights"]), np.array(kept["quantiles"])))

    def most(self, outlook: Outlook, start: npt.ArrayLike, end: npt.ArrayLike, level: float) -> Floats:
        """Return what the error falls by at most between two sizes, each of shape (curves, m)."""
        tail = float(np.clip(_LOOKS * (1 - level), self.tails[-1], self.tails[0]))
        return self.above.reach(gain_features(outlook, start, end), self.tails, tail)


def gain_features(outlook: Outlook, start: npt.ArrayLike, end: npt.ArrayLike) -> Floats:
    """Return what tells how large gains between two sizes may be, each of shape (curves, m); the features come last.

    A start beyond the last size that was measured stands for a curve that goes on as expected and is measured there.
    """
    points = outlook.points
    begin, finish = (np.asarray(sizes, dtype=np.float64) for sizes in (start, end))
    begin, finish = np.broadcast_arrays(begin, finish)
    decades = np.log(finish / begin)
    less_noise = np.sqrt(points.last[:, None] / begin)
    expected = outlook.curve.predict(begin) - outlook.curve.predict(finish)
    slopes = [[each[:, None] * decades for each in _slope(points, outlook.sigma, part)] for part in (_LONG, _SHORT)]
    (long, long_noise), (short, short_noise) = slopes
    usual = features(
        ahead=finish / begin,
        memory=np.abs(outlook.curve.predict(finish) - outlook.slow.predict(finish)),
        backtest=outlook.worst_backtest[:, None],
        level=outlook.level[:, None],
        highest=np.nanmax(points.errors, axis=1)[:, None],
        noise=outlook.sigma[:, None],
        rows=begin,
    )
    own = (
        _log(expected),
        _log(_both(expected, long_noise * less_noise)),
        _log(_both(long, long_noise * less_noise)),
        _log(_both(short, short_noise * less_noise)),
    )
    return np.concatenate([usual, np.stack(own, axis=-1)], axis=-1)


def _slope(points: Points, sigma: Floats, part: float) -> tuple[Floats, Floats]:
    """How much curves fall per unit of ln n over the last part of their sizes, and the noise of that."""
    used = points.used
    weight = np.where(points.share >= 1 / part, points.share, 0.0)
    x = np.log(np.where(used, points.sizes, 1.0))
    centre = (weight * x).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    spread = (weight * (x - centre) ** 2).sum(axis=1, keepdims=True)
    # A single point in the part has no slope.
    share = -weight * (x - centre) / np.where(spread > 0, spread, 1.0)
    fall = (share * np.where(used, points.errors, 0.0)).sum(axis=1)
    if points.covariance is not None:
        variance = np.einsum("ci,cij,cj->c", share, points.covariance, share)
    elif points.stderr is not None:
        variance = (share**2 * np.where(used, points.stderr, 0.0) ** 2).sum(axis=1)
    else:
        variance = (share**2 / np.where(used, points.share, 1.0)).sum(axis=1) * sigma**2
    return fall, np.sqrt(np.maximum(variance, 0.0))


def _both(value: Floats, noise: Floats) -> Floats:
    return np.hypot(np.maximum(value, 0.0), noise)


@cache
def shipped_gain() -> GainBound:
    """Return the bound that comes with the package."""
    return GainBound.from_dict(json.loads(files("truefit._stats").joinpath("curve_gain.json").read_text()))
