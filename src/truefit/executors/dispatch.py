"""Dispatch: one call of a futures executor's map, from the first job to the last outcome."""

from __future__ import annotations

import os
import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from truefit.core.data import Data
from truefit.core.errors import ExecutorError
from truefit.core.job import Job
from truefit.core.outcome import Failure, Outcome
from truefit.executors.limits import KILLS, limit_in_words, limit_of
from truefit.executors.packing import PackedJob, Packer, unpacked_outcomes
from truefit.executors.parcel import Parcel, Reply, Terms, deliver, run_here
from truefit.executors.pool import Pool
from truefit.executors.shipment import Shipper

#: Work in one message, so that what a message costs (milliseconds with Dask) is small beside it.
_BATCH_SECONDS, _BATCH_JOBS = 0.05, 50
_UNKNOWN_WIDTH = 4
_LOOK_SECONDS = 0.05
#: After so long without an outcome it is worth a look whether there is anybody at work.
_IDLE_SECONDS = 60.0


@dataclass
class Trial:
    """A job under way, and how many workers may have died of it."""

    job: Job
    packed: PackedJob | None
    kills: int = 0


@dataclass
class Flight:
    """Trials that were submitted together."""

    trials: list[Trial]
    mark: str | None = None
    submitted: float = field(default_factory=time.monotonic)
    started: float | None = None


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
        self._lead = 2 * (pool.width or _UNKNOWN_WIDTH)
        self._batch = 1
        self._slowest = 0.0
        self._progress = time.monotonic()
        self._marks_seen = True
        self._warned = False

    def outcomes(self, jobs: Iterable[Job]) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each job."""
        trials = self._trials(jobs)
        try:
            while True:
                self._fill(trials)
                if self._finished:
                    yield self._finished.popleft()
                    self._gather(0.0)
                elif self._flights:
                    self._check_stuck()
                    self._gather(_IDLE_SECONDS if self.timeout is None else _LOOK_SECONDS)
                else:
                    return
        except ExecutorError:
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
        while len(self._flights) < self._lead and len(self._finished) < self._lead * self._batch:
            if self._suspects:
                # One at a time and nothing beside it, so that a death is nobody else's.
                if not self._flights:
                    self._send([self._suspects.popleft()])
                return
            if any(trial.kills for flight in self._flights.values() for trial in flight.trials):
                return
            batch = list(islice(trials, self._batch))
            if not batch:
                return
            self._send(batch)

    def _send(self, trials: list[Trial], with_data: bool = False) -> None:
        flight = Flight(trials)
        terms = self.terms
        if self.timeout is not None:
            flight.mark = str(self.shipper.folder / f"started-{uuid4().hex}")
            terms = replace(terms, mark=flight.mark)
        try:
            if self.pool.in_process:
                future = self.pool.submit(run_here, [trial.job for trial in trials], self.data, terms)
            else:
                future = self.pool.submit(deliver, self._parcel(trials, terms, with_data))
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
        _remove(flight.mark)
        if future.cancelled():
            raise ExecutorError(
                "The executor must run what it was given. It cancelled a fit. Pass an executor that stays open for the "
                "whole run."
            )
        error = future.exception()
        if error is None:
            self._receive(flight, future.result())
        elif isinstance(error, futures.BrokenExecutor):
            # What is done already waits to be settled; all that was running is suspect.
            running = [other for other in self._flights if not (other.done() and other.exception() is None)]
            self._blame([flight, *(self._flights.pop(other) for other in running)], error)
            self.pool.replace(error)
        elif type(error).__name__ == "KilledWorker":  # Dask's, when workers died several times in a row
            self._blame([flight], error)
        elif isinstance(error, Exception):
            self._finished.extend(trial.job.failed(Failure.of(error)) for trial in flight.trials)
        else:
            raise error

    def _receive(self, flight: Flight, reply: Reply) -> None:
        if reply.needs_data:
            self._marks_seen = False
            self._send(flight.trials, with_data=True)
            return
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

    def _blame(self, flights: list[Flight], error: BaseException) -> None:
        for flight in flights:
            for trial in flight.trials:
                trial.kills += 1
                if trial.kills < KILLS:
                    self._suspects.append(trial)
                else:
                    message = (
                        f"A fit must leave its worker alive. It killed {KILLS} in turn; the executor says: {error}"
                    )
                    self._finished.append(trial.job.failed(Failure("died", message)))

    def _check_clocks(self, timeout: float) -> None:
        now = time.monotonic()
        for future, flight in list(self._flights.items()):
            if flight.started is None and flight.mark is not None and os.path.exists(flight.mark):
                flight.started = now
                _remove(flight.mark)
            started = flight.started
            if started is None and not self._marks_seen:
                # Workers on other machines leave no mark. Whatever runs has been running since one was last done.
                started = max(flight.submitted, self._progress)
            if started is None or future.done() or now - started <= limit_of(flight.trials[0].job, timeout):
                continue
            del self._flights[future]
            if not future.cancel():
                self.pool.stuck.add(future)
            self._finished.extend(trial.job.failed(_timeout(trial.job, timeout)) for trial in flight.trials)

    def _check_stuck(self) -> None:
        if not self._warned and time.monotonic() - self._progress >= _IDLE_SECONDS and self.pool.deserted():
            self._warned = True  # not an error: on a busy cluster workers come and go
            warnings.warn(
                f"The cluster has no workers, and nothing has been finished for {_IDLE_SECONDS:g} s. Waiting for "
                "workers to come: start some, or interrupt.",
                RuntimeWarning,
                stacklevel=2,
            )
        if self.pool.all_stuck():
            raise ExecutorError(
                f"A worker must be free to go on. All {len(self.pool.stuck)} are held by fits that ran past the limit "
                f"of {self.timeout} s, which this executor cannot stop. Give a larger timeout, or pass workers= "
                "instead of an executor: such workers can be stopped."
            )


def _remove(mark: str | None) -> None:
    if mark is not None:
        with suppress(OSError):
            os.unlink(mark)


def _timeout(job: Job, timeout: float) -> Failure:
    return Failure(
        "timeout",
        f"A fit must end within its time limit of {limit_in_words(job, timeout)}. It did not. This executor cannot "
        "stop it: it may still be running and hold a worker. Give a larger timeout, make the fit cheaper, or use "
        "workers= instead.",
    )
