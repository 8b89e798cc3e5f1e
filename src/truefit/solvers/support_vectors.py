"""SupportVectorsSolver: support vector machines on the same rows with many label vectors, from one kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.svm import SVC

from truefit.core.data import Data
from truefit.core.job import Job
from truefit.core.outcome import Answer
from truefit.core.task import Fit, Response
from truefit.solvers.kernel_matrix import Kernel, kernel_of, norms
from truefit.solvers.label_sweep import classes_for, label_sweeps
from truefit.solvers.plain import checked
from truefit.solvers.questions import Question, questions
from truefit.solvers.rounding import MARGIN, TOLERANCE, UNIT, growth
from truefit.solvers.same_rows import WORK_BYTES, Reply, SameRowsSolver, as_floats, full_precision

Floats = npt.NDArray[np.float64]

#: A kernel matrix may take this much memory.
MATRIX_BYTES = 1 << 30


class SupportVectorsSolver(SameRowsSolver):
    """``SVC`` on the same rows with many label vectors.

    The kernel matrix does not depend on the labels. Each label vector is trained on it by scikit-learn itself, in the
    same steps as without it (see :mod:`truefit.solvers.kernel_matrix`), so support vectors and their weights are those
    of plain fitting bit for bit. Decisions are then products of kernels and weights, those of all label vectors at
    once; where one is too near to 0 to be certain, the model itself is asked.

    Examples
    --------
    >>> from truefit.core.key import Keys
    >>> from truefit.core.rows import Rows
    >>> from truefit.core.task import Ask, FitTask
    >>> X, rows = np.array([[0.0], [1.0], [4.0], [6.0]]), Rows.all(4)
    >>> data = Data(X, ["a", "a", "b", "b"], task="classification")
    >>> keys, svc = Keys(data), SVC(gamma=0.5)
    >>> tasks = [FitTask(svc, rows, (Ask(rows),), y=y) for y in (None, np.array(["a", "b", "a", "b"]))]
    >>> [job] = SupportVectorsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, rows).tolist() for outcome in job.run(data)]
    [['a', 'a', 'b', 'b'], ['a', 'b', 'a', 'b']]
    """

    name = "support vectors"
    kinds = (SVC,)
    responses = frozenset({"predict", "decision_function"})
    most = 16

    def serves(self, estimator: Any, n: int, data: Data) -> bool:
        """Whether the kernel is one of those known, the matrix fits in memory, and X is dense and finite."""
        params = estimator.get_params(deep=False)
        kernel, gamma, probability = params["kernel"], params["gamma"], params["probability"]
        known = isinstance(kernel, str) and kernel in ("linear", "poly", "rbf")
        scaled = isinstance(gamma, str | int | float)
        decisive = isinstance(probability, str) and probability == "deprecated"
        quiet = params["verbose"] is False
        return known and scaled and decisive and quiet and 8 * n * n <= MATRIX_BYTES and full_precision(data)

    def _job(self, fits: Sequence[Fit]) -> Job:
        return Job(self, tuple(fits), work=len(fits))  # each is trained, if faster

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Work out the kernel matrix, train each label vector on it, and decide for all of them."""
        estimator, index = fits[0].estimator, fits[0].train.index
        X = np.ascontiguousarray(as_floats(data.take(index)))
        kernel = kernel_of(clone(estimator), X)
        matrix = kernel.matrix(X)
        replies: list[Reply | None] = [None] * len(fits)
        machines: dict[int, Machine] = {}
        for sweep in label_sweeps(fits, data, index):
            for place in sweep.places:
                given = fits[place].y
                replies[place] = Reply(classes_for(fits[place], sweep.classes))
                machines[place] = Machine(estimator, kernel, X, matrix, (data.y if given is None else given)[index])
        for question in questions(fits):
            own = question.rows == fits[0].train
            asked = X if own else as_floats(data.take(question.rows.index))
            # Rows that come out of a transformer are the training rows again, if under other numbers.
            same = own or (asked.shape == X.shape and np.array_equal(asked, X))
            _reply(question, machines, asked, _Kernels(kernel, asked, X, matrix if same else None), replies, data)
        return replies


class Machine:
    """A machine that was trained on the kernel matrix, as weights of the training rows."""

    def __init__(self, estimator: Any, kernel: Kernel, X: Floats, matrix: Floats, labels: npt.NDArray[Any]) -> None:
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
        params = model.get_params(deep=False)
        vars(model).update({name: value for name, value in vars(self.trained).items() if name not in params})
        model.support_vectors_ = self.X[self.trained.support_]
        model.shape_fit_, model.n_features_in_ = self.X.shape, self.X.shape[1]
        model._gamma = self.kernel.gamma
        return model

    def answer(self, response: Response, decisions: Floats, error: Floats, X: Floats) -> npt.NDArray[Any]:
        """Return labels as codes, or decisions, from the decisions between pairs; where open, the model is asked."""
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

    def _asked(self, response: Response, X: Floats) -> npt.NDArray[Any]:
        answered = checked(getattr(self.model(), response)(X), len(X), response)
        if response == "predict":
            return np.searchsorted(self.trained.classes_, answered).astype(np.min_scalar_type(self.number - 1))
        return answered

    def _labels(self, decisions: Floats) -> npt.NDArray[Any]:
        if self.number == 2:
            return np.asarray((decisions[:, 0] > 0).astype(np.uint8))
        votes = np.zeros((len(decisions), self.number), dtype=np.intp)
        for column, (i, j) in enumerate(combinations(range(self.number), 2)):
            first = decisions[:, column] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return np.asarray(np.argmax(votes, axis=1).astype(np.min_scalar_type(self.number - 1)))


class _Kernels:
    """Kernels of the rows that are asked about with the training rows, a few rows at a time."""

    def __init__(self, kernel: Kernel, asked: Floats, X: Floats, matrix: Floats | None) -> None:
        self.kernel, self.asked, self.X, self.matrix = kernel, asked, X, matrix
        n, sizes = len(X), (norms(asked).max(initial=0.0), norms(X).max())
        self.error = float(kernel.error(np.ones(()), *sizes)) + UNIT * growth(n) * kernel.largest(*sizes)
        step = max(1, WORK_BYTES // (8 * n))
        self.blocks = [slice(start, start + step) for start in range(0, len(asked), step)]

    def rows(self, block: slice) -> Floats:
        return self.kernel.between(self.asked[block], self.X) if self.matrix is None else self.matrix[block]


def _reply(
    question: Question,
    machines: dict[int, Machine],
    X: Floats,
    kernels: _Kernels,
    replies: Sequence[Reply | None],
    data: Data,
) -> None:
    asked = {place for places in question.wanted.values() for place in places if place in machines}
    if not asked:
        return
    weights = np.concatenate([machines[place].weights for place in sorted(asked)], axis=1)
    products = np.concatenate([kernels.rows(block) @ weights for block in kernels.blocks])
    ends = np.cumsum([machines[place].weights.shape[1] for place in sorted(asked)])
    tokens = data.tokens[question.rows.index]
    for place, end in zip(sorted(asked), ends, strict=True):
        machine, reply = machines[place], replies[place]
        assert reply is not None  # who was trained has a reply
        decisions = products[:, end - machine.weights.shape[1] : end] + machine.intercept
        error = kernels.error * machine.load + 4 * UNIT * np.abs(machine.intercept)
        for response, places in question.wanted.items():
            if place in places:
                values = machine.answer(response, decisions, error, X)
                reply.answers.append(Answer(response, tokens, values, coded=response == "predict"))
