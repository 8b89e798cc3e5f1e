"""The driver for other row sets of classifiers: their models from sums that all sets share."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.rows import Rows
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._solvers.base import SharedResult, request_batches
from truefit._solvers.closed_form.left_out import labels_of
from truefit._solvers.closed_form.rounding import TOLERANCE, ClassScores
from truefit._solvers.closed_form.row_sets import OtherRowsSolver, RowSets
from truefit._solvers.relabelled.driver import Features, classes_for, coded


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Arrays of shape (classes, models, columns): means, counted from a centre, and variances.

    ``counts`` says how many rows each class has (its last axis is 1); ``total`` is the variance of all rows, whatever
    their class: of each model, or the same for all. ``summed`` is the mean of the squares that variances are made of:
    rounding is relative to that.
    """

    counts: Floats
    mean: Floats
    variance: Floats
    summed: Floats
    total: Floats


class ClassedSets:
    """Sets of rows with classes, each row counted from the mean of all rows of its class.

    So next to nothing cancels where the squares of a set's mean are taken from those of its rows: that mean is close
    to the one of all.
    """

    def __init__(self, sets: RowSets) -> None:
        self.sets = sets
        X = sets.X
        self.centre = _mean(X)
        self.levels = np.array([_mean(X[rows]) for rows in sets.slices])
        self.apart = np.empty_like(X)
        for rows, level in zip(sets.slices, self.levels, strict=True):
            np.subtract(X[rows], level, out=self.apart[rows])

    def moments(self, sets: Sequence[int]) -> ClassMoments:
        """Return the moments of some of the sets."""
        counts, (first, second) = self.sets.class_sums(sets, self.apart, self.apart**2)
        shift, summed = first / counts, second / counts
        mean = (self.levels - self.centre)[:, None, :] + shift
        variance = summed - shift**2
        n = counts.sum(axis=0)
        middle = (counts * mean).sum(axis=0) / n
        total = (counts * (variance + (mean - middle) ** 2)).sum(axis=0) / n
        return ClassMoments(counts, mean, variance, summed, total)


def _mean(values: Floats) -> Floats:
    n = max(len(values), 1)
    mean = np.ones(len(values)) @ values / n
    return np.asarray(mean + np.ones(len(values)) @ (values - mean) / n)


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


class SetTable(Protocol):
    """Rows and their sums in some sets, from which models of any parameters can be made."""

    #: What scores are a function of, for all rows.
    features: Features

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[SetModels]:
        """Return the models of some sets for each estimator."""
        ...


class OtherRowsScoresSolver(OtherRowsSolver):
    """Answers from scores: the labels of the classes that lead, and their probabilities."""

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether this is a classification with all its classes, and the parameters are such as scikit-learn takes."""
        if data.classes is None or len(data.X.shape) != 2 or data.X.shape[1] > WIDEST:
            return False
        if not self.suits(fit.estimator, data):
            return False
        return bool(coded(labels_of(fit, data), data.classes)[1].all())

    def promises(self, fit: Fit, data: Data, scaled: bool) -> bool:
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
                alone = [replace(fit, train=rows, asks=(), each_left_out=False)]
                table = self.table(RowSets(alone, data, codes, scaled=scaled), fit.estimator)
            except ValueError:  # the table is not such as can be worked with
                return False
            [models] = table.models([0], [fit.estimator])
            error = models.error(table.features)
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

    def set_results(self, fits: Sequence[Fit], data: Data, scaled: bool) -> Sequence[SharedResult | None]:
        """Add up all sets, a part at a time, then let each model say what it is asked."""
        known = data.classes
        assert known is not None  # or it would not have been claimed
        results: list[SharedResult | None] = [None] * len(fits)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            codes = coded(labels_of(fits[0], data), known)[0]
            sets = RowSets(fits, data, codes, scaled=scaled)
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
                    scores_of = SetScores(models, table.features)
                    some = self._say(
                        [fits[p] for p in here], [sets.of_fit[p] - part[0] for p in here], scores_of, sets, data
                    )
                    for place, answers in zip(here, some, strict=True):
                        results[place] = None if answers is None else SharedResult(classes, answers)
        return results

    def _say(
        self,
        fits: Sequence[Fit],
        model_of: Sequence[int],
        scores_of: SetScores,
        sets: RowSets,
        data: Data,
    ) -> list[list[Predictions] | None]:
        """Return the answers of each fit; None where one of them is not to be trusted."""
        said: list[list[Predictions] | None] = [[] for _ in fits]
        for batch in request_batches(fits):
            where = [sets.where(rows) for rows in batch.rows]
            tokens = [data.tokens_of(rows) for rows in batch.rows] * (1 if len(where) > 1 else len(batch.places))
            models = [model_of[place] for place in batch.places]
            for response in batch.responses:
                values, trusted = scores_of.say(response, models, where, self.values)
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
class SetScores:
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
