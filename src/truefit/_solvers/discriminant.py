"""DiscriminantSolver: linear discriminant analysis on the same rows with many label vectors, from one scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from truefit._core.data import Data
from truefit._core.parameters import params_of
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats
from truefit._solvers.class_scores import ClassScores
from truefit._solvers.label_sweep import LabelSweep
from truefit._solvers.parameters import are_priors, is_size, is_switch
from truefit._solvers.rounding import (
    MARGIN,
    TOLERANCE,
    UNIT,
    column_growth,
    column_ranges,
    column_sizes,
    exact_sums,
    growth,
)
from truefit._solvers.same_rows import centred
from truefit._solvers.scored import Features, ScoredSolver, weighted

#: Below this a singular value that should be 0 may be above the limit.
LEAST_LIMIT = 1e-10


class DiscriminantSolver(ScoredSolver):
    """``LinearDiscriminantAnalysis`` (by SVD, as it is by default) on the same rows with many label vectors.

    The scatter within classes is the total scatter, which does not depend on the labels, less that of the class means:
    S_w = S_t − Σ_c n_c (μ_c − μ)(μ_c − μ)ᵀ. So each label vector costs its class means, by a matrix product for all of
    them, and the eigenvalues of a matrix of the size of the columns, where scikit-learn takes an SVD of all rows.
    Directions in which the standardised rows do not vary are left out as there (``tol``), so columns may be collinear.

    Each model comes with a bound on how far its scores may be from scikit-learn's, which grows with the condition of
    the scatter; where a label or a probability is not certain it is fitted plainly. Decisions are left to plain
    fitting: the smallest of many is never certain up to 1e-8 of itself.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X, rows = np.array([[0.0], [1.0], [4.0], [6.0]]), Rows.all(4)
    >>> data = Data(X, [0, 0, 1, 1], task="classification")
    >>> keys, asks = Keys(data), (Ask(rows, "predict_proba"),)
    >>> lda = LinearDiscriminantAnalysis()
    >>> tasks = [FitTask(lda, rows, asks, y=np.array(y)) for y in ([0, 0, 1, 1], [1, 0, 0, 1])]
    >>> [job] = DiscriminantSolver().claim([keys.fit(task) for task in tasks], data)
    >>> outcomes = job.run(data)
    >>> [(outcome.solver, outcome.answer(data, rows, "predict_proba")[0].round(3).tolist()) for outcome in outcomes]
    [('discriminant', [1.0, 0.0]), ('discriminant', [0.561, 0.439])]
    """

    name = "discriminant"
    kinds = (LinearDiscriminantAnalysis,)

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether an SVD is asked for, with parameters such as scikit-learn takes, of more rows than columns."""
        params = params_of(fit.estimator)
        usual = all(params[name] is None for name in ("shrinkage", "covariance_estimator", "n_components"))
        by_svd = isinstance(params["solver"], str) and params["solver"] == "svd"
        valid = is_switch(params["store_covariance"]) and is_size(params["tol"])
        # Of a wide table the SVD of the rows is the smaller problem.
        return usual and by_svd and valid and len(data.X.shape) == 2 and data.X.shape[1] < len(fit.train)

    def table(self, X: Floats, estimator: Any) -> DiscriminantTable:
        """Return the training rows with their scatter."""
        return DiscriminantTable(X, estimator.priors, float(estimator.tol))

    def values(self, response: Response, scores: ClassScores) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return labels or probabilities."""
        if response == "predict":
            return scores.labels()
        return scores.probabilities_of_two() if len(scores.leads) == 1 else scores.probabilities()


class DiscriminantTable:
    """Training rows counted from their mean, and their scatter; columns without any variation are left out."""

    def __init__(self, X: Floats, priors: Any, tol: float) -> None:
        self.n = len(X)
        self.priors = priors
        self.tol = tol
        self.centre = np.ones(self.n) @ X / self.n
        bottom, top = column_ranges(X)
        exact = exact_sums(X)
        constant = top == bottom
        # scikit-learn's mean of a constant column is exact, and nothing is left of the column, where its sum is exact.
        # Its singular value is rounding, and left out only if rounding is below the limit.
        if (constant & ~exact).any() or constant.all() or (constant.any() and tol < LEAST_LIMIT):
            raise ValueError("A constant column is as rounding has it.")
        self.used = np.flatnonzero(~constant)
        self.size = np.maximum(np.abs(top), np.abs(bottom))[self.used]
        self.rounding = UNIT * np.where(exact, 1.0, column_growth(X))[self.used]  # of the means
        self.own = self.features(X)
        self.covariance = self.own[0].T @ self.own[0] / self.n

    def features(self, X: Floats) -> Features:
        """Return the values of rows, counted from the centre."""
        values = centred(X, self.centre)
        return (values if len(self.used) == X.shape[1] else values[:, self.used],)

    def models(self, sweep: LabelSweep) -> DiscriminantModels | None:
        """Return the models of all label vectors; None where the priors are not those of its classes."""
        if self.priors is not None and not are_priors(self.priors, len(sweep.classes)):
            return None
        counts = sweep.counts.T[:, :, None].astype(np.float64)
        [sums] = sweep.sums(*self.own)
        means = sums / counts
        within = _within(self.covariance, means, counts / self.n)
        lost = (np.diagonal(self.covariance) / np.diagonal(within, axis1=1, axis2=2)).max(axis=1)
        return DiscriminantModels(self, counts, means, within, lost)

    @cached_property
    def axes(self) -> Floats:
        """The principal axes of the standardised columns, one in each column, for columns that are not standardised."""
        deviation = np.sqrt(np.diagonal(self.covariance))
        return np.asarray(np.linalg.eigh(self.covariance / np.outer(deviation, deviation))[1] / deviation[:, None])


class DiscriminantModels:
    """Coefficients of each class in each model: arrays of shape (classes, models, columns).

    Columns are standardised by their deviation within classes.

    Parameters
    ----------
    table : DiscriminantTable
        What is known of the rows whatever the model.
    counts : ndarray of shape (classes, models, 1)
        How many rows each class has.
    means : ndarray of shape (classes, models, columns)
    within : ndarray of shape (models, columns, columns)
        The covariance within classes.
    lost : ndarray of shape (models,)
        How many times larger what was added up for a variance within classes is than that: rounding goes by it.
    """

    def __init__(self, table: DiscriminantTable, counts: Floats, means: Floats, within: Floats, lost: Floats) -> None:
        self.table = table
        n = counts.sum(axis=0)
        shares = counts / n
        priors = shares if table.priors is None else np.asarray(table.priors, dtype=np.float64)[:, None, None]
        self.deviation = np.sqrt(np.diagonal(within, axis1=1, axis2=2))
        self.blur = UNIT * (growth(int(n.max())) / 8 * lost + 8 * math.sqrt(len(table.used)))
        correlation = within / (self.deviation[:, :, None] * self.deviation[:, None, :])
        self.inverse, self.condition, self.dropped = _inverses(correlation, table.tol**2, 64 * self.blur)
        middle = (priors * means).sum(axis=0)
        apart = (means - middle) / self.deviation
        solved = (apart[:, :, None, :] @ self.inverse)[:, :, 0, :]
        coef = solved / self.deviation
        constant = np.log(priors[:, :, 0]) - 0.5 * (apart * solved).sum(axis=2) - (middle * coef).sum(axis=2)
        self.coef = coef[1:] - coef[0]
        self.shift = (constant[1:] - constant[0])[:, :, None]
        self.strength = 2 * np.linalg.norm(solved, axis=2).max(axis=0)
        if len(counts) > 2:
            self.condition[~_all_directions(apart, solved, np.sqrt(priors), table.tol)] = np.inf

    def some(self, models: Sequence[int]) -> DiscriminantModels:
        """Return some of the models."""
        few = copy(self)
        for name in ("deviation", "blur", "inverse", "condition", "dropped", "strength"):
            setattr(few, name, getattr(self, name)[models])
        few.coef, few.shift = self.coef[:, models], self.shift[:, models]
        return few

    def leads(self, features: Features) -> Floats:
        """Return how far the scores of rows lead over that of the first class."""
        leads = weighted(self.coef, features[0])
        leads += self.shift
        return leads

    def error(self, features: Features) -> Floats:
        """Bound the error of the leads.

        A row z says zᵀR⁻¹δ, R being the correlations within classes and δ the distance of two means: R that is off by ε
        and δ by η make that |R⁻¹z|·(ε|R⁻¹δ| + η), to first order.
        """
        largest = column_sizes(features[0])
        size = (self.table.size + largest) / self.deviation
        means = np.linalg.norm(self.table.rounding / 2 * size, axis=1)
        inner = self.blur * self.strength + means
        outer = self.strength * (means + 4 * UNIT * np.linalg.norm(size, axis=1))
        error = self.condition * np.linalg.norm(largest / self.deviation, axis=1) * inner + outer
        if (MARGIN * error <= TOLERANCE).all():
            return np.asarray(error)
        return np.asarray(np.fmin(error, self._reach(features[0]) * inner + outer))

    def _reach(self, values: Floats) -> Floats:
        """Bound |R⁻¹z| by how far the rows go along each principal axis: not far where it is hard to invert."""
        axes = self.table.axes
        along = column_sizes(values @ axes)
        directions = np.linalg.inv(axes) / self.deviation[:, None, :]  # what a unit along an axis is, standardised
        reach = np.linalg.norm(directions @ self.inverse, axis=2)
        reach += self.condition[:, None] * np.linalg.norm(directions @ self.dropped, axis=2)
        return np.asarray(reach @ along)


def _within(covariance: Floats, means: Floats, shares: Floats) -> Floats:
    """Return the covariance within classes of each label vector: what the class means leave of that of all rows."""
    weighted = np.swapaxes(means * np.sqrt(shares), 0, 1)
    return np.asarray(covariance - np.swapaxes(weighted, 1, 2) @ weighted)


def _inverses(matrices: Floats, least: float, blur: Floats) -> tuple[Floats, Floats, Floats]:
    """Invert symmetric matrices but for eigenvalues up to ``least``.

    Returns
    -------
    inverses, their norms, and what projects on the directions that were dropped. The norm is infinite where an
    eigenvalue, which may be off by ``blur``, could be on either side of the limit: that decides what the model is.
    """
    unusable = ~np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    matrices = np.where(unusable[:, None, None], np.eye(matrices.shape[1]), matrices)
    try:
        inverses = np.linalg.inv(matrices)
        norms = np.linalg.norm(inverses, axis=(1, 2))
        if (1 / norms > 4 * least + blur)[~unusable].all():  # none is small: the usual case, and four times as fast
            return np.asarray(inverses), np.where(unusable, np.inf, norms), np.zeros_like(matrices)
    except np.linalg.LinAlgError:
        pass
    eigenvalues, vectors = np.linalg.eigh(matrices)
    kept = eigenvalues > least
    smallest = np.where(kept, eigenvalues, np.inf).min(axis=1)
    largest = np.where(kept, 0.0, np.abs(eigenvalues)).max(axis=1)
    certain = (smallest > 2 * least + blur) & (kept.all(axis=1) | (2 * largest + 4 * blur < least)) & kept.any(axis=1)
    norms = np.where(certain & ~unusable, 1 / (smallest - largest), np.inf)
    turned = np.swapaxes(vectors, 1, 2)
    inverted = np.where(kept, 1 / eigenvalues, 0.0)
    return (vectors * inverted[:, None, :]) @ turned, norms, (vectors * ~kept[:, None, :]) @ turned


def _all_directions(apart: Floats, solved: Floats, weights: Floats, tol: float) -> npt.NDArray[np.bool_]:
    """Whether the class means differ in all directions that they can, so that none is dropped for being small."""
    scatter = np.swapaxes(apart * weights, 0, 1) @ np.moveaxis(solved * weights, 0, 2)
    unusable = ~np.asarray(np.isfinite(scatter).all(axis=(1, 2)))
    strengths = np.linalg.eigvalsh(np.where(unusable[:, None, None], 0.0, scatter))
    possible = min(len(apart) - 1, apart.shape[2])
    return np.asarray(~unusable & (strengths[:, -possible] > 16 * (tol**2 + UNIT) * strengths[:, -1]))
