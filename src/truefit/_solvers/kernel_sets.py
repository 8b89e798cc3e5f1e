"""KernelSetsSolver: kernel ridge and Gaussian processes without many sets of rows, all from one inverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.task import Fit
from truefit._core.typing import Floats, Positions
from truefit._solvers.kernel_loo import InverseKernel, is_usual_kernel, kernel_matrix
from truefit._solvers.left_out import labels_of
from truefit._solvers.replies import Reply
from truefit._solvers.rounding import MARGIN, TOLERANCE, UNIT
from truefit._solvers.row_sets import RowSetsSolver
from truefit._solvers.same_rows import WORK_BYTES, as_floats
from truefit._solvers.support_vectors import MATRIX_BYTES

#: The inverse must take less than the factorisations that it saves, by this factor.
GAIN = 2.0
#: What of the norm of all errors together comes to bear on a prediction: a thirtieth of this was seen at the most.
SEEN = 0.2
#: After so many sets none of which could be trusted, the others are not tried.
TRIALS = 4


class KernelSetsSolver(RowSetsSolver):
    """``KernelRidge``, and ``GaussianProcessRegressor`` with a kernel that is not optimised, without folds of rows.

    With G = K + αI and F the rows that are left out, the fit without them says of them y_F − [G⁻¹]_FF⁻¹ [G⁻¹y]_F (as in
    Rasmussen and Williams, Gaussian Processes for Machine Learning, eq. 5.12, for several rows): one inverse instead of
    a factorisation for each set. It takes as long as three of these, so there must be enough sets. Rows that are drawn
    again and again, or asked about though trained on, are left to plain fitting: only the kernel would be shared, and
    most of the time is spent on factors.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.arange(40.0).reshape(20, 2) ** 0.5
    >>> data = Data(X, X @ [1.0, 2.0], task="regression")
    >>> keys, ridge = Keys(data), KernelRidge(alpha=0.1, kernel="rbf")
    >>> folds = [range(2 * k, 2 * k + 2) for k in range(10)]
    >>> tasks = [FitTask(ridge, Rows.without(20, list(fold)), (Ask(Rows.of(fold)),)) for fold in folds]
    >>> [job] = KernelSetsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> outcome = job.run(data)[3]
    >>> outcome.solver, outcome.answer(data, Rows.of(folds[3])).round(3).tolist()
    ('kernel sets', [10.193, 11.023])
    """

    name = "kernel sets"
    kinds = (KernelRidge, GaussianProcessRegressor)
    responses = frozenset({"predict"})

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the kernel is known and stays as it is, and the matrix fits in memory."""
        if 4 * 8 * data.n**2 > MATRIX_BYTES or data.task != "regression" or not is_usual_kernel(fit, data):
            return False
        # That of a linear kernel has no more dimensions than there are columns: hardly anything it says is certain.
        return type(fit.estimator) is GaussianProcessRegressor or fit.estimator.kernel != "linear"

    def _can_answer(self, fit: Fit) -> bool:
        if not super()._can_answer(fit) or fit.train.total is None:
            return False
        return all(bool(np.isin(ask.rows.index, fit.train.listed).all()) for ask in fit.asks)

    def _enough(self, group: Sequence[Fit], least: int, data: Data) -> list[Fit]:
        some = super()._enough(group, least, data)
        n = float(data.n)
        factors = sum((n - len(fit.train.listed)) ** 3 / 3 for fit in some)
        mine = n**3 + sum(2 * n * len(fit.train.listed) ** 2 for fit in some)
        return some if factors >= GAIN * mine else []

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Invert once, and read off what is said of the rows that are left out."""
        replies: list[Reply | None] = [None] * len(fits)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            without = WithoutRows(fits[0].estimator, as_floats(data.X), labels_of(fits[0], data).astype(np.float64))
            step = max(1, WORK_BYTES // (8 * data.n))
            parts = [range(TRIALS), *(range(i, i + step) for i in range(TRIALS, len(fits), step))]
            for part in parts if without.inverse.steady else ():
                some = [fit.train.listed.astype(np.intp) for fit in fits[part.start : part.stop]]
                for place, (values, trusted) in enumerate(without.predictions(some), start=part.start):
                    if trusted:
                        rows = some[place - part.start]
                        replies[place] = Reply(None, _answers(fits[place], rows, values, data))
                if replies[:TRIALS] == [None] * TRIALS:
                    break
        return replies


def _answers(fit: Fit, rows: Positions, values: Floats, data: Data) -> list[Predictions]:
    asked = [ask.rows for ask in fit.asks if len(ask.rows)]
    return [Predictions("predict", data.tokens_of(each), values[np.searchsorted(rows, each.index)]) for each in asked]


class WithoutRows:
    """What is said of rows by the others, whichever are left out together.

    An inverse is not as near as a solution is: what it gives is put into the equations, and what these leave over says
    how near it is.
    """

    def __init__(self, estimator: Any, X: Floats, y: Floats) -> None:
        self.matrix, off = kernel_matrix(estimator, X)
        self.inverse = InverseKernel(self.matrix.copy(order="F"), off, X.shape[1])
        self.y, self.normalise = y, bool(getattr(estimator, "normalize_y", False))
        self.centre = float(y.mean()) if self.normalise else 0.0
        #: Targets counted from their mean; and where that is to be another, what a constant would come to.
        targets = [y - self.centre, np.ones(len(y))] if self.normalise else [y]
        self.sides = [(target, self.inverse.inverse @ target) for target in targets]

    def predictions(self, sets: Sequence[Positions]) -> list[tuple[Floats, bool]]:
        """Return the predictions for rows that are left out together, and whether all of a set are to be trusted."""
        sides = [self._solutions(sets, *side) for side in self.sides]
        return [self._said(rows, [side[i] for side in sides]) for i, rows in enumerate(sets)]

    def _solutions(self, sets: Sequence[Positions], target: Floats, solved: Floats) -> list[Solution]:
        duals = np.empty((len(target), len(sets)), order="F")
        for dual, rows in zip(duals.T, sets, strict=True):
            columns = self.inverse.inverse[:, rows]
            dual[:] = solved - columns @ _solve(columns[rows], solved[rows])
            dual[rows] = 0.0
        products = self.matrix @ duals
        left = np.linalg.norm(_but(target[:, None] - products, sets), axis=0)
        lengths = np.linalg.norm(duals, axis=0)
        return [Solution(products[rows, i], lengths[i], left[i]) for i, rows in enumerate(sets)]

    def _said(self, rows: Positions, solutions: Sequence[Solution]) -> tuple[Floats, bool]:
        first, last = solutions[0], solutions[-1]
        values, length, left = self.centre + first.values, first.length, first.left
        rest = 4 * UNIT * (np.abs(values) + abs(self.centre))
        if self.normalise:
            shift = -float((self.y[rows] - self.centre).sum()) / (len(self.y) - len(rows))  # of the mean, without them
            level = 1 - last.values
            values = values + shift * level
            length, left = length + abs(shift) * last.length, left + abs(shift) * last.left
            rounding = UNIT * (64 + math.sqrt(len(self.y))) * (abs(self.centre) + np.abs(self.y).mean())
            rest = rest + rounding * (1 + np.abs(level))
        allowed = TOLERANCE * np.abs(values) / MARGIN
        # No weights of the other rows' targets are larger than this.
        pull = math.sqrt(self.inverse.size * self.inverse.largest)
        near = self._error(length, left, pull) + rest <= allowed
        if not near.all():
            weights = _solve(self.inverse.inverse[np.ix_(rows, rows)], self.inverse.inverse[rows])
            pulls = np.sqrt(np.maximum(np.einsum("ij,ij->i", weights, weights) - 1, 0))  # but for the row's own
            near = self._error(length, left, pulls) + rest <= allowed
        return values, bool(near.all())

    def _error(self, length: float, left: float, pull: float | Floats) -> Any:
        """Bound how far plain fitting may be: entries of the matrix are off, and so are its factors."""
        own = UNIT * math.sqrt(len(self.y)) * self.inverse.largest * length
        return SEEN * (length * self.inverse.blur * (pull + 1) + own) + 2 * pull * left


@dataclass(frozen=True, slots=True)
class Solution:
    """What is said of the rows left out; the norms of the solution, and of what it leaves over of the targets."""

    values: Floats
    length: float
    left: float


def _solve(block: Floats, right: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(block, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan)


def _but(residuals: Floats, sets: Sequence[Positions]) -> Floats:
    """Return what is left over at the rows that are not left out."""
    for i, rows in enumerate(sets):
        residuals[rows, i] = 0.0
    return residuals
