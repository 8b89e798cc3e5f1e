"""Rounding: how far a number may be from the one that plain fitting gives, and when that is near enough.

Sums, means and variances are worked out here by matrix products, in scikit-learn row by row: equal in exact arithmetic,
not to the last bit. The bounds are of first order (Higham, Accuracy and Stability of Numerical Algorithms, chapters 3
and 4), with constants that hold in practice, and a margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from truefit._core.typing import Floats

#: An answer must equal that of plain fitting up to this, relative to itself.
TOLERANCE = 1e-8
#: Bounds must stay below the tolerance by this factor: their constants are those seen in practice, not proven ones.
MARGIN = 4.0
#: Half the distance from 1 to the next larger number.
UNIT = float(np.finfo(np.float64).eps) / 2

#: Rows by which a column is judged.
SAMPLE = 128


def growth(n: int) -> float:
    """Return how many units of rounding a sum of ``n`` numbers collects: one each at first, then as chance has it.

    Examples
    --------
    >>> growth(10), growth(10_000)
    (10.0, 464.0)
    """
    return float(min(n, 64 + 4 * math.sqrt(n)))


def column_growth(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the same for the sums of columns: where values come again and again, so do their rounding errors.

    Adding the same number makes the same error, until the sum has doubled: up to a quarter of a unit each, as seen.

    Examples
    --------
    >>> column_growth(np.column_stack([np.random.default_rng(0).random(10_000), np.arange(10_000) % 2]))
    array([ 464.        , 2944.15873016])
    """
    n = len(table)
    sample = np.sort(table[:: -(-n // SAMPLE)], axis=0)
    again = (sample[1:] == sample[:-1]).mean(axis=0) if len(sample) > 1 else np.ones(table.shape[1])
    return np.asarray(np.minimum(n, growth(n) + again * n / 4))


def exact_sums(table: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether columns can be added up without any rounding: whole numbers, not too large.

    Examples
    --------
    >>> exact_sums(np.array([[1.0, 0.5, 1e16], [2.0, 1.0, 1e16]]))
    array([ True, False, False])
    """
    n = len(table)
    exact = (table[:: -(-n // SAMPLE)] % 1 == 0).all(axis=0)
    for j in np.flatnonzero(exact):
        column = table[:, j]
        exact[j] = np.abs(column).max() * n < 2.0**53 and (column % 1 == 0).all()
    return np.asarray(exact)


def column_tops(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the largest value of each column.

    Examples
    --------
    >>> column_tops(np.array([[1.0, 5.0], [2.0, -3.0]]))
    array([2., 5.])
    """
    return _by_column(np.maximum, table)


def column_ranges(table: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the smallest and the largest value of each column.

    Examples
    --------
    >>> column_ranges(np.array([[1.0, 5.0], [2.0, -3.0]]))
    (array([ 1., -3.]), array([2., 5.]))
    """
    return _by_column(np.minimum, table), _by_column(np.maximum, table)


def _by_column(extreme: np.ufunc, table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
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


def column_sizes(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the largest absolute value of each column."""
    low, high = column_ranges(table)
    return np.asarray(np.maximum(np.abs(low), np.abs(high)))


Trusted = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores of all classes but the first, less that of the first: shape (classes - 1, models, rows).

    They are logarithms of ratios of probabilities. ``error`` bounds for each model how far they may be from those of
    plain fitting. Each answer comes with the models that are to be trusted with it.

    Examples
    --------
    >>> scores = ClassScores(np.log([[[3.0, 0.25]], [[4.0, 0.75]]]), np.array([1e-12]))  # 1 : 3 : 4 and 1 : .25 : .75
    >>> scores.labels()
    (array([[2, 0]], dtype=uint8), array([ True]))
    >>> scores.probabilities()[0].round(3)
    array([[[0.125, 0.375, 0.5  ], [0.5  , 0.125, 0.375]]])
    """

    leads: Floats
    error: Floats

    def labels(self) -> tuple[npt.NDArray[Any], Trusted]:
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

    def probabilities(self) -> tuple[Floats, Trusted]:
        """Return the probabilities, of shape (models, rows, classes)."""
        _, models, rows = self.leads.shape
        shares = np.zeros((len(self.leads) + 1, models, rows))
        shares[1:] = self.leads
        shares -= shares.max(axis=0)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=0)
        return np.ascontiguousarray(np.moveaxis(shares, 0, -1)), self._small

    def probabilities_of_two(self) -> tuple[Floats, Trusted]:
        """Return the same for two classes, worked out from the second's alone."""
        second = expit(self.leads[0])
        return np.stack([1 - second, second], axis=-1), self._small

    @property
    def _small(self) -> Trusted:
        # A probability is off by at most as much as the scores, relative to itself.
        return np.asarray(MARGIN * self.error <= TOLERANCE)
