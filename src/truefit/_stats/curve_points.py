"""Measured points of learning curves, many curves side by side: their noise, and the next size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats


@dataclass(frozen=True, slots=True)
class Points:
    """Curves in rows, sizes ascending; shorter ones are filled up with NaN on the left, so that all end together.

    Attributes
    ----------
    sizes, errors : array of shape (curves, points)
    stderr : array of shape (curves, points) or None
        Standard errors of the errors, None where they are not known.
    covariance : array of shape (curves, points, points) or None
        Of the errors, where samples share rows; 0 where there is no point. None where that is not known.
    """

    sizes: Floats
    errors: Floats
    stderr: Floats | None = None
    covariance: Floats | None = None

    @classmethod
    def of(
        cls,
        sizes: Sequence[npt.ArrayLike],
        errors: Sequence[npt.ArrayLike],
        stderr: Sequence[npt.ArrayLike] | None = None,
    ) -> Points:
        """Put curves of different lengths side by side.

        Examples
        --------
        >>> Points.of([[10, 20], [10, 20, 40]], [[0.3, 0.2], [0.4, 0.3, 0.2]]).sizes.tolist()
        [[nan, 10.0, 20.0], [10.0, 20.0, 40.0]]
        """
        filled = [_filled(column) for column in (sizes, errors, stderr) if column is not None]
        return cls(*filled)

    @property
    def used(self) -> npt.NDArray[np.bool_]:
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
        """Mean of the errors at the sizes that are nearest, as a ratio, to a share of the largest."""
        with np.errstate(divide="ignore"):
            distance = np.abs(np.log(self.share / share))
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
        return np.asarray(np.nanmean(np.take_along_axis(self.errors, nearest, axis=1), axis=1))

    def smoothed(self) -> Floats:
        """Means of three neighbours; NaN where there are not three. At least three points are needed."""
        return (self.errors[:, 2:] + self.errors[:, 1:-1] + self.errors[:, :-2]) / 3


def _filled(rows: Sequence[npt.ArrayLike]) -> Floats:
    columns = [np.asarray(row, dtype=np.float64) for row in rows]
    filled = np.full((len(columns), max(map(len, columns), default=0)), np.nan)
    for row, column in zip(filled, columns, strict=True):
        row[len(row) - len(column) :] = column
    return filled


#: Points, from the end, whose scatter is looked at; and whose standard errors are.
_SCATTER, _STDERR = 10, 5
#: Errors are rarely known better than this.
FLOOR = 5e-4
#: How slowly and how fast points may lose weight.
SLOWEST, FASTEST = 1.5, 5.0


def noise(points: Points) -> Floats:
    r"""Standard deviation of the last points around their curve.

    Each point is compared with the line, in :math:`\ln n`, between its neighbours; the standard errors, where known,
    are a second opinion, and the smaller one counts: a bend of the curve looks like scatter, and a standard error also
    has in it what all points have in common.

    Examples
    --------
    >>> zigzag = Points.of([[10, 20, 40, 80, 160]], [[0.30, 0.26, 0.30, 0.26, 0.30]])
    >>> noise(zigzag).round(4).tolist()
    [0.0327]
    """
    found: Floats = np.sqrt(np.nanmean(_off_the_line(points) ** 2, axis=1))
    return _second_opinion(points, found)


def usual_noise(points: Points) -> Floats:
    """Return the same by the median point: a bend or a peak of the curve does not count as scatter.

    Examples
    --------
    >>> step = Points.of([10 * 2 ** np.arange(8)], [[0.34, 0.32, 0.30, 0.28, 0.26, 0.50, 0.48, 0.46]])
    >>> noise(step).round(4).tolist(), usual_noise(step).round(4).tolist()
    ([0.0613], [0.0005])
    """
    found: Floats = 1.4826 * np.nanmedian(np.abs(_off_the_line(points)), axis=1)
    return _second_opinion(points, np.minimum(found, noise(points)))


def _off_the_line(points: Points) -> Floats:
    """How far the last points lie off the lines between their neighbours, in standard deviations of a single point."""
    u, y = np.log(points.sizes), points.errors
    left = (u[:, 2:] - u[:, 1:-1]) / (u[:, 2:] - u[:, :-2])
    right = 1 - left
    off: Floats = (y[:, 1:-1] - left * y[:, :-2] - right * y[:, 2:]) / np.sqrt(1 + left**2 + right**2)
    return off[:, -_SCATTER:]


def _second_opinion(points: Points, scatter: Floats) -> Floats:
    if points.stderr is not None:
        scatter = np.fmin(scatter, np.nanmean(points.stderr[:, -_STDERR:], axis=1))
    return np.asarray(np.maximum(scatter, FLOOR))


def recency(points: Points, sigma: Floats) -> Floats:
    r"""How fast points lose weight with their distance from the last: the exponent γ of :math:`(n/n_\text{last})^γ`.

    Old points say less about what comes than new ones, because no family of curves is true. Where points scatter little
    compared with what the curve falls in two doublings, few of them are enough.
    """
    fall = np.abs(points.around(1 / 4) - points.end(2)) / sigma
    weight: Floats = np.clip(2 + 2 * np.log10(np.maximum(fall, 1e-9) / 4), SLOWEST, FASTEST)
    return weight


def lemma_4_size(
    last: float, value: Callable[[Floats], Floats], noise: float, *, shortest: float, longest: float
) -> float:
    r"""Return the smallest m with :math:`f(l) - ν(l) \ge f(m) + ν(m)`, between two multiples of l (the paper's Eq. 25).

    Parameters
    ----------
    last : float
        The size l that was measured last.
    value : callable
        The curve f at sizes.
    noise : float
        Standard error ν(l) of the last point; that of another size is taken to fall with the square root of the size.
    shortest, longest : float
        Least and largest ratio of the two sizes. Where no size is large enough it is the largest.

    Examples
    --------
    >>> def falling(n):
    ...     return 10 * n**-0.5
    >>> steps = {"shortest": 1.1, "longest": 2.0}
    >>> [round(lemma_4_size(100, falling, noise, **steps)) for noise in (0.01, 0.1, 0.3)]
    [110, 150, 200]
    """
    sizes = np.geomspace(shortest, longest, 61) * last
    fall = value(np.array([last]))[0] - value(sizes)
    enough = np.flatnonzero(fall >= noise * (1 + np.sqrt(last / sizes)))
    return float(sizes[enough[0]] if enough.size else sizes[-1])


def nested_covariance(shares: Sequence[Floats], clusters: npt.NDArray[np.intp] | None = None) -> Floats:
    """Covariance of the points of a curve, from what each row adds to each of them.

    A bootstrap that replays the nested sampling draws rows, and a row takes with it what it adds at every size: points
    that share rows move together. What such a bootstrap comes to with ever more draws is the sum of products below, so
    nothing has to be drawn.

    Parameters
    ----------
    shares : sequence of array
        For each point, what each row of its sample adds to the distance of the error from its mean: for a mean of
        losses (loss − mean)/size. Samples are nested: the first rows of a longer one are those of a shorter one.
    clusters : array of int, optional
        Of each row of the longest sample; rows of one cluster are drawn together.

    Examples
    --------
    >>> small = np.array([1.0, 0.0, 0.0, 1.0])
    >>> large = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    >>> nested_covariance([(small - 0.5) / 4, (large - 0.25) / 8]).tolist()
    [[0.0625, 0.015625], [0.015625, 0.0234375]]
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
