"""DiscriminantSetsSolver: linear discriminant analysis on many sets of rows, their scatters from shared products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from truefit._core.data import Data
from truefit._core.task import Response
from truefit._solvers.class_moments import ClassedSets
from truefit._solvers.class_scores import ClassScores
from truefit._solvers.discriminant import DiscriminantModels, DiscriminantTable
from truefit._solvers.discriminant_loo import is_usual_discriminant
from truefit._solvers.row_sets import RowSets
from truefit._solvers.scored import Features
from truefit._solvers.scored_sets import ScoredSetsSolver

#: With more columns the products take as long as a fit of scikit-learn's does.
MOST_COLUMNS = 64
#: Sets must have so many times as many rows as columns.
LEAST_ROWS = 2


class DiscriminantSetsSolver(ScoredSetsSolver):
    """``LinearDiscriminantAnalysis`` by SVD, as it is by default, on many sets of rows.

    With rows counted from the mean of all rows of their class, the scatter within classes of a set is the sum of the
    products of its rows less those of its own class means: one matrix product for all sets, and for each the inverse of
    a matrix of the size of the columns, where scikit-learn takes an SVD of all rows.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [5.0], [2.0], [7.0], [6.0], [9.0], [3.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, lda = Keys(data), LinearDiscriminantAnalysis()
    >>> folds = [[k, k + 4] for k in range(4)]
    >>> tasks = [FitTask(lda, Rows.without(8, fold), (Ask(Rows.of(fold)),)) for fold in folds]
    >>> [job] = DiscriminantSetsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> outcomes = job.run(data)
    >>> [(one.solver, one.answer(data, Rows.of(fold)).tolist()) for fold, one in zip(folds, outcomes, strict=True)][2:]
    [('discriminant sets', [1, 1]), ('discriminant sets', [0, 0])]
    """

    name = "discriminant sets"
    kinds = (LinearDiscriminantAnalysis,)

    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether an SVD is asked for, with parameters such as scikit-learn takes, of a table that is not wide."""
        return is_usual_discriminant(estimator, data) and data.X.shape[1] <= MOST_COLUMNS

    def table(self, sets: RowSets, estimator: Any) -> DiscriminantSets:
        """Return the rows, counted from their classes' means."""
        return DiscriminantSets(sets, estimator)

    def values(self, response: Response, scores: ClassScores) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Two classes are told apart by one number."""
        if response == "predict_proba" and len(scores.leads) == 1:
            return scores.probabilities_of_two()
        return super().values(response, scores)


class DiscriminantSets:
    """Rows counted from the means of their classes; columns without any variation are left out."""

    def __init__(self, sets: RowSets, estimator: Any) -> None:
        self.sets = sets
        self.whole = DiscriminantTable(sets.X, estimator.priors, float(estimator.tol))
        self.features: Features = self.whole.own
        self.classed = ClassedSets(sets)
        self.apart = self.classed.apart[:, self.whole.used]

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[Mapping[Response, DiscriminantModels]]:
        """Return the models of some sets; there is but one estimator."""
        counts, (sums,) = self.sets.class_sums(sets, self.apart)
        shift, n = sums / counts, counts.sum(axis=0)
        means = (self.classed.levels - self.whole.centre)[:, None, self.whole.used] + shift
        products = self.sets.products(sets, self.apart)
        within = (products - np.einsum("ksi,ksj->sij", sums, shift)) / n[:, :, None]
        left = np.diagonal(within, axis1=1, axis2=2) * n
        lost = (np.diagonal(products, axis1=1, axis2=2) / left).max(axis=1)
        models = DiscriminantModels(self.whole, counts, means, within, lost * self.sets.repeated)
        models.condition[n[:, 0] < LEAST_ROWS * len(self.whole.used)] = np.inf
        return [{"predict": models, "predict_proba": models}] * len(estimators)
