"""Learning curves that single cross-validations measure: the error with more rows and the gain, in standard errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._stats.curve_forecast import Outlook, Side, slope

Kind = Literal["share", "loss"]

#: Features in the order of the stored weights, all but the rows relative to the standard error of the last point or to
#: the error: requested over last size, fall of the fitted curve until there, how far it moves when older points count
#: more, back-test error, noise of the slope, scatter, relative standard error, share learned, rows.
FEATURES: Final = (
    *("one", "ahead", "fall", "memory", "backtest", "slope", "scatter", "noise", "learned", "rows"),
    *("ahead_fall", "ahead_noise"),
)
#: Logs of the multiples of the rows that the widths are of; between them they are interpolated, beyond they stay.
_WIDTHS_AT: Final = np.log((2.0, 4.0, 8.0))
#: Smallest standard error of a loss, as a share of the error; of a share of n rows it is that of one row in n.
_LEAST_NOISE = 1e-3
#: Slopes are taken over the sizes above the largest divided by this.
_SLOPE = 4.5


def unit_of(outlook: Outlook, kind: Kind) -> Floats:
    """Return the standard error of the last point of each curve, and no less than a smallest one."""
    least = 1 / outlook.points.last if kind == "share" else _LEAST_NOISE * outlook.level
    return np.maximum(np.maximum(outlook.last_noise, least), 1e-12)


def features_of(outlook: Outlook, sizes: npt.ArrayLike, unit: Floats) -> Floats:
    """Return :data:`FEATURES` of sizes of shape (curves, m); the features come last."""
    points, curve = outlook.points, outlook.curve
    at, last = np.asarray(sizes, dtype=np.float64), points.last[:, None]
    at = np.maximum(at, last)
    # The level is a mean of three errors: a third of the noise of one row is the least that is not 0.
    se, level = unit[:, None], np.maximum(outlook.level, unit / 3)[:, None]
    ahead = np.log(at / last)
    fall = np.log1p(np.maximum(curve.predict(last) - curve.predict(at), 0.0) / se)
    _, slope_noise = slope(points, outlook.sigma, _SLOPE)
    highest = np.nanmax(points.errors, axis=1)[:, None]
    noise = np.log(se / level)
    columns = (
        np.ones_like(ahead),
        ahead,
        fall,
        np.log(0.1 + np.abs(curve.predict(at) - outlook.slow.predict(at)) / se),
        np.log(0.1 + outlook.worst_backtest[:, None] / se),
        np.log(0.1 + slope_noise[:, None] / se),
        np.log(0.1 + outlook.sigma[:, None] / se),
        noise,
        np.log(np.maximum(1 - level / np.maximum(highest, 1e-12), 0.0) + 0.01),
        np.log(last),
        ahead * fall,
        ahead * noise,
    )
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


class Ends(NamedTuple):
    """A value and the ends of its interval, each of shape (curves, m)."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Spread:
    """How far truths lie below and above a forecast, in standard errors; multiplied by ``widths``."""

    below: Side
    above: Side
    widths: Floats

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Spread:
        """Read a part of ``curve_single_runs.json``."""
        sides = (stored["below"], stored["above"])
        below, above = (Side(np.array(side["weights"]), np.array(side["quantiles"])) for side in sides)
        return cls(below, above, np.array(stored["widths"]))

    def ends(self, value: Floats, unit: Floats, features: Floats, tails: Floats, level: float) -> Ends:
        """Return a value with the ends of its interval."""
        unit = unit * np.interp(features[..., FEATURES.index("ahead")], _WIDTHS_AT, self.widths)
        below, above = (unit * side.reach(features, tails, (1 - level) / 2) for side in (self.below, self.above))
        return Ends(value, value - below, value + above)


@dataclass(frozen=True, slots=True)
class SingleRuns:
    """Intervals of one kind of losses.

    ``tails`` descend. ``centre`` is by how much the truth is above the fitted curve on average, in standard errors.
    """

    kind: Kind
    tails: Floats
    centre: Floats
    error: Spread
    gain: Spread

    @classmethod
    def from_dict(cls, kind: Kind, stored: Mapping[str, Any]) -> SingleRuns:
        """Read the constants of one kind, as ``benchmarks.curve_constants`` writes them."""
        own = stored[kind]
        spreads = (Spread.from_dict(own[name]) for name in ("error", "gain"))
        return cls(kind, np.array(stored["tails"]), np.array(own["centre"]), *spreads)

    def values(self, outlook: Outlook, sizes: npt.ArrayLike) -> Floats:
        """Return the error at sizes of shape (curves, m), corrected for the bias of the fitted curve.

        The correction may grow faster than the curve falls: where the curve falls, the error does not rise.
        """
        at, last = np.asarray(sizes, dtype=np.float64), outlook.points.last[:, None]
        found = outlook.curve.predict(at) + self._correction(outlook, at)
        between = last * _AHEAD
        lowest = np.minimum.accumulate(outlook.curve.predict(between) + self._correction(outlook, between), axis=1)
        before = np.maximum(np.searchsorted(_AHEAD, at / last, side="right") - 1, 0)
        falls = (at > last) & (outlook.curve.predict(at) <= outlook.curve.predict(last))
        least = np.take_along_axis(lowest, np.broadcast_to(before, found.shape), axis=1)
        return np.maximum(np.where(falls, np.minimum(found, least), found), 0.0)

    def end(self, outlook: Outlook) -> Floats:
        """Return the error that curves level off at, with the correction at the farthest size."""
        far = FARTHEST * outlook.points.last[:, None]
        found = outlook.curve.end[:, None] + self._correction(outlook, far)
        return np.clip(found, 0.0, self.values(outlook, far))[:, 0]

    def _correction(self, outlook: Outlook, sizes: npt.ArrayLike) -> Floats:
        unit = unit_of(outlook, self.kind)
        return np.asarray(unit[:, None] * (features_of(outlook, sizes, unit) @ self.centre))

    def errors(self, outlook: Outlook, sizes: npt.ArrayLike, level: float, *, largest: float = 1.0) -> Ends:
        """Return the error at sizes of shape (curves, m), between 0 and the largest possible error."""
        unit, value = unit_of(outlook, self.kind), self.values(outlook, sizes)
        found = self.error.ends(value, unit[:, None], features_of(outlook, sizes, unit), self.tails, level)
        return Ends(*(np.clip(each, 0.0, largest) for each in found))

    def gains(self, outlook: Outlook, sizes: npt.ArrayLike, level: float) -> Ends:
        """Return the fall of the error from the last measured size to others; 0 up to the last.

        The noise of the last point is in both errors, so this is narrower than a difference of two intervals.
        """
        unit, last = unit_of(outlook, self.kind), outlook.points.last[:, None]
        at = np.maximum(np.asarray(sizes, dtype=np.float64), last)
        now = self.values(outlook, last)
        # There is no gain in no rows; constants were learnt from 1.25 times the rows on.
        share = np.minimum(np.log(at / last) / np.log(_NEAREST), 1.0)
        scale, features = share * unit[:, None], features_of(outlook, at, unit)
        fall = np.where(at > last, now - self.values(outlook, at), 0.0)
        found = self.gain.ends(fall, scale, features, self.tails, level)
        return Ends(*(np.minimum(each, now) for each in found))


#: Largest multiple of the measured rows that an answer is given for, and the multiples up to it.
FARTHEST = 1000
_AHEAD = np.geomspace(1.0, FARTHEST, 121)
#: Smallest factor of the rows that the constants of gains were learnt at.
_NEAREST = 1.25


@cache
def shipped_single_runs(kind: Kind) -> SingleRuns:
    """Return the constants that come with the package."""
    stored = json.loads(files("truefit._stats").joinpath("curve_single_runs.json").read_text())
    return SingleRuns.from_dict(kind, stored)
