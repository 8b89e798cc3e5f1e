"""NaiveBayesLooSolver: leave-one-out of Gaussian naive Bayes, each row taken out of its class's moments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.naive_bayes import GaussianNB

from truefit._core.data import Data
from truefit._core.typing import Floats, Positions
from truefit._solvers.class_loo import ClassLooSolver, LabelledTable, priors_fit
from truefit._solvers.parameters import is_size
from truefit._solvers.rounding import UNIT


class NaiveBayesLooSolver(ClassLooSolver):
    """Leave-one-out fits of ``GaussianNB``, each asked about the row that it leaves out.

    With d the distance of a row from the mean of its class of m rows, the class without it has the mean μ − d/(m−1) and
    the sum of squares S − d²·m/(m−1) (Welford 1962); so has the whole table, from whose variances the smoothing comes.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [3.0], [2.0], [7.0], [6.0], [9.0], [8.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, bayes = Keys(data), GaussianNB()
    >>> tasks = [FitTask(bayes, Rows.without(8, i), (Ask(Rows.of([i])),)) for i in range(8)]
    >>> [job] = NaiveBayesLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [int(outcome.answer(data, Rows.of([i]))[0]) for i, outcome in enumerate(job.run(data))]
    [0, 0, 0, 0, 1, 1, 1, 1]
    """

    name = "naive bayes loo"
    kinds = (GaussianNB,)

    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""
        return is_usual_bayes(estimator, data)

    def scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats]:
        """Return the joint log-likelihoods."""
        X, codes = table.X[rows], table.codes[rows]
        smoothing, smoothing_error = self._smoothing(float(estimator.var_smoothing), table, X)
        shares = table.log_shares(estimator.priors, rows)
        scores, errors = [], []
        for code, count in enumerate(table.counts):
            members = table.members(code)
            squares = np.einsum("ij,ij->j", members, members)
            apart = X - table.means[code]
            own = (codes == code)[:, None]
            left = np.where(own, count - 1, count)
            grown = apart * (count / left)  # from the mean without the row itself, where that is in the class
            taken = np.where(own, apart * grown, 0.0)
            variance = (squares - taken) / left + smoothing
            distance = grown * grown / variance
            # What is left of a sum is as far off as what was added up; a column far from 0 is so by its own size.
            off = table.rounding * (squares + taken) / left + smoothing_error
            size = np.abs(table.means[code]) + np.sqrt(squares / count)
            shift = table.rounding * size + 4 * UNIT * np.abs(X)
            spread = off / variance + 4 * UNIT * size / np.sqrt(variance)
            constant = np.log(2 * np.pi * variance).sum(axis=1)
            scores.append(shares[code] - 0.5 * (constant + distance.sum(axis=1)))
            terms = spread * (1 + distance) + np.sqrt(distance / variance) * shift + 4 * UNIT * distance
            errors.append(terms.sum(axis=1) + 8 * UNIT * math.sqrt(table.p) * (1 + np.abs(constant)))
        return np.array(scores), np.array(errors)

    def _smoothing(self, share: float, table: LabelledTable, X: Floats) -> tuple[Floats, Floats]:
        """Return what is added to the variances without each row, as a column, and how far it may be off."""
        n, centre = table.n, table.counts @ table.means / table.n
        squares = np.zeros(table.p)
        for code, count in enumerate(table.counts):
            members = table.members(code)
            squares += np.einsum("ij,ij->j", members, members) + count * (table.means[code] - centre) ** 2
        taken = (X - centre) ** 2 * (n / (n - 1))
        variance = (squares - taken) / (n - 1)
        off = table.rounding * (squares + taken) / (n - 1) + 4 * UNIT * np.abs(centre) * np.sqrt(squares / n)
        return share * variance.max(axis=1, keepdims=True), share * off.max(axis=1, keepdims=True)


def is_usual_bayes(estimator: Any, data: Data) -> bool:
    """Whether the parameters of a ``GaussianNB`` are such as scikit-learn takes."""
    return is_size(estimator.var_smoothing) and priors_fit(estimator.priors, data)
