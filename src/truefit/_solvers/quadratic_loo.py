"""QuadraticLooSolver: leave-one-out of quadratic discriminant analysis, each row taken out of its class's scatter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from truefit._core.data import Data
from truefit._core.typing import Floats, Positions
from truefit._solvers.class_loo import ClassLooSolver, LabelledTable, priors_fit
from truefit._solvers.parameters import is_size, is_switch
from truefit._solvers.rounding import UNIT, growth


class QuadraticLooSolver(ClassLooSolver):
    """Leave-one-out fits of ``QuadraticDiscriminantAnalysis`` by SVD, as it is by default.

    Without a row the covariance of its class of m rows is that of the others, (S − d dᵀ·m/(m−1)) / (m−1), d being the
    row's distance from the class mean: inverse and determinant follow from those of S / (m−1), regularised or not, by
    the formula of Sherman and Morrison and the lemma on determinants.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [3.0], [2.0], [7.0], [6.0], [9.0], [8.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, qda = Keys(data), QuadraticDiscriminantAnalysis()
    >>> tasks = [FitTask(qda, Rows.without(8, i), (Ask(Rows.of([i]), "predict_proba"),)) for i in range(8)]
    >>> [job] = QuadraticLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> outcome = job.run(data)[2]
    >>> outcome.solver, outcome.answer(data, Rows.of([2]), "predict_proba").round(3).tolist()
    ('quadratic loo', [[0.994, 0.006]])
    """

    name = "quadratic loo"
    kinds = (QuadraticDiscriminantAnalysis,)

    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether an SVD is asked for, with parameters such as scikit-learn takes."""
        return is_usual_quadratic(estimator, data)

    def scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats]:
        """Return the logarithms of shares less half the squared distances and logarithms of determinants."""
        X, codes = table.X[rows], table.codes[rows]
        scores = np.empty((len(table.counts), len(rows)))
        errors = np.full(scores.shape, np.inf)
        scores[:] = table.log_shares(estimator.priors, rows)
        for code, count in enumerate(table.counts):
            members = table.members(code)
            scatter = members.T @ members
            size = table.rounding * (np.abs(table.means[code]) + np.sqrt(np.diagonal(scatter) / count))
            for own in (False, True):
                some = np.flatnonzero((codes == code) == own)
                left = count - own
                if len(some) == 0 or left < max(table.p, 2):
                    continue  # of fewer rows than columns scikit-learn makes nothing
                spread = ClassSpread(scatter, left, own, estimator)
                doubled, error = spread.distances(X[some] - table.means[code], size + 4 * UNIT * np.abs(X[some]))
                scores[code, some] -= 0.5 * doubled
                errors[code, some] = error
        return scores, errors


class ClassSpread:
    """The covariance of a class of ``left`` rows; ``own`` says that each row in question is to be taken out of it."""

    def __init__(self, scatter: Floats, left: float, own: bool, estimator: Any) -> None:
        self.left, self.own, self.tol = left, own, float(estimator.tol)
        self.share = 1 - float(estimator.reg_param)
        covariance = self.share / left * scatter
        covariance.flat[:: len(covariance) + 1] += float(estimator.reg_param)
        self.plain = np.linalg.eigvalsh(covariance)
        # Columns of other scales are no trouble once they are standardised.
        self.deviation = np.sqrt(np.diagonal(covariance))
        self.eigenvalues, self.vectors = np.linalg.eigh(covariance / np.outer(self.deviation, self.deviation))
        self.volume = np.log(self.eigenvalues).sum() + 2 * np.log(self.deviation).sum()

    def distances(self, apart: Floats, size: Floats) -> tuple[Floats, Floats]:
        """Return squared distances with the logarithm of the determinant, and a bound on the error.

        ``size`` says how far each value may be off.
        """
        p = len(self.deviation)
        turned = (apart / self.deviation) @ self.vectors
        pull = turned / self.eigenvalues
        squares = np.einsum("ij,ij->i", turned, pull)
        remains, grown = np.ones(len(apart)), 1.0
        if self.own:
            grown = (self.left + 1) / self.left
            remains = 1 - self.share * grown / self.left * squares
        squares = grown**2 * squares / remains
        pull = grown * (pull @ self.vectors.T) / remains[:, None]  # the inverse times the distance, standardised
        length = np.linalg.norm(pull, axis=1)
        blur, by_svd = UNIT * (growth(int(self.left)) / 8 + 8 * math.sqrt(p)), 8 * UNIT * math.sqrt(p)
        error = blur * (length**2 + (1 / self.eigenvalues).sum() / remains)
        error += (np.abs(pull) * size / self.deviation).sum(axis=1)
        # An SVD of the rows is off by as much in every column.
        least, largest = self.plain[0] * remains, self.plain[-1]
        error += by_svd * np.sqrt(largest * squares) * np.linalg.norm(pull / self.deviation, axis=1)
        error += by_svd * np.sqrt(largest / self.plain).sum() / remains
        doubled = squares + self.volume + np.log(remains)
        error = 2 * error + 8 * UNIT * math.sqrt(p) * (squares + np.abs(doubled) + 1)
        error[~(least > 2 * self.tol + 16 * UNIT * math.sqrt(p) * largest)] = np.inf
        return doubled, error


def is_usual_quadratic(estimator: Any, data: Data) -> bool:
    """Whether an SVD is asked for, with parameters such as scikit-learn takes."""
    usual = estimator.shrinkage is None and estimator.covariance_estimator is None
    by_svd = isinstance(estimator.solver, str) and estimator.solver == "svd"
    sizes = is_size(estimator.reg_param) and estimator.reg_param <= 1 and is_size(estimator.tol)
    valid = is_switch(estimator.store_covariance) and priors_fit(estimator.priors, data)
    return usual and by_svd and sizes and valid
