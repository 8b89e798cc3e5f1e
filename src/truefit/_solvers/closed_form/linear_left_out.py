"""LeaveOneOut: what a linear fit predicts of each row without that row, from one factorisation.

With centred X (and centred y, where there is an intercept) and A = XᵀX + αI, the fit without row i predicts

    ŷ₍ᵢ₎ = yᵢ − eᵢ / (1 − hᵢ),    eᵢ = yᵢ − ŷᵢ,    hᵢ = 1/n + xᵢᵀ A⁻¹ xᵢ

(James et al., An Introduction to Statistical Learning, eq. 5.2; for ridge Hastie et al., The Elements of Statistical
Learning, exercise 7.3), without the 1/n where there is no intercept. Rounding makes the two sides differ, and the refit
is often the less accurate one. So each row has a bound on the difference by first-order perturbation theory (Higham,
Accuracy and Stability of Numerical Algorithms, chapters 10, 19 and 20); rows with a small bound are trusted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from truefit._core.typing import Array, Floats, Mask
from truefit._solvers.closed_form.rounding import MARGIN, STEADY, TOLERANCE, UNIT, accurate_mean

#: How plain fitting solves the problem: by Cholesky of the normal equations (of their dual, where there are more
#: columns than rows), by SVD, or by LAPACK's least squares, which drops small singular values.
Route = Literal["cholesky", "svd", "lstsq"]

#: Between these no square of a value comes near the ends of the range of a float.
_SMALLEST, _LARGEST = 1e-100, 1e100


@dataclass(frozen=True)
class LinearProblem:
    """A least-squares problem with penalty α; ``tol`` is the relative limit of singular values on the route "lstsq"."""

    alpha: float
    intercept: bool
    route: Route
    tol: float = 0.0

    def svd_unit(self, p: int) -> float:
        """Backward error of an SVD, relative to the norm of X."""
        return 32 * UNIT * math.sqrt(p)

    def cholesky_unit(self, n: int, p: int) -> float:
        """Backward error of the normal equations, relative to their diagonal: sums over n, matrices of size p."""
        # Rounding goes with √n, but in a stretch of rows beside one that is much larger it adds up.
        return UNIT * math.sqrt(p) * (min(n, 64) + math.sqrt(n) + 2 * math.sqrt(p))


class LeaveOneOut:
    """Leave-one-out predictions of a linear problem, with a bound on their distance from plain fitting."""

    def __init__(self, X: Floats, y: Array, problem: LinearProblem) -> None:
        self.X, self.problem = X, problem
        self.n, self.p = X.shape
        self.wide = self.p >= self.n  # then plain fitting of n - 1 rows by Cholesky solves the dual problem
        y = y.astype(np.float64)
        self.mean, self.y_mean = np.zeros(self.p), 0.0
        if problem.intercept:
            self.mean, self.y_mean = accurate_mean(X), float(accurate_mean(y))
        self.Xc, self.yc = X - self.mean, y - self.y_mean
        self.y_size = float(np.abs(y).mean())
        U, self.s, self.Vt = np.linalg.svd(self.Xc, full_matrices=False)
        self.scale = np.sqrt(self.s**2 + problem.alpha)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            self.coef = self.Vt.T @ (self.s / self.scale**2 * (U.T @ self.yc))
            if self.wide:
                self._solve_wide(U)
            else:
                self._solve_tall()

    def _solve_tall(self) -> None:
        # Row i of the scores: hᵢ is its squared norm, but for the intercept's share. Not from U, which is known only to
        # the precision of its largest rows.
        self.scores = self.Xc @ self.Vt.T / self.scale
        self.leverage = np.einsum("ij,ij->i", self.scores, self.scores) + self._intercept_share
        self.left = 1 - self.leverage
        fitted = self.Xc @ self.coef
        self.fit_residual = self.yc - fitted
        self.residual = np.abs(self.fit_residual / self.left)
        # The formula with the large terms taken out: yᵢ does not come in at its full size.
        self.predictions = self.y_mean + (fitted - self.leverage * self.yc) / self.left

    def _solve_wide(self, U: Floats) -> None:
        # With as many columns as rows every leverage is near 1: what is left of it, and the residuals, come from what
        # the penalty takes away, α / (s² + α), not from a difference of numbers near 1.
        self.scores = U * (self.s / self.scale)
        taken = self.problem.alpha / self.scale**2
        self.left = np.einsum("ij,ij,j->i", U, U, taken) - self._intercept_share
        self.leverage = 1 - self.left
        self.fit_residual = U @ (taken * (U.T @ self.yc))
        self.taken = np.linalg.norm(U * taken, axis=1)
        self.residual = np.abs(self.fit_residual / self.left)
        self.predictions = self.y_mean + self.yc - self.fit_residual / self.left

    @property
    def _intercept_share(self) -> float:
        return 1 / self.n if self.problem.intercept else 0.0

    @property
    def trusted(self) -> Mask:
        """Rows where the prediction equals that of plain fitting up to ``TOLERANCE``."""
        with np.errstate(all="ignore"):
            small = self.error * MARGIN <= TOLERANCE * np.abs(self.predictions)
            return np.asarray(small & self._steady() & np.isfinite(self.predictions))

    @property
    def error(self) -> Floats:
        """Bound on the distance of each prediction from that of plain fitting."""
        with np.errstate(all="ignore"):
            error = self._error_of_means() + self._error_of_svd() + self._error_of_evaluation()
            if self.problem.route == "cholesky":
                error = error + (self._error_of_dual() if self.wide else self._error_of_cholesky())
        return np.asarray(error)

    # The bounds below are in terms of the fit without row i: how its prediction of row i moves with the right-hand
    # side of the normal equations, gᵢ = A⁻¹xᵢ / (1 - hᵢ), and with the other rows' labels, bᵢₖ = hᵢₖ / (1 - hᵢ).
    # Its coefficients are w - A⁻¹xᵢ e₍ᵢ₎ and its residuals eₖ + hᵢₖ e₍ᵢ₎, where e₍ᵢ₎ is the leave-one-out residual.

    @cached_property
    def _pull(self) -> Floats:
        """The sizes of the elements of gᵢ; norms would be too rough where columns are of very different scale."""
        return np.asarray(np.abs((self.scores / self.scale) @ self.Vt) / self.left[:, None])

    @cached_property
    def _coef(self) -> Floats:
        """The sizes of the coefficients without row i."""
        return np.asarray(np.abs(self.coef) + self._pull * (self.left * self.residual)[:, None])

    @cached_property
    def _pull_norm(self) -> Floats:
        return np.asarray(_norms(self.scores / self.scale) / self.left)

    @cached_property
    def _label_pull(self) -> Floats:
        """The norm of bᵢ; the row's own share is taken out, which is nearly all of it at a leverage near 1."""
        squares = np.einsum("ij,ij,j->i", self.scores, self.scores, (self.s / self.scale) ** 2)
        squares += self._intercept_share
        others = np.maximum(squares - self.leverage**2, 0) + 8 * UNIT * math.sqrt(self.p) * squares
        return np.asarray(np.sqrt(others) / self.left)

    @cached_property
    def _coef_norm(self) -> Floats:
        return np.asarray(np.linalg.norm(self.coef) + self._pull_norm * self.left * self.residual)

    @cached_property
    def _residual_norm(self) -> Floats:
        others = self._label_pull * self.left * self.residual
        return np.asarray(np.linalg.norm(self.fit_residual) + others)

    def _error_of_means(self) -> Floats:
        """Columns with a large mean: plain fitting adds them up row by row, and predicts at their full size."""
        on_rows = np.einsum("ij,ij->i", self._coef, np.abs(self.X) + np.abs(self.mean))
        error = 4 * UNIT * math.sqrt(self.p) * on_rows
        if not self.problem.intercept:
            return np.asarray(error)
        # Each addition rounds the sum so far. Labels are added pairwise: numpy does so along a single axis.
        sums = UNIT * (np.abs(np.cumsum(self.X, axis=0)).mean(axis=0) + np.abs(self.X).max(axis=0))
        labels = UNIT * self.y_size * min(self.n, 16 + np.log2(self.n))
        error = error + (self._coef @ sums + labels) * (1 + self.n * (self._pull @ sums))
        own = (self._coef @ self._mean_error + 4 * UNIT * abs(self.y_mean)) / self.left
        return np.asarray(error + own * (1 + self.n * (self._pull @ self._mean_error)))

    @cached_property
    def _mean_error(self) -> Floats:
        """How far the means that are used here may be off."""
        return np.asarray(4 * UNIT * (np.abs(self.mean) + self.s[0] / math.sqrt(self.n)))

    def _error_of_svd(self) -> Floats:
        """An SVD is that of a matrix nearby; here, and on two routes of plain fitting."""
        moved = self._pull_norm * self._residual_norm + self._label_pull * self._coef_norm
        labels = self.problem.svd_unit(self.p) * np.linalg.norm(self.yc) * self._label_pull
        return np.asarray(self._svd_error * moved + labels)

    @property
    def _svd_error(self) -> float:
        """How far from X the matrix may be whose SVD is at hand, here or in plain fitting."""
        error = self.problem.svd_unit(self.p) * float(self.s[0])
        # On the route "svd" singular values below 1e-15 are dropped, however small the others are, and without a row
        # they may all be: that is the SVD of a matrix which is as far off.
        return error + 1e-15 if self.problem.route == "svd" else error

    def _error_of_evaluation(self) -> Floats:
        """Rounding where the row's own values come in; grows as its leverage goes to 1."""
        unit, coef = self.problem.svd_unit(self.p), np.linalg.norm(self.coef)
        error = self.residual * self._leverage_error
        if self.wide:
            error += self._orthogonality * (np.linalg.norm(self.fit_residual) + self.taken * np.linalg.norm(self.yc))
            return np.asarray(error / self.left + unit * self.s[0] * self._coef_norm + 4 * UNIT * np.abs(self.yc))
        error += unit * (_norms(self.Xc) * self._coef_norm + self.s[0] * self._reach * coef)
        sums = np.abs(self.yc - self.fit_residual) + self.leverage * np.abs(self.yc)
        return np.asarray((error + 4 * UNIT * math.sqrt(self.p) * sums) / self.left)

    @cached_property
    def _leverage_error(self) -> Floats:
        if self.wide:
            return np.asarray(self._orthogonality * (2 * self.taken + self._intercept_share))
        far = np.sqrt(self.leverage) * _norms(self.Xc) / self.scale[-1]
        moved = far + self.s[0] * self._reach * self._pull_norm * self.left
        error = 2 * self.problem.svd_unit(self.p) * moved + 4 * UNIT * math.sqrt(self.p) * self.leverage
        if self.problem.intercept:
            error += 2 * self.left * (self._pull @ self._mean_error)
        return np.asarray(error)

    @cached_property
    def _reach(self) -> Floats:
        return _norms(self.scores * (self.s / self.scale))

    @property
    def _orthogonality(self) -> float:
        """How far U may be from orthogonal."""
        return 8 * UNIT * math.sqrt(self.n)

    def _error_of_cholesky(self) -> Floats:
        """Normal equations; their error goes with the diagonal, so badly scaled columns do no harm."""
        unit = self.problem.cholesky_unit(self.n, self.p)
        diagonal = self._diagonal
        pull = np.sqrt(self._pull**2 @ diagonal)
        coef = np.sqrt(self.coef**2 @ diagonal) + pull * self.left * self.residual
        return np.asarray(unit * pull * (coef + np.linalg.norm(self.yc)))

    def _error_of_dual(self) -> Floats:
        """The same of the kernel matrix, whose solution is the residual over α."""
        unit = self.problem.cholesky_unit(self.p, self.n)
        size = np.sqrt(self._dual_diagonal)
        solution = self._residual_norm / self.problem.alpha
        largest = size.max()
        return np.asarray(largest * solution * (unit * largest * self._label_pull + UNIT * math.sqrt(self.n) * size))

    @cached_property
    def _diagonal(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->j", self.Xc, self.Xc) + self.problem.alpha)

    @cached_property
    def _dual_diagonal(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->i", self.Xc, self.Xc) + self.problem.alpha)

    def _steady(self) -> Mask:
        """Rows without which the problem is so well conditioned that first order is all that matters."""
        problem, root = self.problem, np.sqrt(self.left)
        smallest = self.scale[-1] * root
        steady = (self._svd_error < STEADY * smallest) & (self._leverage_error < STEADY * self.left)
        if problem.route == "lstsq":
            # No singular value may come near to being dropped, whichever row goes.
            steady &= 2 * problem.tol * self.s[0] < smallest
        elif problem.route == "cholesky" and self.wide:
            worst = self._dual_diagonal.max() / problem.alpha
            steady &= problem.cholesky_unit(self.p, self.n) * worst < STEADY * self.left
        elif problem.route == "cholesky":
            gram = (self.Vt.T * self.scale**2) @ self.Vt
            worst = 1 / smallest_scaled_eigenvalue(gram)
            steady &= problem.cholesky_unit(self.n, self.p) * worst < STEADY * self.left
        return np.asarray(steady & (self.left > 0))


class Conditioning:
    """Whether a table, whatever its labels, is so well conditioned that most rows of a closed form can be trusted."""

    def __init__(self, X: Floats, intercept: bool) -> None:
        self.n, self.p = X.shape
        with np.errstate(all="ignore"):
            Xc = X - accurate_mean(X) if intercept else X
            self.total = float(np.einsum("ij,ij->", Xc, Xc))
            self.gram = Xc.T @ Xc if self.p < self.n else None

    def serves(self, problem: LinearProblem) -> bool:
        """Whether the bound of a row of usual leverage, with labels of usual size, is small enough."""
        if not (_SMALLEST < self.total < _LARGEST and problem.alpha < _LARGEST):
            return False
        with np.errstate(all="ignore"):
            return bool(self._usual_error(problem) * MARGIN <= TOLERANCE)

    def _usual_error(self, problem: LinearProblem) -> float:
        n, p, alpha = self.n, self.p, problem.alpha
        if self.gram is None:
            if alpha == 0:
                return np.inf
            worst = 1 + self.total / (n * alpha)
            dual = problem.cholesky_unit(p, n) * worst if problem.route == "cholesky" else 0.0
            return problem.svd_unit(p) * math.sqrt(worst) + dual
        eigenvalues = np.linalg.eigvalsh(self.gram)
        condition = (eigenvalues[-1] + alpha) / max(eigenvalues[0] + alpha, 0.0)
        if problem.tol > 0 and 2 * problem.tol * condition**0.5 >= 1:
            return np.inf
        error = problem.svd_unit(p) * condition**0.5
        if problem.route == "cholesky":
            worst = 1 / smallest_scaled_eigenvalue(self.gram + alpha * np.eye(p))
            error += problem.cholesky_unit(n, p) * (worst**0.5 + worst / n**0.5)
        return float(error)


def _norms(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def ordinary(values: Array) -> bool:
    """Whether the values are finite, and of a size whose square is too."""
    largest = float(np.abs(values).max(initial=0))
    return largest == 0 or _SMALLEST < largest < _LARGEST


def smallest_scaled_eigenvalue(gram: Floats) -> np.float64:
    """Return the smallest eigenvalue after scaling to a unit diagonal; 0 where that cannot be done."""
    diagonal = np.sqrt(np.diag(gram))
    scaled = gram / np.outer(diagonal, diagonal)
    if not np.isfinite(scaled).all():
        return np.float64(0.0)
    return np.float64(max(np.linalg.eigvalsh(scaled)[0], 0.0))
