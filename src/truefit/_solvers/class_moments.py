"""ClassMoments: the mean and variance of each class in each of many models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truefit._core.typing import Floats
from truefit._solvers.row_sets import RowSets


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Arrays of shape (classes, models, columns): means, counted from a centre, and variances.

    ``counts`` says how many rows each class has (its last axis is 1); ``total`` is the variance of all rows, whatever
    their class: of each model, or the same for all. ``summed`` is the mean of the squares that variances are made of:
    rounding is relative to that.
    """

    counts: Floats
    mean: Floats
    variance: Floats
    summed: Floats
    total: Floats


class ClassedSets:
    """Sets of rows with classes, each row counted from the mean of all rows of its class.

    So next to nothing cancels where the squares of a set's mean are taken from those of its rows: that mean is close
    to the one of all.
    """

    def __init__(self, sets: RowSets) -> None:
        self.sets = sets
        X = sets.X
        self.centre = _mean(X)
        self.levels = np.array([_mean(X[rows]) for rows in sets.slices])
        self.apart = np.empty_like(X)
        for rows, level in zip(sets.slices, self.levels, strict=True):
            np.subtract(X[rows], level, out=self.apart[rows])

    def moments(self, sets: Sequence[int]) -> ClassMoments:
        """Return the moments of some of the sets."""
        counts, (first, second) = self.sets.class_sums(sets, self.apart, self.apart**2)
        shift, summed = first / counts, second / counts
        mean = (self.levels - self.centre)[:, None, :] + shift
        variance = summed - shift**2
        n = counts.sum(axis=0)
        middle = (counts * mean).sum(axis=0) / n
        total = (counts * (variance + (mean - middle) ** 2)).sum(axis=0) / n
        return ClassMoments(counts, mean, variance, summed, total)


def _mean(values: Floats) -> Floats:
    n = max(len(values), 1)
    mean = np.ones(len(values)) @ values / n
    return np.asarray(mean + np.ones(len(values)) @ (values - mean) / n)
