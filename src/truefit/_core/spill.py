"""Temporary files for what does not fit into memory: blobs at offsets, and a list of blobs."""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, overload

from truefit._core.errors import StoreDamaged, StoreUnusable

_LENGTH = 8
_AHEAD = 4096  # read at once with the length: most blobs are smaller


class SpillFile:
    """Blobs at offsets in a file that has no name and goes with the process.

    Examples
    --------
    >>> spill = SpillFile()
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


#: Enough for what ordinary runs hold, and little beside what importing takes.
HELD_BYTES = 1 << 20
_BLOB_BYTES = 41  # what Python takes for one beyond its content


class BlobList(Sequence[bytes]):
    """A growing list of blobs whose memory stays below a limit, but for 8 bytes per blob.

    Examples
    --------
    >>> blobs = BlobList([b"one", b"two"], limit_bytes=50)
    >>> blobs.append(b"three")
    >>> len(blobs), blobs[0], blobs[2]
    (3, b'one', b'three')
    """

    def __init__(self, blobs: Iterable[bytes] = (), *, limit_bytes: int = HELD_BYTES) -> None:
        self._limit = limit_bytes
        self._free = limit_bytes
        self._held: list[bytes] = []
        self._spill: SpillFile | None = None
        self._offsets = array("Q")
        for blob in blobs:
            self.append(blob)

    def append(self, blob: bytes) -> None:
        """Put a blob at the end."""
        needed = len(blob) + _BLOB_BYTES
        if self._spill is None and needed <= self._free:
            self._held.append(blob)
            self._free -= needed
            return
        if self._spill is None:
            self._spill = SpillFile()
        self._offsets.append(self._spill.append(blob))

    def __len__(self) -> int:
        return len(self._held) + len(self._offsets)

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        beyond = range(len(self))[place] - len(self._held)
        if beyond < 0:
            return self._held[beyond]
        assert self._spill is not None
        return self._spill.read(self._offsets[beyond])

    def __reduce__(self) -> tuple[Any, ...]:
        # The file stays in its process, so a pickle takes the blobs along.
        return _blob_list, (list(self), self._limit)


def _blob_list(blobs: list[bytes], limit_bytes: int) -> BlobList:
    return BlobList(blobs, limit_bytes=limit_bytes)
