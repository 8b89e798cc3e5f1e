"""Delta-method intervals for smooth functions of means over rows, such as F1, RMSE or R²."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.intervals import Interval, normal_quantile, wilson

#: What the interval is symmetric on: the value itself, the logarithm of its size, its log-odds, or the logarithm of its
#: distance from 1. The last three keep the ends where the value can be.
Scale = Literal["plain", "log", "logit", "log_gap"]

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

    and back through :math:`T`. Where a share is exactly 0 or 1 the rows show no spread of it, and yet it is not known
    exactly. With ``shares`` the end on that side is then as far off as Wilson's interval has it; several such shares,
    and what the delta method gives for the rest, are put together as the root of the sum of squares.

    Over several partitions of the same rows the centre is the mean over repeats of the value of each. The spread is
    that of a single run, from the mean of the runs' covariance matrices: repeating settles the centre, but there are
    still only n rows.

    Parameters
    ----------
    parts_by_repeat : iterable of array-likes of shape (n, p)
        What each row adds to each mean, for each repeat; gone through once.
    value, slopes : callable
        :math:`g` and its gradient, from the p means.
    scale : {"plain", "log", "logit", "log_gap"}
    factor : float
        What the standard deviation is multiplied by: 1 for a test set that was never trained on.
    level : float, default=0.95
    shares : callable, optional
        From the p means, the shares whose mean the value is, and the share of rows that each is among.
    centre : float, optional
        What to take as the estimate in the place of the value of all rows together, such as the mean of the folds'
        values; the spread is computed from the rows all the same.

    Returns
    -------
    Estimated
        The value, its interval or None, and the reason where it is None.

    References
    ----------
    G. Y. Zou and A. Donner (2008), Construction of confidence limits about effect measures, Statistics in Medicine
    27:1693-1702: limits of a sum from the limits of its terms.

    Examples
    --------
    A recall of 24 in 30, among 100 rows:

    >>> found = [1] * 24 + [0] * 76
    >>> positive = [1] * 30 + [0] * 70
    >>> recall = lambda m: m[0] / m[1]
    >>> slopes = lambda m: np.array([1 / m[1], -m[0] / m[1] ** 2])
    >>> estimate, (low, high), _ = delta_interval(
    ...     [np.transpose([found, positive])], recall, slopes, "logit", factor=1
    ... )
    >>> print(f"{estimate:.2f} ({low:.2f} to {high:.2f})")
    0.80 (0.62 to 0.91)
    """
    z = normal_quantile(level)
    if not (math.isfinite(factor) and factor > 0):
        raise InvalidInput(f"The 'factor' parameter of an interval must be a positive number. Got {factor!r} instead.")
    if scale not in get_args(Scale):
        raise InvalidInput(f"The 'scale' parameter must be one of {get_args(Scale)}. Got {scale!r} instead.")
    n, means, covariance, estimate = _gathered(parts_by_repeat, value)
    estimate = estimate if centre is None else centre
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = np.asarray(slopes(means), dtype=np.float64)
    if not (math.isfinite(estimate) and np.isfinite(gradient).all()):
        return Estimated(estimate, None, "it has no definite value on rows that are all alike")
    error = factor * math.sqrt(_variance(gradient, covariance) / n)
    low, high = _on_scale(estimate, z * error, scale)
    edges = shares(means) if shares is not None else None
    if edges is not None:
        found, among = edges
        if not among.any():
            return Estimated(estimate, None, f"none of the {n} rows bears on it")
        below, above = _gaps(found, among * n / factor**2, level)
        low, high = estimate - math.hypot(estimate - low, below), estimate + math.hypot(high - estimate, above)
    if low == high:
        return Estimated(estimate, None, "the rows show no spread of it")
    return Estimated(estimate, (low, high))


def _gathered(
    parts_by_repeat: Iterable[npt.ArrayLike], value: Callable[[Floats], float]
) -> tuple[int, Floats, Floats, float]:
    """Return the number of rows, and means, covariance matrix and value, each averaged over the repeats."""
    found = []
    for parts in parts_by_repeat:
        x = np.asarray(parts, dtype=np.float64)
        if x.ndim != 2 or len(x) < 2 or not np.isfinite(x).all():
            raise InvalidInput(
                "The parts of an interval must be finite numbers, at least 2 rows of them, with a column for each mean."
                f" Got shape {x.shape}{'' if np.isfinite(x).all() else ' with NaN or infinite values'} instead."
            )
        means = x.mean(axis=0)
        found.append((len(x), means, np.atleast_2d(np.cov(x, rowvar=False)), float(value(means))))
    sizes = sorted({size for size, *_ in found})
    if len(sizes) != 1:
        raise InvalidInput(
            f"The parts must be of at least 1 repeat, with as many rows in each. Got {len(found)} of {sizes} rows."
        )
    _, all_means, covariances, values = zip(*found, strict=True)
    return sizes[0], np.mean(all_means, axis=0), np.mean(covariances, axis=0), float(np.mean(values))


def _variance(gradient: Floats, covariance: Floats) -> float:
    variance = float(gradient @ covariance @ gradient)
    # Parts that cancel exactly, as in an F1 of 1, leave rounding.
    size = float(np.abs(gradient) @ np.abs(covariance) @ np.abs(gradient))
    return variance if variance > 1e-13 * size else 0.0


def _on_scale(centre: float, half: float, scale: Scale) -> Interval:
    """Return the ends around a centre, for half a width that is told on the plain scale."""
    if half == 0.0:
        return centre, centre
    if scale == "log" and centre != 0:
        stretch = math.exp(half / abs(centre))
        ends = centre / stretch, centre * stretch
        return min(ends), max(ends)
    if scale == "logit" and 0 < centre < 1:
        at, reach = float(logit(centre)), half / (centre * (1 - centre))
        return float(expit(at - reach)), float(expit(at + reach))
    if scale == "log_gap" and centre < 1:
        low, high = _on_scale(1 - centre, half, "log")
        return 1 - high, 1 - low
    return centre - half, centre + half


def _gaps(found: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """How far below and above the mean of shares may be for those of them that are exactly 1 or 0."""
    below = above = 0.0
    for share, count in zip(found.tolist(), counts.tolist(), strict=True):
        if count == 0:  # such a share is 0 by convention; nothing is known about it
            above += 1.0
        elif share <= 1e-12:
            above += wilson(0.0, count, level)[1] ** 2
        elif share >= 1 - 1e-12:
            below += (1 - wilson(1.0, count, level)[0]) ** 2
    return math.sqrt(below) / len(found), math.sqrt(above) / len(found)


class Linearised:
    r"""A function :math:`g` of means near some means :math:`\bar x`, on a scale :math:`T`.

    A row with parts :math:`x_i` is told as :math:`T(g(\bar x)) + T'(g(\bar x))\,\nabla g(\bar x)\cdot(x_i - \bar x)`.
    The mean of these over the rows is :math:`T(g(\bar x))` itself, and their spread is that of the delta method.

    Parameters
    ----------
    means : array of shape (p,)
    value, slopes : callable
        :math:`g` and its gradient.
    scale : {"plain", "log", "logit", "log_gap"}

    Examples
    --------
    >>> squares = np.array([[1.0], [4.0], [9.0], [2.0]])
    >>> near = Linearised(squares.mean(axis=0), lambda m: m[0] ** 0.5, lambda m: 0.5 / m**0.5, "log")
    >>> round(near.back(near.rows(squares).mean()), 6)
    2.0
    """

    def __init__(
        self, means: Floats, value: Callable[[Floats], float], slopes: Callable[[Floats], Floats], scale: Scale
    ) -> None:
        self._means = means
        self._scale = scale
        with np.errstate(divide="ignore", invalid="ignore"):
            at = float(value(means))
            self._gradient = np.asarray(slopes(means), dtype=np.float64)
        self._at, steepness = _forth(at, scale)
        self._gradient = self._gradient * steepness

    @property
    def defined(self) -> bool:
        """Whether the function has a slope there: a share of exactly 0 or 1 has none on the logit scale."""
        return math.isfinite(self._at) and bool(np.isfinite(self._gradient).all())

    def rows(self, parts: Floats) -> Floats:
        """One value per row."""
        linear: Floats = self._at + (parts - self._means) @ self._gradient
        return linear

    def back(self, linear: float) -> float:
        """Return what a value on the scale means."""
        if self._scale == "log":
            return math.exp(linear)
        if self._scale == "logit":
            return float(expit(linear))
        return 1 - math.exp(-linear) if self._scale == "log_gap" else linear


def _forth(value: float, scale: Scale) -> tuple[float, float]:
    """Value on the scale, and the slope of the scale there; the scales all rise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale == "log":
            return (math.log(value), 1 / value) if value > 0 else (math.nan, math.nan)
        if scale == "logit":
            return (float(logit(value)), 1 / (value * (1 - value))) if 0 < value < 1 else (math.nan, math.nan)
        if scale == "log_gap":
            return (-math.log(1 - value), 1 / (1 - value)) if value < 1 else (math.nan, math.nan)
    return value, 1.0
