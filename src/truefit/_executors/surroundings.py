"""Surroundings: what a fit can see besides its job and its data, and so must be alike wherever it runs."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn

#: In the environment, so that processes started by a fit in a worker know it too.
MARKER = "TRUEFIT_WORKER"

_thread = threading.local()


def inside_worker() -> bool:
    """Whether this code runs on behalf of an executor, in one of its workers; more workers would be too many.

    Examples
    --------
    >>> inside_worker()
    False
    """
    return MARKER in os.environ or getattr(_thread, "depth", 0) > 0


@contextmanager
def as_worker() -> Iterator[None]:
    """Let this thread be known as a worker while a job runs in it."""
    _thread.depth = getattr(_thread, "depth", 0) + 1
    try:
        yield
    finally:
        _thread.depth -= 1


@dataclass(frozen=True)
class Surroundings:
    """Settings of scikit-learn and numpy, warning filters, import path and folder of the process that asks."""

    config: dict[str, Any]
    numpy_errors: dict[str, Any]
    filters: list[tuple[Any, ...]]
    path: list[str]
    folder: str | None

    @classmethod
    def here(cls) -> Surroundings:
        """Return those of this thread."""
        try:
            folder = os.getcwd()
        except OSError:  # removed under our feet
            folder = None
        path = [entry for entry in sys.path if isinstance(entry, str)]
        return cls(sklearn.get_config(), dict(np.geterr()), list(warnings.filters), path, folder)

    def settle(self) -> None:
        """Make them this process's own, for good: for a worker that does nothing else."""
        if sys.path != self.path:
            sys.path[:] = self.path
        if self.folder is not None:
            with suppress(OSError):
                os.chdir(self.folder)
        sklearn.set_config(**self.config)
        np.seterr(**self.numpy_errors)
        if warnings.filters != self.filters:
            warnings.resetwarnings()
            warnings.filters.extend(self.filters)  # type: ignore[attr-defined]

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Apply what can be applied for a while, in a process that belongs to somebody else."""
        with sklearn.config_context(**self.config), np.errstate(**self.numpy_errors):
            # Filters are the whole process's: where other threads run they must not be touched.
            if threading.current_thread() is not threading.main_thread() or warnings.filters == self.filters:
                yield
                return
            with warnings.catch_warnings():
                warnings.resetwarnings()
                warnings.filters.extend(self.filters)  # type: ignore[attr-defined]
                yield
