"""CentroidSetsSolver: nearest centroids of many sets of rows, the centroids of all from one matrix product."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.neighbors import NearestCentroid

from truefit._core.data import Data
from truefit._core.task import Response
from truefit._core.typing import Floats
from truefit._solvers.centroid_loo import is_usual_centroid
from truefit._solvers.class_moments import ClassedSets, ClassMoments
from truefit._solvers.rounding import UNIT, column_growth, column_sizes
from truefit._solvers.row_sets import RowSets
from truefit._solvers.same_rows import centred
from truefit._solvers.scored import Features
from truefit._solvers.scored_sets import LinearSetModels, ScoredSetsSolver


class CentroidSetsSolver(ScoredSetsSolver):
    """``NearestCentroid`` without shrinking, on many sets of rows.

    Of squared distances |x − μ|² what is left when two are compared is linear in x. Labels go by these distances, or
    where classes are favoured, as probabilities do, by those in standardised columns.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [3.0], [2.0], [7.0], [6.0], [9.0], [4.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, nearest = Keys(data), NearestCentroid()
    >>> folds = [[k, k + 4] for k in range(4)]
    >>> tasks = [FitTask(nearest, Rows.without(8, fold), (Ask(Rows.of(fold)),)) for fold in folds]
    >>> [job] = CentroidSetsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, Rows.of(fold)).tolist() for fold, outcome in zip(folds, job.run(data), strict=True)]
    [[0, 1], [0, 1], [0, 1], [0, 0]]
    """

    name = "centroid sets"
    kinds = (NearestCentroid,)

    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether distances are the usual ones, and classes are not shrunk."""
        return is_usual_centroid(estimator, data)

    def table(self, sets: RowSets, estimator: Any) -> CentroidSets:
        """Return the rows, counted from their centre."""
        return CentroidSets(sets)


class CentroidSets:
    """Rows counted from their centre."""

    def __init__(self, sets: RowSets) -> None:
        self.classed = ClassedSets(sets)
        self.features: Features = (centred(sets.X, self.classed.centre),)
        self.rounding = UNIT * sets.repeated * column_growth(sets.X)

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[Mapping[Response, CentroidModels]]:
        """Return the models of some sets for each estimator."""
        moments = self.classed.moments(sets)
        return [self._models(moments, estimator.priors) for estimator in estimators]

    def _models(self, moments: ClassMoments, priors: Any) -> Mapping[Response, CentroidModels]:
        number, counts = len(moments.counts), moments.counts[:, :, 0]
        n = counts.sum(axis=0)
        shares = np.full(counts.shape, 1 / number)
        if not isinstance(priors, str):
            shares[:] = np.asarray(priors, dtype=np.float64)[:, None]
        elif priors == "empirical":
            shares = counts / n
        squares, summed = ((moments.counts * each).sum(axis=0) for each in (moments.variance, moments.summed))
        variance = squares / (n - number)[:, None]
        size = np.abs(self.classed.centre + moments.mean).max(axis=0) + np.sqrt(squares / n[:, None])
        spread = 2 * self.rounding * summed / squares + 8 * UNIT * size / np.sqrt(variance)
        likely = CentroidModels(self, moments.mean, variance, spread, 2 * np.log(shares))
        even = np.isclose(shares, 1 / number).all(axis=0)[:, None]
        if not even.any():
            return {"predict": likely, "predict_proba": likely}
        nearest = np.where(even, 1.0, variance), np.where(even, 0.0, spread), np.where(even.T, 0.0, 2 * np.log(shares))
        return {"predict": CentroidModels(self, moments.mean, *nearest), "predict_proba": likely}


class CentroidModels(LinearSetModels):
    """Centroids of each class in each model, in columns of some variance."""

    by_model = ("mean", "variance", "spread", "level")

    def __init__(self, table: CentroidSets, mean: Floats, variance: Floats, spread: Floats, level: Floats) -> None:
        self.table, self.mean, self.level = table, mean, level
        self.variance, self.spread = variance[None], spread[None]
        super().__init__(2 * mean / variance, level - (mean**2 / variance).sum(axis=2))

    def error(self, features: Features) -> Floats:
        """Bound the error of the leads: |x|² − 2xμ + |μ|² is as far off as its terms are large."""
        largest = column_sizes(features[0])
        centre, rounding = self.table.classed.centre, self.table.rounding
        apart, level = largest + np.abs(self.mean), np.abs(centre + self.mean)
        terms = apart**2 / self.variance
        size = (largest + np.abs(centre) + level) ** 2 / self.variance
        shift = apart / self.variance * rounding * (level + apart)
        error = (terms * self.spread + 2 * shift + 8 * UNIT * math.sqrt(len(centre)) * size).sum(axis=2)
        error += 8 * UNIT * np.abs(self.level)
        return np.asarray(error[0] + error[1:].max(axis=0))
