"""Intervals of extrapolated errors, by how far such extrapolations were off on reference curves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput

Floats = npt.NDArray[np.float64]

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
    return Calibration.from_dict(json.loads(files("truefit.stats").joinpath("curve_interval.json").read_text()))
