"""FuturesExecutor: jobs on any concurrent.futures.Executor: a pool of processes or threads, Dask, Ray, MPI."""

from __future__ import annotations

import pickle
import time
import weakref
from collections.abc import Iterable, Iterator
from concurrent import futures
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from truefit._core.data import Data
from truefit._core.errors import ExecutorError, InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.cluster import ClusterMonitor, ExternalPool
from truefit._executors.dataset_file import DatasetWriter
from truefit._executors.environment import FitEnvironment, check_threads, installed_versions
from truefit._executors.ray_executor import RayExecutor
from truefit._executors.remote_worker import (
    BatchCall,
    BatchReply,
    BatchSettings,
    JobBatch,
    ProgressFile,
    run_in_thread,
)
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

#: Work in one submission, so that what it costs to send (milliseconds with Dask) is small beside it.
_BATCH_SECONDS, _BATCH_JOBS = 0.05, 50
#: Jobs at once where the size of the executor is not known.
_UNKNOWN_SIZE = 4
#: How often the workers of a cluster are looked at.
_MONITOR_SECONDS = 1.0
#: What Dask and Ray raise when the worker died: by name, so that neither is imported.
_DEATHS = frozenset({"KilledWorker", "WorkerCrashedError", "NodeDiedError", "OutOfMemoryError"})
#: What they raise when nothing can be run any more: no worker in time, or the cluster is gone.
_LOSSES = frozenset({"NoWorkerError", "NoValidWorkerError", "LocalRayletDiedError", "RaySystemError"})
_NOT_STOPPED = (
    "This executor cannot stop it: it may still be running and occupy a worker. Set a larger timeout, make the fit "
    "cheaper, or use workers= instead."
)


class FuturesExecutor:
    """Runs jobs on the user's executor, which is never shut down.

    Workers map a file with the data; one that cannot open its path is sent the data once. Small jobs are sent several
    at once. A job whose worker died is run once more, alone, and recorded as failed if that worker dies too. A pool of
    processes that breaks is replaced by one with the same settings; the dead workers of a Dask ``LocalCluster`` are
    replaced. A worker that lacks a package, or has another version of one on which numbers depend, is an error before
    it runs a fit; so is a cluster whose scheduler is gone.

    A fit past its time limit is recorded as failed, but it cannot be stopped: it may go on to occupy its worker.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from truefit._core.data import Data
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> with ThreadPoolExecutor(2) as pool, FuturesExecutor(pool) as executor:
    ...     list(executor.map([], data))
    []
    """

    def __init__(self, executor: futures.Executor, timeout: float | None = None, threads: int = 1) -> None:
        if not isinstance(executor, futures.Executor):
            raise InvalidInput(
                "The 'executor' parameter of FuturesExecutor must be a concurrent.futures.Executor. Got "
                f"{type(executor).__name__} instead. For a Dask client pass client.get_executor()."
            )
        self.executor = executor
        self.timeout = check_timeout(timeout, "FuturesExecutor")
        self.threads = check_threads(threads, "FuturesExecutor")
        self._pool = ExternalPool(executor)
        self._writer = DatasetWriter()
        self._end = weakref.finalize(self, self._pool.close)

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs and yield their outcomes as they finish, in any order."""
        settings = BatchSettings(serialize(FitEnvironment.current()), self.threads, versions=installed_versions())
        transport = FuturesTransport(self._pool, self._writer, data, settings, self.timeout)
        yield from Scheduler(transport, jobs, Limits(self.timeout, deadline=deadline)).outcomes()

    def close(self) -> None:
        """Remove the files of the data, and shut down pools that were started here."""
        self._pool.close()
        self._writer.close()

    def __enter__(self) -> FuturesExecutor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"FuturesExecutor({self.executor!r}, timeout={self.timeout}, threads={self.threads})"


@dataclass(eq=False)
class _Sent:
    """A submission as a future."""

    submission: Submission
    progress: ProgressFile
    time: float = field(default_factory=time.monotonic)
    started: float | None = None

    def suspects(self) -> list[PendingJob]:
        """Jobs of which a worker may have died, by the progress file that it left; none if it left none."""
        started = self.progress.started()
        if started is None:
            return []
        return [self.submission.jobs[started - 1]] if started else self.submission.jobs


class FuturesTransport(Transport):
    """Submits batches of jobs as futures, for one map, and keeps a bounded number of them under way."""

    polls_clocks = True
    drain_seconds = 0.0

    def __init__(
        self, pool: ExternalPool, writer: DatasetWriter, data: Data, settings: BatchSettings, timeout: float | None
    ) -> None:
        self.in_process = pool.in_process
        self.timeout_note = "It was stopped." if isinstance(pool.executor, RayExecutor) else _NOT_STOPPED
        self._pool = pool
        self._writer = writer
        self._data = data
        self._settings = settings
        self._timeout = timeout
        self._sent: dict[futures.Future[Any], _Sent] = {}
        self._done: SimpleQueue[futures.Future[Any]] = SimpleQueue()
        self._monitor = None if pool.cluster is None else ClusterMonitor(pool.cluster)
        self._size = pool.size
        self._last_result = time.monotonic()
        self._next_check = 0.0
        self._progress_files_seen = True
        pool.check()

    @property
    def busy(self) -> bool:
        """Whether a future is under way."""
        return bool(self._sent)

    @property
    def lead(self) -> int:
        """As many jobs as futures under way can have."""
        return self._most_futures * self.batch_size

    @property
    def _most_futures(self) -> int:
        return 2 * (self._size or _UNKNOWN_SIZE)

    def accepts(self, *, alone: bool) -> bool:
        """Whether one more future may be under way; what is alone waits for all others, so that a death is its own."""
        if alone:
            return not self._sent
        return len(self._sent) < self._most_futures and not any(sent.submission.alone for sent in self._sent.values())

    def submit(self, submission: Submission) -> bool:
        """Submit a future; False if the executor is broken."""
        return self._send(submission, with_data=False)

    def _send(self, submission: Submission, *, with_data: bool) -> bool:
        settings = self._settings
        if self._timeout is not None or not self.in_process:
            settings = replace(settings, progress_path=str(self._writer.folder / f"started-{uuid4().hex}"))
        try:
            if self.in_process:
                jobs = [pending.job for pending in submission.jobs]
                future = self._pool.submit(run_in_thread, jobs, self._data, settings)
            else:
                batch = self._batch(submission, settings, with_data)
                future = self._pool.submit(pickle.loads, BatchCall(batch).content())
        except futures.BrokenExecutor as error:
            if not self._sent:  # else it is replaced when the first of those fails
                self._pool.replace(error)
            return False
        self._sent[future] = _Sent(submission, ProgressFile(settings.progress_path))
        future.add_done_callback(self._done.put)
        return True

    def _batch(self, submission: Submission, settings: BatchSettings, with_data: bool) -> JobBatch:
        dataset = self._writer.write(self._data)
        serialized = [pending.content for pending in submission.jobs if pending.content is not None]
        shared = {item.number: item.content for job in serialized for item in job.shared}
        content = self._writer.content(self._data) if with_data else None
        jobs = tuple(job.content for job in serialized)
        return JobBatch(uuid4().hex, dataset, tuple(shared.items()), jobs, settings, content)

    def wait(self, seconds: float) -> Iterator[Finished | WorkerDied]:
        """Wait for futures to be done."""
        if seconds > 0:
            self._check_workers()
        with suppress(Empty):
            future = self._done.get(seconds > 0, seconds)
            while True:
                yield from self._settle(future)
                future = self._done.get_nowait()

    def _settle(self, future: futures.Future[Any]) -> Iterator[Finished | WorkerDied]:
        sent = self._sent.pop(future, None)
        if sent is None:  # given up, or of a pool that broke
            return
        self._last_result = time.monotonic()
        if future.cancelled():
            self._pool.check()
            raise ExecutorError(
                "The executor must run what it was given. It cancelled fits: it was restarted or closed. Pass an "
                "executor that stays open for the whole run."
            )
        error = future.exception()
        if error is None:
            yield from self._receive(sent, future.result())
        elif isinstance(error, futures.BrokenExecutor):
            # What is done already waits to be settled; all that was running is suspect.
            running = [other for other in self._sent if not (other.done() and other.exception() is None)]
            suspects = [sent, *(self._sent.pop(other) for other in running)]
            yield _death(suspects, f"the executor reports: {_in_a_line(error)}")
            self._pool.replace(error)
        elif type(error).__name__ in _DEATHS:
            yield _death([sent], f"the executor reports: {_in_a_line(error)}")
        elif type(error).__name__ in _LOSSES:
            raise ExecutorError(f"The cluster must be able to run fits. It raised {_in_a_line(error)}.") from error
        elif isinstance(error, Exception):
            # What goes wrong in a fit is in its outcome: this is the worker's own fault.
            raise ExecutorError(self._unreadable(error)) from error
        else:
            raise error

    def _receive(self, sent: _Sent, reply: BatchReply) -> Iterator[Finished | WorkerDied]:
        if reply.died:
            yield _death([sent], "out of memory? Use fewer workers, or give each more memory")
        elif reply.needs_data:
            self._progress_files_seen = False
            if not self._send(sent.submission, with_data=True):
                yield WorkerDied([], sent.submission.jobs, "")
        elif reply.incompatible is not None:
            raise ExecutorError(f"{reply.incompatible} Install the same packages there.")
        elif reply.error is not None:
            raise ExecutorError(
                "A worker must be able to load the data. It could not. Check that it has the same packages as this "
                f"process. The error on the worker:\n{reply.error}"
            )
        else:
            self._progress_files_seen = reply.has_progress_file
            yield Finished(sent.submission, reply.outcomes, reply.seconds)

    def results_before_error(self) -> Iterator[Finished]:
        """Yield what was done before the executor failed."""
        with suppress(Empty):
            while True:
                future = self._done.get_nowait()
                sent = self._sent.pop(future, None)
                if sent is None or future.cancelled() or future.exception() is not None:
                    continue
                reply: BatchReply = future.result()
                if reply.outcomes:
                    yield Finished(sent.submission, reply.outcomes, reply.seconds)

    def adapt(self, seconds: float) -> None:
        """Send several short jobs together."""
        if self._timeout is None:  # a fit past its limit must be alone in its submission
            self.batch_size = min(max(int(_BATCH_SECONDS / seconds), 1), _BATCH_JOBS)

    def running(self) -> Iterable[Submission]:
        """Return all that is under way; workers show in a file when they begin."""
        for future, sent in self._sent.items():
            if sent.started is None and sent.progress.started():
                sent.started = time.monotonic()
            clock = sent.started
            if clock is None and not self._progress_files_seen:
                # Workers on other machines have no such file. Whatever runs has been running since one was last done.
                clock = max(sent.time, self._last_result)
            sent.submission.clock = None if future.done() else clock
        return [sent.submission for sent in self._sent.values()]

    def stop(self, submission: Submission) -> list[PendingJob] | None:
        """Give up a submission; its worker may be held by it."""
        future, sent = next(item for item in self._sent.items() if item[1].submission is submission)
        if sent.progress.owner_died():  # the worker that gets it next reports that
            return None
        del self._sent[future]
        if not future.cancel():
            self._pool.stuck.add(future)
        return []

    def end(self) -> None:
        """Cancel what is under way."""
        for future in self._sent:
            future.cancel()

    def _check_workers(self) -> None:
        now = time.monotonic()
        if self._monitor is not None and now >= self._next_check:
            self._next_check = now + _MONITOR_SECONDS
            self._pool.check()
            self._size = self._monitor.count(now - self._last_result)
        if self._pool.all_stuck():
            raise ExecutorError(
                f"A worker must be free to go on. All {len(self._pool.stuck)} are held by fits that ran past the limit "
                f"of {self._timeout} s, which this executor cannot stop. Give a larger timeout, or pass workers= "
                "instead of an executor: such workers can be stopped."
            )

    def _unreadable(self, error: BaseException) -> str:
        """Return why a worker could not read a batch."""
        wanted = self._settings.versions.get("truefit")
        found = sorted(self._pool.versions_of("truefit") - {wanted})
        if found:
            return f"Workers must have truefit {wanted}, as this process has. Some have {' and '.join(found)}."
        return (
            f"Workers must have truefit {wanted} and what it needs. One of them raised {_in_a_line(error)}. Install it "
            "there, in the environment that the workers run in."
        )


def _death(sent: list[_Sent], reason: str) -> WorkerDied:
    """Return the event of a death; where no worker has left a file, any job that was under way is suspect."""
    jobs = [pending for each in sent for pending in each.submission.jobs]
    suspects = [pending for each in sent for pending in each.suspects()] or jobs
    for each in sent:
        each.progress.remove()
    return WorkerDied(suspects, [pending for pending in jobs if pending not in suspects], reason)


def _in_a_line(error: BaseException) -> str:
    """Return the type and message of an error, without the traceback that Ray adds to it."""
    cause = getattr(error, "cause", None)
    inner = cause if isinstance(cause, BaseException) else error
    lines = str(inner).strip().splitlines()
    return f"{type(inner).__name__}: {lines[0].rstrip('.')}" if lines else type(inner).__name__
