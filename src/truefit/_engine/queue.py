"""JobQueue: jobs in the order in which to start them, so that no worker is left with a long one at the end."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from truefit._core.outcome import Outcome
from truefit._core.protocols import Job

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

    What is learned while the queue is being worked off is made use of at once. A kind that was begun and is not done
    takes at least as long as that has lasted.

    Parameters
    ----------
    jobs : iterable of Job
    times : JobTimes
    clock : callable
        Says the time in seconds.
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
