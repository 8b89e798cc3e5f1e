"""DiscriminantLooSolver: leave-one-out of discriminant analysis, each row taken out of the scatter of its class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from truefit._core.data import Data
from truefit._core.typing import Floats, Positions
from truefit._solvers.class_loo import ClassLooSolver, LabelledTable, priors_fit
from truefit._solvers.class_scores import ClassScores
from truefit._solvers.parameters import is_size, is_switch
from truefit._solvers.rounding import UNIT, growth


class DiscriminantLooSolver(ClassLooSolver):
    """Leave-one-out fits of ``LinearDiscriminantAnalysis`` by SVD, as it is by default.

    Without a row the scatter within classes is S − d dᵀ·m/(m−1), d being the row's distance from the mean of its class
    of m rows: its inverse follows from that of S by the formula of Sherman and Morrison, and with it the distances of
    the row from all class means. Where a direction might be dropped for varying too little (``tol``) the row is fitted
    plainly.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [5.0], [2.0], [7.0], [6.0], [9.0], [3.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, lda = Keys(data), LinearDiscriminantAnalysis()
    >>> tasks = [FitTask(lda, Rows.without(8, i), (Ask(Rows.of([i]), "predict_proba"),)) for i in range(8)]
    >>> [job] = DiscriminantLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> outcome = job.run(data)[2]
    >>> outcome.solver, outcome.answer(data, Rows.of([2]), "predict_proba").round(3).tolist()
    ('discriminant loo', [[0.062, 0.938]])
    """

    name = "discriminant loo"
    kinds = (LinearDiscriminantAnalysis,)

    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether an SVD is asked for, with parameters such as scikit-learn takes, of more rows than columns."""
        return is_usual_discriminant(estimator, data)

    def probabilities(self, scores: ClassScores) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Two classes are told apart by one number."""
        return scores.probabilities_of_two() if len(scores.leads) == 1 else scores.probabilities()

    def scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats]:
        """Return the logarithms of shares less half the squared distances."""
        n, p, codes = table.n, table.p, table.codes[rows]
        members = np.concatenate([table.members(code) for code in range(len(table.counts))])
        deviation = np.sqrt(np.einsum("ij,ij->j", members, members) / n)
        members /= deviation
        eigenvalues, vectors = np.linalg.eigh(members.T @ members / n)
        least = eigenvalues[0]
        # In these coordinates the scatter of all rows is 1 in every direction.
        whiten = vectors / np.sqrt(eigenvalues) / deviation[:, None]
        centre = table.counts @ table.means / n
        X, means = (table.X[rows] - centre) @ whiten, (table.means - centre) @ whiten
        count = table.counts[codes]
        own = X - means[codes]
        length = np.einsum("ij,ij->i", own, own)
        share = count / (count - 1) / n
        left = 1 - share * length
        shares = table.log_shares(estimator.priors, rows)
        blur = UNIT * (growth(n) / 8 + 8 * math.sqrt(p))
        by_svd = 8 * UNIT * math.sqrt(p * eigenvalues[-1])
        size = np.linalg.norm((table.rounding * (np.abs(centre) + deviation) + 4 * UNIT * np.abs(centre)) / deviation)
        size = size + 4 * UNIT * np.linalg.norm((table.X[rows] - centre) / deviation, axis=1)
        own_pull = np.sqrt(np.einsum("ij,ij,j->i", own, own, 1 / eigenvalues))
        scores, errors = [], []
        for code, mean in enumerate(means):
            apart = X - mean
            across = np.einsum("ij,ij->i", apart, own)
            squares = np.einsum("ij,ij->i", apart, apart) + share * across**2 / left
            squares = np.where(codes == code, (count / (count - 1)) ** 2 * length / left, squares) * ((n - 1) / n)
            scores.append(shares[code] - 0.5 * squares)
            # How far the distance moves with the scatter: by the inverse of that times the distance.
            pull = np.sqrt(np.einsum("ij,ij,j->i", apart, apart, 1 / eigenvalues))
            pull = np.where(codes == code, 2 * own_pull / left, pull + share * np.abs(across) / left * own_pull)
            error = blur * pull**2 + by_svd * np.sqrt(squares) * pull + pull * size
            errors.append(2 * error + 8 * UNIT * math.sqrt(p) * (squares + 1))
        error = np.array(errors)
        error[:, ~(least * left > 4 * estimator.tol**2 + 64 * blur)] = np.inf
        if len(means) > 2:
            strengths = _strengths(means, own, table.counts, codes, estimator.priors)
            error[:, ~(strengths > 16 * (estimator.tol**2 + UNIT))] = np.inf
        return np.array(scores), error


def _strengths(means: Floats, own: Floats, counts: Floats, codes: Positions, priors: Any) -> Floats:
    """Return how far the class means are apart in the direction in which they are least, relative to the most.

    Squared, and without each row. Where that is too little scikit-learn drops the direction.
    """
    rows, classes = len(own), len(counts)
    here = codes[:, None] == np.arange(classes)
    left = counts - here
    moved = means - here[:, :, None] * (own / (counts[codes] - 1)[:, None])[:, None, :]
    given = left / (counts.sum() - 1) if priors is None else np.broadcast_to(np.asarray(priors, float), left.shape)
    apart = (moved - (given[:, None, :] @ moved)) * np.sqrt(given)[:, :, None]
    # The scatter without the row, in coordinates in which that of all rows is 1.
    share = counts[codes] / (counts[codes] - 1) / counts.sum()
    along = np.einsum("ikj,ij->ik", apart, own)
    factor = share / (1 - share * np.einsum("ij,ij->i", own, own))
    products = apart @ np.swapaxes(apart, 1, 2) + factor[:, None, None] * along[:, :, None] * along[:, None, :]
    usable = np.isfinite(products).all(axis=(1, 2))
    eigenvalues = np.linalg.eigvalsh(np.where(usable[:, None, None], products, 0.0))
    possible = min(classes - 1, means.shape[1])
    return np.where(usable, eigenvalues[:, -possible] / eigenvalues[:, -1], np.nan).reshape(rows)


def is_usual_discriminant(estimator: Any, data: Data) -> bool:
    """Whether an SVD is asked for, with parameters such as scikit-learn takes, of more rows than columns."""
    usual = all(getattr(estimator, name) is None for name in ("shrinkage", "covariance_estimator", "n_components"))
    by_svd = isinstance(estimator.solver, str) and estimator.solver == "svd"
    valid = is_switch(estimator.store_covariance) and is_size(estimator.tol) and priors_fit(estimator.priors, data)
    tall = len(data.X.shape) == 2 and 2 * data.X.shape[1] < data.n
    return usual and by_svd and valid and tall
