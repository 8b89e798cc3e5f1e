"""File lock: held on an open file until it is closed, or its process has ended, whatever that ended by.

A forked child holds its parent's lock too, so the lock is a system call on the open file: closing it there lets go of
nothing.
"""

from __future__ import annotations

import errno
import os
from importlib import import_module
from typing import Any


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:  # of another system
        return None


_fcntl, _msvcrt = _module("fcntl"), _module("msvcrt")
#: Windows locks bytes and keeps other processes from reading them: here one that lies behind any content.
_BYTE = 1 << 30


def lock_file(file: int) -> None:
    """Lock an open file.

    Raise BlockingIOError if it is locked already, and another OSError where files cannot be locked.
    """
    if _fcntl is not None:
        _fcntl.flock(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    elif _msvcrt is not None:
        os.lseek(file, _BYTE, os.SEEK_SET)
        try:
            _msvcrt.locking(file, _msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, "The file is locked") from error
        finally:
            os.lseek(file, 0, os.SEEK_END)
    else:
        raise OSError(errno.ENOTSUP, "Files cannot be locked on this system")


def is_locked(file: int) -> bool:
    """Whether another open file of this name holds the lock; raise OSError where files cannot be locked."""
    try:
        if _fcntl is not None:
            _fcntl.flock(file, _fcntl.LOCK_SH | _fcntl.LOCK_NB)  # shared, so that two may ask at once
            _fcntl.flock(file, _fcntl.LOCK_UN)
        else:
            lock_file(file)
            os.lseek(file, _BYTE, os.SEEK_SET)
            _msvcrt.locking(file, _msvcrt.LK_UNLCK, 1)
    except BlockingIOError:
        return True
    return False
