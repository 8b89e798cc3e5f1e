"""ThreadExecutor: jobs in threads of this process, which start at once and look at the same data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.environment import check_threads
from truefit._executors.futures import FuturesExecutor
from truefit._executors.scheduler import check_timeout

#: Learners of which two fits in two threads take little more than half as long as one after the other
#: (``python -m benchmarks unlocked``), by module and class: nothing is imported to look one up. Forests and histogram
#: boosting are not among them: they take the lock back for every tree.
_GIL_FREE = frozenset(f"sklearn.svm._classes.{name}" for name in ("SVC", "SVR", "NuSVC", "NuSVR"))


class ThreadExecutor:
    """Runs jobs in threads, for fits that leave Python's lock free; there are none while no map is under way.

    Parameters
    ----------
    workers : int
        How many threads.
    timeout : float, optional
        Seconds that a fit may take; a job of several fits gets as many times that. The fit is given up, but it cannot
        be stopped.
    threads : int, default=1
        Threads of BLAS and OpenMP inside a fit.

    Examples
    --------
    >>> from truefit._core.data import Data
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> list(ThreadExecutor(workers=2).map([], data))
    []
    """

    def __init__(self, workers: int, timeout: float | None = None, threads: int = 1) -> None:
        self.workers = workers
        self.timeout = check_timeout(timeout, "ThreadExecutor")
        self.threads = check_threads(threads, "ThreadExecutor")

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs and yield their outcomes as they finish, in any order."""
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="truefit")
        try:
            with FuturesExecutor(pool, timeout=self.timeout, threads=self.threads) as executor:
                yield from executor.map(jobs, data, deadline=deadline)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # nobody waits for a fit that nobody wants any more

    def close(self) -> None:
        """There is nothing to stop: the threads end with the map."""

    def __repr__(self) -> str:
        return f"ThreadExecutor(workers={self.workers}, timeout={self.timeout}, threads={self.threads})"


def all_release_gil(jobs: Iterable[Job]) -> bool:
    """Whether all these jobs are of learners that leave Python's lock free while they work."""
    return all(
        job.solver.name == "plain" and all(_name(type(fit.estimator)) in _GIL_FREE for fit in job.fits) for job in jobs
    )


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
