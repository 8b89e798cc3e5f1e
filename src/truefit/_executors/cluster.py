"""Cluster: the Dask cluster behind an executor."""

from __future__ import annotations

import pkgutil
from collections.abc import Hashable
from concurrent import futures
from typing import Any

#: Seconds that the scheduler has for an answer; it takes milliseconds unless it is gone or stopped.
_ANSWER_SECONDS = 5.0
#: What to do when a cluster is gone.
NEW_CLUSTER = "Use a running cluster: another --cluster address, or a new Engine with its executor."


class Cluster:
    """What a Dask client knows of its workers, and care for those on this machine.

    A ``LocalCluster`` starts a worker anew when it dies, but closes it for good if it happens to be down some seconds
    after any of its deaths (``distributed.deploy.lost-worker-timeout``, 15 s). Where several fits kill their workers,
    or the machine is too busy to start one in time, it would lose them all and wait forever.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._local = _local_cluster(client)
        self._held: set[Hashable] = set() if self._local is None else set(self._local.workers)

    @classmethod
    def behind(cls, executor: futures.Executor) -> Cluster | None:
        """Return the cluster that an executor submits to, if it is Dask's."""
        client = getattr(executor, "_client", None)
        return cls(client) if hasattr(client, "nthreads") else None

    @property
    def name(self) -> str:
        """What it is called in messages."""
        scheduler = getattr(self._client, "scheduler", None)
        return f"Dask cluster at {getattr(scheduler, 'address', 'an unknown address')}"

    @property
    def local(self) -> bool:
        """Whether its workers are on this machine, and are started again when they die."""
        return self._local is not None

    @property
    def width(self) -> int | None:
        """How many fits it runs at once; None if the scheduler does not answer."""
        if self.lost is not None:
            return None
        try:
            threads = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER_SECONDS)
        except Exception:  # Dask raises many kinds: OSError, CommClosedError, TimeoutError
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
        place = f"{package}:__version__"
        found = self._client.run(pkgutil.resolve_name, place, on_error="return")
        return {version for version in found.values() if isinstance(version, str)}

    def mend(self) -> None:
        """Let a cluster on this machine have as many workers as it is meant to have, if it gave up some of them."""
        if self._local is not None:
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


def _local_cluster(client: Any) -> Any:
    # Elsewhere workers are jobs of a queue or pods, and to ask for more of them may cost money.
    cluster = getattr(client, "cluster", None)
    local = any(base.__module__ == "distributed.deploy.local" for base in type(cluster).__mro__)
    return cluster if local else None
