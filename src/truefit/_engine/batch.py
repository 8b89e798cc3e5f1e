"""FitBatch: the open tasks of all plans on one table, each distinct fit once; the order of jobs; counts."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf, isnan
from typing import Any, cast

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import Failure, FitError, commonest_reason
from truefit._core.identity import Keys
from truefit._core.outcome import Outcome, Outcomes
from truefit._core.protocols import Ask, Fit, FitTask, Job, Keep, Plan, TimedTasks
from truefit._core.rows import Rows


@dataclass(slots=True)
class BestModel:
    """The best fit of a group, with its model where that is at hand."""

    loss: float
    order: int
    fit: Fit
    model: Any = None


class BestModels:
    """Holds a model only while it is the best of its group, so memory is bounded by the number of groups."""

    def __init__(self) -> None:
        self._by_group: dict[Hashable, BestModel] = {}
        self._count = 0

    def next_order(self) -> int:
        """Return a place in the order of requests, by which ties are decided whatever finishes first."""
        self._count += 1
        return self._count

    def offer(self, keep: Keep, order: int, fit: Fit, outcome: Outcome, model: Any) -> None:
        """Let a finished fit compete for its group."""
        loss = 0.0 if keep.metric is None else float(keep.metric(outcome))
        if isnan(loss):
            loss = inf
        best = self._by_group.get(keep.group)
        if best is None or (loss, order) < (best.loss, best.order):
            self._by_group[keep.group] = BestModel(loss, order, fit, model)
        elif best.fit.key == fit.key and best.model is None:
            best.model = model

    def without_model(self) -> list[BestModel]:
        """Those that were found in the store: their model has to be fitted again, once."""
        return [best for best in self._by_group.values() if best.model is None]

    def model(self, keep: Keep, order: int) -> Any:
        """Return the model of the fit requested at this place if it is the best, else None."""
        best = self._by_group.get(keep.group)
        return best.model if best is not None and best.order == order else None


@dataclass(slots=True, eq=False)
class PlanRun:
    """A plan with the tasks it waits for."""

    plan: Plan[Any]
    data: Data
    tasks: Sequence[FitTask] = ()
    orders: list[int] = field(default_factory=list)
    outcomes: Outcomes = field(default_factory=Outcomes)
    best_models: BestModels = field(default_factory=BestModels)
    result: Any = None
    error: BaseException | None = None
    fit_seconds: float | None = None
    description: str = ""
    failure: Failure | None = None
    finished: bool = False

    def start(self) -> None:
        """Bring the plan to its first tasks."""
        self._advance(lambda: next(self.plan))

    def send(self) -> None:
        """Send the plan the outcomes of its tasks; it requests more, or returns."""
        outcomes = cast(Sequence[Outcome], self.outcomes)
        for i, task in enumerate(self.tasks):
            if task.keep is not None:
                self.outcomes[i] = replace(outcomes[i], model=self.best_models.model(task.keep, self.orders[i]))
        self._advance(lambda: self.plan.send(outcomes))

    def throw(self, error: BaseException) -> None:
        """Throw an error into the plan; it may still return what it has."""
        self._advance(lambda: self.plan.throw(error))

    def throw_failure(self) -> None:
        """Throw the failure of a fit that the plan cannot do without."""
        assert self.failure is not None
        error = FitError(f"A fit failed{commonest_reason([self.failure])}", [self.failure])
        error.add_note("With on_error='record' an engine keeps the other fits.")
        self.throw(error)

    def _advance(self, step: Callable[[], Sequence[FitTask]]) -> None:
        self.failure, self.tasks = None, ()  # so that they are not held while the plan makes others
        try:
            tasks = step()
            self.tasks = list(tasks)
            self.fit_seconds, self.description = None, ""
            if isinstance(tasks, TimedTasks):
                self.fit_seconds, self.description = tasks.fit_seconds, tasks.description
        except StopIteration as stop:
            self.result, self.finished = stop.value, True
        except Exception as error:
            self.error, self.finished = error, True
        self.outcomes = Outcomes([None] * len(self.tasks))
        self.orders = [self.best_models.next_order() if task.keep else 0 for task in self.tasks]


@dataclass(slots=True, eq=False)
class WantedFit:
    """A distinct fit, and the positions in plans that wait for it."""

    fit: Fit
    positions: list[tuple[PlanRun, int]]
    known: bool = False  # the store has it, but not all that is requested

    @property
    def count(self) -> int:
        """How many fits are waited for, each as often as it was requested."""
        return len(self.positions) * self.fit.count

    def needs_model(self) -> bool:
        """Whether somebody may keep the model."""
        return any(run.tasks[i].keep is not None for run, i in self.positions)

    def deliver(self, outcome: Outcome, model: Any = None) -> None:
        """Put the outcome at every position, and let it compete where models are kept."""
        for run, i in self.positions:
            run.outcomes[i] = outcome
            keep = run.tasks[i].keep
            if keep is not None and outcome.error is None:
                run.best_models.offer(keep, run.orders[i], self.fit, outcome, model)

    def fail(self, failure: Failure) -> None:
        """Let the plans that wait for it fail."""
        for run, _ in self.positions:
            run.failure = run.failure or failure

    def wanted(self) -> bool:
        """Whether a plan that can still go on waits for it."""
        return any(run.failure is None for run, _ in self.positions)


class FitBatch:
    """The open tasks of the plans on one table, by key."""

    def __init__(self, keys: Keys, runs: Sequence[PlanRun]) -> None:
        self.data = keys.data
        self.runs = runs
        self.wants: dict[str, WantedFit] = {}
        self.asked = 0
        asks: dict[str, list[Ask]] = {}
        for run in runs:
            for i, task in enumerate(run.tasks):
                fit = keys.fit(task)
                want = self.wants.get(fit.key)
                if want is None:
                    self.wants[fit.key] = WantedFit(fit, [(run, i)])
                else:
                    want.positions.append((run, i))
                    asks.setdefault(fit.key, list(want.fit.asks)).extend(fit.asks)
                self.asked += fit.count
        unions = RowUnions()
        for key, together in asks.items():
            want = self.wants[key]
            want.fit = replace(want.fit, asks=unions.of(together), keep_model=want.needs_model())

    @property
    def fit_seconds(self) -> float | None:
        """Seconds that a fit may take, where all plans have a limit."""
        limits = [run.fit_seconds for run in self.runs if run.fit_seconds is not None]
        return max(limits) if len(limits) == len(self.runs) else None

    def missing_asks(self, want: WantedFit, outcome: Outcome) -> tuple[Ask, ...]:
        """Asks that a stored outcome cannot answer."""
        return tuple(
            ask for ask in want.fit.asks if len(ask.rows) and not outcome.has(self.data, ask.rows, ask.response)
        )


class RowUnions:
    """Merges the requests of several tasks: one per response, each row once.

    Rows that are wanted of many fits are merged once, and are then one object for all of them.
    """

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[int | None, str, bytes]], Rows] = {}

    def of(self, asks: Sequence[Ask]) -> tuple[Ask, ...]:
        """Return the asks of several tasks as one per response."""
        if len(asks) <= 1:
            return tuple(asks)
        by_response: dict[str, list[Ask]] = {}
        for ask in asks:
            by_response.setdefault(ask.response, []).append(ask)
        return tuple(Ask(self._rows([ask.rows for ask in group]), group[0].response) for group in by_response.values())

    def _rows(self, wanted: Sequence[Rows]) -> Rows:
        name = frozenset((rows.total, rows.listed.dtype.str, rows.listed.tobytes()) for rows in wanted)
        known = self._known.get(name)
        if known is None:
            if all(rows == wanted[0] for rows in wanted[1:]):
                known = wanted[0]
            else:
                known = Rows.of(np.unique(np.concatenate([rows.index for rows in wanted])))
            self._known[name] = known
        return known


_Kind = tuple[str, bytes]  # solver, estimator with its parameters


class JobTimes:
    """What jobs took, in seconds for each row that was trained on, by solver and estimator."""

    def __init__(self) -> None:
        self._rates: dict[_Kind, float] = {}

    def learn(self, job: Job, outcomes: Iterable[Outcome]) -> None:
        """Take note of a job that is done; of several alike the last one counts."""
        seconds = sum(outcome.fit_seconds for outcome in outcomes if outcome.error is None)
        self._rates[kind_of(job)] = seconds / max(_rows(job), 1)

    def expected(self, job: Job) -> float | None:
        """Return the seconds that a job will take, None where none like it was run."""
        rate = self._rates.get(kind_of(job))
        return None if rate is None else rate * _rows(job)


class JobQueue(Iterator[Job]):
    """One job of each kind of which nothing is known, to learn from; then always the longest.

    What is learned while the queue is worked off is used at once. A kind that was begun and is not done takes at least
    as long as that has lasted.
    """

    def __init__(self, jobs: Iterable[Job], times: JobTimes, clock: Callable[[], float] = time.monotonic) -> None:
        self._times = times
        self._clock = clock
        self._kinds: dict[_Kind, deque[Job]] = {}
        for job in jobs:
            self._kinds.setdefault(kind_of(job), deque()).append(job)
        self._known: list[tuple[float, int, _Kind]] = []
        self._unknown: deque[_Kind] = deque()
        self._begun: dict[_Kind, float] = {}  # when, in that order
        self._count = 0
        for kind in self._kinds:
            if not self._rank(kind):
                self._unknown.append(kind)

    def __next__(self) -> Job:
        if self._unknown:
            kind = self._unknown.popleft()
            job = self._kinds[kind].popleft()
            if self._kinds[kind]:
                self._begun[kind] = self._clock()
            return job
        for kind in [kind for kind in self._begun if self._rank(kind)]:
            del self._begun[kind]
        slowest = next(iter(self._begun), None)
        if slowest is not None and (not self._known or self._clock() - self._begun[slowest] > -self._known[0][0]):
            job = self._kinds[slowest].popleft()
            if not self._kinds[slowest]:
                del self._begun[slowest]
            return job
        if not self._known:
            raise StopIteration
        *_, kind = heapq.heappop(self._known)
        job = self._kinds[kind].popleft()
        if self._kinds[kind]:
            self._rank(kind)
        return job

    def _rank(self, kind: _Kind) -> bool:
        """Put a kind in its place among the others, if it is known how long its next job takes."""
        seconds = self._times.expected(self._kinds[kind][0])
        if seconds is None:
            return False
        heapq.heappush(self._known, (-seconds, self._count, kind))
        self._count += 1
        return True


def kind_of(job: Job) -> _Kind:
    """Jobs of one kind take about as long for each row."""
    return job.solver.name, job.fits[0].estimator_key


def _rows(job: Job) -> int:
    return sum(len(fit.train) for fit in job.fits)


_RECENT_KEYS = 1 << 10


@dataclass(slots=True)
class Stats:
    """Counts of fits.

    Of the fits ``asked`` for, ``run`` were fitted, ``shared`` were answered by a fit of this engine that another
    task had requested, or together with others from one piece of work, and ``stored`` came from the store as an
    earlier run left them. Work that answers several fits counts as one ``run``: a boosted model whose stages are the
    smaller ones, one factorisation for all rows that are left out in turn, one for all label vectors. Where each is
    still trained by itself, if faster (support vectors, what follows a pipeline's shared steps), each counts.
    ``refitted`` counts fits that the store knew, but whose model or further predictions were wanted. ``failed`` are
    those of the fitted ones that came to nothing, and ``seconds`` is the time spent inside the fits.
    """

    asked: int = 0
    run: int = 0
    shared: int = 0
    stored: int = 0
    refitted: int = 0
    failed: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Plain numbers by name."""
        return asdict(self)

    def __str__(self) -> str:
        left = self.asked - self.run - self.shared - self.stored - self.refitted
        extra = {"not run": max(left, 0), "refitted": self.refitted, "failed": self.failed}
        parts = [f"{self.run:,} run", f"{self.shared:,} shared", f"{self.stored:,} restored"]
        parts += [f"{count:,} {name}" for name, count in extra.items() if count]
        return f"{self.asked:,} fits requested: {', '.join(parts)}; {self.seconds:.1f} s of fitting"


class KeySet:
    """A set of keys in about 20 bytes each, of which it holds 64 bits: good enough for what is only counted."""

    def __init__(self) -> None:
        self._sorted = np.empty(0, dtype=np.int64)
        self._recent: set[int] = set()

    def add(self, key: str) -> None:
        """Remember a key."""
        self._recent.add(hash(key))
        if len(self._recent) > max(_RECENT_KEYS, len(self._sorted) // 8):
            self._sorted = np.union1d(self._sorted, np.fromiter(self._recent, np.int64))
            self._recent.clear()

    def __contains__(self, key: str) -> bool:
        number = hash(key)
        place = np.searchsorted(self._sorted, number)
        return number in self._recent or bool(place < len(self._sorted) and self._sorted[place] == number)
