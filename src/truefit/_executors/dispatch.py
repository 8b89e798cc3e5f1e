"""Dispatch: one call of a futures executor's map, from the first job to the last outcome."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from truefit._core.data import Data
from truefit._core.errors import ExecutorError
from truefit._core.outcome import Failure, Outcome
from truefit._core.protocols import Job
from truefit._executors.limits import KILLS, limit_in_words, limit_of, past
from truefit._executors.mark import Mark
from truefit._executors.packing import PackedJob, Packer, unpacked_outcomes
from truefit._executors.parcel import Message, Parcel, Reply, Terms, run_here
from truefit._executors.pool import Pool
from truefit._executors.shipment import Shipper
from truefit._executors.workforce import Workforce

#: Work in one message, so that what a message costs (milliseconds with Dask) is small beside it.
_BATCH_SECONDS, _BATCH_JOBS = 0.05, 50
_UNKNOWN_WIDTH = 4
#: How often clocks are looked at, and workers.
_LOOK_SECONDS, _CARE_SECONDS = 0.05, 1.0
#: What Dask and Ray raise when the worker died: by name, so that neither is imported.
_DEATHS = frozenset({"KilledWorker", "WorkerCrashedError", "NodeDiedError", "OutOfMemoryError"})
#: What they raise when nothing can be run any more: no worker in time, or the cluster is gone.
_LOSSES = frozenset({"NoWorkerError", "NoValidWorkerError", "LocalRayletDiedError", "RaySystemError"})


@dataclass(eq=False)
class Trial:
    """A job under way, and how many workers may have died of it."""

    job: Job
    packed: PackedJob | None
    kills: int = 0


@dataclass
class Flight:
    """Trials that were submitted together."""

    trials: list[Trial]
    mark: Mark
    submitted: float = field(default_factory=time.monotonic)
    started: float | None = None

    def caught(self) -> list[Trial]:
        """Trials of which a worker may have died, by the mark that it left; none if it left none."""
        started = self.mark.started()
        if started is None:
            return []
        return [self.trials[started - 1]] if started else self.trials


class Dispatch:
    """Keeps a bounded number of futures in flight and settles each when it is done."""

    def __init__(self, pool: Pool, shipper: Shipper, data: Data, terms: Terms, timeout: float | None) -> None:
        self.pool = pool
        self.shipper = shipper
        self.data = data
        self.terms = terms
        self.timeout = timeout
        self._packer = Packer()
        self._flights: dict[futures.Future[Any], Flight] = {}
        self._done: SimpleQueue[futures.Future[Any]] = SimpleQueue()
        self._finished: deque[list[Outcome]] = deque()
        self._suspects: deque[Trial] = deque()
        self._again: deque[Trial] = deque()
        self._workforce = None if pool.cluster is None else Workforce(pool.cluster)
        self._width = pool.width
        self._batch = 1
        self._slowest = 0.0
        self._progress = time.monotonic()
        self._next_look = 0.0
        self._marks_seen = True

    def outcomes(self, jobs: Iterable[Job], deadline: float | None = None) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each job that is done before a deadline."""
        self.pool.check()
        trials = self._trials(jobs)
        try:
            while not past(deadline):
                self._fill(trials)
                if self._finished:
                    yield self._finished.popleft()
                    self._gather(0.0)
                elif self._flights:
                    self._check_workers()
                    self._gather(_CARE_SECONDS if self.timeout is None else _LOOK_SECONDS)
                else:
                    return
            self._gather(0.0)
            while self._finished:
                yield self._finished.popleft()
        except ExecutorError:
            self._take_finished()
            while self._finished:
                yield self._finished.popleft()
            raise
        finally:
            for future in self._flights:
                future.cancel()

    def _trials(self, jobs: Iterable[Job]) -> Iterator[Trial]:
        for job in jobs:
            packed = None if self.pool.in_process else self._packer.pack(job)
            if isinstance(packed, Failure):
                self._finished.append(job.failed(packed))
            else:
                yield Trial(job, packed)

    def _fill(self, trials: Iterator[Trial]) -> None:
        lead = 2 * (self._width or _UNKNOWN_WIDTH)
        while len(self._flights) < lead and len(self._finished) < lead * self._batch:
            if self._suspects:
                # One at a time and nothing beside it, so that a death is nobody else's.
                if not self._flights:
                    self._send([self._suspects.popleft()])
                return
            if any(trial.kills for flight in self._flights.values() for trial in flight.trials):
                return
            batch = [self._again.popleft() for _ in range(min(self._batch, len(self._again)))]
            batch.extend(islice(trials, self._batch - len(batch)))
            if not batch:
                return
            self._send(batch)

    def _send(self, trials: list[Trial], with_data: bool = False) -> None:
        terms = self.terms
        if self.timeout is not None or not self.pool.in_process:
            terms = replace(terms, mark=str(self.shipper.folder / f"started-{uuid4().hex}"))
        flight = Flight(trials, Mark(terms.mark))
        try:
            if self.pool.in_process:
                future = self.pool.submit(run_here, [trial.job for trial in trials], self.data, terms)
            else:
                content = Message(self._parcel(trials, terms, with_data)).content()
                future = self.pool.submit(pickle.loads, content)
        except futures.BrokenExecutor as error:
            self._suspects.extend(trials)
            if not self._flights:  # else it is replaced when the first of those comes down
                self.pool.replace(error)
            return
        self._flights[future] = flight
        future.add_done_callback(self._done.put)

    def _parcel(self, trials: list[Trial], terms: Terms, with_data: bool) -> Parcel:
        shipment = self.shipper.ship(self.data)
        packed = [trial.packed for trial in trials if trial.packed is not None]
        parts = {part.number: part.content for job in packed for part in job.parts}
        content = self.shipper.content(self.data) if with_data else None
        jobs = tuple(job.content for job in packed)
        return Parcel(uuid4().hex, shipment, tuple(parts.items()), jobs, terms, content)

    def _gather(self, wait: float) -> None:
        with suppress(Empty):
            future = self._done.get(wait > 0, wait)
            while True:
                self._settle(future)
                future = self._done.get_nowait()
        if self.timeout is not None:
            self._check_clocks(self.timeout)

    def _settle(self, future: futures.Future[Any]) -> None:
        flight = self._flights.pop(future, None)
        if flight is None:  # given up, or of a pool that broke
            return
        self._progress = time.monotonic()
        if future.cancelled():
            self.pool.check()
            raise ExecutorError(
                "The executor must run what it was given. It cancelled fits: it was restarted or closed. Pass an "
                "executor that stays open for the whole run."
            )
        error = future.exception()
        if error is None:
            self._receive(flight, future.result())
        elif isinstance(error, futures.BrokenExecutor):
            # What is done already waits to be settled; all that was running is suspect.
            running = [other for other in self._flights if not (other.done() and other.exception() is None)]
            self._blame([flight, *(self._flights.pop(other) for other in running)], f"; the executor says: {error}")
            self.pool.replace(error)
        elif type(error).__name__ in _DEATHS:
            self._blame([flight], f"; the executor says: {error}")
        elif type(error).__name__ in _LOSSES:
            raise ExecutorError(f"The cluster must be able to run fits. It says: {_in_a_line(error)}.") from error
        elif isinstance(error, Exception):
            # What goes wrong in a fit is in its outcome: this is the worker's own fault.
            raise ExecutorError(self._unreadable(error)) from error
        else:
            raise error

    def _receive(self, flight: Flight, reply: Reply) -> None:
        if reply.abandoned:
            hint = ". Workers die like that when memory runs out: give each more of it, or have fewer of them."
            self._blame([flight], hint)
            return
        if reply.needs_data:
            self._marks_seen = False
            self._send(flight.trials, with_data=True)
            return
        if reply.unfit is not None:
            raise ExecutorError(f"{reply.unfit} Install the same packages there.")
        if reply.error is not None:
            raise ExecutorError(
                "A worker must be able to load the data. It could not. Check that it has the same packages as this "
                f"process. It says:\n{reply.error}"
            )
        self._marks_seen = reply.marked
        for trial, outcomes, seconds in zip(flight.trials, reply.outcomes, reply.seconds, strict=True):
            self._finished.append(outcomes if trial.packed is None else unpacked_outcomes(outcomes, trial.job))
            self._slowest = max(seconds, 0.9 * self._slowest, 1e-6)
        if self.timeout is None:  # a fit past its limit must be alone in its message
            self._batch = min(max(int(_BATCH_SECONDS / self._slowest), 1), _BATCH_JOBS)

    def _blame(self, flights: list[Flight], hint: str) -> None:
        # Where no worker has left a mark it may have been any of them.
        caught = [trial for flight in flights for trial in flight.caught()]
        for flight in flights:
            flight.mark.remove()
            for trial in flight.trials:
                if caught and trial not in caught:
                    self._again.append(trial)
                    continue
                trial.kills += 1
                if trial.kills < KILLS:
                    self._suspects.append(trial)
                else:
                    message = f"A fit must leave its worker alive. It killed {KILLS} in turn{hint}"
                    self._finished.append(trial.job.failed(Failure("died", message)))

    def _check_clocks(self, timeout: float) -> None:
        now = time.monotonic()
        for future, flight in list(self._flights.items()):
            if flight.started is None and flight.mark.started():
                flight.started = now
            started = flight.started
            if started is None and not self._marks_seen:
                # Workers on other machines leave no mark. Whatever runs has been running since one was last done.
                started = max(flight.submitted, self._progress)
            if started is None or future.done() or now - started <= limit_of(flight.trials[0].job, timeout):
                continue
            if flight.mark.dead():  # whoever is given it next will say so
                continue
            del self._flights[future]
            if not future.cancel():
                self.pool.stuck.add(future)
            failures = [_timeout(trial.job, timeout, self.pool.stops_fits) for trial in flight.trials]
            self._finished.extend(
                trial.job.failed(failure) for trial, failure in zip(flight.trials, failures, strict=True)
            )

    def _check_workers(self) -> None:
        now = time.monotonic()
        if self._workforce is not None and now >= self._next_look:
            self._next_look = now + _CARE_SECONDS
            self.pool.check()
            self._width = self._workforce.look(now - self._progress)
        if self.pool.all_stuck():
            raise ExecutorError(
                f"A worker must be free to go on. All {len(self.pool.stuck)} are held by fits that ran past the limit "
                f"of {self.timeout} s, which this executor cannot stop. Give a larger timeout, or pass workers= "
                "instead of an executor: such workers can be stopped."
            )

    def _unreadable(self, error: BaseException) -> str:
        """Say why a worker could not even begin with what it was sent."""
        wanted = self.terms.versions.get("truefit")
        found = sorted(self.pool.versions_of("truefit") - {wanted})
        if found:
            return f"Workers must have truefit {wanted}, as this process has. Some have {' and '.join(found)}."
        return (
            f"Workers must have truefit {wanted} and what it needs. One of them says: {_in_a_line(error)}. Install it "
            "there, in the environment that the workers run in."
        )

    def _take_finished(self) -> None:
        """Take in what was finished before the executor failed."""
        with suppress(Empty):
            while True:
                future = self._done.get_nowait()
                flight = self._flights.pop(future, None)
                if flight is None or future.cancelled() or future.exception() is not None:
                    continue
                reply = future.result()
                if reply.outcomes:
                    self._receive(flight, reply)


def _in_a_line(error: BaseException) -> str:
    """Return what an error says, without the traceback that Ray adds to it."""
    cause = getattr(error, "cause", None)
    inner = cause if isinstance(cause, BaseException) else error
    lines = str(inner).strip().splitlines()
    return f"{type(inner).__name__}: {lines[0].rstrip('.')}" if lines else type(inner).__name__


def _timeout(job: Job, timeout: float, stopped: bool) -> Failure:
    limit = f"A fit must end within its time limit of {limit_in_words(job, timeout)}."
    if stopped:
        return Failure("timeout", f"{limit} It did not, and was stopped.")
    return Failure(
        "timeout",
        f"{limit} It did not. This executor cannot stop it: it may still be running and hold a worker. Give a larger "
        "timeout, make the fit cheaper, or use workers= instead.",
    )
