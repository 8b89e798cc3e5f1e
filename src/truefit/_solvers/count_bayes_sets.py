"""CountBayesSetsSolver: naive Bayes on counts, of many sets of rows: the counts of all from one matrix product."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from truefit._core.data import Data
from truefit._core.task import Response
from truefit._core.typing import Floats
from truefit._solvers.count_bayes_loo import CountWeights, count_weights, cut_of, is_usual_count_bayes, whole_counts
from truefit._solvers.rounding import UNIT, column_sizes, growth
from truefit._solvers.row_sets import RowSets
from truefit._solvers.same_rows import full_precision
from truefit._solvers.scored import Features
from truefit._solvers.scored_sets import LinearSetModels, ScoredSetsSolver


class CountBayesSetsSolver(ScoredSetsSolver):
    """``MultinomialNB``, ``ComplementNB`` and ``BernoulliNB`` on many sets of rows of whole numbers.

    Sums of whole numbers are exact. What is made of them is as in scikit-learn.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[3, 0], [2, 1], [4, 1], [5, 2], [1, 3], [0, 4], [1, 1], [0, 2]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, bayes = Keys(data), MultinomialNB()
    >>> folds = [[k, k + 4] for k in range(4)]
    >>> tasks = [FitTask(bayes, Rows.without(8, fold), (Ask(Rows.of(fold)),)) for fold in folds]
    >>> [job] = CountBayesSetsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, Rows.of(fold)).tolist() for fold, outcome in zip(folds, job.run(data), strict=True)]
    [[0, 1], [0, 1], [0, 0], [0, 1]]
    """

    name = "count bayes sets"
    kinds = (MultinomialNB, ComplementNB, BernoulliNB)
    path = ("alpha",)

    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes, and the table has whole numbers, or 0 and 1."""
        if not is_usual_count_bayes(estimator, data):
            return False
        counted = cut_of(estimator) is not None
        return counted or (full_precision(data) and whole_counts(data.X, type(estimator) is BernoulliNB))

    def table(self, sets: RowSets, estimator: Any) -> CountedSets:
        """Return the rows as counts."""
        return CountedSets(sets, cut_of(estimator))


class CountedSets:
    """Rows of whole numbers.

    Raises
    ------
    ValueError
        If rows are drawn so often that their sums are too large to be exact.
    """

    def __init__(self, sets: RowSets, cut: float | None) -> None:
        self.sets = sets
        X = sets.X if cut is None else np.greater(sets.X, cut).astype(np.float64)
        if float(column_sizes(X).max()) * sets.largest >= 2.0**53:
            raise ValueError("Sums are too large to be exact.")
        self.features: Features = (X,)

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[Mapping[Response, CountModels]]:
        """Return the models of some sets with each smoothing."""
        rows, (counts,) = self.sets.class_sums(sets, *self.features)
        models = [self._models(estimator, rows, counts) for estimator in estimators]
        return [{"predict": each, "predict_proba": each} for each in models]

    def _models(self, estimator: Any, rows: Floats, counts: Floats) -> CountModels:
        if type(estimator) is ComplementNB:
            return CountModels(count_weights(estimator, counts.sum(axis=0) - counts, rows), np.zeros(counts.shape[:2]))
        n = rows.sum(axis=0)
        if estimator.class_prior is not None:
            shares = np.broadcast_to(np.asarray(estimator.class_prior, dtype=np.float64)[:, None], counts.shape[:2])
        else:
            shares = (rows / n)[:, :, 0] if estimator.fit_prior else np.full(counts.shape[:2], 1 / len(counts))
        return CountModels(count_weights(estimator, counts, rows), np.log(shares), 8 * UNIT * math.log(n.max()))


class CountModels(LinearSetModels):
    """Weights of the columns for each class of each model, and the logarithms of the classes' shares."""

    by_model = ("off", "shift_off")

    def __init__(self, given: CountWeights, shares: Floats, shares_off: float = 0.0) -> None:
        super().__init__(given.weights, shares + given.shift)
        self.off = given.off + UNIT * growth(given.weights.shape[2]) * np.abs(given.weights)
        self.shift_off = given.shift_off + 8 * UNIT * np.abs(shares) + shares_off

    def error(self, features: Features) -> Floats:
        """Bound the error of the leads: by the largest value of each column, or by the largest sum of a row."""
        X = features[0]
        widest = np.abs(X).sum(axis=1).max()
        error = np.fmin(self.off @ column_sizes(X), self.off.max(axis=2) * widest) + self.shift_off
        return np.asarray(error[0] + error[1:].max(axis=0))
