"""KernelLooSolver: leave-one-out of kernel ridge and Gaussian processes, all rows from one inverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.kernel_ridge import KernelRidge

from truefit._core.data import Data
from truefit._core.protocols import Fit
from truefit._core.typing import Array, Floats, Positions
from truefit._sklearn import kernel_between
from truefit._solvers.closed_form.left_out import LeftOutSolver, LeftOutValues
from truefit._solvers.closed_form.rounding import MARGIN, STEADY, TOLERANCE, UNIT
from truefit._solvers.plain import labels_of
from truefit._solvers.registry import is_number_vector, is_seed, is_size, is_switch
from truefit._solvers.relabelled.driver import as_floats, full_precision
from truefit._solvers.relabelled.support_vectors import MATRIX_BYTES

#: Kernels of ridge regression whose value depends on the two rows alone.
RIDGE_KERNELS = ("linear", "rbf", "poly", "polynomial", "laplacian", "cosine")
#: Kernels of Gaussian processes that are known to be so too, and what these may be made of.
PROCESS_KERNELS = (
    kernels.ConstantKernel,
    kernels.WhiteKernel,
    kernels.RBF,
    kernels.Matern,
    kernels.RationalQuadratic,
    kernels.ExpSineSquared,
    kernels.DotProduct,
    kernels.Sum,
    kernels.Product,
    kernels.Exponentiation,
)


class KernelLooSolver(LeftOutSolver):
    """Leave-one-out of ``KernelRidge``, and of ``GaussianProcessRegressor`` with a kernel that is not optimised.

    With G = K + αI the fit without row i predicts yᵢ − [G⁻¹y]ᵢ / [G⁻¹]ᵢᵢ (Rasmussen and Williams, Gaussian Processes
    for Machine Learning, eq. 5.12): one inverse instead of n factorisations. The error bound grows with the condition
    of G.
    """

    name = "kernel loo"
    kinds = (KernelRidge, GaussianProcessRegressor)

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those whose kernel is known and stays as it is, where the matrix fits in memory."""
        if data.task != "regression" or 3 * 8 * data.n**2 > MATRIX_BYTES:
            return []
        some = [group for group in groups if is_usual_kernel(group[0], data)]
        return some if some and full_precision(data) else []

    def left_out(self, estimator: Any, labels: Array, data: Data, rows: Positions) -> LeftOutValues:
        """Invert once and read off every prediction."""
        X, y = as_floats(data.X), labels.astype(np.float64)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            inverse = InverseKernel(*kernel_matrix(estimator, X), X.shape[1])
            if getattr(estimator, "normalize_y", False):
                predictions, error = _normalised(inverse, y)
            else:
                predictions, error = inverse.predictions(y)
            small = MARGIN * error <= TOLERANCE * np.abs(predictions)
            trusted = small & np.isfinite(predictions) & inverse.steady
        return LeftOutValues({"predict": predictions[rows]}, trusted[rows])


class InverseKernel:
    """The inverse of a kernel matrix with its penalty, and what it predicts of each row from the others.

    The matrix is overwritten; ``off`` bounds how far its entries, sums over ``columns``, are from those of plain
    fitting. A matrix that is not positive definite raises ValueError.
    """

    def __init__(self, matrix: Floats, off: float, columns: int) -> None:
        n = len(matrix)
        self.largest = float(np.diagonal(matrix).max())
        # Sums over columns, and factors of a matrix of this size; entries that are off each by itself.
        unit = UNIT * math.sqrt(n) * (min(columns, 64) + math.sqrt(columns) + 2 * math.sqrt(n))
        self.blur = unit * self.largest + 2 * math.sqrt(n) * off
        factor, failed = lapack.dpotrf(matrix, lower=0, overwrite_a=1)
        if not failed:
            self.inverse, failed = lapack.dpotri(factor, lower=0, overwrite_c=1)
        if failed:
            raise ValueError("The kernel matrix is not positive definite.")
        below = np.tril_indices(n, -1)
        self.inverse[below] = self.inverse.T[below]
        self.diagonal = np.diagonal(self.inverse).copy()
        self.norm = np.sqrt(np.einsum("ij,ij->i", self.inverse, self.inverse))
        #: The weights of the other rows' targets in a prediction, as a vector's norm.
        self.pull = np.sqrt(np.maximum(self.norm**2 - self.diagonal**2, 0)) / self.diagonal
        #: At least as large as the inverse of the smallest eigenvalue.
        self.size = float(np.abs(self.inverse).sum(axis=0).max())
        self.steady = self.blur * self.size < STEADY

    def predictions(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the prediction of each row without it, and a bound on its distance from plain fitting."""
        solution = self.inverse @ y
        residual = solution / self.diagonal
        size = np.linalg.norm(solution) + self.norm * np.abs(residual)  # of the solution without the row
        error = 4 * size * (self.blur * (self.pull + 1) + UNIT * math.sqrt(len(y)) * self.largest)
        return y - residual, error + 4 * UNIT * (np.abs(y) + np.abs(residual))


def kernel_matrix(estimator: Any, X: Floats) -> tuple[Floats, float]:
    """Return the matrix that an estimator solves with, and how far an entry may be from that of plain fitting."""
    matrix, off = _ridge_matrix(estimator, X) if type(estimator) is KernelRidge else _process_matrix(estimator, X)
    matrix.flat[:: len(matrix) + 1] += float(estimator.alpha)
    return matrix, off


def _normalised(inverse: InverseKernel, y: Floats) -> tuple[Floats, Floats]:
    """Return the same where targets are counted from the mean of those that are left; their scale cancels out."""
    n, centre = len(y), y.mean()
    apart, error = inverse.predictions(y - centre)
    level, level_error = inverse.predictions(np.ones(n))
    shift = -(y - centre) / (n - 1)  # of the mean, without the row
    rounding = UNIT * (64 + math.sqrt(n)) * (abs(centre) + np.abs(y).mean())
    predictions = centre + apart + shift * (1 - level)
    return predictions, error + np.abs(shift) * level_error + rounding * (1 + np.abs(1 - level)) + 4 * UNIT * np.abs(
        apart
    )


def _ridge_matrix(estimator: Any, X: Floats) -> tuple[Floats, float]:
    """Return the kernel of all rows, and how far an entry may be off: as the products are that it is made of."""
    matrix = np.asarray(kernel_between(estimator, X), dtype=np.float64, order="F")
    size = float(np.einsum("ij,ij->i", X, X).max())
    gamma = 1.0 / X.shape[1] if estimator.gamma is None else float(estimator.gamma)
    if estimator.kernel == "linear":
        spread = size
    elif estimator.kernel in ("poly", "polynomial"):
        inner = gamma * size + abs(float(estimator.coef0))
        spread = max(float(estimator.degree), 1.0) * inner ** float(estimator.degree)
    elif estimator.kernel == "laplacian":
        spread = 1 + gamma * math.sqrt(size * X.shape[1])
    else:
        spread = 1 + 4 * gamma * size if estimator.kernel == "rbf" else 1.0
    return matrix, 8 * UNIT * (X.shape[1] + 8) * spread


def _process_matrix(estimator: Any, X: Floats) -> tuple[Floats, float]:
    kernel = kernels.ConstantKernel() * kernels.RBF() if estimator.kernel is None else clone(estimator.kernel)
    matrix = np.asarray(kernel(X), dtype=np.float64, order="F")
    return matrix, 8 * UNIT * (X.shape[1] + 8) * float(np.abs(matrix).max())


def is_usual_kernel(fit: Fit, data: Data) -> bool:
    """Whether the kernel is known and stays as it is, and targets are a vector of numbers."""
    estimator, labels = fit.estimator, labels_of(fit, data)
    if not (is_number_vector(labels) and is_size(estimator.alpha)):
        return False
    if type(estimator) is GaussianProcessRegressor:
        return _is_fixed(estimator)
    numbers = (estimator.gamma is None or is_size(estimator.gamma)) and is_size(estimator.degree)
    known = isinstance(estimator.kernel, str) and estimator.kernel in RIDGE_KERNELS
    return known and numbers and is_size(estimator.coef0) and estimator.kernel_params is None


def _is_fixed(process: Any) -> bool:
    """Whether nothing about the kernel depends on the rows."""
    kernel, steady = process.kernel, process.optimizer is None
    if kernel is not None:
        steady = _is_known(kernel) and (steady or (isinstance(process.optimizer, str) and kernel.n_dims == 0))
    valid = is_switch(process.normalize_y) and is_switch(process.copy_X_train) and is_seed(process.random_state)
    return steady and valid and process.n_targets in (None, 1) and type(process.n_restarts_optimizer) is int


def _is_known(kernel: Any) -> bool:
    if type(kernel) not in PROCESS_KERNELS:
        return False
    parts = [getattr(kernel, name) for name in ("k1", "k2", "kernel") if hasattr(kernel, name)]
    return all(_is_known(part) for part in parts)
