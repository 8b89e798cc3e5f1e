"""FuturesExecutor: jobs on any concurrent.futures.Executor: a pool of processes or threads, Dask, Ray, MPI."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from concurrent import futures
from types import TracebackType

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.dispatch import Dispatch
from truefit._executors.limits import checked_timeout
from truefit._executors.packing import packed
from truefit._executors.parcel import Terms
from truefit._executors.pool import Pool
from truefit._executors.shipment import Shipper
from truefit._executors.surroundings import Surroundings
from truefit._executors.threads import checked_threads
from truefit._executors.versions import versions_here


class FuturesExecutor:
    """Runs jobs on an executor that somebody else owns.

    The data travel by the path of a file that workers map; a worker that cannot open it is sent them once. Small jobs
    travel several to a message. What a worker died of is run once more, with nothing beside it, and given up if that
    worker dies too. A pool of processes that breaks is replaced by one with the same settings; a Dask ``LocalCluster``
    that gives up dead workers gets others in their place. A worker that lacks a package, or has another version of one
    on which numbers depend, is an error before any of its fits is taken; so is a cluster whose scheduler is gone.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        For Dask ``client.get_executor()``, for Ray ``RayExecutor()``. It is not shut down.
    timeout : float, optional
        Seconds that a fit may take; a job of several fits gets as many times that. The fit is given up, but it cannot
        be stopped: it may go on to hold its worker.
    threads : int, default=1
        Threads of BLAS and OpenMP inside a fit.

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
        self.timeout = checked_timeout(timeout, "FuturesExecutor")
        self.threads = checked_threads(threads, "FuturesExecutor")
        self._pool = Pool(executor)
        self._shipper = Shipper()
        self._end = weakref.finalize(self, self._pool.close)

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs and yield their outcomes as they finish, in any order."""
        terms = Terms(packed(Surroundings.here()), self.threads, versions=versions_here())
        yield from Dispatch(self._pool, self._shipper, data, terms, self.timeout).outcomes(jobs, deadline)

    def close(self) -> None:
        """Remove what was shipped, and shut down what is ours: never the executor that was passed in."""
        self._pool.close()
        self._shipper.close()

    def __enter__(self) -> FuturesExecutor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"FuturesExecutor({self.executor!r}, timeout={self.timeout}, threads={self.threads})"
