"""Mark: a file by which a worker shows how far it is, for when it is dead and cannot say."""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from contextlib import suppress
from typing import Any

_HELD, _LOOSE, _STEP = b"h", b"l", b"."
#: A process that is killed lets go of its connections a little before its locks.
_LOOKS, _LOOK_SECONDS = 10, 0.02


class Mark:
    """Made when a worker begins with some jobs, a byte longer with each job that starts, removed when all are done.

    The worker holds a lock on it, which it cannot take into the grave; one that leaves in good order takes its mark
    with it. So a mark that is left means a death, and its length tells of which job. Workers on machines that do not
    share the folder leave no mark.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._file: int | None = None
        self._removal: weakref.finalize[..., Any] | None = None

    @property
    def made(self) -> bool:
        """Whether it was made here."""
        return self._file is not None

    def make(self) -> bool:
        """Make the mark, where that can be done; return False if the worker who made one before is dead."""
        if self.path is None:
            return True
        if self._elsewhere():
            # Its worker was told to leave or is out of reach, and the jobs are wanted from this one now.
            with suppress(OSError):
                os.unlink(self.path)
        try:
            self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        except OSError:  # another machine
            return True
        self._removal = weakref.finalize(self, _remove, self._file, self.path, os.getpid())
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write(_HELD)
        except OSError:  # not on this kind of disk
            self._write(_LOOSE)
        return True

    def step(self) -> None:
        """Note that the next job starts."""
        self._write(_STEP)

    def started(self) -> int | None:
        """Return how many jobs were started, or None if there is no mark."""
        try:
            with open(self.path or "", "rb") as file:
                return file.read().count(_STEP)
        except OSError:
            return None

    def dead(self) -> bool | None:
        """Whether the worker who made it is dead; None if that cannot be known, or if there is no mark."""
        try:
            with open(self.path or "", "rb") as file:
                if file.read(1) != _HELD:
                    return None
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return True
        except BlockingIOError:
            return False
        except OSError:
            return None

    def remove(self) -> None:
        """Take it away: nobody is at work on these jobs any more."""
        if self._removal is not None:
            self._removal()
            self._file = self._removal = None
        elif self.path is not None:
            with suppress(OSError):
                os.unlink(self.path)

    def _elsewhere(self) -> bool:
        for _ in range(_LOOKS):
            if self.dead() is not False:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def _write(self, byte: bytes) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.write(self._file, byte)


def _remove(file: int, path: str, owner: int) -> None:
    if os.getpid() != owner:  # a forked child must leave its parent's mark alone
        return
    with suppress(OSError):
        if os.path.samestat(os.fstat(file), os.stat(path)):  # else somebody has taken over
            os.unlink(path)
    os.close(file)
