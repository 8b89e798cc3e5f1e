"""What more rows may bring at most, where each point of a curve is one cross-validation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.stats.curve_interval import Side
from truefit.stats.curve_interval import features as interval_features
from truefit.stats.curve_outlook import Outlook
from truefit.stats.curve_points import Points

Floats = npt.NDArray[np.float64]

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
    usual = interval_features(
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


def _log(x: Floats) -> Floats:
    return np.log(np.maximum(x, 0.0) + 0.001)


@cache
def shipped_gain() -> GainBound:
    """Return the bound that comes with the package."""
    return GainBound.from_dict(json.loads(files("truefit.stats").joinpath("curve_gain.json").read_text()))
