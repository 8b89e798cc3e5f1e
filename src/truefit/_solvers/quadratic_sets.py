"""QuadraticSetsSolver: quadratic discriminant analysis on many sets of rows, covariances from shared products."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from truefit._core.data import Data
from truefit._core.task import Response
from truefit._core.typing import Floats
from truefit._solvers.class_moments import ClassedSets
from truefit._solvers.quadratic_loo import is_usual_quadratic
from truefit._solvers.rounding import MARGIN, TOLERANCE, UNIT, column_growth, column_sizes, growth
from truefit._solvers.row_sets import RowSets
from truefit._solvers.same_rows import centred
from truefit._solvers.scored import Features
from truefit._solvers.scored_sets import ScoredSetsSolver

#: With more columns the inverses, one for each class, take as long as a fit of scikit-learn's does.
MOST_COLUMNS = 32


class QuadraticSetsSolver(ScoredSetsSolver):
    """``QuadraticDiscriminantAnalysis`` by SVD, as it is by default, on many sets of rows, however regularised.

    With rows counted from the mean of all rows of their class, the covariance of a class in a set is the mean of the
    products of its rows less those of its own mean: one matrix product for all sets, and for each class of each set the
    inverse of a matrix of the size of the columns, where scikit-learn takes an SVD of the rows.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.array([[0.0], [1.0], [3.0], [2.0], [7.0], [6.0], [9.0], [8.0]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, qda = Keys(data), QuadraticDiscriminantAnalysis()
    >>> folds = [[k, k + 4] for k in range(4)]
    >>> tasks = [FitTask(qda, Rows.without(8, fold), (Ask(Rows.of(fold)),)) for fold in folds]
    >>> [job] = QuadraticSetsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, Rows.of(fold)).tolist() for fold, outcome in zip(folds, job.run(data), strict=True)]
    [[0, 1], [0, 1], [0, 1], [0, 1]]
    """

    name = "quadratic sets"
    kinds = (QuadraticDiscriminantAnalysis,)
    path = ("reg_param",)

    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether an SVD is asked for, with parameters such as scikit-learn takes, of a table that is not wide."""
        narrow = len(data.X.shape) == 2 and data.X.shape[1] <= MOST_COLUMNS
        return bool(narrow and is_usual_quadratic(estimator, data))

    def table(self, sets: RowSets, estimator: Any) -> QuadraticTable:
        """Return the rows, counted from their classes' means."""
        return QuadraticTable(sets)


class QuadraticTable:
    """Rows counted from the means of their classes, and from the mean of all."""

    def __init__(self, sets: RowSets) -> None:
        self.sets = sets
        self.classed = ClassedSets(sets)
        self.centre = self.classed.centre
        self.features: Features = (centred(sets.X, self.centre),)
        self.rounding = UNIT * sets.repeated * column_growth(sets.X)

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[Mapping[Response, QuadraticModels]]:
        """Return the models of some sets for each estimator."""
        counts, (sums,) = self.sets.class_sums(sets, self.classed.apart)
        shift = sums / counts
        means = (self.classed.levels - self.centre)[:, None, :] + shift
        scatter = np.array([self.sets.products(sets, self.classed.apart, some) for some in self.sets.slices])
        raw = np.diagonal(scatter, axis1=2, axis2=3).copy()
        scatter -= sums[:, :, :, None] * shift[:, :, None, :]
        lost = (raw / np.diagonal(scatter, axis1=2, axis2=3)).max(axis=2)
        models = [QuadraticModels(self, counts, means, scatter, lost, estimator) for estimator in estimators]
        return [{"predict": each, "predict_proba": each} for each in models]


class QuadraticModels:
    """Means and inverse covariances of each class in each model: arrays of shape (classes, models, ...).

    Columns are standardised, so that other scales are no trouble.
    """

    def __init__(
        self, table: QuadraticTable, counts: Floats, means: Floats, scatter: Floats, lost: Floats, estimator: Any
    ) -> None:
        self.table, self.mean, p = table, means, means.shape[2]
        n, share = counts[:, :, 0], 1 - float(estimator.reg_param)
        covariance = share * scatter / n[:, :, None, None] + float(estimator.reg_param) * np.eye(p)
        self.deviation = np.sqrt(np.diagonal(covariance, axis1=2, axis2=3))
        scaled = covariance / (self.deviation[:, :, :, None] * self.deviation[:, :, None, :])
        usable = np.isfinite(scaled).all(axis=(2, 3))
        scaled = np.where(usable[:, :, None, None], scaled, np.eye(p))
        sign, volume = np.linalg.slogdet(scaled)
        usable &= sign > 0
        self.inverse = np.linalg.inv(np.where(usable[:, :, None, None], scaled, np.eye(p)))
        self.volume = volume + 2 * np.log(self.deviation).sum(axis=2)
        priors = estimator.priors
        given = n / n.sum(axis=0) if priors is None else np.asarray(priors, dtype=np.float64)[:, None]
        self.shares = np.broadcast_to(np.log(given), n.shape)
        self.blur = UNIT * (growth(int(n.max())) / 8 * np.maximum(lost, 1) + 8 * math.sqrt(p))
        # Of fewer rows than columns scikit-learn makes nothing.
        self.steady = self._bound_spread(covariance, float(estimator.tol)) & usable & (n >= max(p, 2))

    def _bound_spread(self, covariance: Floats, tol: float) -> npt.NDArray[np.bool_]:
        """Bound the eigenvalues, the largest by the trace, the smallest by the norm of the inverse.

        Returns
        -------
        Which covariances are so far from singular that first order is all that matters.
        """
        p = covariance.shape[2]
        self.largest = np.trace(covariance, axis1=2, axis2=3)
        # Scales are taken out: squares have no room.
        unit = self.deviation.min(axis=2)
        relative = self.deviation / unit[:, :, None]
        plain = self.inverse / (relative[:, :, :, None] * relative[:, :, None, :])
        least = unit**2 / np.linalg.norm(plain, axis=(2, 3))
        self.norm = np.linalg.norm(self.inverse, axis=(2, 3))
        traces = np.trace(self.inverse, axis1=2, axis2=3), np.trace(plain, axis1=2, axis2=3)
        by_svd = 8 * UNIT * math.sqrt(p)
        # What is off whichever row is asked about: the determinant.
        self.constant = self.blur * traces[0] + by_svd * np.sqrt(p * self.largest * traces[1]) / unit
        certain = least > 2 * tol + 16 * UNIT * math.sqrt(p) * self.largest
        return np.asarray(certain & (64 * self.blur * self.norm < 1))

    def some(self, models: Sequence[int]) -> QuadraticModels:
        """Return some of the models."""
        few = copy(self)
        for name in (
            "mean",
            "deviation",
            "inverse",
            "volume",
            "shares",
            "blur",
            "largest",
            "norm",
            "constant",
            "steady",
        ):
            setattr(few, name, getattr(self, name)[:, models])
        return few

    def leads(self, features: Features) -> Floats:
        """Return how far the scores of rows lead over that of the first class."""
        scores = []
        for code in range(len(self.mean)):
            apart = self._apart(code, features[0])
            squares = np.einsum("mrj,mrj->mr", apart @ self.inverse[code], apart)
            scores.append((self.shares[code] - 0.5 * self.volume[code])[:, None] - 0.5 * squares)
        return np.asarray(np.array(scores[1:]) - scores[0])

    def _apart(self, code: int, rows: Floats) -> Floats:
        return np.asarray((rows - self.mean[code][:, None, :]) / self.deviation[code][:, None, :])

    def error(self, features: Features) -> Floats:
        """Bound the error of the leads: by how far rows go in each column, or of a single model row by row."""
        largest = column_sizes(features[0])
        level = np.abs(self.table.centre + self.mean) + self.deviation
        off = self.table.rounding * level + 4 * UNIT * (np.abs(self.table.centre) + largest)
        far = np.linalg.norm((largest + np.abs(self.mean)) / self.deviation, axis=2)
        length, squares = self.norm * far, self.norm * far**2
        flat = length / self.deviation.min(axis=2)
        error = self._error(length, squares, length * np.linalg.norm(off / self.deviation, axis=2), flat)
        if error.shape[1] == 1 and not (MARGIN * error.sum(axis=0) <= TOLERANCE).all():
            error = np.array([self._row_errors(code, features[0], off[code]) for code in range(len(error))])[:, None]
        return np.asarray(error[0] + error[1:].max(axis=0))

    def _row_errors(self, code: int, rows: Floats, off: Floats) -> Any:
        apart = self._apart(code, rows)
        pull = apart @ self.inverse[code]
        length = np.linalg.norm(pull[0], axis=1)
        squares = np.abs(np.einsum("rj,rj->r", pull[0], apart[0]))
        flat = np.linalg.norm(pull[0] / self.deviation[code], axis=1)
        shifts = (np.abs(pull[0]) * off / self.deviation[code]).sum(axis=1)
        return self._error(length, squares, shifts, flat, code).max()

    def _error(self, length: Floats, squares: Floats, shifts: Floats, flat: Floats, code: Any = slice(None)) -> Floats:
        p = self.mean.shape[2]
        largest, volume = self.largest[code], self.volume[code]
        error = self.blur[code] * length**2 + self.constant[code] + shifts
        error = 2 * (error + 8 * UNIT * math.sqrt(p) * np.sqrt(largest * squares) * flat)
        error = error + 8 * UNIT * math.sqrt(p) * (2 * squares + np.abs(volume) + 1)
        return np.where(self.steady[code], error, np.inf)
