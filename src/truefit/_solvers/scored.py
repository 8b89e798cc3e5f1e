"""ScoredSolver: classifiers whose scores are linear in features of a row, many models in one matrix product."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats
from truefit._solvers.class_scores import ClassScores
from truefit._solvers.label_sweep import STRETCH, LabelSweep, classes_for, label_sweeps, stretches
from truefit._solvers.plain import row_blocks
from truefit._solvers.questions import Question, questions
from truefit._solvers.replies import Reply
from truefit._solvers.same_rows import WORK_BYTES, SameRowsSolver, as_floats

#: Tables of which a score is a linear function, a row for each row of X.
Features = tuple[Floats, ...]


class ScoredModels(Protocol):
    """The models of one sweep of label vectors."""

    def leads(self, features: Features) -> Floats:
        """Return how far the classes lead over the first, of shape (classes - 1, models, rows)."""
        ...

    def error(self, features: Features) -> Floats:
        """Return for each model how far these may be from those of plain fitting."""
        ...


class ScoredTable(Protocol):
    """Training rows, and what of them does not depend on the labels."""

    #: The features of the training rows themselves.
    own: Features

    def features(self, X: Floats) -> Features:
        """Return the features of other rows."""
        ...

    def models(self, sweep: LabelSweep) -> ScoredModels | None:
        """Fit all label vectors of a sweep; None where the parameters do not suit its classes."""
        ...


class ScoredSolver(SameRowsSolver):
    """Answers from scores: the labels of the classes that lead, and their probabilities."""

    @abstractmethod
    def table(self, X: Floats, estimator: Any) -> ScoredTable:
        """Return the training rows, ready for any labels."""

    @abstractmethod
    def values(self, response: Response, scores: ClassScores) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return the response of each model on each row, and which models are to be trusted with it."""

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Work out all models, then what they say of all rows."""
        index = fits[0].train.index
        replies: list[Reply | None] = [None] * len(fits)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            X = data.X if fits[0].train.whole else data.take(index)
            table = self.table(as_floats(X), fits[0].estimator)
            for whole in label_sweeps(fits, data, index):
                for sweep in whole.parts(max(1, WORK_BYTES // (8 * STRETCH * len(whole.classes)))):
                    models = table.models(sweep)
                    if models is None:
                        continue
                    swept = [fits[place] for place in sweep.places]
                    given = [Reply(classes_for(fit, sweep.classes)) for fit in swept]
                    for question in questions(swept):
                        own = table.own if question.rows == fits[0].train else None
                        blocks = _blocks(question.rows.index, own, table, data)
                        self._reply(question, blocks, models, given, data)
                    for place, reply in zip(sweep.places, given, strict=True):
                        replies[place] = reply
        return replies

    def _reply(
        self, question: Question, blocks: Iterable[Features], models: ScoredModels, replies: list[Reply], data: Data
    ) -> None:
        parts: dict[Response, list[npt.NDArray[Any]]] = {response: [] for response in question.wanted}
        for block in blocks:
            error = models.error(block)
            for stretch in stretches(len(block[0])):
                scores = ClassScores(models.leads(tuple(table[stretch] for table in block)), error)
                for response, places in question.wanted.items():
                    values, trusted = self.values(response, scores)
                    parts[response].append(values)
                    if not trusted.all():
                        for place in places:
                            replies[place].trusted &= bool(trusted[place])
        tokens = data.tokens_of(question.rows)
        for response, places in question.wanted.items():
            values = np.concatenate(parts[response], axis=1)
            for place in places:
                answer = Predictions(response, tokens, values[place], coded=response == "predict")
                replies[place].answers.append(answer)


def _blocks(index: npt.NDArray[np.intp], own: Features | None, table: ScoredTable, data: Data) -> Iterator[Features]:
    """Return the features of rows in blocks; those of the training rows are there already."""
    if own is not None:
        yield own
        return
    for block in row_blocks(index, data):
        yield table.features(as_floats(data.take(block)))


def weighted(weights: Floats, table: Floats) -> Floats:
    """Return the sums of values times weights, of shape (classes - 1, models, rows).

    ``weights`` are of shape (classes - 1, models, columns). ``table`` has the same rows for all models; with an axis
    more, other rows for each.

    Examples
    --------
    >>> weights = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> weighted(weights, np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([[[1., 3.], [3., 7.]]])
    >>> weighted(weights, np.array([[[1.0, 0.0]], [[1.0, 1.0]]]))
    array([[[1.], [7.]]])
    """
    if table.ndim == 2:
        return (weights.reshape(-1, weights.shape[2]) @ table.T).reshape(*weights.shape[:2], len(table))
    return np.ascontiguousarray(np.moveaxis(table @ np.moveaxis(weights, 0, 2), 2, 0))
