"""DummySetsSolver: predictors that look at the labels alone, on many sets of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.task import Fit, Response
from truefit._solvers.dummy_loo import is_usual_dummy
from truefit._solvers.label_sweep import classes_for, coded
from truefit._solvers.left_out import labels_of
from truefit._solvers.replies import Reply
from truefit._solvers.row_sets import RowSetsSolver


class DummySetsSolver(RowSetsSolver):
    """``DummyClassifier`` and ``DummyRegressor`` on many sets of rows, but for what is drawn by chance or given.

    The labels of a set say everything, and are looked at as scikit-learn does; its rows need not be gathered.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> data = Data(np.zeros((8, 1)), np.arange(8.0), task="regression")
    >>> keys, dummy = Keys(data), DummyRegressor()
    >>> folds = [[2 * k, 2 * k + 1] for k in range(4)]
    >>> tasks = [FitTask(dummy, Rows.without(8, fold), (Ask(Rows.of(fold)),)) for fold in folds]
    >>> [job] = DummySetsSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, Rows.of(fold)).tolist() for fold, outcome in zip(folds, job.run(data), strict=True)]
    [[4.5, 4.5], [3.8333333333333335, 3.8333333333333335], [3.1666666666666665, 3.1666666666666665], [2.5, 2.5]]
    """

    name = "dummy sets"
    kinds = (DummyClassifier, DummyRegressor)

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether they look at nothing else."""
        return is_usual_dummy(fit, data)

    def _can_answer(self, fit: Fit) -> bool:
        regressor = type(fit.estimator) is DummyRegressor
        return super()._can_answer(fit) and not (regressor and any(ask.response != "predict" for ask in fit.asks))

    def takes(self, data: Data) -> bool:
        """Any table: it is not looked at."""
        return True

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Look at the labels of each set."""
        if data.X is None:
            raise ValueError("A table must be at hand.")
        labels = labels_of(fits[0], data)
        if type(fits[0].estimator) is DummyRegressor:
            said = [_number(fit, labels) for fit in fits]
            return [Reply(None, _answers(fit, {"predict": one}, data)) for fit, one in zip(fits, said, strict=True)]
        known = data.classes
        assert known is not None  # or it would not have been claimed
        codes, classes = coded(labels, known)[0], classes_for(fits[0], known)
        replies: list[Reply | None] = []
        for fit in fits:
            counts = np.bincount(codes[fit.train.index], minlength=len(known))
            first = int(counts.argmax())
            shares = counts / len(fit.train) if fit.estimator.strategy == "prior" else np.eye(len(known))[first]
            code = np.array(first, dtype=np.min_scalar_type(len(known) - 1))
            values: dict[Response, npt.NDArray[Any]] = {"predict": code, "predict_proba": shares}
            # A model knows only the classes that it has seen.
            replies.append(Reply(classes, _answers(fit, values, data)) if counts.all() else None)
        return replies


def _number(fit: Fit, labels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    targets = labels[fit.train.index].reshape(-1, 1)  # as scikit-learn has them: sums go by the shape
    middle = np.median if fit.estimator.strategy == "median" else np.average
    return np.asarray(middle(targets, axis=0)[0])


def _answers(fit: Fit, values: dict[Response, npt.NDArray[Any]], data: Data) -> list[Predictions]:
    coded_ones = () if data.task == "regression" else ("predict",)
    answers = []
    for ask in fit.asks:
        if len(ask.rows):
            value = values[ask.response]
            repeated = np.repeat(value[None], len(ask.rows), axis=0)
            answers.append(Predictions(ask.response, data.tokens_of(ask.rows), repeated, ask.response in coded_ones))
    return answers
