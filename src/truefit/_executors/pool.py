"""Pool: somebody else's executor, and its replacement when it breaks."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from typing import Any

from truefit._core.errors import ExecutorError
from truefit._executors.cluster import NEW_CLUSTER, Cluster
from truefit._executors.ray_executor import RayCluster, RayExecutor

_ADVICE = "Pass a new executor, or workers= for workers that are restarted by themselves."
_PROBE_SECONDS = 30.0


class Pool:
    """Submits to the user's executor, which is never shut down, or to one of ours in its place, which is."""

    def __init__(self, executor: futures.Executor) -> None:
        self.executor = executor
        self.cluster: Cluster | RayCluster | None = Cluster.behind(executor)
        if isinstance(executor, RayExecutor):
            self.cluster = executor.cluster
        self._ours: ProcessPoolExecutor | None = None
        #: Fits that were given up: each may hold a worker.
        self.stuck: set[futures.Future[Any]] = set()

    @property
    def in_process(self) -> bool:
        """Whether jobs run in threads of this process."""
        return isinstance(self.executor, futures.ThreadPoolExecutor)

    @property
    def stops_fits(self) -> bool:
        """Whether to cancel a fit that runs stops it."""
        return isinstance(self.executor, RayExecutor)

    @property
    def width(self) -> int | None:
        """How many jobs run at once, if that can be known."""
        width: Any = getattr(self.executor, "_max_workers", None) if self.cluster is None else self.cluster.width
        return width if isinstance(width, int) and width > 0 else None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        """Submit a call.

        Raises
        ------
        BrokenExecutor
            If the executor is broken already.
        ExecutorError
            If it takes no more work.
        """
        try:
            return self.executor.submit(function, *arguments)
        except futures.BrokenExecutor:
            raise
        except OSError as error:
            self.check()
            # A pool of processes that is just breaking trips over pipes that it has closed already.
            raise BrokenProcessPool(str(error)) from error
        except Exception as error:  # RuntimeError of pools, ClosedClientError of Dask
            self.check()
            raise ExecutorError(f"The executor must accept work. It says: {error}. {_ADVICE}") from error

    def check(self) -> None:
        """See that a cluster is still there.

        Raises
        ------
        ExecutorError
            If it is not.
        """
        lost = None if self.cluster is None else self.cluster.lost
        if lost is not None:
            raise ExecutorError(f"{lost} {NEW_CLUSTER}")

    def versions_of(self, package: str) -> set[str]:
        """Return the versions of a package that workers have, as far as they say."""
        if isinstance(self.cluster, Cluster):
            return self.cluster.versions_of(package)
        try:
            found = self.submit(pkgutil.resolve_name, f"{package}:__version__").result(_PROBE_SECONDS)
        except Exception:  # whatever it is that keeps the worker from importing the package
            return set()
        return {found}

    def replace(self, error: BaseException) -> None:
        """Put a new pool with the same settings in the place of one that broke.

        Raises
        ------
        ExecutorError
            If only the user can build another, or if the new one breaks at once.
        """
        broken = self.executor
        if type(broken) is not ProcessPoolExecutor:
            raise ExecutorError(
                f"The executor must go on when a worker dies. {type(broken).__name__} broke: {error}. {_ADVICE}"
            ) from error
        self.close()
        settings: dict[str, Any] = vars(broken)
        self.executor = self._ours = ProcessPoolExecutor(
            settings["_max_workers"],
            mp_context=settings["_mp_context"],
            initializer=settings["_initializer"],
            initargs=settings["_initargs"],
            max_tasks_per_child=settings["_max_tasks_per_child"],
        )
        try:
            self.submit(int).result()
        except futures.BrokenExecutor as again:
            raise ExecutorError(
                f"The processes of a pool must be able to start. A new pool broke before it did anything: {again}. "
                "Check the pool's initializer, and that the script has a guard: if __name__ == '__main__'."
            ) from again

    def all_stuck(self) -> bool:
        """Whether every worker is held by a fit that was given up."""
        self.stuck = {future for future in self.stuck if not future.done()}
        width = self.width if self.stuck else None
        return width is not None and len(self.stuck) >= width

    def close(self) -> None:
        """Shut down what is ours."""
        if self._ours is not None:
            self._ours.shutdown(wait=False, cancel_futures=True)
            self._ours = None
