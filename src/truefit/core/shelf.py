"""Shelf: blobs by number, the first in memory, those beyond a limit in a temporary file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, overload

from truefit.core.spill import Spill

#: Enough for what ordinary runs put on a shelf, and little beside what importing takes.
SHELF_BYTES = 1 << 20
_BLOB_BYTES = 41  # what Python takes for one beyond its content


class Shelf(Sequence[bytes]):
    """A growing list of blobs whose memory stays below a limit, but for 8 bytes per blob.

    Examples
    --------
    >>> shelf = Shelf([b"one", b"two"], limit_bytes=50)
    >>> shelf.append(b"three")
    >>> len(shelf), shelf[0], shelf[2]
    (3, b'one', b'three')
    """

    def __init__(self, blobs: Iterable[bytes] = (), *, limit_bytes: int = SHELF_BYTES) -> None:
        self._limit = limit_bytes
        self._free = limit_bytes
        self._held: list[bytes] = []
        self._spill: Spill | None = None
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
            self._spill = Spill()
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
        return _shelf_of, (list(self), self._limit)


def _shelf_of(blobs: list[bytes], limit_bytes: int) -> Shelf:
    return Shelf(blobs, limit_bytes=limit_bytes)
