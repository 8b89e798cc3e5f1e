"""Workforce: whether a cluster has workers, looked at while fits wait for them."""

from __future__ import annotations

import time
import warnings

from truefit._core.errors import ExecutorError
from truefit._executors.cluster import NEW_CLUSTER, Cluster
from truefit._executors.ray_executor import RayCluster

#: How often workers are counted, which asks the scheduler.
_COUNT_SECONDS = 5.0
#: After so long without workers there is a warning, and then every hour.
_WARN_AFTER = (5.0, 60.0, 600.0)
_WARN_EVERY = 3600.0
#: Workers of a cluster on this machine may just be restarting.
_RESTART_SECONDS = 60.0
#: A scheduler that has not answered for so long is taken as gone.
_SILENT_SECONDS = 60.0


class Workforce:
    """Counts the workers of a cluster now and then, and warns when there are none.

    That is no error: workers may be jobs in a queue that start in an hour. Where they come, fits go on.
    """

    def __init__(self, cluster: Cluster | RayCluster) -> None:
        self.cluster = cluster
        self.width: int | None = None
        self._next_count = 0.0
        self._silent_since: float | None = None
        self._warned_at = 0.0

    def look(self, idle: float) -> int | None:
        """Return how many fits the cluster runs at once, None if that is not known.

        Parameters
        ----------
        idle : float
            Seconds since a fit was last finished.

        Raises
        ------
        ExecutorError
            If the scheduler does not answer for a long time.
        """
        self.cluster.mend()
        now = time.monotonic()
        if now < self._next_count:
            return self.width
        self.width = self.cluster.width
        self._next_count = time.monotonic() + _COUNT_SECONDS
        if self.width is not None:
            self._silent_since = None
        else:
            self._silent_since = now if self._silent_since is None else self._silent_since
            silent = min(time.monotonic() - self._silent_since, idle)
            if silent >= _SILENT_SECONDS:
                raise ExecutorError(
                    f"The {self.cluster.name} must answer. It has not for {silent:.0f} s: its scheduler is stopped or "
                    f"cannot be reached. {NEW_CLUSTER}"
                )
        if self.width == 0:
            self._warn(idle)
        else:
            self._warned_at = 0.0
        return self.width

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
