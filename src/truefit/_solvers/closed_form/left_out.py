"""The driver for leave-one-out, from one computation on all rows."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import get_config

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Ask, Fit, Job, Response
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats, Mask, Positions
from truefit._solvers.closed_form.rounding import UNIT, ClassScores, accurate_mean, column_growth
from truefit._solvers.plain import fit_plain, labels_of, log_fallback, or_plain
from truefit._solvers.registry import are_priors
from truefit._solvers.relabelled.driver import WORK_BYTES, as_floats, coded, full_precision

#: Below this many fits plain fitting is as fast.
SMALLEST_GROUP = 8


@dataclass(slots=True)
class LeftOutValues:
    """What the fits predict of their held-out rows, by response; labels as codes into ``classes``.

    ``trusted`` are the rows whose predictions are shown to equal those of plain fitting.
    """

    values: dict[Response, Array]
    trusted: Mask
    classes: Array | None = None


class LeftOutSolver(ABC):
    """Leave-one-out fits of one estimator, each predicting its held-out row.

    Rows that are not trusted are fitted plainly, and their outcomes say so. Time is charged to all fits in equal parts.
    """

    name: str
    kinds: tuple[type, ...] = ()
    responses: frozenset[Response] = frozenset({"predict"})
    leaves_out_each = True

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each estimator and labels with enough held-out rows."""
        groups: dict[tuple[bytes, int], list[Fit]] = defaultdict(list)
        together = []
        for fit in fits:
            if type(fit.estimator) not in self.kinds:
                continue
            if fit.each_left_out:
                if asks_of_the_same_rows(fit, data.n, self.responses):
                    together.append([fit])
            elif leaves_out_what_it_asks(fit, data.n, self.responses):
                groups[fit.estimator_key, id(fit.y)].append(fit)
        enough = [group for group in (*together, *groups.values()) if sum(fit.count for fit in group) >= SMALLEST_GROUP]
        if not enough or data.weight is not None or get_config()["enable_metadata_routing"]:
            return []
        return [Job(self, tuple(group)) for group in self.served(enough, data)]

    @abstractmethod
    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Return those groups whose estimator and labels are such that answers are exact."""

    @abstractmethod
    def left_out(self, estimator: Any, labels: Array, data: Data, rows: Positions) -> LeftOutValues:
        """Return the predictions of ``rows``, in their order, each by the fit without it."""

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all rows together."""
        if job.fits[0].each_left_out:
            return [each_left_out(job.fits[0], data, self.name, self._left_out)]
        return or_plain(self._solve, job, data)

    def _left_out(self, fit: Fit, rows: Positions, data: Data) -> LeftOutValues:
        given = self.left_out(fit.estimator, labels_of(fit, data), data, rows)
        if data.release is not None:
            data.release()
        return given

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        start = time.perf_counter()
        rows = np.array([fit.train.listed[0] for fit in job.fits], dtype=np.intp)
        given = self._left_out(job.fits[0], rows, data)
        seconds = (time.perf_counter() - start) / len(job.fits)
        values = {response: list(some[:, None]) for response, some in given.values.items()}  # one row each, as a view
        coded = None if given.classes is None else "predict"
        name, classes, trusted, tokens = self.name, given.classes, given.trusted.tolist(), data.tokens
        outcomes = []
        for place, (fit, row) in enumerate(zip(job.fits, rows.tolist(), strict=True)):
            if trusted[place]:
                mine = tokens[row : row + 1]
                answers = [
                    Predictions(ask.response, mine, values[ask.response][place], ask.response == coded)
                    for ask in fit.asks
                ]
                outcomes.append(Outcome(fit.key, tuple(answers), seconds, name, classes))
            else:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + seconds))
        return outcomes


def each_left_out(
    fit: Fit, data: Data, name: str, left_out: Callable[[Fit, Positions, Data], LeftOutValues]
) -> Outcome:
    """Answer a fit that leaves out each row in turn; without answers where that cannot be done for every row."""
    start = time.perf_counter()
    rows = fit.asks[0].rows.index
    try:
        given = left_out(fit, rows, data)
    except Exception as error:
        log_fallback(name, f"leave-one-out of {len(rows)} rows", error)
        return Outcome(fit.key, solver=name)
    for place in np.flatnonzero(~given.trusted):
        alone = fit_plain(without_row(fit, rows[place], data.n), data)
        if alone.error is not None or not _same_classes(alone.classes, given.classes):
            return Outcome(fit.key, solver=name)
        for answer in alone.answers:
            given.values[answer.response][place] = answer.values[0]
    tokens = data.tokens[rows]
    coded = None if given.classes is None else "predict"
    answers = [Predictions(a.response, tokens, given.values[a.response], a.response == coded) for a in fit.asks]
    return Outcome(fit.key, tuple(answers), time.perf_counter() - start, name, given.classes)


def without_row(fit: Fit, row: Any, n: int) -> Fit:
    """Return one of the fits for which a fit that leaves out each row stands."""
    one = Rows.of(np.array([row], dtype=np.intp))
    asks = tuple(Ask(one, ask.response) for ask in fit.asks)
    return replace(fit, key=f"{fit.key} {row}", train=Rows(one.listed, n), asks=asks, each_left_out=False)


def asks_of_the_same_rows(fit: Fit, n: int, responses: frozenset[Response]) -> bool:
    """Whether a fit leaves out each row of a whole table in turn, and all its asks are about the same of them."""
    rows = fit.asks[0].rows
    return (
        fit.train.total == n
        and fit.train.whole
        and all(ask.response in responses and (ask.rows is rows or ask.rows == rows) for ask in fit.asks)
    )


def leaves_out_what_it_asks(fit: Fit, n: int, responses: frozenset[Response]) -> bool:
    """Whether a fit leaves out one row, and predicts that row alone."""
    train = fit.train
    if train.total != n or len(train.listed) != 1 or not fit.asks:
        return False
    if fit.keep_model or fit.model is not None:  # no model comes of a closed form, and one that is there answers faster
        return False
    left_out, known = train.listed[0], None
    for ask in fit.asks:
        if ask.response not in responses:
            return False
        if ask.rows is not known:
            if len(ask.rows) != 1:
                return False
            if (ask.rows.listed[0] if ask.rows.total is None else ask.rows.index[0]) != left_out:
                return False
            known = ask.rows
    return True


def _same_classes(some: Array | None, others: Array | None) -> bool:
    if some is None or others is None:
        return some is others
    return np.array_equal(some, others)


#: A class whose score is behind by this much has a probability that is 0 in floating point.
UNTHINKABLE = 800.0


class LabelledTable:
    """Rows with the ``codes`` of their classes, and ``counts`` and ``means`` with a row for each class."""

    def __init__(self, X: Floats, codes: Positions, counts: Positions) -> None:
        self.X, self.codes = X, codes
        self.n, self.p = X.shape
        self.counts = counts.astype(np.float64)
        order = np.argsort(codes, kind="stable")
        self._members = np.split(order, np.cumsum(counts)[:-1])
        self.means = np.array([accurate_mean(X[members]) for members in self._members])

    def members(self, code: int) -> Floats:
        """Return the rows of a class, counted from its mean."""
        return np.asarray(self.X[self._members[code]] - self.means[code])

    @cached_property
    def rounding(self) -> Floats:
        """How far a mean or a sum of squares of each column may be off, relative to what was added up."""
        return np.asarray(UNIT * column_growth(self.X))

    def log_shares(self, priors: Any, rows: Positions) -> Floats:
        """Return the logarithms of the classes' shares without each row: given ones, or those of the others."""
        if priors is not None:
            return np.asarray(np.log(np.asarray(priors, dtype=np.float64)))[:, None]
        counts = self.counts[:, None] - (np.arange(len(self.counts))[:, None] == self.codes[rows])
        return np.asarray(np.log(counts / (self.n - 1)))


class LeftOutScoresSolver(LeftOutSolver):
    """Leave-one-out of classifiers by scores of the classes.

    Scores are logarithms of probabilities up to a constant, with a bound on their distance from plain fitting.
    """

    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})
    #: Whether probabilities of two classes are a logistic function of one score.
    logistic = False

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those of a classification whose parameters are such as scikit-learn takes, on a table that can be used."""
        if data.classes is None:
            return []
        some = [
            group
            for group in groups
            if self.serves(group[0].estimator, data) and coded(labels_of(group[0], data), data.classes)[1].all()
        ]
        return some if some and full_precision(data) else []

    @abstractmethod
    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""

    @abstractmethod
    def scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats]:
        """Return the scores of the classes for each row without it, and a bound on their error: (classes, rows)."""

    def left_out(self, estimator: Any, labels: Array, data: Data, rows: Positions) -> LeftOutValues:
        """Compute the scores of each row without it, and the labels and probabilities that follow."""
        known = data.classes
        assert known is not None  # or it would not have been claimed
        codes, counts = coded(labels, known)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            table = LabelledTable(as_floats(data.X), codes.astype(np.intp), counts)
            step = max(1, WORK_BYTES // (8 * len(known) * table.p))
            parts = [self._part(estimator, table, rows[start : start + step]) for start in range(0, len(rows), step)]
        if len(parts) > 1:
            columns = zip(*parts, strict=True)
            labelled, shares, trusted = (np.concatenate(column) for column in columns)
        else:
            labelled, shares, trusted = parts[0]
        classes = known.astype(labels.dtype, copy=False)
        return LeftOutValues({"predict": labelled, "predict_proba": shares}, trusted, classes)

    def _part(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Array, Floats, Mask]:
        leads = _leads(*self.scores(estimator, table, rows))
        labels, certain = leads.labels()
        shares, near = leads.values("predict_proba", logistic=self.logistic)
        alone = table.counts[table.codes[rows]] < 2
        return labels[:, 0], shares[:, 0], certain & near & ~alone


def _leads(scores: Floats, error: Floats) -> ClassScores:
    # A class that is out of the question has a probability of 0, however far off its score is: others must not be
    # measured from there.
    hopeless = scores + error < (scores - error).max(axis=0) - UNTHINKABLE
    error = np.where(hopeless, 0.0, error)
    scores = np.where(hopeless, scores.max(axis=0) - 2 * UNTHINKABLE, scores)
    return ClassScores((scores[1:] - scores[0])[:, :, None], error[0] + error[1:].max(axis=0))


def priors_fit(priors: Any, data: Data) -> bool:
    """Whether priors are not given, or are those of the table's classes."""
    return priors is None or (data.classes is not None and are_priors(priors, len(data.classes)))
