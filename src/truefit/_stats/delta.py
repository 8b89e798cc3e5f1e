"""Delta-method intervals for smooth functions of means over rows, such as F1, RMSE or R²."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.intervals import Interval, Tail, around_skewed, normal_quantile, wilson

#: The scale on which the interval is computed: the value, its square with its sign, or its log-odds.
Scale = Literal["plain", "square", "logit"]
#: Also of metrics with one bound: symmetric in the logarithm of the value, or of its distance to 1.
BoundedScale = Scale | Literal["log", "log_gap"]

#: Shares that a value is the mean of, and what share of the rows each of them is a share of.
Shares = Callable[[Floats], tuple[Floats, Floats] | None]


class Estimated(NamedTuple):
    """A value with its interval, or with the reason why there is none."""

    estimate: float
    interval: Interval | None
    reason: str | None = None


def delta_interval(
    parts_by_repeat: Iterable[npt.ArrayLike],
    value: Callable[[Floats], float],
    slopes: Callable[[Floats], Floats],
    scale: Scale,
    *,
    factor: float,
    level: float = 0.95,
    shares: Shares | None = None,
    centre: float | None = None,
) -> Estimated:
    r"""Interval for a function :math:`g` of the means over the rows of one test set, or of one or more partitions.

    With :math:`\Sigma` the covariance matrix of the parts and :math:`T` the scale's transformation,

    .. math:: T(g(\bar x)) \pm z \cdot \text{factor} \cdot |T'(g)| \sqrt{\nabla g^\top \Sigma \nabla g / n}

    and back through :math:`T`. On the logit scale the value is a mean of shares. One of exactly 0 or 1 shows no spread:
    with ``shares`` the end on that side is then Wilson's, and several distances are combined as the root of the sum of
    squares. Any other value has Student's quantile and the two factors of ``Tail``, from the
    skewness of the rows' influence :math:`\nabla g \cdot (x_i - \bar x)`: the interval of an RMSE is the root of that
    of the mean squared error. Over several partitions the centre is the mean of the values; the spread is that of a
    single run, since there are still only n rows.

    Each of ``parts_by_repeat`` has shape (n, p): what each row adds to each mean. ``value`` and ``slopes`` are g and
    its gradient, ``factor`` is 1 for a hold-out set, ``centre`` is the estimate where it is not the value of all rows
    together, but for instance the mean of the folds' values. An interval of shares is around that estimate, another
    around the value of all rows, which few rows in a fold do not move, and reaches at least to the estimate.

    References
    ----------
    G. Y. Zou and A. Donner (2008), Construction of confidence limits about effect measures, Statistics in Medicine
    27:1693-1702: limits of a sum from the limits of its terms.
    """
    repeats = [np.asarray(parts, dtype=np.float64) for parts in parts_by_repeat]
    if repeats and all(x.ndim == 2 and len(x) == 1 and np.isfinite(x).all() for x in repeats):
        only = float(np.mean([value(x[0]) for x in repeats])) if centre is None else centre
        return Estimated(only, None, "a single row shows no spread")
    n, means, covariance, pooled, tail = _gathered(repeats, value, slopes)
    estimate = pooled if centre is None else centre
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = np.asarray(slopes(means), dtype=np.float64)
    if not (math.isfinite(estimate) and np.isfinite(gradient).all()):
        return Estimated(estimate, None, "all rows have the same value")
    error = math.sqrt(_variance(gradient, covariance) / n)
    if scale == "logit":
        edges = shares(means) if shares is not None else None
        half = normal_quantile(level) * (factor * error)
        return interval_on_scale(estimate, half, scale, level=level, rows=n / factor**2, edges=edges)
    at, steepness = _forth(pooled, scale)
    low, high = (_back(e, scale) for e in around_skewed(at, steepness * error, tail, factor=factor, level=level))
    low, high = (min(low, estimate), max(high, estimate)) if low < high else (low, high)
    if low == high:
        return Estimated(estimate, None, "it does not vary between rows")
    return Estimated(estimate, (low, high))


def interval_on_scale(
    estimate: float,
    half: float,
    scale: BoundedScale,
    *,
    level: float = 0.95,
    rows: float,
    edges: tuple[Floats, Floats] | None = None,
) -> Estimated:
    """Interval around an estimate from its half width on the plain scale, symmetric on ``scale``.

    ``edges`` are the shares that the estimate is the mean of, and what share of the ``rows`` (an effective number) each
    of them is a share of; see :func:`delta_interval`.
    """
    low, high = _on_scale(estimate, half, scale)
    if edges is not None:
        found, among = edges
        if not among.any():
            return Estimated(estimate, None, "none of the rows counts towards it")
        below, above = _gaps(found, among * rows, level)
        low, high = estimate - math.hypot(estimate - low, below), estimate + math.hypot(high - estimate, above)
    if low == high:
        return Estimated(estimate, None, "it does not vary between rows")
    return Estimated(estimate, (low, high))


def _gathered(
    repeats: Iterable[Floats], value: Callable[[Floats], float], slopes: Callable[[Floats], Floats]
) -> tuple[int, Floats, Floats, float, Tail]:
    """Return the number of rows, and means, covariance matrix, value and tail, each averaged over the repeats."""
    found = []
    for x in repeats:
        if x.ndim != 2 or len(x) < 2 or not np.isfinite(x).all():
            raise InvalidInput(
                "The parts of an interval must be finite numbers, at least 2 rows of them, with a column for each mean."
                f" Got shape {x.shape}{'' if np.isfinite(x).all() else ' with NaN or infinite values'} instead."
            )
        means = x.mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            influence = (x - means) @ np.nan_to_num(slopes(means), posinf=0.0, neginf=0.0)
        covariance = np.atleast_2d(np.cov(x, rowvar=False))
        found.append((len(x), means, covariance, float(value(means)), Tail.of(influence)))
    sizes = sorted({size for size, *_ in found})
    if len(sizes) != 1:
        raise InvalidInput(
            f"The parts must be of at least 1 repeat, with as many rows in each. Got {len(found)} of {sizes} rows."
        )
    _, all_means, covariances, values, tails = zip(*found, strict=True)
    means, covariance = np.mean(all_means, axis=0), np.mean(covariances, axis=0)
    return sizes[0], means, covariance, float(np.mean(values)), Tail.mean_of(tails)


def _variance(gradient: Floats, covariance: Floats) -> float:
    variance = float(gradient @ covariance @ gradient)
    # Parts that cancel exactly, as in an F1 of 1, leave rounding.
    size = float(np.abs(gradient) @ np.abs(covariance) @ np.abs(gradient))
    return variance if variance > 1e-13 * size else 0.0


def _on_scale(centre: float, half: float, scale: BoundedScale) -> Interval:
    """Return the ends around a centre, for a half width on the plain scale."""
    if half == 0.0:
        return centre, centre
    if scale == "log_gap":
        low, high = _on_scale(1 - centre, half, "log") if centre < 1 else (1 - centre - half, 1 - centre + half)
        return 1 - high, 1 - low
    if scale == "log":
        if centre == 0:
            return centre - half, centre + half
        stretch = math.exp(half / abs(centre))
        ends = centre / stretch, centre * stretch
        return min(ends), max(ends)
    at, steepness = _forth(centre, scale)
    if not math.isfinite(at) or steepness == 0:
        return centre - half, centre + half
    return _back(at - steepness * half, scale), _back(at + steepness * half, scale)


def _gaps(found: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """How far below and above the mean of shares may be for those of them that are exactly 1 or 0."""
    below = above = 0.0
    for share, count in zip(found.tolist(), counts.tolist(), strict=True):
        if count == 0:  # such a share is 0 by convention, and unknown
            above += 1.0
        elif share <= 1e-12:
            above += wilson(0.0, count, level)[1] ** 2
        elif share >= 1 - 1e-12:
            below += (1 - wilson(1.0, count, level)[0]) ** 2
    return math.sqrt(below) / len(found), math.sqrt(above) / len(found)


class Linearised:
    r"""A function :math:`g` of means, linearised at :math:`\bar x` on a scale :math:`T`.

    A row with parts :math:`x_i` becomes :math:`T(g(\bar x)) + T'(g(\bar x))\,\nabla g(\bar x)\cdot(x_i - \bar x)`: the
    mean of these is :math:`T(g(\bar x))`, and their spread that of the delta method.

    >>> squares = np.array([[1.0], [4.0], [9.0], [2.0]])
    >>> near = Linearised(squares.mean(axis=0), lambda m: m[0] ** 0.5, lambda m: 0.5 / m**0.5, "square")
    >>> round(near.back(near.rows(squares).mean()), 6)
    2.0
    """

    def __init__(
        self, means: Floats, value: Callable[[Floats], float], slopes: Callable[[Floats], Floats], scale: Scale
    ) -> None:
        self._means = means
        self._scale = scale
        with np.errstate(divide="ignore", invalid="ignore"):
            self._at, steepness = _forth(float(value(means)), scale)
            self._gradient = np.asarray(slopes(means), dtype=np.float64) * steepness

    @property
    def defined(self) -> bool:
        """Whether the function has a slope there: a share of exactly 0 or 1 has none on the logit scale."""
        return math.isfinite(self._at) and bool(np.isfinite(self._gradient).all())

    def rows(self, parts: Floats) -> Floats:
        """One value per row."""
        linear: Floats = self._at + (parts - self._means) @ self._gradient
        return linear

    def back(self, linear: float) -> float:
        """Return a value on the scale as a value of the function."""
        return _back(linear, self._scale)


def _forth(value: float, scale: Scale) -> tuple[float, float]:
    """Value on the scale, and the slope of the scale there; NaN where the scale is not defined."""
    if scale == "square":
        return value * abs(value), 2 * abs(value)
    if scale == "logit":
        return (float(logit(value)), 1 / (value * (1 - value))) if 0 < value < 1 else (math.nan, math.nan)
    return value, 1.0


def _back(linear: float, scale: Scale) -> float:
    if scale == "square":
        return math.copysign(math.sqrt(abs(linear)), linear)
    return float(expit(linear)) if scale == "logit" else linear
