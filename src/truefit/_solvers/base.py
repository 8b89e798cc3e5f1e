"""What solvers of groups of fits have in common: parameters, families of estimators, requested rows, results."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Job
from truefit._core.rows import Rows
from truefit._core.task import Fit, Response
from truefit._solvers.plain import fit_plain, log_fallback, or_plain


def is_switch(value: Any) -> bool:
    """Whether a value is a boolean."""
    return isinstance(value, bool | np.bool_)


def is_size(value: Any) -> bool:
    """Whether a value is a finite number, not negative.

    Examples
    --------
    >>> is_size(0), is_size(np.float64(2.5)), is_size(-1), is_size(math.inf), is_size(True), is_size("1")
    (True, True, False, False, False, False)
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not is_switch(value)
    return number and bool(0 <= value < math.inf)


def is_seed(value: Any) -> bool:
    """Whether a value can stand as ``random_state``, and is no stream that gives other numbers each time."""
    return value is None or (type(value) is int and 0 <= value < 2**32)


def are_priors(value: Any, classes: int) -> bool:
    """Whether a value has a share above 0 for each class, with a sum of 1.

    Examples
    --------
    >>> are_priors([0.25, 0.75], 2), are_priors([0.25, 0.75], 3), are_priors([0.0, 1.0], 2), are_priors([1, 1], 2)
    (True, False, False, False)
    """
    try:
        shares = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return shares.shape == (classes,) and bool((shares > 0).all()) and abs(float(shares.sum()) - 1) < 1e-8


#: Types whose values are known by how they are written; the usual ones, for which nothing else needs to be looked at.
_PLAIN = (bool, int, float, str)


def key_without(estimator: Any, parameters: Sequence[str]) -> bytes | None:
    """Return what estimators have in common that differ in some parameters only; None if it has no key (logged)."""
    try:
        common = copy(estimator)
        for name in parameters:
            setattr(common, name, None)
        return Fingerprint(common).digest
    except Exception as error:
        log_fallback("the key of an estimator", type(estimator).__name__, error)
        return None


class EstimatorFamilies:
    """Tells which fits have estimators that are the same but for the parameters along a path.

    Each estimator is looked at once, however many fits it has.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from truefit._core.data import Data
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import FitTask
    >>> keys = Keys(Data([[0.0], [1.0]], [0.0, 1.0], task="regression"))
    >>> ridges = Ridge(alpha=1.0), Ridge(alpha=2.0), Ridge(alpha=2.0, solver="svd")
    >>> fits = [keys.fit(FitTask(ridge, Rows.all(2))) for ridge in ridges]
    >>> families = EstimatorFamilies(("alpha",))
    >>> [families.of(fit) == families.of(fits[0]) for fit in fits]
    [True, True, False]
    """

    def __init__(self, path: Sequence[str]) -> None:
        self.path = tuple(path)
        self._known: dict[bytes, bytes | None] = {}

    def of(self, fit: Fit) -> bytes | None:
        """Return what the estimators of a family have in common; None where that cannot be known."""
        if not self.path:
            return fit.estimator_key
        if fit.estimator_key not in self._known:
            self._known[fit.estimator_key] = self._family(fit)
        return self._known[fit.estimator_key]

    def _family(self, fit: Fit) -> bytes | None:
        values = {name: value for name, value in vars(fit.estimator).items() if name not in self.path}
        if all(value is None or type(value) in _PLAIN for value in values.values()):
            kind = type(fit.estimator)
            return f"{kind.__module__}.{kind.__qualname__} {sorted(values.items())}".encode()
        return key_without(fit.estimator, self.path)


RowsKey = tuple[int | None, str, bytes]

#: So many rows, each time that a model is asked about one, are worked on at a time: they stay in the processor's cache.
BATCH_ROWS = 16384


@dataclass(frozen=True, slots=True, eq=False)
class RowsRequest:
    """Rows, and which of the fits (by their positions) want which response on them."""

    rows: Rows
    wanted: dict[Response, list[int]] = field(default_factory=dict)


def rows_key(rows: Rows) -> RowsKey:
    """Return what equal rows in the same form have in common."""
    return rows.total, rows.listed.dtype.str, rows.listed.tobytes()


def rows_requests(fits: Sequence[Fit]) -> list[RowsRequest]:
    """Gather the asks of several fits: each set of rows once, sets without rows left out.

    Examples
    --------
    >>> from truefit._core.task import Ask
    >>> asks = (Ask(Rows.of([0, 1])), Ask(Rows.of([0, 1]), "predict_proba"), Ask(Rows.of([])))
    >>> fits = [Fit("a", b"", b"", None, Rows.all(3), asks), Fit("b", b"", b"", None, Rows.all(3), asks[:1])]
    >>> [request] = rows_requests(fits)
    >>> request.rows, request.wanted
    (Rows.of([0, 1]), {'predict': [0, 1], 'predict_proba': [0]})
    """
    by_rows: dict[RowsKey, RowsRequest] = {}
    keys: dict[int, RowsKey] = {}  # plans ask all their fits about the same object: its bytes are made once
    for place, fit in enumerate(fits):
        for ask in fit.asks:
            if len(ask.rows) == 0:
                continue
            key = keys.get(id(ask.rows))
            if key is None:
                key = keys[id(ask.rows)] = rows_key(ask.rows)
            request = by_rows.setdefault(key, RowsRequest(ask.rows))
            places = request.wanted.setdefault(ask.response, [])
            if not places or places[-1] != place:
                places.append(place)
    return list(by_rows.values())


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """Fits that are asked for the same responses: all on the same rows, or each on as many of its own."""

    places: list[int]
    responses: tuple[Response, ...]
    rows: list[Rows]


def request_batches(fits: Sequence[Fit]) -> Iterator[RequestBatch]:
    """Put together fits whose rows_requests can be answered at once.

    Examples
    --------
    >>> from truefit._core.task import Ask
    >>> asked = [Rows.of([0, 1]), Rows.of([2, 3]), Rows.of([4])], [Rows.of([5, 6])] * 2
    >>> fits = [Fit("", b"", b"", None, Rows.all(7), (Ask(rows),)) for rows in sum(asked, [])]
    >>> [(batch.places, len(batch.rows)) for batch in request_batches(fits)]
    [([3, 4], 1), ([0, 1], 2), ([2], 1)]
    """
    alone: dict[tuple[int, tuple[Response, ...]], list[tuple[int, Rows]]] = defaultdict(list)
    for request in rows_requests(fits):
        by_places: dict[tuple[int, ...], list[Response]] = defaultdict(list)
        for response, places in request.wanted.items():
            by_places[tuple(places)].append(response)
        for several, responses in by_places.items():
            if len(several) == 1:
                alone[len(request.rows), tuple(responses)].append((several[0], request.rows))
                continue
            step = max(1, BATCH_ROWS // len(request.rows))
            for start in range(0, len(several), step):
                yield RequestBatch(list(several[start : start + step]), tuple(responses), [request.rows])
    for (length, wanted), pairs in alone.items():
        step = max(1, BATCH_ROWS // length)
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            yield RequestBatch([place for place, _ in some], wanted, [rows for _, rows in some])


@dataclass(slots=True)
class SharedResult:
    """What a fit answers; ``trusted`` turns False where it cannot be shown to be what plain fitting would say."""

    classes: npt.NDArray[Any] | None = None
    answers: list[Predictions] = field(default_factory=list)
    trusted: bool = True


class GroupSolver(ABC):
    """Fits of a family of estimators that are answered together.

    A subclass says which estimators it is for (``kinds``, exact types), which responses it can give, which parameters
    it serves, and how it results. Its ``path`` names parameters in which estimators may differ too, because the work
    that is shared is the same whatever they are. A fit that gets no result, or one that is not to be trusted, is fitted
    plainly. The time spent is charged to all fits of a job in equal parts.
    """

    name: str
    kinds: tuple[type, ...] = ()
    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})
    #: Parameters on which the shared work does not depend.
    path: tuple[str, ...] = ()
    #: Fits in one job; fewer where each still takes long, so that several workers can share them.
    most: int = 1000

    @abstractmethod
    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Return jobs of fits that have something in common."""

    @abstractmethod
    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether parameters and sizes are such that answers are exact."""

    @abstractmethod
    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Return a result for each fit; None for those that are to be fitted plainly."""

    def _takes_weights(self, data: Data) -> bool:
        return data.weight is None

    def _can_answer(self, fit: Fit) -> bool:
        # No model comes of a shortcut, and one that is there answers faster.
        return fit.model is None and not fit.keep_model and all(ask.response in self.responses for ask in fit.asks)

    def _served(self, group: Sequence[Fit], data: Data) -> list[Fit]:
        """Return those that are served; the same estimator is judged once."""
        served: dict[bytes, bool] = {}
        for fit in group if len(group) > 1 else ():
            if fit.estimator_key not in served:
                served[fit.estimator_key] = self.serves(fit, data)
        return [fit for fit in group if served.get(fit.estimator_key)]

    def _job(self, fits: Sequence[Fit]) -> Job:
        return Job(self, tuple(fits))

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all fits together."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        start = time.perf_counter()
        results = self.results(job.fits, data)
        seconds = (time.perf_counter() - start) / len(job.fits)
        if data.release is not None:
            data.release()
        outcomes = []
        for fit, result in zip(job.fits, results, strict=True):
            if result is not None and result.trusted:
                outcomes.append(Outcome(fit.key, tuple(result.answers), seconds, self.name, result.classes))
            else:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + seconds))
        return outcomes
