"""Rounding: how far a number may be from the one that plain fitting gives, and when that is near enough.

Sums, means and variances are computed here by matrix products, in scikit-learn row by row: equal in exact arithmetic,
not to the last bit. The bounds are of first order (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3
and 4), with constants that hold in practice, and a margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from truefit._core.protocols import Response
from truefit._core.typing import Array, Floats, Mask

#: An answer must equal that of plain fitting up to this, relative to itself.
TOLERANCE = 1e-8
#: Bounds must stay below the tolerance by this factor: their constants are those seen in practice, not proven ones.
MARGIN = 4.0
#: Half the distance from 1 to the next larger number.
UNIT = float(np.finfo(np.float64).eps) / 2
#: Bounds leave out terms of second order, so those of first order must be small themselves.
STEADY = 0.1

#: Rows by which a column is judged.
SAMPLE = 128


def growth(n: int) -> float:
    """Return how many units of rounding a sum of ``n`` numbers collects: growth(10) is 10, growth(10_000) is 464."""
    return float(min(n, 64 + 4 * math.sqrt(n)))


def column_growth(table: Floats) -> Floats:
    """Return the same for the sums of columns, larger where values repeat.

    Adding the same number makes the same error until the sum has doubled: up to a quarter of a unit each, as seen.
    """
    n = len(table)
    sample = np.sort(table[:: -(-n // SAMPLE)], axis=0)
    again = (sample[1:] == sample[:-1]).mean(axis=0) if len(sample) > 1 else np.ones(table.shape[1])
    return np.asarray(np.minimum(n, growth(n) + again * n / 4))


def exact_sums(table: Floats) -> Mask:
    """Whether columns can be added up without any rounding: whole numbers, not too large."""
    n = len(table)
    exact = (table[:: -(-n // SAMPLE)] % 1 == 0).all(axis=0)
    for j in np.flatnonzero(exact):
        column = table[:, j]
        exact[j] = np.abs(column).max() * n < 2.0**53 and (column % 1 == 0).all()
    return np.asarray(exact)


def accurate_mean(values: Floats) -> Floats:
    """Return the mean over rows, with the rounding of the first sum taken back; 0 where there is none."""
    ones, n = np.ones(len(values)), max(len(values), 1)
    mean = ones @ values / n
    return np.asarray(mean + ones @ (values - mean) / n)


def column_ranges(table: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value of each column."""
    return _by_column(np.minimum, table), _by_column(np.maximum, table)


def _by_column(extreme: np.ufunc, table: Floats) -> Floats:
    # Several rows at a time: numpy goes through short rows at a tenth of its speed.
    n, p = table.shape
    many = max(1, 512 // p)
    whole = n - n % many if table.flags.c_contiguous else 0
    found = []
    if whole:
        found.append(extreme.reduce(extreme.reduce(table[:whole].reshape(-1, many * p)).reshape(many, p)))
    if whole < n:
        found.append(extreme.reduce(table[whole:]))
    return np.asarray(extreme.reduce(found))


def column_sizes(table: Floats) -> Floats:
    """Return the largest absolute value of each column."""
    low, high = column_ranges(table)
    return np.asarray(np.maximum(np.abs(low), np.abs(high)))


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores of all classes but the first, less that of the first: shape (classes - 1, models, rows).

    They are logarithms of ratios of probabilities. ``error`` bounds for each model how far they may be from those of
    plain fitting. Each answer comes with the models that are to be trusted with it.
    """

    leads: Floats
    error: Floats

    def values(self, response: Response, *, logistic: bool) -> tuple[Array, Mask]:
        """Return labels or probabilities; ``logistic`` where those of two classes are made of the second's alone."""
        if response == "predict":
            return self.labels()
        return self.probabilities_of_two() if logistic and len(self.leads) == 1 else self.probabilities()

    def labels(self) -> tuple[Array, Mask]:
        """Return the code of the class that leads, of shape (models, rows)."""
        slack = MARGIN * self.error[:, None]
        if len(self.leads) == 1:
            return (self.leads[0] > 0).view(np.uint8), np.abs(self.leads[0]).min(axis=1) > slack[:, 0]
        codes = np.zeros(self.leads.shape[1:], dtype=np.min_scalar_type(len(self.leads)))
        best = np.zeros(codes.shape)
        for code, lead in enumerate(self.leads, start=1):
            np.copyto(codes, code, where=lead > best)
            np.maximum(best, lead, out=best)
        least = best - 2 * slack
        near = (least <= 0).astype(np.uint8)  # the first class, whose lead is 0
        for lead in self.leads:
            near += lead >= least
        return codes, (near == 1).all(axis=1)  # where a lead is not a number, none is near

    def probabilities(self) -> tuple[Floats, Mask]:
        """Return the probabilities, of shape (models, rows, classes)."""
        _, models, rows = self.leads.shape
        shares = np.zeros((len(self.leads) + 1, models, rows))
        shares[1:] = self.leads
        shares -= shares.max(axis=0)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=0)
        return np.ascontiguousarray(np.moveaxis(shares, 0, -1)), self._small

    def probabilities_of_two(self) -> tuple[Floats, Mask]:
        """Return the same for two classes, computed from the second's alone."""
        second = expit(self.leads[0])
        return np.stack([1 - second, second], axis=-1), self._small

    @property
    def _small(self) -> Mask:
        # A probability is off by at most as much as the scores, relative to itself.
        return np.asarray(MARGIN * self.error <= TOLERANCE)
