"""CentroidLooSolver: leave-one-out of nearest centroids, each row taken out of the mean of its class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.neighbors import NearestCentroid

from truefit._core.data import Data
from truefit._core.typing import Floats, Positions
from truefit._solvers.class_loo import ClassLooSolver, LabelledTable
from truefit._solvers.parameters import are_priors
from truefit._solvers.rounding import UNIT


class CentroidLooSolver(ClassLooSolver):
    """Leave-one-out fits of ``NearestCentroid`` without shrinking.

    With d the distance of a row from the mean of its class of m rows, it is d·m/(m−1) from the mean of the others.
    Labels go by these distances, probabilities by distances in standardised columns, whose sums of squares within
    classes lose d²·m/(m−1) too.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [3.0], [2.0], [7.0], [6.0], [9.0], [4.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, nearest = Keys(data), NearestCentroid()
    >>> tasks = [FitTask(nearest, Rows.without(8, i), (Ask(Rows.of([i])),)) for i in range(8)]
    >>> [job] = CentroidLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [int(outcome.answer(data, Rows.of([i]))[0]) for i, outcome in enumerate(job.run(data))]
    [0, 0, 0, 0, 1, 1, 1, 0]
    """

    name = "centroid loo"
    kinds = (NearestCentroid,)

    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether distances are the usual ones, and classes are not shrunk."""
        return is_usual_centroid(estimator, data)

    def scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats]:
        """Return the squared distances in standardised columns, with the shares of the classes."""
        number, codes = len(table.counts), table.codes[rows]
        squares = np.zeros(table.p)
        for code in range(number):
            members = table.members(code)
            squares += np.einsum("ij,ij->j", members, members)
        apart = table.X[rows] - table.means[codes]
        taken = apart**2 * _grown(table.counts[codes])[:, None]
        variance = (squares - taken) / (table.n - 1 - number)
        size = np.abs(table.means).max(axis=0) + np.sqrt(squares / table.n)
        spread = 2 * table.rounding * (squares + taken) / (squares - taken) + 8 * UNIT * size / np.sqrt(variance)
        given = estimator.priors
        uniform = np.full(number, 1 / number)
        shares = table.log_shares(None if given == "empirical" else uniform if given == "uniform" else given, rows)
        scores, errors = self._distances(table, rows, variance, spread)
        return 2 * shares + scores, errors + 8 * UNIT * np.abs(shares)

    def label_scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats] | None:
        """Return the squared distances themselves, by which labels go where no class is favoured."""
        priors = estimator.priors
        if isinstance(priors, str) and priors == "empirical":
            without = table.counts[:, None] - (np.arange(len(table.counts))[:, None] == table.codes[rows])
            even = np.isclose(without / (table.n - 1), 1 / len(table.counts)).all(axis=0)
            if even.any():
                plain, error = self._distances(table, rows, np.ones(1), np.zeros(1))
                scores, errors = self.scores(estimator, table, rows)
                return np.where(even, plain, scores), np.where(even, error, errors)
            return None
        if isinstance(priors, str) or np.isclose(priors, 1 / len(table.counts)).all():
            return self._distances(table, rows, np.ones(1), np.zeros(1))
        return None

    def _distances(
        self, table: LabelledTable, rows: Positions, variance: Floats, spread: Floats
    ) -> tuple[Floats, Floats]:
        """Return negative squared distances from all class means, and a bound on their error."""
        X, codes = table.X[rows], table.codes[rows]
        scores, errors = [], []
        for code, count in enumerate(table.counts):
            apart = X - table.means[code]
            apart[codes == code] *= _grown(count)
            terms = apart**2 / variance
            # |x|² - 2xy + |y|² is as far off as its terms are large.
            size = (np.abs(X) + np.abs(table.means[code])) ** 2 / variance
            shift = np.sqrt(terms / variance) * table.rounding * (np.abs(table.means[code]) + np.abs(apart))
            rounding = 8 * UNIT * math.sqrt(table.p) * size.sum(axis=1)
            scores.append(-terms.sum(axis=1))
            errors.append((terms * spread + 2 * shift).sum(axis=1) + rounding)
        return np.array(scores), np.array(errors)


def _grown(count: Any) -> Any:
    return count / (count - 1)


def is_usual_centroid(estimator: Any, data: Data) -> bool:
    """Whether distances are the usual ones, classes are not shrunk, and priors are such as scikit-learn takes."""
    usual = isinstance(estimator.metric, str) and estimator.metric == "euclidean"
    if not usual or estimator.shrink_threshold is not None:
        return False
    if isinstance(estimator.priors, str):
        return estimator.priors in ("uniform", "empirical")
    return are_priors(estimator.priors, 0 if data.classes is None else len(data.classes))
