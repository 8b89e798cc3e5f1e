"""Calibration: do predicted probabilities, or numbers, agree with what is observed?

The truth is regressed on the predictions: probabilities by the logistic regression of the class on the predicted
log-odds, numbers by the linear regression of the target on its prediction. Calibrated predictions have intercept 0 and
slope 1. Standard errors hold where rows come in groups.

D. R. Cox (1958), Two further applications of a model for binary regression, Biometrika 45:562-565. Standard errors are
sandwich ones: K.-Y. Liang and S. L. Zeger (1986), Biometrika 73:13-22.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, isotonic_regression
from scipy.special import expit, logit

from truefit._core.typing import Array, Floats
from truefit._stats.intervals import Interval, normal_quantile, t_quantile, wilson

#: Steps of Newton's method at most, and the largest linear predictor of a spline: one beyond it, and beyond three times
#: the largest log-odds, is on its way to infinity, since its columns separate the classes. Whether a single column
#: does is known before; without an error in one place only, its slope can be large and yet finite.
STEPS, LARGEST = 50, 35.0
#: Knots of the smooth curve, as quantiles of the predictions: F. Harrell (2015), Regression Modeling Strategies, 2.4.6.
KNOTS = ((0.05, 0.35, 0.65, 0.95), (0.10, 0.50, 0.90))
#: A probability of 0 or 1 counts as that of half a row, and not as less than this.
LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True, slots=True)
class WeightedRows:
    """The truth of each row, its weight, and the number of its group."""

    y: Floats
    weight: Floats
    groups: Array | None
    logistic: bool
    level: float
    #: Multiplies standard errors: above 1 where the predictions are of several models that share training rows.
    factor: float

    @property
    def quantile(self) -> float:
        """Quantile of an interval: of Student's distribution where rows come in groups."""
        if self.groups is None:
            return normal_quantile(self.level)
        return t_quantile(self.level, int(self.groups.max()))


@dataclass(frozen=True, slots=True)
class Regression:
    """Coefficients with their covariance matrix."""

    coefficients: Floats
    covariance: Floats
    rows: WeightedRows

    def interval(self, place: int) -> Interval:
        """Interval of one coefficient."""
        centre = float(self.coefficients[place])
        half = self.rows.quantile * math.sqrt(float(self.covariance[place, place]))
        return centre - half, centre + half

    def at(self, X: Floats) -> tuple[Floats, Floats, Floats]:
        """Predicted values with a pointwise band, on the scale of the truth."""
        linear = X @ self.coefficients
        half = self.rows.quantile * np.sqrt(np.einsum("ij,jk,ik->i", X, self.covariance, X).clip(0))
        found = linear, linear - half, linear + half
        return (expit(found[0]), expit(found[1]), expit(found[2])) if self.rows.logistic else found


def regress(rows: WeightedRows, X: Floats, offset: Floats | None = None) -> Regression | None:
    """Regress the truth on columns by maximum likelihood; None where there is no finite solution."""
    offset = np.zeros(len(X)) if offset is None else offset
    found = _newton(rows, X, offset) if rows.logistic else _least_squares(rows, X, offset)
    if found is None:
        return None
    coefficients, curvature, residuals = found
    try:
        inverse = np.linalg.inv(curvature)
    except np.linalg.LinAlgError:
        return None
    scores = X * (rows.weight * residuals)[:, None]
    if rows.groups is None:
        correction = len(X) / max(len(X) - X.shape[1], 1)
    else:
        count = int(rows.groups.max()) + 1
        scores = np.column_stack([np.bincount(rows.groups, column, minlength=count) for column in scores.T])
        correction = count / (count - 1)
    covariance = rows.factor**2 * correction * inverse @ (scores.T @ scores) @ inverse
    return Regression(coefficients, covariance, rows)


def _least_squares(rows: WeightedRows, X: Floats, offset: Floats) -> tuple[Floats, Floats, Floats] | None:
    curvature = (X * rows.weight[:, None]).T @ X
    if np.linalg.matrix_rank(curvature, hermitian=True) < len(curvature):
        return None
    coefficients = np.asarray(np.linalg.solve(curvature, X.T @ (rows.weight * (rows.y - offset))), dtype=np.float64)
    return coefficients, curvature, rows.y - offset - X @ coefficients


def _newton(rows: WeightedRows, X: Floats, offset: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Newton's method with halved steps."""
    if not 0 < float(np.average(rows.y, weights=rows.weight)) < 1:
        return None
    limit = max(LARGEST, 3 * float(np.abs(X[:, :2]).max())) if X.shape[1] > 2 else math.inf
    coefficients = np.zeros(X.shape[1]) if X.shape[1] > 1 else np.array([_shift(rows, offset)])
    loss = _log_loss(rows, X @ coefficients + offset)
    for _ in range(STEPS):
        linear = X @ coefficients + offset
        p = expit(linear)
        gradient = X.T @ (rows.weight * (rows.y - p))
        curvature = (X * (rows.weight * p * (1 - p))[:, None]).T @ X
        try:
            step = np.linalg.solve(curvature, gradient)
        except np.linalg.LinAlgError:
            return None
        if abs(float(gradient @ step)) < 1e-18 * max(loss, 1.0):
            return coefficients, curvature, rows.y - p
        for _ in range(30):
            proposed = coefficients + step
            after = _log_loss(rows, X @ proposed + offset)
            if after <= loss or abs(float(gradient @ step)) < 1e-12:
                break
            step = step / 2
        coefficients, loss = proposed, after
        if np.abs(X @ coefficients).max() > limit:
            return None
    return None


def _shift(rows: WeightedRows, offset: Floats) -> float:
    """Return what to add to all log-odds so that the mean probability is that of the class.

    Newton's method does not find it from far away, where all probabilities are near 0 or 1.
    """

    def excess(shift: float) -> float:
        return float(rows.weight @ (expit(offset + shift) - rows.y))

    centre = float(logit(np.average(rows.y, weights=rows.weight)))
    low, high = centre - float(offset.max()), centre - float(offset.min())
    return float(brentq(excess, low - 1e-6, high + 1e-6))


def _log_loss(rows: WeightedRows, linear: Floats) -> float:
    return float(rows.weight @ (np.logaddexp(0, linear) - rows.y * linear))


def log_odds(p: Floats) -> tuple[Floats, int]:
    """Return the log-odds of probabilities, and how many of these are exactly 0 or 1.

    Their log-odds are infinite. They count as half a row of n, or as the smallest other probability where that is less.

    >>> odds, extreme = log_odds(np.array([0.0, 0.5, 0.9, 0.2]))
    >>> odds.round(2).tolist(), extreme
    ([-2.2, 0.0, 2.2, -1.39], 1)
    """
    sides = np.minimum(p, 1 - p)
    extreme = int((sides <= 0).sum())
    least = max(min(0.5 / len(p), float(np.min(sides, where=sides > 0, initial=0.5))), LEAST_PROBABILITY)
    clipped = p.clip(least, 1 - least) if extreme or sides.min() < LEAST_PROBABILITY else p
    return np.log(clipped) - np.log1p(-clipped), extreme


def spline(x: Floats, knots: Floats) -> Floats:
    """Return a restricted cubic spline's columns: 1, x, and for k knots k - 2 more; linear beyond the outer knots."""
    last, before = knots[-1], knots[-2]
    columns = [np.ones_like(x), x]
    for knot in knots[:-2]:
        column = (x - knot).clip(0) ** 3
        column = column - (x - before).clip(0) ** 3 * (last - knot) / (last - before)
        column = column + (x - last).clip(0) ** 3 * (before - knot) / (last - before)
        columns.append(column / (last - knots[0]) ** 2)
    return np.column_stack(columns)


def smooth_curve(rows: WeightedRows, x: Floats) -> tuple[Regression, Floats] | None:
    """Regress the truth on a spline of the predictions, with as many knots as they allow; and the knots."""
    for quantiles in KNOTS:
        knots = np.quantile(x, quantiles)
        if (np.diff(knots) > 1e-9 * max(1.0, float(np.ptp(x)))).all():
            found = regress(rows, spline(x, knots))
            if found is not None:
                return found, knots
    found = regress(rows, np.column_stack([np.ones_like(x), x]))
    return None if found is None else (found, np.quantile(x, (0.0, 1.0)))


#: Bins of equally many rows, at most, and rows per bin, at least: an interval from fewer is too wide.
BINS, LEAST_ROWS = 10, 10
#: Points of the smooth curve, and the share of rows beyond each of its ends, where it is not drawn.
POINTS, BEYOND = 101, 0.01


class Bins(NamedTuple):
    """Mean prediction and mean truth of each bin, the interval of the latter, and the number of rows."""

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    rows: Floats


class Curve(NamedTuple):
    """What is observed on average where the prediction is ``predicted``, with a pointwise band."""

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats


class Decomposition(NamedTuple):
    """A score as miscalibration - discrimination + uncertainty: the Brier score, or the mean squared error."""

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class CalibrationEstimate:
    """How well the predictions of one model, and of several classes for one of them, agree with the truth."""

    slope: float
    slope_interval: Interval | None
    intercept: float
    intercept_interval: Interval | None
    in_the_large: float
    in_the_large_interval: Interval | None
    ece: float
    #: The expected calibration error of perfectly calibrated predictions of as many rows.
    ece_expected: float
    ici: float
    parts: Decomposition
    bins: Bins
    curve: Curve | None
    rows: int
    #: Probabilities that are exactly 0 or 1.
    extreme: int
    #: Why there is no slope, or None.
    reason: str | None


def calibration(
    y: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    probabilities: bool,
    weight: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    factor: float = 1.0,
    level: float = 0.95,
) -> CalibrationEstimate:
    """Compare predictions with the truth: classes 0 and 1 with probabilities, or numbers with numbers.

    ``factor`` multiplies the standard errors: 1 for one test set, more for out-of-fold predictions.
    """
    truth, p = np.asarray(y, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    codes = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    weights = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=np.float64)
    rows = WeightedRows(truth, weights / weights.mean(), codes, probabilities, level, factor)
    x, extreme = log_odds(p) if probabilities else (p, 0)
    reason = _no_slope(rows, x)
    line = None if reason else regress(rows, np.column_stack([np.ones_like(x), x]))
    if line is None and reason is None:
        reason = "the regression has no finite solution"
    shift = regress(rows, np.ones((len(x), 1)), offset=x)
    curve, smooth = (None, p) if reason else _curve(rows, x, p)
    bins = reliability(rows, p)
    shares = bins.rows / bins.rows.sum()
    variance = p * (1 - p) if probabilities else (truth - smooth) ** 2
    intercept, intercept_interval = _coefficient(line, 0)
    slope, slope_interval = _coefficient(line, 1)
    large, large_interval = _coefficient(shift, 0)
    return CalibrationEstimate(
        slope, slope_interval, intercept, intercept_interval, large, large_interval,
        float(shares @ np.abs(bins.observed - bins.predicted)),
        _expected_error(rows, p, variance),
        float(np.average(np.abs(smooth - p), weights=rows.weight)) if curve is not None else math.nan,
        decomposed(truth, p, rows.weight), bins, curve, len(p), extreme, reason,
    )  # fmt: skip


def _coefficient(found: Regression | None, place: int) -> tuple[float, Interval | None]:
    return (math.nan, None) if found is None else (float(found.coefficients[place]), found.interval(place))


def _no_slope(rows: WeightedRows, x: Floats) -> str | None:
    known = rows.weight > 0
    if np.ptp(x[known]) == 0:
        return "all predictions are equal"
    if not rows.logistic:
        return None
    ones, zeros = x[known & (rows.y == 1)], x[known & (rows.y == 0)]
    if not (len(ones) and len(zeros)):
        return "there are rows of one class only"
    if ones.min() >= zeros.max() or ones.max() <= zeros.min():
        return "the probabilities separate the classes without an error, so the slope is infinite"
    return None


def _curve(rows: WeightedRows, x: Floats, p: Floats) -> tuple[Curve | None, Floats]:
    """Return the smooth curve on a grid, and its value at each row."""
    found = smooth_curve(rows, x)
    if found is None:
        return None, p
    regression, knots = found
    low, high = np.quantile(p, (BEYOND, 1 - BEYOND)).tolist()
    grid = np.linspace(low, high, POINTS)
    at = logit(grid.clip(*expit([x.min(), x.max()]))) if rows.logistic else grid
    return Curve(grid, *regression.at(spline(at, knots))), regression.at(spline(x, knots))[0]


def quantile_bins(values: Floats, count: int) -> npt.NDArray[np.intp]:
    """Return in which of about ``count`` equally full bins each value is, from 0 up; equal values are in one."""
    ordered = np.sort(values)
    # Each bin is named by the place of its first row; those that begin with the same value are one.
    firsts = ordered[np.arange(1, max(count, 1)) * values.size // max(count, 1)]
    which = np.searchsorted(firsts, values, side="right")
    return np.unique(which, return_inverse=True)[1]


def reliability(rows: WeightedRows, p: Floats) -> Bins:
    """Return the means of predictions and truth in bins of equally many rows, with intervals of the latter."""
    which, weights = _bins(p), rows.weight
    total = np.bincount(which, weights).astype(np.float64)
    observed = np.bincount(which, weights * rows.y) / total
    residual = weights * (rows.y - observed[which])
    if rows.groups is None:
        squares = np.bincount(which, residual**2)
    else:
        both = which * (int(rows.groups.max()) + 1) + rows.groups
        cells, places = np.unique(both, return_inverse=True)
        sums = np.bincount(places, residual)
        squares = np.bincount(cells // (int(rows.groups.max()) + 1), sums**2, minlength=len(total))
    independent = np.bincount(which, residual**2)
    effect = np.divide(squares, independent, out=np.ones_like(total), where=independent > 0).clip(1)
    size = total**2 / np.bincount(which, weights**2) / effect
    if rows.logistic:
        ends = [wilson(share, n, rows.level) for share, n in zip(observed.clip(0, 1), size, strict=True)]
        low, high = np.array(ends).T
    else:
        half = normal_quantile(rows.level) * np.sqrt(squares) / total
        low, high = observed - half, observed + half
    return Bins(np.bincount(which, weights * p) / total, observed, low, high, total)


def _bins(p: Floats) -> npt.NDArray[np.intp]:
    return quantile_bins(p, min(BINS, p.size // LEAST_ROWS))


def _expected_error(rows: WeightedRows, p: Floats, variance: Floats) -> float:
    """Return the calibration error that chance alone gives, from the variance of each row's truth.

    A bin's observed share then differs from the predicted one by a normal number, whose mean size is its standard
    deviation times the root of 2/π.
    """
    which = _bins(p)
    return math.sqrt(2 / math.pi) * float(np.sqrt(np.bincount(which, rows.weight**2 * variance)).sum()) / len(p)


def decomposed(y: Floats, p: Floats, weight: Floats) -> Decomposition:
    """Decompose a mean squared error: exactly, and without bins, by isotonic regression of the truth.

    T. Dimitriadis, T. Gneiting, A. I. Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS
    118:e2016191118.

    >>> parts = decomposed(np.array([0.0, 0, 1, 1]), np.array([0.2, 0.2, 0.2, 0.9]), np.ones(4))
    >>> [round(float(each), 4) for each in parts]
    [0.1825, 0.0158, 0.0833, 0.25]
    """
    which = np.unique(p, return_inverse=True)[1]
    total = np.bincount(which, weight)
    means = np.bincount(which, weight * y) / np.where(total > 0, total, 1)
    fitted = np.asarray(isotonic_regression(means, weights=np.maximum(total, 1e-12)).x)[which]

    def score(predicted: Floats | float) -> float:
        return float(np.average((y - predicted) ** 2, weights=weight))

    own, calibrated, constant = score(p), score(fitted), score(float(np.average(y, weights=weight)))
    return Decomposition(own, own - calibrated, constant - calibrated, constant)
