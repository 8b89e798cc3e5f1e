"""DummyLooSolver: leave-one-out of predictors that look at the labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor

from truefit._core.data import Data
from truefit._core.task import Fit, Response
from truefit._core.typing import Positions
from truefit._solvers.label_sweep import coded
from truefit._solvers.left_out import LeftOut, LeftOutSolver, labels_of
from truefit._solvers.rounding import MARGIN, TOLERANCE, UNIT, growth


class DummyLooSolver(LeftOutSolver):
    """Leave-one-out fits of ``DummyClassifier`` and ``DummyRegressor``, but for what is drawn by chance or given.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> data = Data(np.zeros((8, 1)), np.arange(8.0), task="regression")
    >>> keys, dummy = Keys(data), DummyRegressor(strategy="median")
    >>> tasks = [FitTask(dummy, Rows.without(8, i), (Ask(Rows.of([i])),)) for i in range(8)]
    >>> [job] = DummyLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [float(outcome.answer(data, Rows.of([i]))[0]) for i, outcome in enumerate(job.run(data))]
    [4.0, 4.0, 4.0, 4.0, 3.0, 3.0, 3.0, 3.0]
    """

    name = "dummy loo"
    kinds = (DummyClassifier, DummyRegressor)
    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those that look at nothing else."""
        return [group for group in groups if is_usual_dummy(group[0], data)]

    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOut:
        """Take each label out of the counts, of the sum, or of the order."""
        if data.X is None:
            raise ValueError("A table must be at hand.")
        if type(estimator) is DummyClassifier:
            return _classes(estimator, labels, data, rows)
        y, n = labels.astype(np.float64), len(labels)
        if estimator.strategy == "median":
            return LeftOut({"predict": _medians(y)[rows]}, np.ones(len(rows), dtype=bool))
        mean = y.mean()
        values = mean - (y[rows] - mean) / (n - 1)
        error = UNIT * growth(n) * np.abs(y).mean() + 4 * UNIT * np.abs(values)
        return LeftOut({"predict": values}, MARGIN * error <= TOLERANCE * np.abs(values))


def is_usual_dummy(fit: Fit, data: Data) -> bool:
    """Whether a dummy looks at the labels alone, and nothing is drawn by chance."""
    dummy, labels = fit.estimator, labels_of(fit, data)
    if not isinstance(dummy.strategy, str) or dummy.constant is not None or data.X is None:
        return False
    if type(dummy) is DummyClassifier:
        known = data.classes is not None and bool(coded(labels, data.classes)[1].all())
        return known and dummy.random_state is None and dummy.strategy in ("most_frequent", "prior")
    numbers = data.task == "regression" and labels.ndim == 1 and labels.dtype.kind in "iuf"
    asked = all(ask.response == "predict" for ask in fit.asks)
    return numbers and labels.dtype.itemsize == 8 and asked and dummy.strategy in ("mean", "median")


def _classes(estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOut:
    known = data.classes
    assert known is not None  # or it would not have been claimed
    codes, counts = coded(labels, known)
    left = counts - (codes[rows][:, None] == np.arange(len(counts)))
    first = np.argmax(left, axis=1)
    shares = left / (len(labels) - 1)
    if estimator.strategy == "most_frequent":
        shares = (first[:, None] == np.arange(len(counts))).astype(np.float64)
    said = {"predict": first.astype(np.min_scalar_type(len(counts) - 1)), "predict_proba": shares}
    return LeftOut(said, left.all(axis=1), known.astype(labels.dtype, copy=False))  # type: ignore[arg-type]


def _medians(y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the median of all but each.

    Examples
    --------
    >>> _medians(np.array([5.0, 1.0, 3.0]))
    array([2., 4., 3.])
    """
    n, order = len(y), np.argsort(y, kind="stable")
    ordered, place = y[order], np.empty(len(y), dtype=np.intp)
    place[order] = np.arange(n)

    def at(k: int) -> npt.NDArray[np.float64]:
        return np.asarray(ordered[np.minimum(k + (place <= k), n - 1)])  # the k-th without the one in question

    middle = (n - 1) // 2
    return at(middle) if n % 2 == 0 else np.asarray((at(middle - 1) + at(middle)) / 2)
