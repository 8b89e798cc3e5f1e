"""Width: how many workers the memory that is left allows."""

from __future__ import annotations

import warnings
from pathlib import Path

from scipy.sparse import issparse

from truefit._core.data import Data

#: What a worker takes before it has a job, and how often it may have its training rows: as they come, and as an
#: estimator likes to have them.
_WORKER_BYTES = 150 << 20
_COPIES = 2

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def affordable(workers: int, data: Data, available: int | None = None) -> int:
    """Return how many of some workers there is memory for, at least one; fewer than wanted with a warning.

    Parameters
    ----------
    workers : int
        How many are wanted.
    data : Data
        What each trains on.
    available : int, optional
        Bytes that are left; by default what the system says. Where it does not say, there is memory for all.

    Examples
    --------
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> affordable(8, data, available=1 << 40)
    8
    """
    left = memory_left() if available is None else available
    if workers == 1 or left is None:
        return workers
    needed = _WORKER_BYTES + _COPIES * _table_bytes(data)
    enough_for = max(1, min(workers, left // needed))
    if enough_for < workers:
        warnings.warn(
            f"There is memory for {enough_for} of the {workers} workers: {left >> 20:,} MB are left, and each may need "
            f"{needed >> 20:,}. The others are not started.",
            RuntimeWarning,
            stacklevel=2,
        )
    return enough_for


def _table_bytes(data: Data) -> int:
    if issparse(data.X):
        return 2 * int(data.X.data.nbytes)  # the values, and as much again for where they stand
    return data.n * data.row_bytes


def memory_left() -> int | None:
    """Return the bytes that processes of this machine, or of this container, can still have; None if not known."""
    known = [each for each in (_of_machine(), _of_group()) if each is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    if not _MEMINFO.exists():
        return None
    for line in _MEMINFO.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return None


def _of_group() -> int | None:
    limit, used = _GROUP / "memory.max", _GROUP / "memory.current"
    if not (limit.exists() and used.exists()) or limit.read_text().strip() == "max":
        return None
    return max(0, int(limit.read_text()) - int(used.read_text()))
