"""Linearised values: a smooth function of means told as a plain mean, so that any interval for a mean serves it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from truefit.stats.delta import Scale

Floats = npt.NDArray[np.float64]


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
        told: Floats = self._at + (parts - self._means) @ self._gradient
        return told

    def back(self, told: float) -> float:
        """Return what a value on the scale means."""
        if self._scale == "log":
            return math.exp(told)
        if self._scale == "logit":
            return float(expit(told))
        return 1 - math.exp(-told) if self._scale == "log_gap" else told


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
