"""Cluster: the user's executor and the workers behind it: pools of processes and threads, Dask, Ray.

``ExternalPool`` submits to any of them, ``DaskCluster`` knows the workers of Dask, ``ClusterMonitor`` counts workers
while fits wait for them, and ``dask_executor`` connects to a scheduler by its address, for the command line.
"""

from __future__ import annotations

import logging
import pkgutil
import re
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterator
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from truefit._core.errors import ExecutorError, InvalidInput, MissingDependency
from truefit._executors.ray_executor import RayCluster, RayExecutor

#: Seconds that the scheduler has for an answer; it takes milliseconds unless it is gone or stopped.
_ANSWER_SECONDS = 5.0
#: What to do when a cluster is gone, and when an executor is.
_NEW_CLUSTER = "Use a running cluster: another --cluster address, or a new Engine with its executor."
_NEW_EXECUTOR = "Pass a new executor, or workers= for workers that are restarted automatically."
#: Seconds for a worker to report the version of a package.
_VERSION_SECONDS = 30.0
#: How often workers are counted, which is a request to the scheduler.
_COUNT_SECONDS = 5.0
#: After so long without workers there is a warning, and then every hour.
_WARN_AFTER = (5.0, 60.0, 600.0)
_WARN_EVERY = 3600.0
#: Workers of a cluster on this machine may just be restarting.
_RESTART_SECONDS = 60.0
#: A scheduler that has not answered for so long is taken as gone.
_SILENT_SECONDS = 60.0
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:\d+")
#: Seconds for a scheduler to answer the first time, and for the first worker to be there.
_CONNECT_SECONDS, _WORKER_SECONDS = 10.0, 60.0

_logger = logging.getLogger(__name__)


class ExternalPool:
    """Submits to the user's executor, which is never shut down, or to one of ours in its place, which is."""

    def __init__(self, executor: futures.Executor) -> None:
        self.executor = executor
        self.cluster: DaskCluster | RayCluster | None = DaskCluster.of(executor)
        if isinstance(executor, RayExecutor):
            self.cluster = executor.cluster
        #: Whether jobs run in threads of this process.
        self.in_process = isinstance(executor, futures.ThreadPoolExecutor)
        self._ours: ProcessPoolExecutor | None = None
        #: Fits that were given up: each may hold a worker.
        self.stuck: set[futures.Future[Any]] = set()

    @property
    def size(self) -> int | None:
        """Number of jobs that run at once, if that is known."""
        size: Any = getattr(self.executor, "_max_workers", None) if self.cluster is None else self.cluster.size
        return size if isinstance(size, int) and size > 0 else None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> futures.Future[Any]:
        """Submit a call; raise BrokenExecutor if the executor is broken, ExecutorError if it takes no more work."""
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
            raise ExecutorError(f"The executor must accept work. It raised: {error}. {_NEW_EXECUTOR}") from error

    def check(self) -> None:
        """Raise an ExecutorError if the connection to a cluster is lost."""
        lost = None if self.cluster is None else self.cluster.lost
        if lost is not None:
            raise ExecutorError(f"{lost} {_NEW_CLUSTER}")

    def versions_of(self, package: str) -> set[str]:
        """Return the versions of a package that workers report."""
        if isinstance(self.cluster, DaskCluster):
            return self.cluster.versions_of(package)
        try:
            found = self.submit(pkgutil.resolve_name, f"{package}:__version__").result(_VERSION_SECONDS)
        except Exception as error:  # whatever it is that keeps the worker from importing the package
            _logger.info("A worker did not report its version of %s: %r", package, error)
            return set()
        return {found}

    def replace(self, error: BaseException) -> None:
        """Replace a broken pool of processes by one with the same settings; raise an ExecutorError if that fails."""
        broken = self.executor
        if type(broken) is not ProcessPoolExecutor:
            raise ExecutorError(
                f"The executor must survive a dead worker. {type(broken).__name__} broke: {error}. {_NEW_EXECUTOR}"
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
        size = self.size if self.stuck else None
        return size is not None and len(self.stuck) >= size

    def close(self) -> None:
        """Shut down what is ours."""
        if self._ours is not None:
            self._ours.shutdown(wait=False, cancel_futures=True)
            self._ours = None


class DaskCluster:
    """The workers of a Dask client; those that die on this machine are replaced.

    A ``LocalCluster`` restarts a worker that dies, but closes it for good if it happens to be down some seconds
    after any of its deaths (``distributed.deploy.lost-worker-timeout``, 15 s). Where several fits kill their workers,
    or the machine is too busy to start one in time, it would lose them all and wait forever.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        # Elsewhere workers are jobs of a queue or pods, and to start more of them may cost money.
        cluster = getattr(client, "cluster", None)
        self.local = any(base.__module__ == "distributed.deploy.local" for base in type(cluster).__mro__)
        self._local: Any = cluster if self.local else None
        self._held: set[Hashable] = set() if self._local is None else set(self._local.workers)

    @classmethod
    def of(cls, executor: futures.Executor) -> DaskCluster | None:
        """Return the cluster that an executor submits to, if it is Dask's."""
        client = getattr(executor, "_client", None)
        return cls(client) if hasattr(client, "nthreads") else None

    @property
    def name(self) -> str:
        """Name in messages."""
        scheduler = getattr(self._client, "scheduler", None)
        return f"Dask cluster at {getattr(scheduler, 'address', 'an unknown address')}"

    @property
    def size(self) -> int | None:
        """How many fits it runs at once; None if the scheduler does not answer."""
        if self.lost is not None:
            return None
        try:
            threads = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER_SECONDS)
        except Exception as error:  # Dask raises many kinds: OSError, CommClosedError, TimeoutError
            _logger.info("The %s did not report its number of workers: %r", self.name, error)
            return None
        return int(sum(threads.values()))

    @property
    def lost(self) -> str | None:
        """Why nothing can be run on it any more; None while the client is connected.

        A client that loses its scheduler cancels all futures at once. It waits for another one at the address, 30 s by
        default (``distributed.comm.timeouts.connect``), before it closes; calls on it meanwhile would wait too.
        """
        if self._client.status == "running":
            return None
        if self._client.status == "connecting":
            return f"The connection to the {self.name} was lost: its scheduler died, or cannot be reached."
        return f"The client of the {self.name} is closed: its scheduler died, or the client was closed."

    def versions_of(self, package: str) -> set[str]:
        """Return the versions of a package that workers have; none for those that do not have it."""
        found = self._client.run(pkgutil.resolve_name, f"{package}:__version__", on_error="return")
        return {version for version in found.values() if isinstance(version, str)}

    def restart_workers(self) -> None:
        """Let a cluster on this machine have as many workers as it is meant to have, if it gave up some of them."""
        if self.local:
            self._local.loop.add_callback(self._renew)  # in the thread in which it looks after its workers itself

    def _renew(self) -> None:
        cluster = self._local
        # A name that it has not held may just be starting; one that it is not meant to hold was taken away on purpose.
        lost = self._held.difference(cluster.workers).intersection(cluster.worker_spec)
        for name in lost:
            # Under its old name it could come before the scheduler knows that the old one is gone, and be refused.
            [fresh] = cluster.new_worker_spec()
            cluster.worker_spec[fresh] = cluster.worker_spec.pop(name)
        if lost:
            cluster.scale(len(cluster.worker_spec))
        self._held = set(cluster.workers)


class ClusterMonitor:
    """Counts the workers of a cluster every few seconds, and warns when there are none.

    That is no error: workers may be jobs in a queue that start in an hour. Where they come, fits go on.
    """

    def __init__(self, cluster: DaskCluster | RayCluster) -> None:
        self.cluster = cluster
        self.size: int | None = None
        self._next_count = 0.0
        self._silent_since: float | None = None
        self._warned_at = 0.0

    def count(self, idle: float) -> int | None:
        """Return how many fits the cluster runs at once, None if that is not known.

        ``idle`` are the seconds since a fit was last finished. A scheduler that does not answer for a long time is an
        ExecutorError.
        """
        self.cluster.restart_workers()
        now = time.monotonic()
        if now < self._next_count:
            return self.size
        self.size = self.cluster.size
        self._next_count = time.monotonic() + _COUNT_SECONDS
        if self.size is not None:
            self._silent_since = None
        else:
            self._silent_since = now if self._silent_since is None else self._silent_since
            silent = min(time.monotonic() - self._silent_since, idle)
            if silent >= _SILENT_SECONDS:
                raise ExecutorError(
                    f"The {self.cluster.name} must answer. It has not for {silent:.0f} s: its scheduler is stopped or "
                    f"cannot be reached. {_NEW_CLUSTER}"
                )
        if self.size == 0:
            self._warn(idle)
        else:
            self._warned_at = 0.0
        return self.size

    def _warn(self, idle: float) -> None:
        due = next((after for after in _WARN_AFTER if after > self._warned_at), self._warned_at + _WARN_EVERY)
        if self.cluster.local:
            due = max(due, _RESTART_SECONDS)
        if idle < due:
            return
        self._warned_at = max(due, idle)
        warnings.warn(
            f"The {self.cluster.name} has no workers: nothing has been finished for {idle:.0f} s. Waiting for workers: "
            "start some, or interrupt and rerun to resume.",
            RuntimeWarning,
            stacklevel=2,
        )


@contextmanager
def dask_executor(address: str, say: Callable[[str], None]) -> Iterator[futures.Executor]:
    """Connect to a Dask scheduler that has workers, and disconnect afterwards.

    ``address`` is ``tcp://HOST:PORT``, or ``tls://HOST:PORT`` where Dask's configuration has the certificates. ``say``
    gets a message when there are no workers yet: the first is waited for a minute.
    """
    if not _ADDRESS.fullmatch(address):
        raise InvalidInput(f"The address of a Dask scheduler must be like tcp://HOST:8786. Got {address!r} instead.")
    try:
        import distributed
    except ImportError as error:
        raise MissingDependency("A cluster by its address needs Dask: pip install truefit[dask].") from error
    # What happens to the connection is in our errors; Dask logs it with tracebacks, also after the command has ended.
    for name in ("distributed", "distributed.client", "tornado", "tornado.application"):
        for handler in logging.getLogger(name).handlers:  # Dask gives these loggers handlers and levels of their own
            handler.setLevel(logging.CRITICAL)
    client = _connect(distributed.Client, address)
    with client:
        _wait_for_workers(client, address, say)
        yield client.get_executor()


def _connect(client_class: Any, address: str) -> Any:
    answers: SimpleQueue[Any] = SimpleQueue()

    def connect() -> None:
        try:
            answers.put(client_class(address, timeout=_CONNECT_SECONDS, set_as_default=False))
        except Exception as error:  # Dask raises many kinds: OSError, ValueError where it is no scheduler that answers
            answers.put(error)

    # In a daemon thread: the client waits forever for a peer that accepts the connection and does not answer.
    threading.Thread(target=connect, daemon=True).start()
    try:
        found = answers.get(timeout=_CONNECT_SECONDS + 1)
    except Empty as error:
        found = error
    if not isinstance(found, Exception):
        return found
    raise ExecutorError(
        f"A Dask scheduler must answer at {address}. None did within {_CONNECT_SECONDS:.0f} s. Check the address, "
        "and that the scheduler is running (dask scheduler)."
    ) from found


def _wait_for_workers(client: Any, address: str, say: Callable[[str], None]) -> None:
    if DaskCluster(client).size:
        return
    say(f"The Dask cluster at {address} has no workers yet. Waiting {_WORKER_SECONDS:.0f} s for the first.")
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError as error:
        raise ExecutorError(
            f"The Dask cluster at {address} must have workers. It has none after {_WORKER_SECONDS:.0f} s. Start some "
            f"(dask worker {address}), then run this again."
        ) from error
