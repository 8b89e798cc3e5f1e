"""Linear discriminant analysis: other labels, other row sets, leave-one-out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from truefit._core.data import Data
from truefit._core.protocols import Fit
from truefit._core.typing import Floats, Mask, Positions
from truefit._solvers.closed_form.left_out import LabelledTable, LeftOutScoresSolver, priors_fit
from truefit._solvers.closed_form.other_rows import ClassedSets, OtherRowsScoresSolver
from truefit._solvers.closed_form.rounding import (
    MARGIN,
    TOLERANCE,
    UNIT,
    column_growth,
    column_ranges,
    column_sizes,
    exact_sums,
    growth,
)
from truefit._solvers.closed_form.row_sets import LEAST_ROWS, MOST_COLUMNS, RowSets
from truefit._solvers.registry import are_priors, is_size, is_switch
from truefit._solvers.relabelled.driver import Features, LabelSweep, RelabelledScoresSolver, centred, weighted

#: Below this a singular value that should be 0 may be above the limit.
LEAST_LIMIT = 1e-10


class DiscriminantSolver(RelabelledScoresSolver):
    """``LinearDiscriminantAnalysis`` by SVD, its default, on the same rows with many label vectors.

    The scatter within classes is the total scatter less that of the class means: S_w = S_t − Σ_c n_c (μ_c − μ)(μ_c −
    μ)ᵀ. So a label vector costs its class means and the eigenvalues of a p × p matrix, where scikit-learn takes an SVD
    of all rows. Directions without variance are dropped as there (``tol``). Error bounds grow with the condition of the
    scatter. Decisions are left to plain fitting: the smallest of many is never certain to 1e-8 of itself.
    """

    name = "discriminant"
    kinds = (LinearDiscriminantAnalysis,)
    logistic = True

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether an SVD is requested, with parameters such as scikit-learn takes, of more rows than columns."""
        # Of a wide table the SVD of the rows is the smaller problem.
        return is_by_svd(fit.estimator) and len(data.X.shape) == 2 and data.X.shape[1] < len(fit.train)

    def table(self, X: Floats, estimator: Any) -> DiscriminantTable:
        """Return the training rows with their scatter."""
        return DiscriminantTable(X, estimator.priors, float(estimator.tol))


class DiscriminantTable:
    """Training rows counted from their mean, and their scatter; columns without any variation are left out."""

    def __init__(self, X: Floats, priors: Any, tol: float, *, scaled: bool = False) -> None:
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
            raise ValueError("A constant column depends on rounding.")
        self.used = np.flatnonzero(~constant)
        # scikit-learn rounds relative to the numbers that it adds up: behind a scaler they are counted from the mean.
        origin = self.centre if scaled else 0.0
        self.size = np.maximum(np.abs(top - origin), np.abs(bottom - origin))[self.used]
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
    """Coefficients of each class in each model, of columns standardised by their deviation within classes.

    ``counts`` and ``means`` have shape (classes, models, 1) and (classes, models, columns), the covariances ``within``
    (models, columns, columns). ``lost`` is by how much the sums for a variance exceed it: rounding is relative to them.
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

        A row z has the score zᵀR⁻¹δ, with R the correlations within classes and δ the distance of two means. Errors ε
        of R and η of δ move it by |R⁻¹z|·(ε|R⁻¹δ| + η), to first order.
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
    """Invert symmetric matrices, without eigenvalues up to ``least``; return inverses, norms, and dropped projections.

    A norm is infinite where an eigenvalue, uncertain by ``blur``, could be on either side of the limit.
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


def _all_directions(apart: Floats, solved: Floats, weights: Floats, tol: float) -> Mask:
    """Whether the class means differ in all directions that they can, so that none is dropped for being small."""
    scatter = np.swapaxes(apart * weights, 0, 1) @ np.moveaxis(solved * weights, 0, 2)
    unusable = ~np.asarray(np.isfinite(scatter).all(axis=(1, 2)))
    strengths = np.linalg.eigvalsh(np.where(unusable[:, None, None], 0.0, scatter))
    possible = min(len(apart) - 1, apart.shape[2])
    return np.asarray(~unusable & (strengths[:, -possible] > 16 * (tol**2 + UNIT) * strengths[:, -1]))


class DiscriminantLooSolver(LeftOutScoresSolver):
    """Leave-one-out of ``LinearDiscriminantAnalysis`` by SVD, its default.

    Without a row at distance d from the mean of its class of m rows, the scatter within classes is S − d dᵀ·m/(m−1):
    its inverse follows by the Sherman-Morrison formula. Rows whose directions might be dropped (``tol``) are fitted
    plainly.
    """

    name = "discriminant loo"
    kinds = (LinearDiscriminantAnalysis,)
    logistic = True

    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether an SVD is requested, with parameters such as scikit-learn takes, of more rows than columns."""
        return is_usual_discriminant(estimator, data)

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
    """Return the least squared distance of class means along a direction, relative to the largest, without each row."""
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


def is_by_svd(estimator: Any) -> bool:
    """Whether an SVD is requested, with parameters such as scikit-learn takes."""
    usual = all(getattr(estimator, name) is None for name in ("shrinkage", "covariance_estimator", "n_components"))
    by_svd = isinstance(estimator.solver, str) and estimator.solver == "svd"
    return usual and by_svd and is_switch(estimator.store_covariance) and is_size(estimator.tol)


def is_usual_discriminant(estimator: Any, data: Data) -> bool:
    """Whether an SVD is requested of twice as many rows as columns, with priors that suit the classes."""
    tall = len(data.X.shape) == 2 and 2 * data.X.shape[1] < data.n
    return tall and is_by_svd(estimator) and priors_fit(estimator.priors, data)


class DiscriminantSetsSolver(OtherRowsScoresSolver):
    """``LinearDiscriminantAnalysis`` by SVD, its default, on many sets of rows.

    The scatter within classes of a set is a sum of products over its rows less those of its class means: one matrix
    product for all sets, then a p × p inverse for each, where scikit-learn takes an SVD of all rows.
    """

    name = "discriminant sets"
    kinds = (LinearDiscriminantAnalysis,)
    logistic = True

    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether an SVD is requested, with parameters such as scikit-learn takes, of a table that is not wide."""
        return is_usual_discriminant(estimator, data) and data.X.shape[1] <= MOST_COLUMNS

    def table(self, sets: RowSets, estimator: Any) -> DiscriminantSets:
        """Return the rows, counted from their classes' means."""
        return DiscriminantSets(sets, estimator)


class DiscriminantSets:
    """Rows counted from the means of their classes; columns without any variation are left out."""

    def __init__(self, sets: RowSets, estimator: Any) -> None:
        self.sets = sets
        self.whole = DiscriminantTable(sets.X, estimator.priors, float(estimator.tol), scaled=sets.scaled)
        self.features: Features = self.whole.own
        self.classed = ClassedSets(sets)
        self.apart = self.classed.apart[:, self.whole.used]

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[DiscriminantModels]:
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
        return [models] * len(estimators)
