r"""Skewness correction: intervals for the mean of losses that are not 0-1, such as squared errors.

Most samples of skewed losses lack the rare large ones, and then both their mean and their standard deviation are too
small. So an interval must reach farther on the side of the long tail than on the other. P. Hall (1992), On the removal
of skewness by transformation, JRSS B 54:221-228, transforms the mean by a cubic function of the sample skewness
:math:`\gamma`. Its ends move abruptly once :math:`\gamma/\sqrt n` exceeds about 0.4, and it shortens the other side,
which must cover the bias of cross-validation. Here the side of the long tail has the factor

.. math::

    f + 1.5\,\frac{u^2}{u^2 + 0.3^2}\,(1 + 2\,w), \qquad u = |\gamma|/\sqrt n

on the standard error, the other side the factor f of the design. The weight w rises from 0 to 1 as the tail index
(Hill) goes from 0.7 to 1.1. The form and the constants were chosen by simulation on settings that no published table
uses (docs/coverage-skewed.md).

B. M. Hill (1975), A simple general approach to inference about the tail of a distribution, Annals of Statistics
3:1163-1174.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from truefit._core.typing import Floats

#: How much the long side's factor grows at most, and the value of u at which it has grown by half of that.
GROWTH, HALF = 1.5, 0.3
#: From the first tail index on the growth is larger, from the second on by the whole of the third.
HEAVY_FROM, HEAVY_TO, HEAVY_GROWTH = 0.7, 1.1, 2.0
#: A finding needs this tail index and this value of u.
HEAVY_INDEX, HEAVY_SKEWNESS = 0.8, 0.35
#: Largest values that the tail index is computed from: a tenth, and at least so many. Fewer rows have no index.
FEWEST_LARGEST, FEWEST_ROWS = 6, 20


class Tail(NamedTuple):
    """Skewness of one run's losses, how heavy their tail is, and the share of their sum in the largest 1%."""

    rows: int
    skewness: float
    hill: float
    largest: float

    @classmethod
    def of(cls, losses: Floats) -> Tail:
        """Measure the losses of independent rows.

        >>> squares = np.arange(100.0) ** 4
        >>> tail = Tail.of(squares)
        >>> round(tail.skewness, 2), round(tail.hill, 2), round(tail.largest, 3)
        (1.41, 0.26, 0.049)
        """
        centred = losses - losses.mean()
        variance = float(np.square(centred).mean())
        n = losses.size
        if n < 3 or variance <= 1e-24 * float(np.square(losses).mean()):
            return cls(n, 0.0, 0.0, 0.0)
        biased = float((centred**3).mean()) / variance**1.5
        sizes = np.sort(np.abs(losses))
        total = float(sizes.sum())
        share = float(sizes[-max(1, n // 100) :].sum()) / total
        return cls(n, biased * math.sqrt(n * (n - 1)) / (n - 2), _hill(losses), share)

    @classmethod
    def mean_of(cls, runs: Iterable[Tail]) -> Tail:
        """Mean over repeats through the same rows."""
        rows, *means = np.mean([tuple(run) for run in runs], axis=0).tolist()
        return cls(round(rows), *means)

    @property
    def heavy(self) -> bool:
        """Whether a few rows carry so much of the sum that others, not in the sample, may carry more."""
        return self.hill >= HEAVY_INDEX and abs(self.skewness) >= HEAVY_SKEWNESS * math.sqrt(self.rows)

    def factors(self, factor: float, n: float | None = None) -> tuple[float, float]:
        """Return the factors on the standard error below and above a mean of ``n`` losses."""
        u2 = self.skewness**2 / (self.rows if n is None else n)
        weight = min(1.0, max(0.0, (self.hill - HEAVY_FROM) / (HEAVY_TO - HEAVY_FROM)))
        long = factor + GROWTH * u2 / (u2 + HALF**2) * (1 + HEAVY_GROWTH * weight)
        return (long, factor) if self.skewness < 0 else (factor, long)


def _hill(losses: Floats) -> float:
    """Tail index: mean logarithm of the largest distances from the median over the next largest; 0 for few rows."""
    if losses.size < FEWEST_ROWS:
        return 0.0
    count = max(FEWEST_LARGEST, losses.size // 10)
    sizes = np.sort(np.abs(losses - np.median(losses)))
    least = float(sizes[-count - 1])
    return float(np.log(sizes[-count:] / least).mean()) if least > 0 else math.inf
