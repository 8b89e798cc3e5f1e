"""Measured points of learning curves, many curves side by side: their noise, and the next size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats, Mask, Positions


@dataclass(frozen=True, slots=True)
class Points:
    """Curves in rows, sizes ascending; shorter ones are padded with NaN on the left, so that all end together.

    All arrays are of shape (curves, points). ``stderr`` and ``covariance`` (one more axis, 0 where there is no point)
    are those of the errors, ``baseline`` of shape (curves,) is the error of the baseline; None where unknown.
    """

    sizes: Floats
    errors: Floats
    stderr: Floats | None = None
    covariance: Floats | None = None
    baseline: Floats | None = None

    @classmethod
    def of(
        cls,
        sizes: Sequence[npt.ArrayLike],
        errors: Sequence[npt.ArrayLike],
        stderr: Sequence[npt.ArrayLike] | None = None,
    ) -> Points:
        """Put curves of different lengths side by side."""
        return cls(*(_filled(column) for column in (sizes, errors, stderr) if column is not None))

    @property
    def used(self) -> Mask:
        """Where there is a point."""
        return np.isfinite(self.sizes)

    @property
    def last(self) -> Floats:
        """The largest size of each curve."""
        return self.sizes[:, -1]

    @property
    def share(self) -> Floats:
        """Sizes as shares of the largest; 0 where there is no point."""
        return np.where(self.used, self.sizes / self.last[:, None], 0.0)

    def end(self, count: int) -> Floats:
        """Mean of the last errors of each curve."""
        return np.asarray(np.nanmean(self.errors[:, -count:], axis=1))

    def around(self, share: float, count: int = 3) -> Floats:
        """Mean of the ``count`` errors at the sizes nearest, as a ratio, to a share of the largest."""
        with np.errstate(divide="ignore"):
            distance = np.abs(np.log(self.share / share))
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
        return np.asarray(np.nanmean(np.take_along_axis(self.errors, nearest, axis=1), axis=1))

    def smoothed(self) -> Floats:
        """Moving means of three points; NaN where there are not three."""
        return (self.errors[:, 2:] + self.errors[:, 1:-1] + self.errors[:, :-2]) / 3


def _filled(rows: Sequence[npt.ArrayLike]) -> Floats:
    columns = [np.asarray(row, dtype=np.float64) for row in rows]
    filled = np.full((len(columns), max(map(len, columns), default=0)), np.nan)
    for row, column in zip(filled, columns, strict=True):
        row[len(row) - len(column) :] = column
    return filled


#: How many of the last points give the scatter, and the mean standard error.
_SCATTER, _STDERR = 10, 5
#: Smallest noise.
FLOOR = 5e-4
#: Smallest and largest exponent of the weights.
SLOWEST, FASTEST = 1.5, 5.0


def noise(points: Points) -> Floats:
    r"""Standard deviation of the last points around their curve.

    Each point is compared with the line, in :math:`\ln n`, between its neighbours. The mean standard error counts where
    it is smaller: a bend of the curve looks like scatter, and a standard error includes what all points have in common.
    """
    return _capped(points, np.sqrt(np.nanmean(_off_the_line(points) ** 2, axis=1)))


def usual_noise(points: Points) -> Floats:
    """Return the noise by the median point: a bend or a peak of the curve does not count as scatter.

    >>> step = Points.of([10 * 2 ** np.arange(8)], [[0.34, 0.32, 0.30, 0.28, 0.26, 0.50, 0.48, 0.46]])
    >>> noise(step).round(4).tolist(), usual_noise(step).round(4).tolist()
    ([0.0613], [0.0005])
    """
    found: Floats = 1.4826 * np.nanmedian(np.abs(_off_the_line(points)), axis=1)
    return _capped(points, np.minimum(found, noise(points)))


def _off_the_line(points: Points) -> Floats:
    """Distances of the last points from the lines between their neighbours, in standard deviations of one point."""
    u, y = np.log(points.sizes), points.errors
    left = (u[:, 2:] - u[:, 1:-1]) / (u[:, 2:] - u[:, :-2])
    right = 1 - left
    off: Floats = (y[:, 1:-1] - left * y[:, :-2] - right * y[:, 2:]) / np.sqrt(1 + left**2 + right**2)
    return off[:, -_SCATTER:]


def _capped(points: Points, scatter: Floats) -> Floats:
    if points.stderr is not None:
        scatter = np.fmin(scatter, np.nanmean(points.stderr[:, -_STDERR:], axis=1))
    return np.asarray(np.maximum(scatter, FLOOR))


def recency(points: Points, sigma: Floats) -> Floats:
    r"""Exponent γ of the weights :math:`(n/n_\text{last})^γ`: how fast points lose weight with age.

    No family of curves is exact, so recent points count more. Where points scatter little compared with the fall in two
    doublings, few of them are enough.
    """
    fall = np.abs(points.around(1 / 4) - points.end(2)) / sigma
    return np.asarray(np.clip(2 + 2 * np.log10(np.maximum(fall, 1e-9) / 4), SLOWEST, FASTEST))


def lemma_4_size(
    last: float, value: Callable[[Floats], Floats], noise: float, *, shortest: float, longest: float
) -> float:
    r"""Return the smallest m with :math:`f(l) - ν(l) \ge f(m) + ν(m)`, between two multiples of l (the paper's Eq. 25).

    ``value`` is the curve f, ``noise`` the standard error ν(l) of the last point, taken to fall with the square root of
    the size. Where no size is large enough the longest step is returned.

    >>> steps = {"shortest": 1.1, "longest": 2.0}
    >>> [round(lemma_4_size(100, lambda n: 10 * n**-0.5, noise, **steps)) for noise in (0.01, 0.1, 0.3)]
    [110, 150, 200]
    """
    sizes = np.geomspace(shortest, longest, 61) * last
    fall = value(np.array([last]))[0] - value(sizes)
    enough = np.flatnonzero(fall >= noise * (1 + np.sqrt(last / sizes)))
    return float(sizes[enough[0]] if enough.size else sizes[-1])


def nested_covariance(shares: Sequence[Floats], clusters: Positions | None = None) -> Floats:
    """Covariance of the points of a curve, from what each row adds to each of them.

    Samples are nested: the first rows of a longer one are those of a shorter one, so points that share rows move
    together. ``shares`` hold, per point, what each row adds to the error minus its mean: (loss − mean)/size for a mean
    loss. Rows of one of the ``clusters`` are drawn together. The limit of a bootstrap over rows, in closed form.
    """
    if clusters is not None:
        shares = [np.bincount(clusters[: len(each)], each).astype(np.float64) for each in shares]
    count = len(shares)
    found = np.empty((count, count))
    for i, one in enumerate(shares):
        for j, other in enumerate(shares[: i + 1]):
            common = min(len(one), len(other))
            found[i, j] = found[j, i] = one[:common] @ other[:common]
    return found
