"""Gaussian naive Bayes: other labels, other row sets, leave-one-out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np
from sklearn.naive_bayes import GaussianNB

from truefit._core.data import Data
from truefit._core.protocols import Fit
from truefit._core.typing import Floats, Positions
from truefit._solvers.closed_form.left_out import LabelledTable, LeftOutScoresSolver, priors_fit
from truefit._solvers.closed_form.other_rows import ClassedSets, ClassMoments, OtherRowsScoresSolver
from truefit._solvers.closed_form.rounding import MARGIN, TOLERANCE, UNIT, column_growth, column_sizes
from truefit._solvers.closed_form.row_sets import RowSets, certain_scales
from truefit._solvers.registry import are_priors, is_size
from truefit._solvers.relabelled.driver import Features, LabelSweep, RelabelledScoresSolver, centred, weighted


class NaiveBayesSolver(RelabelledScoresSolver):
    """``GaussianNB`` on the same rows with many label vectors.

    Means and variances of the classes are sums of x and x², from one matrix product for all label vectors. The joint
    log-likelihood log π_c − ½ Σ_j log 2πσ²_cj − ½ Σ_j (x_j − μ_cj)² / σ²_cj is linear in x and x²: another product
    gives it for all rows, with a bound on its distance from scikit-learn's.
    """

    name = "naive bayes"
    kinds = (GaussianNB,)

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""
        return is_size(fit.estimator.var_smoothing)

    def table(self, X: Floats, estimator: Any) -> NaiveBayesTable:
        """Return the training rows, ready for any labels."""
        return NaiveBayesTable(X, estimator.priors, float(estimator.var_smoothing))


class NaiveBayesTable:
    """Training rows counted from their centre, and their squares."""

    def __init__(self, X: Floats, priors: Any, smoothing: float) -> None:
        self.n, self.p = X.shape
        self.priors = priors
        self.smoothing, self.scaled = smoothing, False
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
    """Training rows and the parameters of the learner; ``rounding`` is relative to what was added up."""

    priors: Any
    smoothing: float
    scaled: bool
    p: int
    centre: Floats
    rounding: Floats


class NaiveBayesModels:
    """Means and variances of each class in each model: arrays of shape (classes, models, columns)."""

    def __init__(self, table: BayesTable, moments: ClassMoments) -> None:
        self.table = table
        self.mean = moments.mean
        # Behind a scaler all variances are 1, so that what is added to them is in proportion to their own scale.
        smoothing = table.smoothing * (moments.total if table.scaled else moments.total.max(axis=1, keepdims=True))
        self.usual = (moments.total + smoothing).max(axis=0)
        self.variance = moments.variance + smoothing
        self.deviation = np.sqrt(self.variance)
        self._bound_moments(moments.summed)
        shares = moments.counts / moments.counts.sum(axis=0)
        priors = shares if table.priors is None else np.asarray(table.priors, dtype=np.float64)[:, None, None]
        self.constant = np.log(priors[:, :, 0]) - 0.5 * np.log(2 * np.pi * self.variance).sum(axis=2)
        constant = self.constant - 0.5 * (self.mean**2 / self.variance).sum(axis=2)
        precision, pull = 1 / self.variance, self.mean / self.variance
        self.pull = pull[1:] - pull[0]
        self.bend = -0.5 * (precision[1:] - precision[0])
        self.shift = (constant[1:] - constant[0])[:, :, None]

    def some(self, models: Sequence[int]) -> NaiveBayesModels:
        """Return some of the models."""
        few = copy(self)
        moments = ("mean", "variance", "deviation", "mean_error", "variance_error")
        for name in (*moments, "constant", "pull", "bend", "shift"):
            setattr(few, name, getattr(self, name)[:, models])
        return few

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
        """Bound the error of the leads, by the range of the rows in each column, or in all columns at once."""
        values, squares = features
        largest = column_sizes(values)
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


class NaiveBayesLooSolver(LeftOutScoresSolver):
    """Leave-one-out of ``GaussianNB``.

    Without a row at distance d from the mean of its class of m rows, the class has the mean μ − d/(m−1) and the sum of
    squares S − d²·m/(m−1) (Welford 1962); likewise the whole table, whose variances determine the smoothing.
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


class NaiveBayesSetsSolver(OtherRowsScoresSolver):
    """``GaussianNB`` on many sets of rows with any smoothing, from class sums of x and x² for all sets at once."""

    name = "naive bayes sets"
    kinds = (GaussianNB,)
    path = ("var_smoothing",)

    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""
        return is_usual_bayes(estimator, data)

    def table(self, sets: RowSets, estimator: Any) -> BayesSets:
        """Return the rows with their squares."""
        return BayesSets(sets)


class BayesSets:
    """Rows counted from their centre, and their squares."""

    def __init__(self, sets: RowSets) -> None:
        self.classed = ClassedSets(sets)
        values = centred(sets.X, self.classed.centre)
        self.features: Features = values, values * values
        self.rounding = UNIT * sets.repeated * column_growth(sets.X)

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[NaiveBayesModels]:
        """Return the models of some sets with each smoothing."""
        moments = self.classed.moments(sets)
        models = [NaiveBayesModels(SetBayes(self, estimator), moments) for estimator in estimators]
        if self.classed.sets.scaled:
            n = moments.counts.sum(axis=0)[:, 0]
            middle = self.classed.centre + (moments.counts * moments.mean).sum(axis=0) / n[:, None]
            uncertain = ~certain_scales(moments.total, middle, n)
            for each in models:
                each.constant[:, uncertain] = np.nan  # so that no error is small enough
        return models


class SetBayes:
    """What is known of the rows whatever the set, and the parameters of an estimator."""

    def __init__(self, table: BayesSets, estimator: Any) -> None:
        self.priors, self.smoothing = estimator.priors, float(estimator.var_smoothing)
        self.scaled, self.rounding = table.classed.sets.scaled, table.rounding
        self.p = len(table.classed.centre)
        #: How far from 0 the rows are that scikit-learn adds up.
        self.centre = np.zeros(self.p) if self.scaled else table.classed.centre
