"""RayExecutor: a Ray cluster as a concurrent.futures.Executor."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent import futures
from functools import partial
from typing import Any

from truefit._core.errors import ExecutorError, InvalidInput, MissingDependency

_logger = logging.getLogger(__name__)


class RayExecutor(futures.Executor):
    """Runs calls as tasks of Ray, for ``Engine(executor=RayExecutor())``.

    Ray must have been started in this process by ``ray.init()``, and is not shut down. A future that is cancelled
    cancels its task; the worker process of one that runs is stopped, and Ray starts another. Ray itself does not
    retry tasks: what a worker process died of is decided by truefit (see ``docs/guide/clusters.md``).

    Parameters
    ----------
    num_cpus : float, default=1
        CPUs that Ray reserves for each task.
    **options
        Further options of ``ray.remote``, for instance ``memory=2 * 1024**3`` or ``runtime_env={"pip": [...]}``.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> ray.init()  # doctest: +SKIP
    >>> engine = Engine("runs.db", executor=RayExecutor())  # doctest: +SKIP
    """

    def __init__(self, *, num_cpus: float = 1, **options: Any) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingDependency("RayExecutor needs Ray: pip install truefit[ray].") from error
        if not num_cpus > 0:
            raise InvalidInput(f"The 'num_cpus' parameter of RayExecutor must be above 0. Got {num_cpus!r} instead.")
        if not ray.is_initialized():
            raise ExecutorError("Ray must be running in this process. Call ray.init() before RayExecutor().")
        self.cluster = RayCluster(num_cpus)
        # Retries are counted by truefit: Ray would give a fit that kills workers to three more of them.
        self._task = ray.remote(_caller()).options(num_cpus=num_cpus, **{"max_retries": 0, **options})

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> futures.Future[Any]:
        """Submit a call as a task; the future has its result, or Ray's exception."""
        import ray

        if not ray.is_initialized():
            raise RuntimeError("Ray is not running in this process any more")
        reference = self._task.remote(function, arguments, keywords)
        future: futures.Future[Any] = futures.Future()
        future.add_done_callback(partial(_cancel_task, reference))
        reference.future().add_done_callback(partial(_pass_on, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: whoever called ``ray.init()`` calls ``ray.shutdown()``."""


class RayCluster:
    """What Ray knows of its workers."""

    name = "Ray cluster"
    local = False

    def __init__(self, num_cpus: float) -> None:
        self._num_cpus = num_cpus

    @property
    def size(self) -> int | None:
        """How many fits it runs at once; None if Ray does not answer."""
        import ray

        try:
            return int(ray.cluster_resources().get("CPU", 0) / self._num_cpus)
        except Exception as error:  # Ray raises many kinds: RaySystemError, RpcError
            _logger.info("Ray did not report its number of CPUs: %r", error)
            return None

    @property
    def lost(self) -> str | None:
        """Why nothing can be run on it any more; None while Ray is running."""
        import ray

        return None if ray.is_initialized() else "Ray was shut down in this process."

    def restart_workers(self) -> None:
        """Do nothing: Ray starts workers by itself."""


def _caller() -> Callable[..., Any]:
    def call(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return function(*arguments, **keywords)

    return call  # a function inside a function: it is sent as code, so that workers need not have truefit to load it


def _cancel_task(reference: Any, future: futures.Future[Any]) -> None:
    if future.cancelled():
        import ray

        if ray.is_initialized():
            ray.cancel(reference, force=True)


def _pass_on(future: futures.Future[Any], done: futures.Future[Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    error = done.exception()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())
