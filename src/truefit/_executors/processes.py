"""ProcessExecutor: jobs in worker processes of our own, which can be stopped one by one."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from joblib import cpu_count

from truefit._core.data import Data
from truefit._core.errors import ExecutorError, InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.crew import Crew
from truefit._executors.limits import Limits, checked_timeout
from truefit._executors.memory import bytes_of, check_can_measure
from truefit._executors.packing import packed
from truefit._executors.round import Round
from truefit._executors.surroundings import Surroundings
from truefit._executors.threads import checked_threads
from truefit._executors.width import affordable
from truefit._executors.worker import Orders


class ProcessExecutor:
    """Runs jobs in worker processes on this machine.

    The workers are fresh interpreters: nothing is forked, and the script that uses them is not imported again, so it
    needs no guard. They start on first use, share the pages of the data, serve one map after the other, and end with
    ``close``, with this process, or when it is killed.

    Parameters
    ----------
    workers : int
        How many processes; -1: one for each core that this process may use. Where memory is short there are fewer.
    timeout : float, optional
        Seconds that a fit may take; a job of several fits gets as many times that. A fit that takes longer is stopped
        with its worker.
    threads : int, default=1
        Threads of BLAS and OpenMP inside a fit.
    memory : int or str, optional
        Memory that a worker may have, such as "4GB". A fit that exceeds it is stopped with its worker.

    Examples
    --------
    >>> from truefit._core.data import Data
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> with ProcessExecutor(workers=2, timeout=60.0) as executor:
    ...     list(executor.map([], data))
    []
    """

    def __init__(self, workers: int, timeout: float | None = None, threads: int = 1, memory: Any = None) -> None:
        self.workers = _checked_workers(workers)
        self.timeout = checked_timeout(timeout, "ProcessExecutor")
        self.threads = checked_threads(threads, "ProcessExecutor")
        self.memory = bytes_of(memory)
        if self.memory is not None:
            check_can_measure()
        self._hire()

    def _hire(self) -> None:
        self._crew = Crew(self.workers, self.threads, self.memory)
        self._turn = threading.Lock()
        self._end = weakref.finalize(self, self._crew.dismiss)

    def start(self, data: Data) -> None:
        """Start the workers for a table now, so that they are there when the first job is."""
        if self._crew.of_another_process:
            self._hire()
        self._crew.workers = affordable(self.workers, data)
        while self._crew.has_room:
            self._crew.start()

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs and yield their outcomes as they finish, in any order."""
        if self._crew.of_another_process:
            self._hire()
        if not self._turn.acquire(blocking=False):
            raise ExecutorError(
                "A ProcessExecutor runs one map at a time. Another is under way. Exhaust or close its iterator "
                "first, or use a second executor."
            )
        try:
            self._crew.workers = affordable(self.workers, data)
            limits = Limits(_shorter(self.timeout, fit_seconds), self.memory, deadline)
            yield from Round(self._crew, jobs, lambda: self._orders(data, limits), limits).outcomes()
        finally:
            self._turn.release()

    def _orders(self, data: Data, limits: Limits) -> bytes:
        shipment = self._crew.shipper.ship(data)
        return packed(Orders(shipment, Surroundings.here(), limits.timeout is not None))

    def close(self) -> None:
        """Stop the workers and remove what was shipped to them; a later map starts anew."""
        self._crew.dismiss()

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is one with the same settings: processes cannot be copied, and estimators that hold one are cloned.
        return type(self), (self.workers, self.timeout, self.threads, self.memory)

    def __repr__(self) -> str:
        return f"ProcessExecutor(workers={self.workers}, timeout={self.timeout}, threads={self.threads})"


def _shorter(timeout: float | None, other: float | None) -> float | None:
    return min((each for each in (timeout, other) if each is not None), default=None)


def _checked_workers(workers: int) -> int:
    if not isinstance(workers, int) or isinstance(workers, bool) or (workers < 1 and workers != -1):
        raise InvalidInput(
            "The 'workers' parameter of ProcessExecutor must be an int of at least 1, or -1 for all cores. Got "
            f"{workers!r} instead."
        )
    return int(cpu_count()) if workers == -1 else workers
