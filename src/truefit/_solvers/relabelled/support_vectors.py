"""Support vector machines with other labels: one kernel matrix, so near to libsvm's that training is the same.

libsvm computes k(xᵢ, xⱼ) in double precision and stores it in single precision. So a matrix whose entries round to the
same single-precision numbers leads to the same model, bit for bit; the diagonal, also stored in double precision, must
be exact. A matrix product gives the entries with error bounds; the few whose rounding is open are computed as in
libsvm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.linalg.blas import ddot
from sklearn.base import clone
from sklearn.svm import SVC

from truefit._core.data import Data
from truefit._core.parameters import params_of
from truefit._core.protocols import Fit, Job, Response
from truefit._core.typing import Array, Floats, Positions
from truefit._sklearn import set_gamma
from truefit._solvers.closed_form.rounding import MARGIN, TOLERANCE, UNIT, growth
from truefit._solvers.plain import checked
from truefit._solvers.registry import SharedResult, rows_requests
from truefit._solvers.relabelled.driver import (
    WORK_BYTES,
    RelabelledSolver,
    add_responses,
    as_floats,
    classes_for,
    label_sweeps,
)

Kind = Literal["linear", "poly", "rbf"]

#: Entries that are worked on at a time: as many as stay in the processor's cache.
STRETCH_BYTES = 1 << 19
#: Where more of the entries than this are open the matrix is not worth its while.
MOST_OPEN = 0.01


#: Bound of an error that is not known, finite so that a weight of 0 still makes it 0.
_UNKNOWN = 1e300


@dataclass(frozen=True, slots=True)
class SVMKernel:
    """A kernel of libsvm with its parameters, for tables of so many columns."""

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
            exponent = 2 * self.gamma * (product + 4 * UNIT) * (a * a + b * b)
            # Rounding of the exponent by much multiplies the entry, even one that is 0 here, by any factor.
            return np.where(exponent < 0.5, entries * (exponent + 8 * UNIT), _UNKNOWN)
        largest = (abs(self.gamma) * a * b + abs(self.coef0)) ** self.degree
        return np.asarray(largest * (self.degree * (product + 4 * UNIT) + 4 * UNIT * (self.degree + 1)))

    def largest(self, a: float, b: float) -> float:
        """Bound the size of an entry, by the norms of the rows."""
        if self.kind == "rbf":
            return 1.0
        return a * b if self.kind == "linear" else float((abs(self.gamma) * a * b + abs(self.coef0)) ** self.degree)

    def matrix(self, X: Floats) -> Floats:
        """Return the kernel of the rows of X with each other for libsvm; ValueError if too many entries are open."""
        n, sizes = len(X), norms(X)
        if self.kind == "rbf" and not (self.error(np.zeros(n), sizes, sizes.max()) < _UNKNOWN).all():
            raise ValueError("The values are so large that rounding decides the entries of the kernel matrix.")
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


def kernel_of(estimator: Any, X: Floats) -> SVMKernel:
    """Return the kernel of a support vector machine, with the parameters that scikit-learn would set for X."""
    gamma = estimator.gamma
    if isinstance(gamma, str):
        variance = X.var() if gamma == "scale" else 1.0
        gamma = 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0
    return SVMKernel(estimator.kernel, X.shape[1], float(gamma), float(estimator.coef0), int(estimator.degree))


#: A kernel matrix may take this much memory.
MATRIX_BYTES = 1 << 30


class SupportVectorsSolver(RelabelledSolver):
    """``SVC`` on the same rows with many label vectors.

    scikit-learn trains each label vector on one kernel matrix, in the same steps as without it, so support vectors and
    weights equal plain fitting bit for bit. Decisions are matrix products for all label vectors at once; where one is
    too near to 0 to be certain, the model itself predicts.
    """

    name = "support vectors"
    kinds = (SVC,)
    responses = frozenset({"predict", "decision_function"})
    most = 16

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the kernel is one of those known, and the matrix fits in memory."""
        params = params_of(fit.estimator)
        kernel, gamma, probability = params["kernel"], params["gamma"], params["probability"]
        known = isinstance(kernel, str) and kernel in ("linear", "poly", "rbf")
        scaled = isinstance(gamma, str | int | float)
        decisive = isinstance(probability, str) and probability == "deprecated"
        quiet = params["verbose"] is False
        return known and scaled and decisive and quiet and 8 * len(fit.train) ** 2 <= MATRIX_BYTES

    def _job(self, fits: Sequence[Fit]) -> Job:
        return Job(self, tuple(fits), work=len(fits))  # each is trained, if faster

    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Work out the kernel matrix, train each label vector on it, and decide for all of them."""
        estimator, index = fits[0].estimator, fits[0].train.index
        X = np.ascontiguousarray(as_floats(data.take(index)))
        kernel = kernel_of(clone(estimator), X)
        matrix = kernel.matrix(X)
        results: list[SharedResult | None] = [None] * len(fits)
        machines: dict[int, TrainedSVC] = {}
        for sweep in label_sweeps(fits, data, index):
            for place in sweep.places:
                given = fits[place].y
                results[place] = SharedResult(classes_for(fits[place], sweep.classes))
                machines[place] = TrainedSVC(estimator, kernel, X, matrix, (data.y if given is None else given)[index])
        for request in rows_requests(fits):
            own = request.rows == fits[0].train

            def scores_of(block: Positions, own: bool = own) -> Callable[[Response, int], Array]:
                asked = X if own and len(block) == len(X) else as_floats(data.take(block))
                # Rows that come out of a transformer are the training rows again, if under other numbers.
                same = asked is X or (asked.shape == X.shape and np.array_equal(asked, X))
                return SVCDecisions(machines, asked, matrix if same else None).answer

            add_responses(request, results, data, scores_of)
        return results


class TrainedSVC:
    """A machine that was trained on the kernel matrix, as weights of the training rows."""

    def __init__(self, estimator: Any, kernel: SVMKernel, X: Floats, matrix: Floats, labels: Array) -> None:
        self.estimator, self.kernel, self.X = estimator, kernel, X
        self.trained = clone(estimator).set_params(kernel="precomputed").fit(matrix, labels)
        self.number = len(self.trained.classes_)
        self.weights = self._weights()
        self.intercept = self.trained.intercept_
        self.load = np.abs(self.weights).sum(axis=0)

    def _weights(self) -> Floats:
        """Return the weight of each training row in the decision between each pair of classes."""
        trained, pairs = self.trained, list(combinations(range(self.number), 2))
        weights = np.zeros((len(self.X), len(pairs)))
        if len(pairs) == 1:
            weights[trained.support_, 0] = trained.dual_coef_[0]
            return weights
        ends = np.cumsum(trained.n_support_)
        of_class = [slice(end - count, end) for end, count in zip(ends, trained.n_support_, strict=True)]
        for column, (i, j) in enumerate(pairs):
            weights[trained.support_[of_class[i]], column] = trained.dual_coef_[j - 1, of_class[i]]
            weights[trained.support_[of_class[j]], column] = trained.dual_coef_[i, of_class[j]]
        return weights

    def model(self) -> Any:
        """Return the model that plain fitting would give."""
        model = clone(self.estimator)
        params = params_of(model)
        vars(model).update({name: value for name, value in vars(self.trained).items() if name not in params})
        model.support_vectors_ = self.X[self.trained.support_]
        model.shape_fit_, model.n_features_in_ = self.X.shape, self.X.shape[1]
        set_gamma(model, self.kernel.gamma)
        return model

    def answer(self, response: Response, decisions: Floats, error: Floats, X: Floats) -> Array:
        """Return labels as codes, or decisions, from those between pairs; where open, the model itself predicts."""
        sizes = np.abs(decisions)
        if response == "predict" and not (self.number > 2 and self.estimator.break_ties):
            values, certain = self._labels(decisions), (sizes > MARGIN * error).all(axis=1)
        elif response == "decision_function" and self.number == 2:
            values, certain = decisions[:, 0].copy(), (MARGIN * error <= TOLERANCE * sizes).all(axis=1)
        else:
            return self._asked(response, X)
        if not certain.all():
            values[~certain] = self._asked(response, X[~certain])
        return values

    def _asked(self, response: Response, X: Floats) -> Array:
        answered = checked(getattr(self.model(), response)(X), len(X), response)
        if response == "predict":
            return np.searchsorted(self.trained.classes_, answered).astype(np.min_scalar_type(self.number - 1))
        return answered

    def _labels(self, decisions: Floats) -> Array:
        if self.number == 2:
            return np.asarray((decisions[:, 0] > 0).astype(np.uint8))
        votes = np.zeros((len(decisions), self.number), dtype=np.intp)
        for column, (i, j) in enumerate(combinations(range(self.number), 2)):
            first = decisions[:, column] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return np.asarray(np.argmax(votes, axis=1).astype(np.min_scalar_type(self.number - 1)))


class SVCDecisions:
    """Decisions of machines trained on the same rows; ``matrix`` has the kernels with these rows, if known."""

    def __init__(self, machines: Mapping[int, TrainedSVC], X: Floats, matrix: Floats | None) -> None:
        self.machines, self.X = machines, X
        kernel, trained = next((machine.kernel, machine.X) for machine in machines.values())
        sizes = norms(X).max(), norms(trained).max()
        self.error = float(kernel.error(np.ones(()), *sizes)) + UNIT * growth(len(trained)) * kernel.largest(*sizes)
        weights = np.concatenate([machine.weights for machine in machines.values()], axis=1)
        step = max(1, WORK_BYTES // (8 * len(trained)))
        rows = [slice(start, start + step) for start in range(0, len(X), step)]
        kernels = (kernel.between(X[some], trained) if matrix is None else matrix[some] for some in rows)
        self.products = np.concatenate([some @ weights for some in kernels])
        widths = [machine.weights.shape[1] for machine in machines.values()]
        self.ends = dict(zip(machines, np.cumsum(widths).tolist(), strict=True))

    def answer(self, response: Response, place: int) -> Array:
        """Return the answer of one machine."""
        machine, end = self.machines[place], self.ends[place]
        decisions = self.products[:, end - machine.weights.shape[1] : end] + machine.intercept
        error = self.error * machine.load + 4 * UNIT * np.abs(machine.intercept)
        return machine.answer(response, decisions, error, self.X)
