"""ProcessExecutor: jobs in worker processes of our own, which can be stopped one by one."""

from __future__ import annotations

import math
import os
import selectors
import socket
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from truefit._core.data import Data
from truefit._core.errors import ExecutorError, InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.dataset_file import DatasetWriter
from truefit._executors.environment import FitEnvironment, available_cores, check_threads
from truefit._executors.memory import exceeds, parse_memory, workers_within_memory
from truefit._executors.scheduler import (
    Finished,
    Limits,
    PendingJob,
    Scheduler,
    Submission,
    Transport,
    WorkerDied,
    check_timeout,
)
from truefit._executors.serialization import serialize
from truefit._executors.worker import (
    DONE,
    LOADED,
    NOT_LOADED,
    READY,
    STARTED,
    ChannelMessage,
    WorkerProcess,
    WorkerSettings,
)

#: Workers that may end before they are ready, in a row, and the seconds that one has for it: on a machine with far more
#: work than cores, importing scikit-learn takes minutes.
_MAX_FAILED_STARTS, _START_SECONDS = 3, 600.0
#: Seconds that idle workers have to leave by themselves.
_CLOSE_SECONDS = 1.0
#: Seconds of work that wait at a worker, so that it need not wait for us; and how many jobs that may be.
_AHEAD_SECONDS, _AHEAD_JOBS = 0.02, 32
#: Longer jobs are sent one at a time: the next may find another worker free.
_LONG_SECONDS = 0.5


class ProcessExecutor:
    """Runs jobs in worker processes on this machine.

    The workers are fresh interpreters: nothing is forked, and the script that uses them is not imported again, so it
    needs no guard. They start on first use, share the pages of the data, serve one map after the other, and end with
    ``close``, with this process, or when it is killed. With ``workers=-1`` there is one for each available core; where
    memory is short there are fewer. A fit that exceeds its ``timeout`` or ``memory`` is stopped with its worker.

    Examples
    --------
    >>> from truefit._core.data import Data
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> with ProcessExecutor(workers=2, timeout=60.0) as executor:
    ...     list(executor.map([], data))
    []
    """

    def __init__(self, workers: int, timeout: float | None = None, threads: int = 1, memory: Any = None) -> None:
        self.workers = _check_workers(workers)
        self.timeout = check_timeout(timeout, "ProcessExecutor")
        self.threads = check_threads(threads, "ProcessExecutor")
        self.memory = parse_memory(memory)
        self._new_pool()

    def _new_pool(self) -> None:
        self._pool = WorkerPool(self.workers, self.threads, self.memory)
        self._mapping = threading.Lock()
        self._end = weakref.finalize(self, self._pool.close)

    def _prepare(self, data: Data) -> None:
        if self._pool.of_another_process:
            self._new_pool()
        self._pool.size = workers_within_memory(self.workers, data)

    def start(self, data: Data) -> None:
        """Start the workers for a table now, so that they are there when the first job is."""
        self._prepare(data)
        while self._pool.has_room:
            self._pool.start()

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs and yield their outcomes as they finish, in any order."""
        if self._pool.of_another_process:
            self._new_pool()
        if not self._mapping.acquire(blocking=False):
            raise ExecutorError(
                "A ProcessExecutor runs one map at a time. Another is under way. Exhaust or close its iterator "
                "first, or use a second executor."
            )
        try:
            self._prepare(data)
            timeout = min((each for each in (self.timeout, fit_seconds) if each is not None), default=None)
            transport = ProcessTransport(self._pool, lambda: self._settings(data, timeout is not None))
            yield from Scheduler(transport, jobs, Limits(timeout, self.memory, deadline)).outcomes()
        finally:
            self._mapping.release()

    def _settings(self, data: Data, report_starts: bool) -> bytes:
        return serialize(WorkerSettings(self._pool.writer.write(data), FitEnvironment.current(), report_starts))

    def close(self) -> None:
        """Stop the workers and remove the files of the data; a later map starts new ones."""
        self._pool.close()

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is one with the same settings: processes cannot be copied, and estimators that hold one are cloned.
        return type(self), (self.workers, self.timeout, self.threads, self.memory)

    def __repr__(self) -> str:
        return f"ProcessExecutor(workers={self.workers}, timeout={self.timeout}, threads={self.threads})"


class ProcessTransport(Transport):
    """Submits to the workers of a pool, for one map: a job at a time, and some ahead if they are short."""

    in_process = False
    polls_clocks = False
    drain_seconds = 0.2
    timeout_note = "It was stopped with its worker. Set a larger timeout, or make the fit cheaper."

    def __init__(self, pool: WorkerPool, settings: Callable[[], bytes]) -> None:
        self._pool = pool
        self._settings = cache(settings)  # not before there is a job: it writes the data
        self._closed = pool.closed
        self._ahead = 0
        self._next: WorkerProcess | None = None

    @property
    def busy(self) -> bool:
        """Whether a worker has something to do."""
        return any(worker.submissions for worker in self._pool.workers)

    @property
    def lead(self) -> int:
        """One more than workers can have at once."""
        return self._pool.size * (1 + self._ahead) + 1

    def check(self) -> None:
        """Raise if the executor was closed."""
        if self._pool.closed != self._closed:
            raise ExecutorError(
                "An executor must stay open while its map is under way. It was closed. Exhaust or close the iterator "
                "before the executor."
            )

    def accepts(self, *, alone: bool) -> bool:
        """Whether there is a worker for a submission, or room for a new one."""
        self._next = None
        for worker in self._pool.workers:
            waiting = worker.submissions
            if not waiting:
                self._next = worker
                break
            if alone or not worker.loaded or len(waiting) > self._ahead or waiting[0].alone:
                continue
            if self._next is None or len(waiting) < len(self._next.submissions):
                self._next = worker
        # A new worker is better than one that is busy, and shows what a job that may have killed one does by itself.
        if self._pool.has_room and (alone or self._next is None or self._next.submissions):
            self._next = None
            return True
        return self._next is not None

    def submit(self, submission: Submission) -> bool:
        """Send a submission to the worker that was found for it."""
        worker = self._next or self._pool.start()
        worker.send(submission, self._settings())
        return True

    def wait(self, seconds: float) -> Iterator[Finished | WorkerDied]:
        """Wait for messages of workers."""
        for worker in self._pool.wait(seconds):
            for message in worker.channel.messages():
                if message.kind == DONE:
                    yield self._finished(worker, message)
                else:
                    self._take(worker, message)
            if worker.channel.ended:
                yield self._died(worker)

    def _finished(self, worker: WorkerProcess, message: ChannelMessage) -> Finished:
        submission = worker.submissions.popleft()
        worker.jobs_done += 1
        worker.expect_start()
        return Finished(submission, (message.body,), (message.seconds,))

    def _take(self, worker: WorkerProcess, message: ChannelMessage) -> None:
        if message.kind == READY:
            worker.set_ready()
        elif message.kind == LOADED:
            self._pool.set_loaded(worker)
        elif message.kind == STARTED:
            worker.submissions[0].clock = time.monotonic()
        elif message.kind == NOT_LOADED:
            raise ExecutorError(
                "A worker must be able to load the data. It could not. Check that what the table holds can be "
                "pickled, and that the file of a mapped X is not changed or removed during the run; or run with "
                f"workers=1. The error on the worker:\n{bytes(message.body).decode(errors='replace')}"
            )

    def _died(self, worker: WorkerProcess) -> WorkerDied:
        jobs = [pending for submission in worker.submissions for pending in submission.jobs]
        self._pool.remove_dead(worker)
        # Results come in order, so the first that has none was running; those behind it are not touched.
        suspects = 1 if worker.loaded and jobs else 0
        status = worker.exit_status()
        reason = f"{status}; out of memory? Try fewer workers" if "SIGKILL" in status else status
        return WorkerDied(jobs[:suspects], jobs[suspects:], reason)

    def adapt(self, seconds: float) -> None:
        """Send short jobs ahead."""
        few = math.ceil(_AHEAD_SECONDS / seconds)
        self._ahead = 0 if seconds > _LONG_SECONDS else min(few, _AHEAD_JOBS)

    def running(self) -> Iterable[Submission]:
        """Return the first submission of each worker."""
        return [worker.submissions[0] for worker in self._pool.workers if worker.submissions]

    def over_memory(self, limit: int) -> Iterable[tuple[Submission, bool]]:
        """Measure the workers that run something."""
        return [
            (worker.submissions[0], worker.jobs_done == 0)
            for worker in self._pool.workers
            if worker.loaded and worker.submissions and exceeds(worker.process.pid, limit)
        ]

    def stop(self, submission: Submission) -> list[PendingJob]:
        """Kill the worker of a submission; return the jobs that were to follow."""
        worker = next(each for each in self._pool.workers if submission in each.submissions)
        self._pool.remove(worker)
        return [pending for each in worker.submissions if each is not submission for pending in each.jobs]

    def end(self) -> None:
        """Kill the workers that have something to do."""
        for worker in [worker for worker in self._pool.workers if worker.submissions]:
            self._pool.remove(worker)


class WorkerPool:
    """The worker processes of one executor, started when there is work for them."""

    def __init__(self, size: int, threads: int, memory: int | None = None) -> None:
        self.size = size
        self.threads = threads
        self.memory = memory
        self.workers: list[WorkerProcess] = []
        self.writer = DatasetWriter()
        self.closed = 0  # how often: a closed pool can be used again
        self._selector = selectors.DefaultSelector()
        self._failed_starts = 0
        self._owner = os.getpid()

    @property
    def of_another_process(self) -> bool:
        """Whether this is a forked child, and the workers belong to its parent."""
        return os.getpid() != self._owner

    @property
    def has_room(self) -> bool:
        """Whether one more may be started."""
        return len(self.workers) < self.size

    def start(self) -> WorkerProcess:
        """Start a worker; it can be sent submissions at once."""
        worker = WorkerProcess(self.threads, self.memory)
        self.workers.append(worker)
        self._selector.register(worker.channel.socket, selectors.EVENT_READ, worker)
        return worker

    def wait(self, seconds: float) -> list[WorkerProcess]:
        """Return the workers that have sent something, or have died, within some seconds."""
        for worker in self.workers:
            if worker.channel.pending:
                self._selector.modify(worker.channel.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, worker)
        found = []
        for key, events in self._selector.select(seconds) if self.workers else ():  # Windows cannot wait for none
            worker = key.data
            if events & selectors.EVENT_WRITE:
                worker.channel.flush()
                if not worker.channel.pending:
                    self._selector.modify(worker.channel.socket, selectors.EVENT_READ, worker)
            if events & selectors.EVENT_READ:
                found.append(worker)
        if not found and seconds > 0:
            # A process that the dead worker has forked may hold its end of the channel open.
            found = [worker for worker in self.workers if worker.exited or _overdue(worker)]
            for worker in found:
                worker.channel.ended = True
        return found

    def set_loaded(self, worker: WorkerProcess) -> None:
        """Note that a worker has its data and can work."""
        self._failed_starts = 0
        worker.loaded = True
        worker.expect_start()

    def remove(self, worker: WorkerProcess) -> None:
        """Remove a worker, and kill it if it runs."""
        self.workers.remove(worker)
        with suppress(KeyError, ValueError):
            self._selector.unregister(worker.channel.socket)
        worker.kill()

    def remove_dead(self, worker: WorkerProcess) -> None:
        """Remove a worker that died by itself; raise an ExecutorError if several in a row never got ready."""
        overdue = _overdue(worker) and not worker.exited
        self.remove(worker)
        if worker.loaded:
            return
        self._failed_starts += 1
        if self._failed_starts >= _MAX_FAILED_STARTS:
            self._failed_starts = 0
            late = f"was not ready after {_START_SECONDS:g} s and was stopped"
            ended = late if overdue else f"with {worker.exit_status()}"
            raise ExecutorError(
                f"Worker processes must be able to start. {_MAX_FAILED_STARTS} in a row ended before they were ready "
                f"(the last {ended}). Check that the interpreter can import truefit from a script, "
                "and that there is memory left; or run with workers=1. What the last one wrote:\n"
                f"{worker.error_output or '(nothing)'}"
            )

    def close(self) -> None:
        """Let idle workers leave, kill the others, and remove the files of the data."""
        if self.of_another_process:
            return
        self.closed += 1
        for worker in [worker for worker in self.workers if worker.submissions or not worker.ready]:
            self.remove(worker)
        for worker in self.workers:
            with suppress(OSError):
                worker.channel.socket.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + _CLOSE_SECONDS
        for worker in list(self.workers):
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            self.remove(worker)
        self.writer.close()


def _overdue(worker: WorkerProcess) -> bool:
    return not worker.ready and time.monotonic() - worker.start_time > _START_SECONDS


def _check_workers(workers: int) -> int:
    if not isinstance(workers, int) or isinstance(workers, bool) or (workers < 1 and workers != -1):
        raise InvalidInput(
            "The 'workers' parameter of ProcessExecutor must be an int of at least 1, or -1 for all cores. Got "
            f"{workers!r} instead."
        )
    return available_cores() if workers == -1 else workers
