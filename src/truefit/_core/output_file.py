"""Output files: a new file takes the place of the old one only once it is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from truefit._core.errors import InvalidInput, TruefitError, WriteFailed

#: No space, or a failing disk: another name in the same folder would not help.
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file to write to; it replaces ``path`` when the block ends without an error.

    On an error the old file is unchanged and the temporary one is deleted. A new file can be read and written by its
    owner only; an existing one keeps its mode. A link is followed.
    """
    target = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(prefix=".truefit-", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise not_written(path, error) from error
    temporary = Path(name)
    try:
        yield temporary
        _copy_mode(temporary, target)
        os.replace(temporary, target)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def not_written(path: Path, error: OSError) -> TruefitError:
    """Return the error that says why a file could not be written."""
    if error.errno in _NO_SPACE:
        return WriteFailed(
            f"{path} could not be written: {error.strerror}. The old file is unchanged. Free some space, or name a "
            "file on another disk."
        )
    return InvalidInput(f"{path} could not be written: {error.strerror}. Name another file.")


def _copy_mode(temporary: Path, target: Path) -> None:
    """Give a new file the mode of the one that it replaces, and flush it to the disk."""
    old = target.stat() if target.exists() else None
    with temporary.open("rb+") as file:
        if old is not None and hasattr(os, "fchown"):
            with contextlib.suppress(PermissionError):  # a file of another owner that we may write keeps its readers
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
        temporary.chmod(0o600 if old is None else stat.S_IMODE(old.st_mode))
        os.fsync(file.fileno())
