r"""Recalibration: the truth regressed on predictions, with standard errors that hold where rows come in groups.

Of probabilities it is the logistic regression of the class on the predicted log-odds, of numbers the linear regression
of the target on its prediction. Calibrated predictions have intercept 0 and slope 1.

D. R. Cox (1958), Two further applications of a model for binary regression, Biometrika 45:562-565. Standard errors are
sandwich ones: K.-Y. Liang and S. L. Zeger (1986), Biometrika 73:13-22.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from truefit._core.typing import Array, Floats
from truefit._stats.intervals import Interval, normal_quantile, t_quantile

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
