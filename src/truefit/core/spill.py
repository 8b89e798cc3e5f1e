"""Spill: an anonymous temporary file to which blobs are appended."""

from __future__ import annotations

import os
import tempfile
import weakref

from truefit.core.errors import StoreDamaged, StoreUnusable

_LENGTH = 8
_AHEAD = 4096  # read at once with the length: most blobs are smaller


class Spill:
    """Blobs at offsets in a file that has no name and goes with the process.

    Examples
    --------
    >>> spill = Spill()
    >>> first, second = spill.append(b"one"), spill.append(b"three")
    >>> spill.read(second), spill.read(first)
    (b'three', b'one')
    >>> spill.close()
    """

    def __init__(self) -> None:
        try:
            with tempfile.TemporaryFile(buffering=0) as file:
                self._fd = os.dup(file.fileno())
        except OSError as error:
            raise _no_room(error) from error
        self._end = 0
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, os.close, self._fd)

    def append(self, blob: bytes) -> int:
        """Write a blob and return the offset by which it is read again."""
        if os.getpid() != self._owner:
            # After a fork both processes would write over each other.
            raise StoreUnusable(
                "A MemoryStore must be used by the process that made it. Got a write from a fork of it. Make "
                "a store there, or share a SqliteStore."
            )
        offset = self._end
        rest = memoryview(len(blob).to_bytes(_LENGTH, "little") + blob)
        place = offset
        try:
            while rest:
                written = os.pwrite(self._fd, rest, place)
                rest, place = rest[written:], place + written
        except OSError as error:
            raise _no_room(error) from error
        self._end = place
        return offset

    def read(self, offset: int, *, most: int | None = None) -> bytes:
        """Return the blob at an offset that ``append`` gave, or its first bytes, ``most`` of them."""
        ahead = os.pread(self._fd, _AHEAD if most is None else _LENGTH + most, offset)
        length = int.from_bytes(ahead[:_LENGTH], "little")
        if most is not None:
            length = min(length, most)
        blob = ahead[_LENGTH : _LENGTH + length]
        while len(blob) < length:  # one call reads 2 GiB at most
            more = os.pread(self._fd, length - len(blob), offset + _LENGTH + len(blob))
            if not more:
                raise StoreDamaged("A temporary file must read back as written. Got less of it; run again.")
            blob += more
        return blob

    def close(self) -> None:
        """Give the file back to the system."""
        self._finalizer()


def _no_room(error: OSError) -> StoreUnusable:
    return StoreUnusable(
        "A run too large to be held in memory must be able to write to the temporary folder. "
        f"Got for {tempfile.gettempdir()}: {error.strerror or error}. What is finished is kept in memory; "
        "free space there, set TMPDIR to a folder with more, or give a MemoryStore a larger limit_bytes."
    )
