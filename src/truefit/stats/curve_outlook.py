"""The outlook of learning curves: what more rows would bring, how sure that is, and where it cannot be said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit.stats.curve_average import Averaged, averages
from truefit.stats.curve_interval import Calibration, features, shipped
from truefit.stats.curve_noise import SLOWEST, noise, recency, usual_noise
from truefit.stats.curve_points import Points

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]

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
    def nothing_learned(self) -> Marks:
        """Whether a curve has not begun to fall: what it will do when it does cannot be seen."""
        errors = self.points.errors
        fell = np.nanmax(errors, axis=1) - np.nanmin(errors, axis=1) - _RANGE_SCATTER * self.sigma
        return np.asarray((fell < _FLAT * self.level) & (self.level > _HIGH) & (self.points.last < _FEW))

    @property
    def rising(self) -> Marks:
        """Whether a curve ends clearly above an earlier part.

        The fewer the rows, the more points scatter: a low point among the first is more easily chance.
        """
        middle = np.where(self.points.used, self.points.share, np.nan)[:, 1:-1]
        chance = np.maximum(_RISE_SCATTER * usual_noise(self.points)[:, None] * middle**-0.25, _RISE)
        return np.asarray((self.level[:, None] - self.points.smoothed() > chance).any(axis=1))

    @property
    def accelerating(self) -> Marks:
        """Whether a curve fell more in its last doubling than in the one before."""
        before, between = self.points.around(1 / 4), self.points.around(1 / 2)
        more = (between - self.level) - (before - between)
        return more > np.maximum(_RISE_SCATTER * self.sigma, _RISE / 2)

    @property
    def surprised(self) -> Marks:
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
