"""Scheduler: one call of an executor's map, from the first job to the last outcome, over any transport.

All that executors have in common is decided here: which job is submitted next, what is tried again after a worker died
and what is recorded as failed, when a fit is past its time or memory limit, and when the whole call is past its
deadline. A ``Transport`` takes submissions to workers and reports what became of them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from truefit._core.errors import ExecutorError, Failure, InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.memory import memory_failure
from truefit._executors.serialization import JobSerializer, SerializedJob, deserialize_outcomes

#: Workers that a job may kill before it is recorded as failed: the first may have died of something else.
MAX_KILLS = 2
#: Workers are waited for this long at a time; and this long where clocks or memory have to be read meanwhile. A process
#: fills some 100 MB in the shorter time.
_WAIT_SECONDS, _CHECK_SECONDS = 1.0, 0.05
#: While outcomes wait to be yielded, workers are listened to this often.
_RECEIVE_SECONDS = 0.005


@dataclass(frozen=True)
class Limits:
    """Limits for the fits of one map."""

    timeout: float | None = None  # seconds that a fit may take; a job of several models gets as many times that
    memory: int | None = None  # bytes that a worker may have
    deadline: float | None = None  # when all of them end, in seconds of time.monotonic()

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline


@dataclass(eq=False, slots=True)
class PendingJob:
    """A job that has no outcomes yet, as bytes unless it is run in this process, and how many workers it killed."""

    job: Job
    content: SerializedJob | None
    kills: int = 0


@dataclass(eq=False, slots=True)
class Submission:
    """Jobs that are sent to a worker together; ``alone`` if a death must be theirs and no other's."""

    jobs: list[PendingJob]
    alone: bool = False
    #: From when its time limit counts; None as long as it is not running.
    clock: float | None = None


@dataclass(slots=True)
class Finished:
    """A submission is done: for each job its outcomes (as bytes unless it ran in this process) and its seconds."""

    submission: Submission
    results: Sequence[Any]
    seconds: Sequence[float]


@dataclass(slots=True)
class WorkerDied:
    """A worker died, of one of the suspects; the other jobs were not running."""

    suspects: list[PendingJob]
    others: list[PendingJob]
    reason: str  # how it died, for the message


class Transport(Protocol):
    """How submissions get to workers, for one map: to our own processes, or through the user's executor."""

    #: Whether jobs run in this process and need not be serialized.
    in_process: bool
    #: Whether the clocks of submissions are updated only by ``running``.
    polls_clocks: bool
    #: Seconds that jobs under way get to finish when the map is closed.
    drain_seconds: float
    #: What happened to a fit that is past its time limit, and what to do: sentences.
    timeout_note: str
    #: Jobs for one submission.
    batch_size: int = 1

    @property
    def busy(self) -> bool:
        """Whether a submission is under way."""

    @property
    def lead(self) -> int:
        """How many jobs may be finished or under way before the caller has taken their outcomes."""

    def check(self) -> None:
        """Raise an ExecutorError if nothing can be run any more, where that is not for ``wait`` to find."""
        return

    def accepts(self, *, alone: bool) -> bool:
        """Whether a submission can be sent now."""

    def submit(self, submission: Submission) -> bool:
        """Send a submission that was accepted; False if it could not be sent and has to be sent again, alone."""

    def wait(self, seconds: float) -> Iterator[Finished | WorkerDied]:
        """Wait for something to happen, and yield all that has happened."""

    def results_before_error(self) -> Iterator[Finished]:
        """Yield what was finished before ``wait`` raised; nothing where it yields in the order of events."""
        yield from ()

    def adapt(self, seconds: float) -> None:
        """Adapt what is sent ahead to the seconds that a job takes."""

    def running(self) -> Iterable[Submission]:
        """Return the submissions that may be running, with their clocks."""

    def over_memory(self, limit: int) -> Iterable[tuple[Submission, bool]]:
        """Return running submissions whose worker has more memory, and whether it is the first of its worker.

        Nothing for the workers of the user's executor, which limits their memory itself.
        """
        return ()

    def stop(self, submission: Submission) -> list[PendingJob] | None:
        """Stop a submission, or give it up; return jobs to be sent again, None if ``wait`` will report its end."""

    def end(self) -> None:
        """Stop or give up all that is under way."""


class Scheduler:
    """Keeps workers busy with jobs, and yields outcomes as they come.

    A job that a worker died of is run once more, alone, and recorded as failed if that worker dies too. Jobs that are
    tried again come before new ones, and jobs are taken from their source no sooner than they can be submitted.
    """

    def __init__(self, transport: Transport, jobs: Iterable[Job], limits: Limits) -> None:
        self.transport = transport
        self.limits = limits
        self._source = self._serialized(jobs)
        self._suspects: deque[PendingJob] = deque()  # may have killed a worker: sent alone
        self._again: deque[PendingJob] = deque()  # lost their worker through no fault of theirs
        self._finished: deque[list[Outcome]] = deque()
        self._slowest = 0.0
        self._received = time.monotonic()
        self._measured = 0.0

    def outcomes(self) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each job that is done before the deadline."""
        transport = self.transport
        try:
            while not self.limits.expired:
                transport.check()
                self._submit()
                if self._finished:
                    yield self._finished.popleft()
                    # What workers have been sent lasts a while, so we need not listen after every outcome.
                    if time.monotonic() - self._received > _RECEIVE_SECONDS:
                        self._receive(0.0)
                elif transport.busy:
                    self._receive(self._longest_wait())
                else:
                    return
            self._receive(0.0)
            self._drain()
            while self._finished:
                yield self._finished.popleft()
        except ExecutorError:
            for event in transport.results_before_error():
                self._take(event)
            while self._finished:
                yield self._finished.popleft()
            raise
        except (GeneratorExit, Exception):
            # Short jobs are soon done, which is sooner than new workers. An interrupt, though, may come in the middle
            # of a message.
            with suppress(ExecutorError):
                self._drain()
            raise
        finally:
            transport.end()

    def _serialized(self, jobs: Iterable[Job]) -> Iterator[PendingJob]:
        serializer = JobSerializer()
        for job in jobs:
            content = None if self.transport.in_process else serializer.serialize(job)
            if isinstance(content, Failure):
                self._finished.append(job.failed(content))
            else:
                yield PendingJob(job, content)

    def _submit(self) -> None:
        transport = self.transport
        # What is finished and not yet taken counts as work under way: jobs are not taken before their time.
        while len(self._finished) < transport.lead:
            alone = bool(self._suspects)
            if not transport.accepts(alone=alone):
                return
            batch = [self._suspects.popleft()] if alone else self._next_batch(transport.batch_size)
            if not batch:
                return
            if not transport.submit(Submission(batch, alone)):
                self._suspects.extend(batch)

    def _next_batch(self, size: int) -> list[PendingJob]:
        batch = [self._again.popleft() for _ in range(min(size, len(self._again)))]
        batch.extend(islice(self._source, size - len(batch)))
        return batch

    def _receive(self, wait: float) -> None:
        self._received = time.monotonic()
        for event in self.transport.wait(wait):
            self._take(event)
        if self.limits.timeout is not None:
            self._check_clocks(self.limits.timeout)
        if self.limits.memory is not None:
            self._check_memory(self.limits.memory)

    def _take(self, event: Finished | WorkerDied) -> None:
        if isinstance(event, WorkerDied):
            self._again.extendleft(reversed(event.others))
            for suspect in event.suspects:
                self._count_kill(suspect, event.reason)
            return
        for pending, result, seconds in zip(event.submission.jobs, event.results, event.seconds, strict=True):
            self._finished.append(result if pending.content is None else deserialize_outcomes(result, pending.job))
            # The slowest of late counts: a short job must not wait behind a long one.
            self._slowest = max(seconds, 0.9 * self._slowest, 1e-6)
        self.transport.adapt(self._slowest)

    def _count_kill(self, suspect: PendingJob, reason: str) -> None:
        suspect.kills += 1
        if suspect.kills < MAX_KILLS:
            self._suspects.append(suspect)
        else:
            message = (
                f"The worker process died {MAX_KILLS} times while running this fit ({reason}). The fit is recorded as "
                "failed; the others continue."
            )
            self._finished.append(suspect.job.failed(Failure("died", message)))

    def _longest_wait(self) -> float:
        polls = self.limits.memory is not None or (self.limits.timeout is not None and self.transport.polls_clocks)
        longest, now = _CHECK_SECONDS if polls else _WAIT_SECONDS, time.monotonic()
        ends = [] if self.limits.deadline is None else [self.limits.deadline]
        if self.limits.timeout is not None and not polls:
            ends.extend(
                submission.clock + _seconds_for(submission, self.limits.timeout)
                for submission in self.transport.running()
                if submission.clock is not None
            )
        return min([longest, *(max(end - now, 0.001) for end in ends)])

    def _check_clocks(self, timeout: float) -> None:
        now = time.monotonic()
        for submission in list(self.transport.running()):
            if submission.clock is None or now - submission.clock <= _seconds_for(submission, timeout):
                continue
            again = self.transport.stop(submission)
            if again is None:
                continue
            self._again.extendleft(reversed(again))
            for pending in submission.jobs:
                models = f" for each of {pending.job.work} models" if pending.job.work > 1 else ""
                message = f"The fit exceeded its time limit of {timeout:g} s{models}. {self.transport.timeout_note}"
                self._finished.append(pending.job.failed(Failure("timeout", message)))

    def _check_memory(self, limit: int) -> None:
        now = time.monotonic()
        if now - self._measured < _CHECK_SECONDS:
            return
        self._measured = now
        for submission, first in list(self.transport.over_memory(limit)):
            self._again.extendleft(reversed(self.transport.stop(submission) or []))
            for pending in submission.jobs:
                if first or pending.kills:
                    self._finished.append(pending.job.failed(memory_failure(limit)))
                else:
                    # Some of the memory may be left from earlier fits: a new worker shows what this one needs.
                    pending.kills += 1
                    self._suspects.append(pending)

    def _drain(self) -> None:
        end = time.monotonic() + self.transport.drain_seconds
        while self.transport.busy and (left := end - time.monotonic()) > 0:
            self._receive(left)


def _seconds_for(submission: Submission, timeout: float) -> float:
    """Seconds that a submission may take: its first job's, for as many models as that fits."""
    return timeout * max(submission.jobs[0].job.work, 1)


def check_timeout(timeout: float | None, owner: str) -> float | None:
    """Return a time limit that can be worked with."""
    if timeout is None:
        return None
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        raise InvalidInput(
            f"The 'timeout' parameter of {owner} must be a number of seconds above 0, or None. Got {timeout!r} instead."
        )
    return float(timeout)
