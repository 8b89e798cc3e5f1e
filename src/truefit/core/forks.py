"""Forks: a process that a fit has forked ends where the fit ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def forks_end_here() -> Iterator[None]:
    """Run code that may fork: a child that comes back from it ends at once.

    Such a child is a copy of this process. It would go on with the run: fit the same things, write to the store,
    answer in the place of its parent, and remove its parent's temporary files when it ends.
    """
    owner = os.getpid()
    code = 1
    try:
        yield
        code = 0
    finally:
        if os.getpid() != owner:
            os._exit(code)  # no handlers, no buffers: they are the parent's
