"""SerialExecutor: jobs one after the other, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.attempt import run_job
from truefit._executors.limits import past
from truefit._executors.threads import checked_threads, limited_threads


class SerialExecutor:
    """Runs each job when its outcomes are asked for.

    Parameters
    ----------
    threads : int, default=1
        Threads of BLAS and OpenMP inside a fit, while a map is under way.

    Examples
    --------
    >>> from truefit._core.data import Data
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> list(SerialExecutor().map([], data))
    []
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = checked_threads(threads, "SerialExecutor")

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs in their order; a deadline is looked at between them."""
        with limited_threads(self.threads):
            for job in jobs:
                if past(deadline):
                    return
                yield run_job(job, data)

    def close(self) -> None:
        """There is nothing to stop."""

    def __repr__(self) -> str:
        return f"SerialExecutor(threads={self.threads})"
