"""LinearSetsSolver: least squares and ridge on many sets of rows, the normal equations of all from shared products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from truefit._core.data import Data
from truefit._core.protocols import Fit, Response
from truefit._core.typing import Floats, Mask, Positions
from truefit._solvers.closed_form.linear_left_out import Conditioning, LinearProblem, ordinary
from truefit._solvers.closed_form.other_rows import TRIAL_ROWS, OtherRowsSolver
from truefit._solvers.closed_form.ridge import plain_numbers, problem_of, step_by_step
from truefit._solvers.closed_form.rounding import (
    MARGIN,
    STEADY,
    TOLERANCE,
    UNIT,
    accurate_mean,
    column_growth,
    column_sizes,
)
from truefit._solvers.closed_form.row_sets import LEAST_ROWS, MOST_COLUMNS, RowSets, certain_scales
from truefit._solvers.plain import labels_of
from truefit._solvers.registry import SharedResult
from truefit._solvers.relabelled.driver import as_floats, weighted


class LinearSetsSolver(OtherRowsSolver):
    """``Ridge``, with any penalties, and ``LinearRegression`` on many sets of rows.

    The products XᵀX and Xᵀy of a set are sums over its rows, less those of its mean: one matrix product gives them for
    all sets, and each set and penalty is left with a p × p system. Where the error bound of a prediction is too large,
    ridge is computed as scikit-learn does it, step by step, and least squares are fitted plainly.
    """

    name = "linear sets"
    kinds = (Ridge, LinearRegression)
    responses = frozenset({"predict"})
    path = ("alpha",)
    by_class = False

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the solution is exact, not iterated, and the table is not wide."""
        usual = problem_of(fit.estimator) is not None and plain_numbers(labels_of(fit, data))
        return (
            usual
            and len(data.X.shape) == 2
            and LEAST_ROWS * data.X.shape[1] <= data.n
            and data.X.shape[1] <= MOST_COLUMNS
        )

    def promises(self, fit: Fit, data: Data, scaled: bool) -> bool:
        """Whether some of the rows are well conditioned; ridge is computed step by step where they are not."""
        problem = problem_of(fit.estimator)
        if problem is None or (scaled and not problem.intercept):
            return False
        if type(fit.estimator) is Ridge and not scaled:
            return True
        rows = np.arange(0, data.n, -(-data.n // max(TRIAL_ROWS, 8 * data.X.shape[1])))
        X = as_floats(data.take(rows))
        if scaled:
            deviation = X.std(axis=0)
            X = (X[:, deviation > 0] - X[:, deviation > 0].mean(axis=0)) / deviation[deviation > 0]
        return X.shape[1] > 0 and Conditioning(X, problem.intercept).serves(problem)

    def along_a_set(self, group: Sequence[Fit]) -> int:
        """Return the number of penalties: where they are many, one decomposition of each set answers them faster."""
        return len({fit.estimator_key for fit in group})

    def set_results(self, fits: Sequence[Fit], data: Data, scaled: bool) -> Sequence[SharedResult | None]:
        """Return a result for each fit; where one of ridge is not certain it is computed step by step."""
        results = list(super().set_results(fits, data, scaled))
        for place, fit in enumerate(fits):
            result = results[place]
            if type(fit.estimator) is Ridge and not scaled and (result is None or not result.trusted):
                results[place] = step_by_step(fit, data)
        return results

    def predictors(self, sets: RowSets, estimators: Sequence[Any]) -> Callable[[list[int]], Sequence[LinearSets]]:
        """Return what adds up the products of some sets, and solves for each penalty."""
        problems = [problem for estimator in estimators if (problem := problem_of(estimator)) is not None]
        table = LinearTable(sets, problems[0].intercept)

        def solved(part: list[int]) -> list[LinearSets]:
            sums = LinearSums(table, part)
            return [LinearSets(sums, problem) for problem in problems]

        return solved


class LinearTable:
    """Rows and targets, centred where there is an intercept; ValueError where their squares would not be finite."""

    def __init__(self, sets: RowSets, intercept: bool) -> None:
        self.sets = sets
        self.p = sets.X.shape[1]
        y = sets.labels.astype(np.float64)
        if not (ordinary(sets.X) and ordinary(y)):
            raise ValueError("Squares of the values must be numbers.")
        self.intercept = intercept
        self.centre, self.level = np.zeros(self.p), 0.0
        if intercept:
            self.centre, self.level = accurate_mean(sets.X), float(accurate_mean(y))
        #: Rows with their target in the last column.
        self.rows = np.column_stack([sets.X - self.centre, y - self.level])
        self.values = self.rows[:, :-1]
        self.rounding = UNIT * sets.repeated * column_growth(sets.X)
        self.label_size = float(np.abs(y).max())
        #: How far from 0 the rows are that scikit-learn adds up; a scaler counts them from their mean.
        self.offset = np.zeros(self.p) if sets.scaled else self.centre

    @cached_property
    def largest(self) -> Floats:
        """How far rows go in each column."""
        return column_sizes(self.rows)[:-1]


class LinearSums:
    """The normal equations of some sets: arrays with a first axis for these."""

    def __init__(self, table: LinearTable, sets: Sequence[int]) -> None:
        self.table = table
        self.n = np.array([len(table.sets.trains[s]) for s in sets], dtype=np.float64)
        products = table.sets.products(sets, table.rows)
        raw = np.diagonal(products, axis1=1, axis2=2).copy()
        means = np.zeros((len(sets), table.p + 1))
        if table.intercept:
            means = table.sets.counts(sets) @ table.rows / self.n[:, None]
            products -= self.n[:, None, None] * means[:, :, None] * means[:, None, :]
        self.mean, self.level = means[:, :-1], means[:, -1]
        self.gram, self.pull = products[:, :-1, :-1], products[:, :-1, -1]
        #: What learners see columns divided by, and the sets for which that is certain.
        self.spread, self.certain = np.ones((len(sets), table.p)), np.ones(len(sets), dtype=bool)
        if table.sets.scaled:
            variance = np.diagonal(self.gram, axis1=1, axis2=2) / self.n[:, None]
            self.certain = certain_scales(variance, table.centre + self.mean, self.n)
            self.spread = np.sqrt(variance)
        #: The norm of the targets.
        self.length = np.sqrt(np.maximum(products[:, -1, -1], 0))
        diagonal = np.diagonal(products, axis1=1, axis2=2)
        #: How much of what was added up is left: rounding is relative to that.
        self.lost = np.maximum(1.0, (raw / diagonal)[:, :-1].max(axis=1))
        self.raw_length = np.sqrt(raw[:, -1])


class LinearSets:
    """Coefficients of each set for one problem, with bounds on the distance of predictions from plain fitting.

    Columns are standardised here. Behind a ``StandardScaler`` with scales s the penalty on raw columns is αs².
    """

    def __init__(self, sums: LinearSums, problem: LinearProblem) -> None:
        self.sums, self.problem = sums, problem
        p = sums.table.p
        matrix = sums.gram + problem.alpha * np.eye(p) * (sums.spread**2)[:, None, :]
        self.scale = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
        scaled = matrix / (self.scale[:, :, None] * self.scale[:, None, :])
        usable = np.isfinite(scaled).all(axis=(1, 2))
        scaled = np.where(usable[:, None, None], scaled, np.eye(p))
        self.inverse, solved = _solved(scaled, sums.pull / self.scale)
        self.length = np.linalg.norm(solved, axis=1)
        self.coef = solved / self.scale
        self.intercept = sums.table.level + sums.level - np.einsum("ij,ij->i", sums.mean, self.coef)
        self.norm = np.linalg.norm(self.inverse, axis=(1, 2))
        self.steady = usable & self._steady() & sums.certain

    def _steady(self) -> Mask:
        """Return which sets are so well conditioned that first order is all that matters."""
        sums, problem, p = self.sums, self.problem, self.sums.table.p
        steady = (sums.n >= LEAST_ROWS * p) & (self._unit * self.norm < STEADY)
        if problem.route == "cholesky":
            return np.asarray(steady)
        # Not larger than the smallest singular value with its penalty. Scales are taken out: squares have no room.
        scale = self.scale / sums.spread
        least = scale.min(axis=1)
        relative = scale / least[:, None]
        flat = self.inverse / (relative[:, :, None] * relative[:, None, :])
        smallest = least / np.sqrt(np.linalg.norm(flat, axis=(1, 2)))
        steady &= self._svd_error < STEADY * smallest
        # No singular value may come near to being dropped.
        return np.asarray(steady & (2 * problem.tol * self._largest < smallest))

    @cached_property
    def _unit(self) -> Floats:
        """Backward error of the normal equations here, and in plain fitting, relative to their diagonal."""
        return np.asarray(self.problem.cholesky_unit(int(self.sums.n.max()), self.sums.table.p) * (1 + self.sums.lost))

    @cached_property
    def _largest(self) -> Floats:
        diagonal = np.diagonal(self.sums.gram, axis1=1, axis2=2)
        return np.asarray(np.sqrt((diagonal / self.sums.spread**2).sum(axis=1)))

    @cached_property
    def _svd_error(self) -> Floats:
        error = self.problem.svd_unit(self.sums.table.p) * self._largest
        return np.asarray(error + 1e-15 if self.problem.route == "svd" else error)

    def predictions(self, response: Response, models: list[int], where: list[Positions]) -> tuple[Floats, Mask]:
        """Return what models predict, all of the same rows or each of its own, and which are to be trusted."""
        places = where[0] if len(where) == 1 else np.array(where)
        rows = self.sums.table.values[places]
        values = weighted(self.coef[None, models], rows)[0] + self.intercept[models, None]
        allowed = TOLERANCE * np.abs(values) / MARGIN
        near = self._usual[models, None] <= allowed
        for i in np.flatnonzero(~near.all(axis=1) & self.steady[models]).tolist():
            some = np.flatnonzero(~near[i])
            near[i, some] = self._error(models[i], (rows if len(where) == 1 else rows[i])[some]) <= allowed[i, some]
        return values, near.all(axis=1) & self.steady[models] & np.isfinite(values).all(axis=1)

    @cached_property
    def _usual(self) -> Floats:
        """Bound the error for any row of the table, by how far rows go in each column."""
        sums = self.sums
        farthest = sums.table.largest + np.abs(sums.mean)
        reach = np.linalg.norm(farthest / self.scale, axis=1)
        pull = self.norm * reach
        flat = pull / (self.scale / sums.spread).min(axis=1)
        shifts = flat * np.linalg.norm(self._mean_error / sums.spread, axis=1)
        return self._bound(
            pull, flat, np.sqrt(self.norm) * reach, shifts, self._evaluation(farthest, slice(None)), slice(None)
        )

    def _error(self, model: int, rows: Floats) -> Floats:
        """Bound the error of one model for each of some rows."""
        apart = (rows - self.sums.mean[model]) / self.scale[model]
        pull = apart @ self.inverse[model]
        flat = np.abs(pull) / self.scale[model]
        along = np.sqrt(np.abs(np.einsum("ij,ij->i", pull, apart)))
        evaluation = self._evaluation(np.abs(rows) + np.abs(self.sums.mean[model]), model)
        norms = np.linalg.norm(pull, axis=1), np.linalg.norm(flat * self.sums.spread[model], axis=1)
        return self._bound(*norms, along, flat @ self._mean_error[model], evaluation, model)

    def _bound(
        self, pull: Floats, flat: Floats, along: Floats, shifts: Floats, evaluation: Floats, model: Any
    ) -> Floats:
        """Bound the error of predictions at x, counted from the mean, with A = XᵀX + α.

        ``pull`` is the norm of A⁻¹x in scaled columns, ``flat`` as learners see it, ``along`` the root of xᵀA⁻¹x,
        ``shifts`` what A⁻¹x makes of errors of the means, ``evaluation`` the rounding of the prediction itself.
        """
        sums, p = self.sums, self.sums.table.p
        length = sums.length[model]
        error = self._unit[model] * pull * (self.length[model] + sums.raw_length[model])
        if self.problem.route != "cholesky":
            coef = np.linalg.norm(self.coef[model] * sums.spread[model], axis=-1)
            error = error + self._svd_error[model] * (flat * length + along * coef)
            error = error + self.problem.svd_unit(p) * length * along
        if self.problem.intercept:
            n = sums.n[model]
            labels = UNIT * sums.table.label_size * np.minimum(n, 16 + np.log2(n))
            means = (np.abs(self.coef[model]) * self._mean_error[model]).sum(axis=-1)
            error = error + (means + labels) * (1 + n * shifts)
        return np.asarray(error + evaluation)

    @cached_property
    def _mean_error(self) -> Floats:
        """How far the means of columns may be off, here or in plain fitting."""
        sums = self.sums
        deviation = np.sqrt(np.diagonal(sums.gram, axis1=1, axis2=2) / sums.n[:, None])
        return np.asarray(sums.table.rounding * (np.abs(sums.table.offset + sums.mean) + 2 * deviation))

    def _evaluation(self, farthest: Floats, model: Any) -> Floats:
        table = self.sums.table
        size = (np.abs(self.coef[model]) * (farthest + 2 * np.abs(table.offset))).sum(axis=-1)
        return np.asarray(4 * UNIT * (math.sqrt(table.p) * size + np.abs(self.intercept[model]) + abs(table.level)))


def _solved(matrices: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return inverses, and solutions computed without them, which is more accurate; NaN where there are none."""
    try:
        solutions = np.linalg.solve(matrices, right[:, :, None])[:, :, 0]
        return np.asarray(np.linalg.inv(matrices), dtype=np.float64), np.asarray(solutions, dtype=np.float64)
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(matrices, np.nan), np.full_like(right, np.nan)
        each = [_solved(matrices[i : i + 1], right[i : i + 1]) for i in range(len(matrices))]
        return np.concatenate([inverse for inverse, _ in each]), np.concatenate([solution for _, solution in each])
