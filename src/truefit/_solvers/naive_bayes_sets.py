"""NaiveBayesSetsSolver: Gaussian naive Bayes on many sets of rows, the moments of all from one matrix product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.naive_bayes import GaussianNB

from truefit._core.data import Data
from truefit._core.task import Response
from truefit._solvers.class_moments import ClassedSets
from truefit._solvers.naive_bayes import NaiveBayesModels
from truefit._solvers.naive_bayes_loo import is_usual_bayes
from truefit._solvers.rounding import UNIT, column_growth
from truefit._solvers.row_sets import RowSets
from truefit._solvers.same_rows import centred
from truefit._solvers.scored import Features
from truefit._solvers.scored_sets import ScoredSetsSolver


class NaiveBayesSetsSolver(ScoredSetsSolver):
    """``GaussianNB`` on many sets of rows, whatever the smoothing.

    Means and variances of the classes are sums of x and x² over the rows of a set, from which one matrix product gives
    those of all sets; the variance that the smoothing goes by is that of the set's own rows.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [3.0], [2.0], [7.0], [6.0], [9.0], [8.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, bayes = Keys(data), GaussianNB()
    >>> folds = [[k, k + 4] for k in range(4)]
    >>> tasks = [FitTask(bayes, Rows.without(8, fold), (Ask(Rows.of(fold)),)) for fold in folds]
    >>> [job] = NaiveBayesSetsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, Rows.of(fold)).tolist() for fold, outcome in zip(folds, job.run(data), strict=True)]
    [[0, 1], [0, 1], [0, 1], [0, 1]]
    """

    name = "naive bayes sets"
    kinds = (GaussianNB,)
    path = ("var_smoothing",)

    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""
        return is_usual_bayes(estimator, data)

    def table(self, sets: RowSets, estimator: Any) -> BayesSets:
        """Return the rows with their squares."""
        return BayesSets(sets)


class BayesSets:
    """Rows counted from their centre, and their squares."""

    def __init__(self, sets: RowSets) -> None:
        self.classed = ClassedSets(sets)
        values = centred(sets.X, self.classed.centre)
        self.features: Features = values, values * values
        self.rounding = UNIT * sets.repeated * column_growth(sets.X)

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[Mapping[Response, NaiveBayesModels]]:
        """Return the models of some sets with each smoothing."""
        moments = self.classed.moments(sets)
        models = [NaiveBayesModels(SetBayes(self, estimator), moments) for estimator in estimators]
        return [{"predict": each, "predict_proba": each} for each in models]


class SetBayes:
    """What is known of the rows whatever the set, and the parameters of an estimator."""

    def __init__(self, table: BayesSets, estimator: Any) -> None:
        self.priors, self.smoothing = estimator.priors, float(estimator.var_smoothing)
        self.centre, self.rounding = table.classed.centre, table.rounding
        self.p = len(self.centre)
