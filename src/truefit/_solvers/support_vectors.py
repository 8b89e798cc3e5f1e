"""SupportVectorsSolver: support vector machines on the same rows with many label vectors, from one kernel matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.svm import SVC

from truefit._core.data import Data
from truefit._core.parameters import params_of
from truefit._core.protocols import Job
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._solvers.kernel_matrix import Kernel, kernel_of, norms
from truefit._solvers.label_sweep import classes_for, label_sweeps
from truefit._solvers.plain import checked
from truefit._solvers.questions import questions
from truefit._solvers.replies import Reply
from truefit._solvers.rounding import MARGIN, TOLERANCE, UNIT, growth
from truefit._solvers.same_rows import WORK_BYTES, SameRowsSolver, as_floats, reply_to

#: A kernel matrix may take this much memory.
MATRIX_BYTES = 1 << 30


class SupportVectorsSolver(SameRowsSolver):
    """``SVC`` on the same rows with many label vectors.

    The kernel matrix does not depend on the labels. Each label vector is trained on it by scikit-learn itself, in the
    same steps as without it (see :mod:`truefit._solvers.kernel_matrix`), so support vectors and their weights are those
    of plain fitting bit for bit. Decisions are then products of kernels and weights, those of all label vectors at
    once; where one is too near to 0 to be certain, the model itself is asked.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
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

            def voice(block: Positions, own: bool = own) -> Callable[[Response, int], npt.NDArray[Any]]:
                asked = X if own and len(block) == len(X) else as_floats(data.take(block))
                # Rows that come out of a transformer are the training rows again, if under other numbers.
                same = asked is X or (asked.shape == X.shape and np.array_equal(asked, X))
                return Decisions(machines, asked, matrix if same else None).answer

            reply_to(question, replies, data, voice)
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
        params = params_of(model)
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


class Decisions:
    """What machines that were trained on the same rows decide about some rows.

    ``matrix`` has the kernels of these rows with the training rows, if they are known.
    """

    def __init__(self, machines: Mapping[int, Machine], X: Floats, matrix: Floats | None) -> None:
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

    def answer(self, response: Response, place: int) -> npt.NDArray[Any]:
        """Return the answer of one machine."""
        machine, end = self.machines[place], self.ends[place]
        decisions = self.products[:, end - machine.weights.shape[1] : end] + machine.intercept
        error = self.error * machine.load + 4 * UNIT * np.abs(machine.intercept)
        return machine.answer(response, decisions, error, self.X)
