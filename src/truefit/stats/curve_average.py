"""The curve that is extrapolated: power laws averaged over their exponents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit.stats.curve_families import power_law
from truefit.stats.curve_points import Points
from truefit.stats.curves import Problem

Floats = npt.NDArray[np.float64]

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
