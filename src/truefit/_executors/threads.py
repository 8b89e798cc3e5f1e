"""Threads inside a fit: a fixed number, so that results do not depend on how many workers there are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

from truefit._core.errors import InvalidInput

#: Read by the numeric libraries when they are loaded: for workers, where they are loaded late.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class _Limit:
    """Limits that overlap in any order: the newest that is still held counts, and the last to go restores."""

    def __init__(self, user_api: str) -> None:
        self.user_api = user_api
        self._lock = threading.Lock()
        self._held: list[tuple[object, int]] = []
        self._before: dict[str, tuple[Any, int]] = {}  # by the library's file

    def hold(self, threads: int) -> object:
        ticket = object()
        libraries = [lib for lib in _controller().lib_controllers if lib.user_api == self.user_api]
        with self._lock:
            if not self._held:
                self._before = {}
            self._held.append((ticket, threads))
            for lib in libraries:
                self._before.setdefault(lib.filepath, (lib, lib.num_threads))
                lib.set_num_threads(threads)
        return ticket

    def let_go(self, ticket: object) -> None:
        with self._lock:
            self._held = [held for held in self._held if held[0] is not ticket]
            for lib, before in self._before.values():
                lib.set_num_threads(self._held[-1][1] if self._held else before)


class _Cache:
    controller: Any = None
    modules = 0


# BLAS has one setting for the process, OpenMP one for each thread that calls it.
_blas = _Limit("blas")
_openmp = threading.local()


def _controller() -> Any:
    # Looking for the libraries takes milliseconds, and new ones come with new modules only.
    if _Cache.controller is None or _Cache.modules != len(sys.modules):
        _Cache.controller, _Cache.modules = ThreadpoolController(), len(sys.modules)
    return _Cache.controller


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Let BLAS and OpenMP use this many threads, here and now; what was set before comes back afterwards."""
    if not hasattr(_openmp, "limit"):
        _openmp.limit = _Limit("openmp")
    tickets = [(limit, limit.hold(threads)) for limit in (_blas, _openmp.limit)]
    try:
        yield
    finally:
        for limit, ticket in tickets:
            limit.let_go(ticket)


def checked_threads(threads: int, owner: str) -> int:
    """Return a number of threads that can be worked with."""
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise InvalidInput(f"The 'threads' parameter of {owner} must be an int of at least 1. Got {threads!r} instead.")
    return threads
