"""LeftOutSolver: leave-one-out fits, what each says of the row that it leaves out, all rows from one piece of work."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from truefit.core.data import Data
from truefit.core.job import Job
from truefit.core.outcome import Answer, Outcome
from truefit.core.task import Fit, Response
from truefit.solvers.plain import fit_plain, or_plain

Index = npt.NDArray[np.intp]

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

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each estimator and labels with enough rows left out."""
        groups: dict[tuple[bytes, int], list[Fit]] = defaultdict(list)
        for fit in fits:
            if type(fit.estimator) in self.kinds and leaves_out_what_it_asks(fit, data.n, self.responses):
                groups[fit.estimator_key, id(fit.y)].append(fit)
        enough = [group for group in groups.values() if len(group) >= SMALLEST_GROUP]
        if not enough or data.weight is not None or get_config()["enable_metadata_routing"]:
            return []
        return [Job(self, tuple(group)) for group in self.served(enough, data)]

    @abstractmethod
    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Return those groups whose estimator and labels are such that answers are exact."""

    @abstractmethod
    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Index) -> LeftOut:
        """Return what is said of ``rows``, in their order, each by the fit without it."""

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all rows together."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        first = job.fits[0]
        start = time.perf_counter()
        rows = np.array([fit.train.listed[0] for fit in job.fits], dtype=np.intp)
        given = self.left_out(first.estimator, labels_of(first, data), data, rows)
        seconds = (time.perf_counter() - start) / len(job.fits)
        if data.release is not None:
            data.release()
        said = {response: list(values[:, None]) for response, values in given.values.items()}  # one row each, as a view
        coded = None if given.classes is None else "predict"
        name, classes, trusted, tokens = self.name, given.classes, given.trusted.tolist(), data.tokens
        outcomes = []
        for place, (fit, row) in enumerate(zip(job.fits, rows.tolist(), strict=True)):
            if trusted[place]:
                mine = tokens[row : row + 1]
                answers = [
                    Answer(ask.response, mine, said[ask.response][place], ask.response == coded) for ask in fit.asks
                ]
                outcomes.append(Outcome(fit.key, tuple(answers), seconds, name, classes))
            else:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + seconds))
        return outcomes


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


def labels_of(fit: Fit, data: Data) -> npt.NDArray[Any]:
    """Return the labels that a fit has, of the whole table."""
    return data.y if fit.y is None else fit.y
