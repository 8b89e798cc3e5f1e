"""Linear discriminant analysis: other labels, other row sets, rows left out."""

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
from truefit._core.typing import Floats, Positions
from truefit._solvers.base import are_priors, is_size, is_switch
from truefit._solvers.closed_form.left_out import LabelledTable, LeftOutScoresSolver, priors_fit
from truefit._solvers.closed_form.other_rows import ClassedSets, OtherRowsScoresSolver
from truefit._solvers.closed_form.rounding import (
    MARGIN,
    TOLERANCE,
    UNIT,
    ClassScores,
    column_growth,
    column_ranges,
    column_sizes,
    exact_sums,
    growth,
)
from truefit._solvers.closed_form.row_sets import RowSets
from truefit._solvers.relabelled.driver import Features, LabelSweep, RelabelledScoresSolver, centred, weighted

#: Below this a singular value that should be 0 may be above the limit.
LEAST_LIMIT = 1e-10


class DiscriminantSolver(RelabelledScoresSolver):
    """``LinearDiscriminantAnalysis`` (by SVD, as it is by default) on the same rows with many label vectors.

    The scatter within classes is the total scatter, which does not depend on the labels, less that of the class means:
    S_w = S_t − Σ_c n_c (μ_c − μ)(μ_c − μ)ᵀ. So each label vector costs its class means, by a matrix product for all of
    them, and the eigenvalues of a matrix of the size of the columns, where scikit-learn takes an SVD of all rows.
    Directions in which the standardised rows do not vary are left out as there (``tol``), so columns may be collinear.

    Each model comes with a bound on how far its scores may be from scikit-learn's, which grows with the condition of
    the scatter; where a label or a probability is not certain it is fitted plainly. SVCDecisions are left to plain
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
            raise ValueError("A constant column is as rounding has it.")
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


class DiscriminantLooSolver(LeftOutScoresSolver):
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


#: With more columns the products take as long as a fit of scikit-learn's does.
MOST_COLUMNS = 64
#: Sets must have so many times as many rows as columns.
LEAST_ROWS = 2


class DiscriminantSetsSolver(OtherRowsScoresSolver):
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
