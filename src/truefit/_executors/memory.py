"""Memory: how much of it a worker may use, how much a process has, and for how many workers there is enough."""

from __future__ import annotations

import mmap
import re
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from scipy.sparse import issparse

from truefit._core.data import Data
from truefit._core.errors import Failure, InvalidInput
from truefit._core.outcome import Outcome

try:
    import resource
except ImportError:  # Windows
    resource: Any = None  # type: ignore[no-redef]

#: A worker takes some 150 MB before its first fit.
LEAST_BYTES = 256 * 10**6

_PROC = Path("/proc")
_PAGE = mmap.PAGESIZE
#: What a worker takes before it has a job, and how often it may have its training rows: as they come, and as an
#: estimator likes to have them.
_WORKER_BYTES = 150 << 20
_COPIES = 2

_GROUP = Path("/sys/fs/cgroup")
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_memory(memory: Any) -> int | None:
    """Read a memory limit: bytes, or text such as "500MB", "4GB" or "2GiB"; None for no limit.

    Examples
    --------
    >>> parse_memory("4GB"), parse_memory("2GiB"), parse_memory(500_000_000), parse_memory(None)
    (4000000000, 2147483648, 500000000, None)
    """
    if memory is None:
        return None
    found: float | None = None
    if isinstance(memory, str):
        read = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i)?b?|b)?\s*", memory.lower())
        if read is not None:
            base = 1024 if read.group(3) else 1000
            found = float(read.group(1)) * base ** _UNITS[read.group(2) or ""]
    elif isinstance(memory, int) and not isinstance(memory, bool):
        found = float(memory)
    if found is None or not found > 0:
        raise InvalidInput(
            "The 'memory' parameter must be a number of bytes, or text such as '500MB', '4GB' or '2GiB'. "
            f"Got {memory!r} instead."
        )
    if found < LEAST_BYTES:
        raise InvalidInput(
            f"The 'memory' parameter must be at least {format_bytes(LEAST_BYTES)}: a worker process takes some 150 MB "
            f"before its first fit. Got {memory!r} instead."
        )
    return int(found)


def format_bytes(size: int) -> str:
    """Return a number of bytes as a message puts it.

    Examples
    --------
    >>> format_bytes(4_000_000_000), format_bytes(2 << 30), format_bytes(256_000_000)
    ('4 GB', '2 GiB', '256 MB')
    """
    if size % (1 << 20) == 0:
        return f"{size / (1 << 30):.3g} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"
    return f"{size / 10**9:.3g} GB" if size >= 10**9 else f"{size / 10**6:.3g} MB"


def exceeds(pid: int, limit: int) -> bool:
    """Whether a process has, with those that it has started, more than some bytes for itself."""
    if memory_of(pid) <= limit:
        return False
    tree = _process_tree(pid)
    if len(tree) == 1:
        return True
    # Pages that a forked child still shares with its parent were counted for each; this is slower, and does not.
    proportional = [_shared_memory_part(each) for each in tree]
    return sum(each for each in proportional if each is not None) > limit or None in proportional


def memory_of(pid: int) -> int:
    """Return the bytes that a process and those started by it have for themselves; 0 when it is gone.

    Pages of files, such as those of the data that all workers share, do not count.
    """
    if not (_PROC / "self" / "statm").exists():
        return _memory_by_psutil(pid)
    total = 0
    for each in _process_tree(pid):
        with suppress(OSError, ValueError):
            resident, shared = (_PROC / str(each) / "statm").read_text().split()[1:3]
            total += (int(resident) - int(shared)) * _PAGE
    return total


def _process_tree(pid: int) -> list[int]:
    """Return a process and its descendants, as far as the system names them."""
    found = [pid]
    for each in found:
        with suppress(OSError, ValueError):
            for thread in (_PROC / str(each) / "task").iterdir():
                found.extend(map(int, (thread / "children").read_text().split()))
    return found


def _shared_memory_part(pid: int) -> int | None:
    """Return the anonymous memory of a process, of pages shared with others its part; None where it is not known."""
    try:
        read = re.search(r"Pss_Anon:\s+(\d+) kB", (_PROC / str(pid) / "smaps_rollup").read_text())
    except FileNotFoundError:
        return 0 if (_PROC / "self" / "smaps_rollup").exists() else None
    except OSError:  # it has just ended
        return 0
    return None if read is None else int(read.group(1)) << 10


def _memory_by_psutil(pid: int) -> int:
    import psutil

    try:
        process = psutil.Process(pid)
        return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))
    except psutil.Error:
        return 0


def limit_allocations(limit: int) -> None:
    """Let this process allocate no more than the limit from now on: a larger allocation raises MemoryError.

    The parent measures the memory in use some times a second; this stops a single allocation that is far too large.
    """
    status = _PROC / "self" / "status"
    if resource is None or not status.exists():
        return
    used = re.search(r"VmData:\s+(\d+) kB", status.read_text())
    if used is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = (int(used.group(1)) << 10) + limit
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def memory_failure(limit: int, detail: str = "It was stopped with its worker.") -> Failure:
    """Return the failure of a fit that used too much memory."""
    return Failure(
        "memory",
        f"The fit used more than the memory limit of {format_bytes(limit)} (Engine(memory=...)). {detail} Raise the "
        "limit with fewer workers, or fit a smaller model or fewer rows.",
    )


def with_memory_limit(outcomes: list[Outcome], limit: int) -> list[Outcome]:
    """Name the limit in the failures of fits that ran out of memory under it."""
    for outcome in outcomes:
        if outcome.error is not None and outcome.error.kind == "memory":
            failure = memory_failure(limit, f"{outcome.error.message}.")
            outcome.error = replace(failure, traceback=outcome.error.traceback)
    return outcomes


def workers_within_memory(workers: int, data: Data, available: int | None = None) -> int:
    """Return how many of some workers there is memory for, at least one; fewer than wanted with a warning.

    ``available`` are the free bytes, by default those that the system reports. Where it reports none, there is memory
    for all.

    Examples
    --------
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> workers_within_memory(8, data, available=1 << 40)
    8
    """
    left = available_memory() if available is None else available
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


def available_memory() -> int | None:
    """Return the bytes that processes of this machine, or of this container, can still have; None if not known."""
    known = [each for each in (_machine_memory(), _container_memory()) if each is not None]
    return min(known, default=None)


def _machine_memory() -> int | None:
    try:
        import psutil
    except ImportError:  # it needs modules that a Python built for a small system may lack
        return None
    return int(psutil.virtual_memory().available)


def _container_memory() -> int | None:
    limit, used = _GROUP / "memory.max", _GROUP / "memory.current"
    if not (limit.exists() and used.exists()) or limit.read_text().strip() == "max":
        return None
    return max(0, int(limit.read_text()) - int(used.read_text()))
