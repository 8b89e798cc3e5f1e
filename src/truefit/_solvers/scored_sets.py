"""ScoredSetsSolver: classifiers with linear scores on many sets of rows, their models from shared sums."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.rows import Rows
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._solvers.class_scores import ClassScores
from truefit._solvers.label_sweep import classes_for, coded
from truefit._solvers.left_out import labels_of
from truefit._solvers.questions import batches
from truefit._solvers.replies import Reply
from truefit._solvers.rounding import TOLERANCE
from truefit._solvers.row_sets import RowSets, RowSetsSolver
from truefit._solvers.scored import Features, weighted

Trusted = npt.NDArray[np.bool_]


#: With more columns sums take as long as scikit-learn does.
WIDEST = 256
#: Rows by which it is judged whether most sets could be answered.
TRIAL_ROWS = 1000
#: Labels are certain where scores are as near as this, but for a few rows.
LABEL_ERROR = 1e-4


class SetModels(Protocol):
    """The models of some sets of rows."""

    def some(self, models: Sequence[int]) -> SetModels:
        """Return some of the models."""
        ...

    def leads(self, features: Features) -> Floats:
        """Return how far the classes lead over the first, of shape (classes - 1, models, rows)."""
        ...

    def error(self, features: Features) -> Floats:
        """Return for each model how far these may be from those of plain fitting."""
        ...


class LinearSetModels:
    """Models whose scores are linear in a row: weights of shape (classes, models, columns), and what is added.

    A subclass bounds the error, and names what else it holds by class and model in ``by_model``.
    """

    by_model: tuple[str, ...] = ()

    def __init__(self, weights: Floats, shift: Floats) -> None:
        self.pull = weights[1:] - weights[0]
        self.shift = (shift[1:] - shift[0])[:, :, None]

    def some(self, models: Sequence[int]) -> Self:
        """Return some of the models."""
        few = copy(self)
        for name in ("pull", "shift", *self.by_model):
            setattr(few, name, getattr(self, name)[:, models])
        return few

    def leads(self, features: Features) -> Floats:
        """Return how far the scores of rows lead over that of the first class."""
        leads = weighted(self.pull, features[0])
        leads += self.shift
        return leads


class SetTable(Protocol):
    """Rows and their sums in some sets, from which models of any parameters can be made."""

    #: What scores are a function of, for all rows.
    features: Features

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[Mapping[Response, SetModels]]:
        """Return the models of some sets for each estimator, by the response that they are for."""
        ...


class ScoredSetsSolver(RowSetsSolver):
    """Answers from scores: the labels of the classes that lead, and their probabilities."""

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether this is a classification with all its classes, and the parameters are such as scikit-learn takes."""
        if data.classes is None or len(data.X.shape) != 2 or data.X.shape[1] > WIDEST:
            return False
        if not self.suits(fit.estimator, data):
            return False
        return bool(coded(labels_of(fit, data), data.classes)[1].all())

    def promises(self, fit: Fit, data: Data) -> bool:
        """Whether a model of some of the rows is near enough to that of plain fitting, or would nearly be."""
        known = data.classes
        assert known is not None  # or it would not be served
        codes = coded(labels_of(fit, data), known)[0]
        rows = Rows.of(np.arange(0, data.n, -(-data.n // max(TRIAL_ROWS, 8 * data.X.shape[1] * len(known)))))
        if len(np.unique(codes[rows.index])) < len(known):
            rows = Rows.all(data.n)
        labels_only = all(ask.response == "predict" for ask in fit.asks)
        with np.errstate(all="ignore"):
            try:
                table = self.table(RowSets([replace(fit, train=rows, asks=())], data, codes), fit.estimator)
            except ValueError:  # the table is not such as can be worked with
                return False
            [models] = table.models([0], [fit.estimator])
            error = models["predict" if labels_only else "predict_proba"].error(table.features)
        return bool((error <= (LABEL_ERROR if labels_only else 10 * TOLERANCE)).all())

    @abstractmethod
    def suits(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such that answers are exact."""

    @abstractmethod
    def table(self, sets: RowSets, estimator: Any) -> SetTable:
        """Return the rows, ready for any sets of them."""

    def values(self, response: Response, scores: ClassScores) -> tuple[npt.NDArray[Any], Trusted]:
        """Return the response of each model on each row, and which models are to be trusted with it."""
        return scores.labels() if response == "predict" else scores.probabilities()

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Add up all sets, a part at a time, then let each model say what it is asked."""
        known = data.classes
        assert known is not None  # or it would not have been claimed
        replies: list[Reply | None] = [None] * len(fits)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            codes = coded(labels_of(fits[0], data), known)[0]
            sets = RowSets(fits, data, codes)
            table = self.table(sets, fits[0].estimator)
            classes = classes_for(fits[0], known)
            by_estimator: dict[bytes, list[int]] = defaultdict(list)
            for place, fit in enumerate(fits):
                by_estimator[fit.estimator_key].append(place)
            kinds = [places[0] for places in by_estimator.values()]
            for part in sets.parts():
                whole = dict(zip(part, sets.complete(part), strict=True))
                given = table.models(part, [fits[place].estimator for place in kinds])
                for models, places in zip(given, by_estimator.values(), strict=True):
                    # A model knows only the classes that it has seen.
                    here = [place for place in places if whole.get(sets.of_fit[place])]
                    spoken = {id(each): Voice(each, table.features) for each in models.values()}
                    voices = {response: spoken[id(each)] for response, each in models.items()}
                    some = self._say(
                        [fits[p] for p in here], [sets.of_fit[p] - part[0] for p in here], voices, sets, data
                    )
                    for place, answers in zip(here, some, strict=True):
                        replies[place] = None if answers is None else Reply(classes, answers)
        return replies

    def _say(
        self,
        fits: Sequence[Fit],
        model_of: Sequence[int],
        voices: Mapping[Response, Voice],
        sets: RowSets,
        data: Data,
    ) -> list[list[Predictions] | None]:
        """Return the answers of each fit; None where one of them is not to be trusted."""
        said: list[list[Predictions] | None] = [[] for _ in fits]
        for batch in batches(fits):
            where = [sets.where(rows) for rows in batch.rows]
            tokens = [data.tokens_of(rows) for rows in batch.rows] * (1 if len(where) > 1 else len(batch.places))
            models = [model_of[place] for place in batch.places]
            for response in batch.responses:
                values, trusted = voices[response].say(response, models, where, self.values)
                for i, (place, sure) in enumerate(zip(batch.places, trusted.tolist(), strict=True)):
                    answers = said[place]
                    if answers is None or not sure:
                        said[place] = None
                    else:
                        answers.append(Predictions(response, tokens[i], values[i], coded=response == "predict"))
        return said


#: Makes of scores what is asked for, and says which models are to be trusted with it.
Values = Callable[[Response, ClassScores], tuple[npt.NDArray[Any], Trusted]]


@dataclass(slots=True)
class Voice:
    """Models and the features of all rows: what some of the models say of some of the rows."""

    models: SetModels
    features: Features
    _bound: Floats | None = None
    _last: tuple[list[int], list[Positions], Floats] | None = None

    def say(
        self, response: Response, models: list[int], where: list[Positions], values: Values
    ) -> tuple[npt.NDArray[Any], Trusted]:
        """Return what the models say: all of the same rows, or each of its own."""
        if self._last is None or self._last[0] is not models:
            self._last = models, where, self.models.some(models).leads(self._at(where))
        leads = self._last[2]
        # What holds for all rows holds for some. Only where that is too much it is worked out for those alone.
        if self._bound is None:
            self._bound = self.models.error(self.features)
        bound = self._bound[models]
        said, trusted = values(response, ClassScores(leads, bound))
        if trusted.all():
            return said, trusted
        for place in np.flatnonzero(~trusted).tolist():
            rows = where[place if len(where) > 1 else 0]
            bound[place] = self.models.some([models[place]]).error(self._at([rows]))[0]
        return values(response, ClassScores(leads, bound))

    def _at(self, where: list[Positions]) -> Features:
        places = where[0] if len(where) == 1 else np.array(where)
        return tuple(table.take(places, axis=0) for table in self.features)
