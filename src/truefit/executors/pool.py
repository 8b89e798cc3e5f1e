"""Pool: somebody else's executor, and its replacement when it breaks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from typing import Any

from truefit.core.errors import ExecutorError
from truefit.executors.cluster import Cluster

_ADVICE = "What is finished is kept. Pass a fresh executor, or workers= for workers that are restarted by themselves."


class Pool:
    """Submits to the user's executor, which is never shut down, or to one of ours in its place, which is."""

    def __init__(self, executor: futures.Executor) -> None:
        self.executor = executor
        self.cluster = Cluster.behind(executor)
        self._ours: ProcessPoolExecutor | None = None
        #: Fits that were given up: each may hold a worker.
        self.stuck: set[futures.Future[Any]] = set()

    @property
    def in_process(self) -> bool:
        """Whether jobs run in threads of this process."""
        return isinstance(self.executor, futures.ThreadPoolExecutor)

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
            # A pool of processes that is just breaking trips over pipes that it has closed already.
            raise BrokenProcessPool(str(error)) from error
        except RuntimeError as error:
            raise ExecutorError(f"The executor must accept work. It says: {error}. {_ADVICE}") from error

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
