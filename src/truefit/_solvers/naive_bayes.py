"""NaiveBayesSolver: Gaussian naive Bayes on the same rows with many label vectors, by sufficient statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.naive_bayes import GaussianNB

from truefit._core.data import Data
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats
from truefit._solvers.class_moments import ClassMoments
from truefit._solvers.class_scores import ClassScores
from truefit._solvers.label_sweep import LabelSweep
from truefit._solvers.parameters import are_priors, is_size
from truefit._solvers.rounding import MARGIN, TOLERANCE, UNIT, column_growth, column_tops
from truefit._solvers.same_rows import centred
from truefit._solvers.scored import Features, ScoredSolver, weighted


class NaiveBayesSolver(ScoredSolver):
    """``GaussianNB`` on the same rows with many label vectors.

    With the columns centred, the mean and variance of each class under each label vector are sums of x and x² over its
    rows, so that one matrix product gives those of all; and the joint log-likelihood

        log π_c − ½ Σ_j log 2πσ²_cj − ½ Σ_j (x_j − μ_cj)² / σ²_cj

    is linear in x and x², so that another gives those of all rows. Each model comes with a bound on how far its
    likelihoods may be from scikit-learn's; where a label or a probability is not certain it is fitted plainly.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X, rows = np.array([[0.0], [1.0], [4.0], [6.0]]), Rows.all(4)
    >>> data = Data(X, [0, 0, 1, 1], task="classification")
    >>> keys, asks = Keys(data), (Ask(rows),)
    >>> tasks = [FitTask(GaussianNB(), rows, asks, y=np.array(y)) for y in ([0, 0, 1, 1], [1, 0, 0, 1])]
    >>> [job] = NaiveBayesSolver().claim([keys.fit(task) for task in tasks], data)
    >>> outcomes = job.run(data)
    >>> [(outcome.solver, outcome.answer(data, rows).tolist()) for outcome in outcomes]
    [('naive bayes', [0, 0, 1, 1]), ('naive bayes', [1, 0, 0, 1])]
    """

    name = "naive bayes"
    kinds = (GaussianNB,)

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""
        return is_size(fit.estimator.var_smoothing)

    def table(self, X: Floats, estimator: Any) -> NaiveBayesTable:
        """Return the training rows, ready for any labels."""
        return NaiveBayesTable(X, estimator.priors, float(estimator.var_smoothing))

    def values(self, response: Response, scores: ClassScores) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return labels or probabilities."""
        return scores.labels() if response == "predict" else scores.probabilities()


class NaiveBayesTable:
    """Training rows counted from their centre, and their squares."""

    def __init__(self, X: Floats, priors: Any, smoothing: float) -> None:
        self.n, self.p = X.shape
        self.priors = priors
        self.smoothing = smoothing
        self.centre = np.ones(self.n) @ X / self.n
        self.rounding = UNIT * column_growth(X)
        self.own = self.features(X)

    def features(self, X: Floats) -> Features:
        """Return the values of rows, counted from the centre, and their squares."""
        values = centred(X, self.centre)
        return values, values * values

    def models(self, sweep: LabelSweep) -> NaiveBayesModels | None:
        """Return the models of all label vectors; None where the priors are not those of its classes."""
        if self.priors is not None and not are_priors(self.priors, len(sweep.classes)):
            return None
        counts = sweep.counts.T[:, :, None].astype(np.float64)
        mean, second = (sums / counts for sums in sweep.sums(*self.own))
        total = (counts * second)[:, 0].sum(axis=0) / self.n  # whatever the labels, and the centre is the mean
        # Squares cancel, and the first class is what the others leave of the total.
        summed = second.copy()
        summed[0] += total * (self.n / counts[0])
        return NaiveBayesModels(self, ClassMoments(counts, mean, second - mean**2, summed, total[None]))


class BayesTable(Protocol):
    """Training rows: how far from 0 they are, and how far sums of them may be off; and the parameters of the learner.

    ``rounding`` is that of a mean or a sum of squares of each column, relative to what was added up.
    """

    priors: Any
    smoothing: float
    p: int
    centre: Floats
    rounding: Floats


class NaiveBayesModels:
    """Means and variances of each class in each model: arrays of shape (classes, models, columns)."""

    def __init__(self, table: BayesTable, moments: ClassMoments) -> None:
        self.table = table
        self.mean = moments.mean
        smoothing = table.smoothing * moments.total.max(axis=1, keepdims=True)
        self.usual = (moments.total + smoothing).max(axis=0)
        self.variance = moments.variance + smoothing
        self.deviation = np.sqrt(self.variance)
        self._bound_moments(moments.summed)
        self.constant = self._log_priors((moments.counts / moments.counts.sum(axis=0))[:, :, 0])
        self.constant = self.constant - 0.5 * np.log(2 * np.pi * self.variance).sum(axis=2)
        constant = self.constant - 0.5 * (self.mean**2 / self.variance).sum(axis=2)
        precision, pull = 1 / self.variance, self.mean / self.variance
        self.pull = pull[1:] - pull[0]
        self.bend = -0.5 * (precision[1:] - precision[0])
        self.shift = (constant[1:] - constant[0])[:, :, None]

    def some(self, models: Sequence[int]) -> NaiveBayesModels:
        """Return some of the models."""
        few = copy(self)
        for name in (
            "mean",
            "variance",
            "deviation",
            "mean_error",
            "variance_error",
            "constant",
            "pull",
            "bend",
            "shift",
        ):
            setattr(few, name, getattr(self, name)[:, models])
        return few

    def _log_priors(self, shares: Floats) -> Floats:
        priors = self.table.priors
        return np.log(shares) if priors is None else np.log(np.asarray(priors, dtype=np.float64))[:, None]

    def _bound_moments(self, summed: Floats) -> None:
        """Bound how far the moments may be off: scikit-learn's means are those of large numbers."""
        grown = self.table.rounding
        raw = np.abs(self.table.centre + self.mean) + self.deviation
        self.mean_error = grown * (raw + np.sqrt(summed))
        self.variance_error = grown * (1 + 2 * summed / self.variance) + 4 * UNIT * raw / self.deviation

    def leads(self, features: Features) -> Floats:
        """Return how far the joint log-likelihoods of rows lead over that of the first class."""
        values, squares = features
        leads = weighted(self.pull, values)
        leads += weighted(self.bend, squares)
        leads += self.shift
        return leads

    def error(self, features: Features) -> Floats:
        """Bound the error of the leads.

        By how far the rows go in each column; or, where they do not go far in all columns at once, by how far in all.
        """
        squares = features[1]
        largest = np.sqrt(column_tops(squares))
        offset = (self.mean_error + 4 * UNIT * (np.abs(self.table.centre) + largest)) / self.deviation
        across = 2 * (largest**2 + self.mean**2) / self.variance
        error = self._error(across, np.sqrt(across) * offset, across * self.variance_error)
        if not (MARGIN * error.sum(axis=0) <= TOLERANCE).all():
            farthest = (squares @ (1 / self.usual)).max() * (self.usual / self.variance).max(axis=2, keepdims=True)
            along = 2 * (farthest + (self.mean**2 / self.variance).sum(axis=2, keepdims=True))
            length = np.sqrt(along * (offset**2).sum(axis=2, keepdims=True))
            error = np.fmin(error, self._error(along, length, along * self.variance_error.max(axis=2, keepdims=True)))
        return np.asarray(error[0] + error[1:].max(axis=0))

    def _error(self, squares: Floats, shifts: Floats, stretches: Floats) -> Floats:
        """Bound the error of log-likelihoods: that of the arithmetic, of the means, and of the variances."""
        terms = (4 * UNIT * math.sqrt(self.table.p) * squares + shifts + 0.5 * stretches).sum(axis=2)
        return np.asarray(terms + 0.5 * self.variance_error.sum(axis=2) + 8 * UNIT * np.abs(self.constant))
