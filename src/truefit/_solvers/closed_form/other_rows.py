"""The driver for other row sets: one learner on many sets of the same rows, from sums that all sets share.

The sums that a learner needs, in folds, learning curves or bootstrap samples, are sums over rows: a matrix of how often
each row is in each set, times the rows' statistics, gives those of all sets.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn import get_config
from sklearn.preprocessing import StandardScaler

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Fit, Job, Response
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats, Mask, Positions
from truefit._sklearn import has_own_output
from truefit._solvers.closed_form.left_out import LeftOutValues, asks_of_the_same_rows, each_left_out, without_row
from truefit._solvers.closed_form.rounding import TOLERANCE, ClassScores, accurate_mean
from truefit._solvers.closed_form.row_sets import RowSets, distinct_sets, used_rows
from truefit._solvers.pipelines.steps import idle, is_shareable
from truefit._solvers.plain import labels_of
from truefit._solvers.registry import EstimatorFamilies, GroupSolver, SharedResult, request_batches
from truefit._solvers.relabelled.driver import Features, ScoreModels, classes_for, coded, full_precision

#: Below this many sets plain fitting is as fast.
SMALLEST_GROUP = 4
#: Where sets have a smaller share of the rows that any of them has, adding up all rows for each takes too long.
SMALLEST_SHARE = 0.05
#: Of leave-one-out fits that are answered together at least this share must be trusted.
LEAST_TRUSTED = 0.5


class OtherRowsSolver(GroupSolver):
    """Fits with the same labels on many sets of rows, where there are more sets than label vectors.

    A learner may stand behind a ``StandardScaler``: the means and scales of each set follow from the same sums.
    Leave-one-out is then a design like any other, with as many sets as rows.
    """

    leaves_out_each = True
    #: Whether the learner is served without a scaler too.
    without_scaler = True
    #: Whether sets that lack a class of the table are fitted plainly.
    by_class = True

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job, or a few, for each family of estimators and labels with enough sets of rows."""
        if get_config()["enable_metadata_routing"] or not self._takes_weights(data):
            return []
        families, given = EstimatorFamilies(self.path), {fit.key: fit for fit in fits}
        groups: dict[tuple[bytes, bool], dict[int, list[Fit]]] = defaultdict(lambda: defaultdict(list))
        together = []
        for fit in fits:
            learner, scaled = learner_of(fit.estimator)
            if type(learner) not in self.kinds or not fit.asks or not (scaled or self.without_scaler):
                continue
            fit = replace(fit, estimator=learner) if scaled else fit
            if fit.each_left_out:
                # Learners without a scaler have a solver of their own for leave-one-out.
                if scaled and fit.count >= SMALLEST_GROUP and asks_of_the_same_rows(fit, data.n, self.responses):
                    together.append(fit)
            elif self._can_answer(fit) and (family := families.of(fit)) is not None:
                groups[family, scaled][id(fit.y)].append(fit)
        served = [
            (some, scaled)
            for (_, scaled), by_labels in groups.items()
            for group in by_labels.values()
            if (some := self._enough(group, max(SMALLEST_GROUP, len(by_labels), self.along_a_set(group)), data))
        ]
        served += [([fit], True) for fit in together if self.serves(fit, data)]
        if not served or not self.takes(data):
            return []
        jobs = []
        for group, scaled in served:
            if self.promises(group[0], data, scaled):
                parts = [group[i : i + self.most] for i in range(0, len(group), self.most)]
                # Each set has a model of its own, however little it takes.
                jobs += [Job(self, tuple(given[fit.key] for fit in p), work=len(distinct_sets(p, data))) for p in parts]
        return jobs

    def along_a_set(self, group: Sequence[Fit]) -> int:
        """Return how many estimators another solver would answer together on one set of rows."""
        return 1

    def promises(self, fit: Fit, data: Data, scaled: bool) -> bool:
        """Whether most sets can be expected to be trusted."""
        return True

    def _enough(self, group: Sequence[Fit], least: int, data: Data) -> list[Fit]:
        if len(group) < least:
            return []
        some = self._served(group, data)
        if len(distinct_sets(some, data)) < least:
            return []
        most = len(some) * int(used_rows([fit.train for fit in some], data.n).sum())
        return some if sum(len(fit.train) for fit in some) >= SMALLEST_SHARE * most else []

    def takes(self, data: Data) -> bool:
        """Whether X is a table that can be worked with: dense, finite, and of full precision."""
        return full_precision(data)

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all fits together."""
        if job.fits[0].each_left_out:
            return [each_left_out(job.fits[0], data, self.name, self._left_out)]
        return super().solve(job, data)

    def _left_out(self, fit: Fit, rows: Positions, data: Data) -> LeftOutValues:
        results = self.results([without_row(fit, row, data.n) for row in rows.tolist()], data)
        trusted = np.array([result is not None and result.trusted for result in results])
        if trusted.mean() < LEAST_TRUSTED:  # plain fitting can do them in parallel
            raise ValueError(f"Only {int(trusted.sum())} of {len(rows)} rows can be trusted.")
        first = results[int(trusted.argmax())]
        assert first is not None
        values = {a.response: np.zeros((len(rows), *a.values.shape[1:]), a.values.dtype) for a in first.answers}
        for place, result in enumerate(results):
            for answer in result.answers if result is not None else ():
                values[answer.response][place] = answer.values[0]
        return LeftOutValues(values, trusted, first.classes)

    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Return a result for each fit; None for those that are to be fitted plainly."""
        learners = [learner_of(fit.estimator) for fit in fits]
        scaled = learners[0][1]
        if scaled:
            fits = [replace(fit, estimator=learner) for fit, (learner, _) in zip(fits, learners, strict=True)]
        return self.set_results(fits, data, scaled)

    def set_results(self, fits: Sequence[Fit], data: Data, scaled: bool) -> Sequence[SharedResult | None]:
        """Return a result for each fit of a learner, on its rows as they are or standardised."""
        results: list[SharedResult | None] = [None] * len(fits)
        codes = classes = None
        if self.by_class and data.classes is not None:
            codes, classes = coded(labels_of(fits[0], data), data.classes)[0], classes_for(fits[0], data.classes)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            sets = RowSets(fits, data, codes, scaled=scaled)
            by_estimator: dict[bytes, list[int]] = defaultdict(list)
            for place, fit in enumerate(fits):
                by_estimator[fit.estimator_key].append(place)
            predictors_of = self.predictors(sets, [fits[places[0]].estimator for places in by_estimator.values()])
            for part in sets.parts():
                complete = dict(zip(part, sets.complete(part), strict=True))
                for predictor, places in zip(predictors_of(part), by_estimator.values(), strict=True):
                    # A model knows only the classes that it has seen.
                    here = [place for place in places if complete.get(sets.of_fit[place])]
                    for place in here:
                        results[place] = SharedResult(classes)
                    models = [sets.of_fit[place] - part[0] for place in here]
                    _add_predictions([fits[p] for p in here], [results[p] for p in here], models, predictor, sets, data)
        return results

    @abstractmethod
    def predictors(self, sets: RowSets, estimators: Sequence[Any]) -> Callable[[list[int]], Sequence[SetPredictor]]:
        """Return what computes the models of some sets, for each estimator."""


class SetPredictor(Protocol):
    """The models of an estimator on some sets of rows."""

    def predictions(self, response: Response, models: list[int], where: list[Positions]) -> tuple[Array, Mask]:
        """Return what models predict, all of the same rows or each of its own, and which are to be trusted."""


def _add_predictions(
    fits: Sequence[Fit],
    results: Sequence[SharedResult | None],
    model_of: Sequence[int],
    predictor: SetPredictor,
    sets: RowSets,
    data: Data,
) -> None:
    for batch in request_batches(fits):
        where = [sets.where(rows) for rows in batch.rows]
        tokens = [data.tokens_of(rows) for rows in batch.rows] * (1 if len(where) > 1 else len(batch.places))
        models = [model_of[place] for place in batch.places]
        for response in batch.responses:
            values, trusted = predictor.predictions(response, models, where)
            for i, place in enumerate(batch.places):
                result = results[place]
                assert result is not None
                is_code = response == "predict" and result.classes is not None
                result.trusted &= bool(trusted[i])
                result.answers.append(Predictions(response, tokens[i], values[i], is_code))


def learner_of(estimator: Any) -> tuple[Any, bool]:
    """Return the learner behind a ``StandardScaler``, and True; or the estimator itself, and False."""
    if not is_shareable(estimator):
        return estimator, False
    steps = [step for _, step in estimator.steps if not idle(step)]
    if len(steps) != 2 or type(steps[0]) is not StandardScaler or has_own_output(steps[0]):
        return estimator, False
    whole = steps[0].with_mean is True and steps[0].with_std is True
    return (steps[1], True) if whole else (estimator, False)


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Means from a centre, and variances: (classes, models, columns); ``counts`` of rows: (classes, models, 1).

    ``total`` is the variance of all rows, ``summed`` the mean square that variances are made of: rounding is relative
    to it.
    """

    counts: Floats
    mean: Floats
    variance: Floats
    summed: Floats
    total: Floats


class ClassedSets:
    """Sets of rows, each row counted from the mean of its class, so that little cancels in variances."""

    def __init__(self, sets: RowSets) -> None:
        self.sets = sets
        X = sets.X
        self.centre = accurate_mean(X)
        self.levels = np.array([accurate_mean(X[rows]) for rows in sets.slices])
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


#: With more columns sums take as long as scikit-learn does.
WIDEST = 256
#: Rows by which it is judged whether most sets could be answered.
TRIAL_ROWS = 1000
#: Labels are certain where scores are as near as this, but for a few rows.
LABEL_ERROR = 1e-4


class SetTable(Protocol):
    """Rows and their sums in some sets, from which models of any parameters can be made."""

    #: What scores are a function of, for all rows.
    features: Features

    def models(self, sets: Sequence[int], estimators: Sequence[Any]) -> Sequence[ScoreModels]:
        """Return the models of some sets for each estimator."""


class OtherRowsScoresSolver(OtherRowsSolver):
    """Answers from scores: the labels of the classes that lead, and their probabilities."""

    #: Whether probabilities of two classes are a logistic function of one score.
    logistic = False

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

    def predictors(self, sets: RowSets, estimators: Sequence[Any]) -> Callable[[list[int]], Sequence[SetScores]]:
        """Return what computes the scores of some sets, for each estimator."""
        table = self.table(sets, estimators[0])
        return lambda part: [
            SetScores(models, table.features, self.logistic) for models in table.models(part, estimators)
        ]


@dataclass(slots=True)
class SetScores:
    """Models and the features of all rows, for predictions of some of the models on some of the rows."""

    models: ScoreModels
    features: Features
    logistic: bool
    _bound: Floats | None = None
    _last: tuple[list[int], list[Positions], Floats] | None = None

    def predictions(self, response: Response, models: list[int], where: list[Positions]) -> tuple[Array, Mask]:
        """Return what models predict, all of the same rows or each of its own, and which are to be trusted."""
        if self._last is None or self._last[0] is not models:
            self._last = models, where, self.models.some(models).leads(self._at(where))
        leads = self._last[2]
        # A bound for all rows holds for some. Only where it is too large it is computed for those alone.
        if self._bound is None:
            self._bound = self.models.error(self.features)
        bound = self._bound[models]
        values, trusted = ClassScores(leads, bound).values(response, logistic=self.logistic)
        if trusted.all():
            return values, trusted
        for place in np.flatnonzero(~trusted).tolist():
            rows = where[place if len(where) > 1 else 0]
            bound[place] = self.models.some([models[place]]).error(self._at([rows]))[0]
        return ClassScores(leads, bound).values(response, logistic=self.logistic)

    def _at(self, where: list[Positions]) -> Features:
        places = where[0] if len(where) == 1 else np.array(where)
        return tuple(table.take(places, axis=0) for table in self.features)
