"""LeftOutSolver: leave-one-out fits, what each says of the row that it leaves out, all rows from one piece of work."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Job
from truefit._core.rows import Rows
from truefit._core.task import Ask, Fit, Response
from truefit._core.typing import Positions
from truefit._solvers.plain import fit_plain, or_plain

logger = logging.getLogger("truefit")


#: Below this many fits plain fitting is as fast.
SMALLEST_GROUP = 8


@dataclass(slots=True)
class LeftOut:
    """What the fits say of the rows that they leave out: a value for each row, of each response; labels as codes.

    ``trusted`` are those that are shown to equal what plain fitting says; ``classes`` are what the codes stand for, and
    must be those of every fit that is trusted.
    """

    values: dict[Response, npt.NDArray[Any]]
    trusted: npt.NDArray[np.bool_]
    classes: npt.NDArray[Any] | None = None


class LeftOutSolver(ABC):
    """Leave-one-out fits of one estimator, each asked about the row that it leaves out.

    A subclass says which estimators it is for (``kinds``, exact types), which responses it can give, whether it serves
    an estimator on a table, and what all fits say. A row that is not to be trusted is fitted plainly, and its outcome
    says so. The time spent is charged to all fits of the job in equal parts.
    """

    name: str
    kinds: tuple[type, ...] = ()
    responses: frozenset[Response] = frozenset({"predict"})
    leaves_out_each = True

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each estimator and labels with enough rows left out."""
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
    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOut:
        """Return what is said of ``rows``, in their order, each by the fit without it."""

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all rows together."""
        if job.fits[0].each_left_out:
            return [self._solve_together(job.fits[0], data)]
        return or_plain(self._solve, job, data)

    def _solve_together(self, fit: Fit, data: Data) -> Outcome:
        """Answer a fit that leaves out each row in turn; without answers where that cannot be done for every row."""
        start = time.perf_counter()
        rows = fit.asks[0].rows.index
        try:
            given = self._left_out(fit, rows, data)
        except Exception as error:
            logger.info("%s gave up on %d rows: %r", self.name, len(rows), error)
            return Outcome(fit.key, solver=self.name)
        for place in np.flatnonzero(~given.trusted):
            one = Rows.of(rows[[place]])
            asks = tuple(Ask(one, ask.response) for ask in fit.asks)
            alone = fit_plain(replace(fit, train=Rows(one.listed, data.n), asks=asks, each_left_out=False), data)
            if alone.error is not None or not _same_classes(alone.classes, given.classes):
                return Outcome(fit.key, solver=self.name)
            for answer in alone.answers:
                given.values[answer.response][place] = answer.values[0]
        tokens = data.tokens[rows]
        coded = None if given.classes is None else "predict"
        answers = [Predictions(a.response, tokens, given.values[a.response], a.response == coded) for a in fit.asks]
        return Outcome(fit.key, tuple(answers), time.perf_counter() - start, self.name, given.classes)

    def _left_out(self, fit: Fit, rows: Positions, data: Data) -> LeftOut:
        given = self.left_out(fit.estimator, labels_of(fit, data), data, rows)
        if data.release is not None:
            data.release()
        return given

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        start = time.perf_counter()
        rows = np.array([fit.train.listed[0] for fit in job.fits], dtype=np.intp)
        given = self._left_out(job.fits[0], rows, data)
        seconds = (time.perf_counter() - start) / len(job.fits)
        said = {response: list(values[:, None]) for response, values in given.values.items()}  # one row each, as a view
        coded = None if given.classes is None else "predict"
        name, classes, trusted, tokens = self.name, given.classes, given.trusted.tolist(), data.tokens
        outcomes = []
        for place, (fit, row) in enumerate(zip(job.fits, rows.tolist(), strict=True)):
            if trusted[place]:
                mine = tokens[row : row + 1]
                answers = [
                    Predictions(ask.response, mine, said[ask.response][place], ask.response == coded)
                    for ask in fit.asks
                ]
                outcomes.append(Outcome(fit.key, tuple(answers), seconds, name, classes))
            else:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + seconds))
        return outcomes


def asks_of_the_same_rows(fit: Fit, n: int, responses: frozenset[Response]) -> bool:
    """Whether a fit leaves out each row of a whole table in turn, and all its asks are about the same of them."""
    rows = fit.asks[0].rows
    return (
        fit.train.total == n
        and fit.train.whole
        and all(ask.response in responses and (ask.rows is rows or ask.rows == rows) for ask in fit.asks)
    )


def leaves_out_what_it_asks(fit: Fit, n: int, responses: frozenset[Response]) -> bool:
    """Whether a fit leaves out one row, and is asked about that row alone."""
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


def _same_classes(some: npt.NDArray[Any] | None, others: npt.NDArray[Any] | None) -> bool:
    if some is None or others is None:
        return some is others
    return np.array_equal(some, others)


def labels_of(fit: Fit, data: Data) -> npt.NDArray[Any]:
    """Return the labels that a fit has, of the whole table."""
    return data.y if fit.y is None else fit.y
