"""KernelMatrix: the kernel matrix that libsvm works with, so near to it that training takes the same steps.

libsvm computes k(xᵢ, xⱼ) in double precision whenever it needs a row, and keeps it in single precision. So a matrix
whose entries round to the same single-precision numbers leads to the same model, bit for bit; the diagonal, which
libsvm keeps in double precision too, has to be exact. A matrix product gives the entries, each with a bound on its
distance from libsvm's; the few whose rounding that leaves open are worked out as libsvm does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg.blas import ddot

from truefit._core.typing import Floats
from truefit._solvers.rounding import UNIT

Kind = Literal["linear", "poly", "rbf"]

#: Entries that are worked on at a time: as many as stay in the processor's cache.
STRETCH_BYTES = 1 << 19
#: Where more of the entries than this are open the matrix is not worth its while.
MOST_OPEN = 0.01


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of libsvm's with its parameters, for tables of so many columns.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 0.5]])
    >>> Kernel("linear", 2).matrix(X).tolist()
    [[1.0, 0.5], [0.5, 4.25]]
    >>> Kernel("poly", 2, gamma=2.0, coef0=1.0, degree=2).between(X[:1], X).tolist()
    [[9.0, 4.0]]
    """

    kind: Kind
    columns: int
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    def between(self, A: Floats, B: Floats) -> Floats:
        """Return the kernel of each row of A with each row of B."""
        products = A @ B.T
        if self.kind == "linear":
            return products
        if self.kind == "poly":
            products *= self.gamma
            products += self.coef0
            return np.asarray(products**self.degree)
        products *= -2
        products += np.vecdot(A, A)[:, None]
        products += np.vecdot(B, B)
        products *= -self.gamma
        return np.exp(products, out=products)

    def error(self, entries: Floats, a: Floats, b: Floats) -> Floats:
        """Bound how far entries may be from libsvm's, in training or in prediction, by the norms of the rows."""
        product = 2 * UNIT * (self.columns + 2)  # of two rows, relative to their norms
        if self.kind == "linear":
            return np.asarray(product * a * b)
        if self.kind == "rbf":
            return np.asarray(entries * (2 * self.gamma * (product + 4 * UNIT) * (a * a + b * b) + 8 * UNIT))
        largest = (abs(self.gamma) * a * b + abs(self.coef0)) ** self.degree
        return np.asarray(largest * (self.degree * (product + 4 * UNIT) + 4 * UNIT * (self.degree + 1)))

    def largest(self, a: float, b: float) -> float:
        """Bound the size of an entry, by the norms of the rows."""
        if self.kind == "rbf":
            return 1.0
        return a * b if self.kind == "linear" else float((abs(self.gamma) * a * b + abs(self.coef0)) ** self.degree)

    def matrix(self, X: Floats) -> Floats:
        """Return the kernel of the rows of X with each other, ready for libsvm.

        Raises
        ------
        ValueError
            If too many entries would have to be worked out one by one.
        """
        n, sizes = len(X), norms(X)
        matrix = np.empty((n, n))
        left, step = int(MOST_OPEN * n * n) + 1000, max(1, STRETCH_BYTES // (8 * n))
        for start in range(0, n, step):
            rows = matrix[start : start + step]
            rows[:] = self.between(X[start : start + step], X)
            slack = self.error(rows, sizes[start : start + step, None], sizes)
            with np.errstate(over="ignore", invalid="ignore"):  # beyond single precision both round to infinity
                open_entries = np.argwhere((rows - slack).astype(np.float32) != (rows + slack).astype(np.float32))
            left -= len(open_entries)
            if left < 0:
                raise ValueError("Too many entries of the kernel matrix are as rounding has them.")
            for i, j in open_entries.tolist():
                rows[i, j] = self.entry(X[start + i], X[j])
        for i, x in enumerate(X):
            matrix[i, i] = self.entry(x, x)
        return matrix

    def entry(self, a: Floats, b: Floats) -> float:
        """Return the kernel of two rows as libsvm's training has it."""
        product = float(ddot(a, b))
        if self.kind == "linear":
            return product
        if self.kind == "rbf":
            return math.exp(-self.gamma * (float(ddot(a, a)) + float(ddot(b, b)) - 2 * product))
        power, result, times = self.gamma * product + self.coef0, 1.0, self.degree
        while times > 0:
            if times % 2 == 1:
                result *= power
            power *= power
            times //= 2
        return result


def norms(X: Floats) -> Floats:
    """Return the norm of each row."""
    return np.asarray(np.sqrt(np.vecdot(X, X)))


def kernel_of(estimator: Any, X: Floats) -> Kernel:
    """Return the kernel of a support vector machine, with the parameters that scikit-learn would set for X."""
    gamma = estimator.gamma
    if isinstance(gamma, str):
        variance = X.var() if gamma == "scale" else 1.0
        gamma = 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0
    return Kernel(estimator.kernel, X.shape[1], float(gamma), float(estimator.coef0), int(estimator.degree))
