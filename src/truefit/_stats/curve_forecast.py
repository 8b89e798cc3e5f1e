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

#: Exponents that are averaged over, and their prior: centre and standard deviation.
EXPONENTS = np.linspace(0.01, 1.2, 41)
_CENTRE, _SPREAD = 0.45, 0.4
#: Losses are measured in units of this many variances.
_SHARPNESS = 0.1


@dataclass(frozen=True, slots=True)
class Averaged:
    """Curves a + b·n^−c, one per exponent c, with weights of shape (curves, exponents); sizes are in ``unit``."""

    weights: Floats
    a: Floats
    b: Floats
    unit: Floats

    @property
    def end(self) -> Floats:
        """Asymptotic errors."""
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
    """Fit a power law for each exponent, and weight them by how well they fit and by a prior on exponents.

    The points are fitted once for each of ``weights``, arrays of shape (curves, points); ``sigma`` is the noise of the
    points. Which of several well-fitting exponents is best is random and decides the forecast: on the reference curves
    the average is closer than the best, the more so the noisier the points.
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


#: Features of the interval width, in the order of the stored weights: requested over last size, how far the value moves
#: when older points count more, back-test error, error level, its distance to 1, share learned, noise, rows.
FEATURES = ("one", "ahead", "memory", "backtest", "level", "left", "learned", "noise", "rows")


def _log(x: Floats) -> Floats:
    return np.log(np.maximum(x, 0.0) + 0.001)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an interval: the log of its scale is linear in the features; ``quantiles`` are multiples of it."""

    weights: Floats
    quantiles: Floats

    def reach(self, features: Floats, tails: Floats, tail: float) -> Floats:
        """Return the distance that is exceeded with probability ``tail``."""
        return np.exp(features @ self.weights) * np.interp(np.log(tail), np.log(tails[::-1]), self.quantiles[::-1])


@dataclass(frozen=True, slots=True)
class CurveCalibration:
    """The two sides, and the tail probabilities that they were calibrated for, descending."""

    tails: Floats
    below: Side
    above: Side

    def interval(self, features: Floats, level: float) -> tuple[Floats, Floats]:
        """Return how far the interval of a level extends down and up."""
        self.check(level)
        tail = (1 - level) / 2
        return self.below.reach(features, self.tails, tail), self.above.reach(features, self.tails, tail)

    @property
    def levels(self) -> tuple[float, float]:
        """The lowest and the highest level that the reference curves support."""
        return float(1 - 2 * self.tails[0]), float(1 - 2 * self.tails[-1])

    def check(self, level: float) -> None:
        """Refuse a level that the reference curves do not support."""
        narrowest, widest = self.levels
        if not isinstance(level, float) or not narrowest - 1e-9 <= level <= widest + 1e-9:
            raise InvalidInput(
                f"The 'level' of an extrapolated interval must lie between {narrowest:g} and {widest:g}, the range it "
                f"is calibrated for. Got {level!r} instead."
            )

    @classmethod
    def from_dict(cls, stored: Mapping[str, Mapping[str, list[float]]]) -> CurveCalibration:
        """Read what ``benchmarks.curve_constants`` writes."""
        sides = [
            Side(np.array(stored[side]["weights"]), np.array(stored[side]["quantiles"])) for side in ("below", "above")
        ]
        return cls(np.array(stored["tails"]), *sides)


@cache
def shipped() -> CurveCalibration:
    """Return the calibration that comes with the package."""
    return CurveCalibration.from_dict(json.loads(files("truefit._stats").joinpath("curve_interval.json").read_text()))


#: Smallest number of points, and smallest ratio of the last to the first size.
LEAST_POINTS, LEAST_SPAN = 5, 2.0
#: A back-test uses the points up to the last size over each of these, if there are at least so many.
_BACK, _BACK_POINTS = (2, 4, 8), 3
#: The back-test error assumed for a curve too short for one.
_UNTESTED = 0.05
#: Nothing learned yet: a fall below this share of the level, on fewer than so many rows; and a level that is above the
#: baseline by a standard error or, where the baseline is unknown, above this one.
_FLAT, _FEW, _HIGH = 0.05, 3000, 0.25
#: A plateau reaches from this share of the rows to all of them.
_LATE = 0.24
#: Scatter in standard deviations: of the range of all points, and of a mean of three.
_RANGE_SCATTER, _RISE_SCATTER = 3.0, 3.0
#: Smaller rises are ignored.
_RISE = 0.02
#: Back-test errors above this give a warning.
_OFF = 0.1


@dataclass(frozen=True, slots=True)
class Outlook:
    """Curves beyond their last point. Errors are shares of 1, or of the largest error.

    ``curve`` is extrapolated; ``slow`` is the curve if older points counted more. ``sigma`` is the noise of the points,
    ``gamma`` how fast they lose weight with age. ``backtests`` of shape (curves, 3) is how far off the last two points
    were when predicted from a half, a quarter and an eighth of the last size; NaN where there were too few points.
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
        """Whether a curve has not begun to fall, so that its course cannot be predicted.

        A flat curve that is clearly below the baseline has learned what it can: a plateau. One that is level with the
        baseline has a forecast, since intervals hold there as often as elsewhere.
        """
        baseline = self.points.baseline
        high = self.level > (_HIGH if baseline is None else baseline + self.last_noise)
        return np.asarray(self._flat & high & (self.points.last < _FEW))

    @property
    def plateau(self) -> Mask:
        """Whether the last points of a curve, from a quarter of its rows on, are level and below the baseline."""
        baseline = self.points.baseline
        if baseline is None:
            return np.zeros(len(self.level), dtype=bool)
        late = np.where(self.points.share >= _LATE, self.points.errors, np.nan)
        fell = np.nanmax(late, axis=1) - np.nanmin(late, axis=1) - _RANGE_SCATTER * self.sigma
        return np.asarray((fell < _FLAT * self.level) & (self.level < baseline - self.last_noise))

    @property
    def _flat(self) -> Mask:
        errors = self.points.errors
        fell = np.nanmax(errors, axis=1) - np.nanmin(errors, axis=1) - _RANGE_SCATTER * self.sigma
        return np.asarray(fell < _FLAT * self.level)

    @property
    def last_noise(self) -> Floats:
        """Standard error of the last point; the scatter where it is unknown."""
        return self.sigma if self.points.stderr is None else self.points.stderr[:, -1]

    @property
    def rising(self) -> Mask:
        """Whether a curve ends clearly above an earlier part; low points among few rows are more easily chance."""
        middle = np.where(self.points.used, self.points.share, np.nan)[:, 1:-1]
        chance = np.maximum(_RISE_SCATTER * usual_noise(self.points)[:, None] * middle**-0.25, _RISE)
        if self.points.covariance is not None:
            chance = np.maximum(chance, _RISE_SCATTER * _rise_noise(self.points.covariance))
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

    def features(self, sizes: npt.ArrayLike, start: Floats | None = None) -> Floats:
        """Return :data:`FEATURES` of sizes of shape (curves, m), from the last measured sizes or another ``start``."""
        at, rows = np.asarray(sizes, dtype=np.float64), self.points.last[:, None] if start is None else start
        ahead, level = at / rows, self.level[:, None]
        highest = np.nanmax(self.points.errors, axis=1)[:, None]
        columns = (
            np.ones_like(ahead),
            np.log(np.maximum(ahead, 1.0)),
            _log(np.abs(self.curve.predict(at) - self.slow.predict(at))),
            _log(self.worst_backtest[:, None]),
            _log(level),
            _log(1 - level),
            np.log(np.maximum(1 - level / np.maximum(highest, 1e-12), 0.0) + 0.01),
            _log(self.sigma[:, None]),
            np.log(rows),
        )
        return np.stack(np.broadcast_arrays(*columns), axis=-1)

    def predict(
        self, sizes: npt.ArrayLike, level: float, *, largest: float = 1.0, calibration: CurveCalibration | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return value, low and high end at sizes of shape (curves, m), between 0 and the largest possible error."""
        value = self.curve.predict(sizes)
        below, above = (calibration or shipped()).interval(self.features(sizes), level)
        return np.minimum(value, largest), np.maximum(value - below, 0.0), np.minimum(value + above, largest)


#: Further features of the bound of a gain.
GAIN_FEATURES = ("gain", "gain and noise", "long slope and noise", "short slope and noise")
#: Slopes are taken over the sizes above the largest divided by these.
_LONG, _SHORT = 16.0, 4.5
#: A curve is tested repeatedly and stops at the first small bound. Bounds with this multiple of the tail probability
#: give the intended rate of false stops (docs/reproduction/lcdb.md).
_LOOKS = 1.5


@dataclass(frozen=True)
class GainBound:
    """Upper bounds of gains, calibrated on how much the error of reference curves still fell; ``tails`` descend."""

    tails: Floats
    above: Side

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> GainBound:
        """Read the content of ``curve_gain.json``."""
        return cls(np.array(stored["tails"]), Side(np.array(stored["weights"]), np.array(stored["quantiles"])))

    def most(self, outlook: Outlook, start: npt.ArrayLike, end: npt.ArrayLike, level: float) -> Floats:
        """Return the upper bound of the fall of the error between two sizes, each of shape (curves, m)."""
        tail = float(np.clip(_LOOKS * (1 - level), self.tails[-1], self.tails[0]))
        return self.above.reach(gain_features(outlook, start, end), self.tails, tail)


def gain_features(outlook: Outlook, start: npt.ArrayLike, end: npt.ArrayLike) -> Floats:
    """Return the features of gains between two sizes, each of shape (curves, m); the features come last.

    A start beyond the last measured size means a curve that continues as expected and is measured there.
    """
    points = outlook.points
    begin, finish = (np.asarray(sizes, dtype=np.float64) for sizes in (start, end))
    begin, finish = np.broadcast_arrays(begin, finish)
    decades = np.log(finish / begin)
    less_noise = np.sqrt(points.last[:, None] / begin)
    expected = outlook.curve.predict(begin) - outlook.curve.predict(finish)
    slopes = [[each[:, None] * decades for each in slope(points, outlook.sigma, part)] for part in (_LONG, _SHORT)]
    (long, long_noise), (short, short_noise) = slopes
    own = (
        _log(expected),
        _log(_both(expected, long_noise * less_noise)),
        _log(_both(long, long_noise * less_noise)),
        _log(_both(short, short_noise * less_noise)),
    )
    return np.concatenate([outlook.features(finish, begin), np.stack(own, axis=-1)], axis=-1)


def _rise_noise(covariance: Floats) -> Floats:
    """Return the standard errors of the last mean of three points less each of the others."""
    sums = covariance[:, 2:] + covariance[:, 1:-1] + covariance[:, :-2]
    means = (sums[:, :, 2:] + sums[:, :, 1:-1] + sums[:, :, :-2]) / 9
    own = np.diagonal(means, axis1=1, axis2=2)
    return np.sqrt(np.maximum(own + own[:, -1:] - 2 * means[:, :, -1], 0.0))


def slope(points: Points, sigma: Floats, part: float) -> tuple[Floats, Floats]:
    """Fall per unit of ln n over the last part of the sizes, and its standard error."""
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
