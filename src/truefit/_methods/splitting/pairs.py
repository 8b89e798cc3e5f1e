"""Pairs of training and test rows in little memory: leave-one-out takes none, many others go on in a temporary file."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from truefit._core.errors import StoreDamaged, StoreUnusable
from truefit._core.rows import Rows, smallest_int

Pair = tuple[Rows, Rows]  # to train on, to test on

#: Enough for what ordinary runs hold, and little beside what importing takes.
HELD_BYTES = 1 << 20
_BLOB_BYTES = 41  # what Python takes for one beyond its content


class LeaveOneOutPairs:
    """Each row of a table of n as the test set, with the other rows as the training set; nothing is stored."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._dtype = smallest_int(n - 1)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, place: int) -> Pair:
        row = np.array([range(self.n)[place]], self._dtype)
        return Rows(row, self.n), Rows(row, None)

    def __iter__(self) -> Iterator[Pair]:
        return map(self.__getitem__, range(self.n))


class PackedPairs:
    """Pairs as bytes in a list that spills to disk: designs of many thousands of splits need little memory."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._blobs = BlobList()
        for pair in pairs:
            self._blobs.append(pickle.dumps(pair, pickle.HIGHEST_PROTOCOL))

    def __len__(self) -> int:
        return len(self._blobs)

    def __getitem__(self, place: int) -> Pair:
        pair: Pair = pickle.loads(self._blobs[place])
        return pair

    def __iter__(self) -> Iterator[Pair]:
        return map(pickle.loads, self._blobs)


class BlobList(Sequence[bytes]):
    """A growing list of blobs whose memory stays below a limit, but for 8 bytes per blob."""

    def __init__(self, blobs: Iterable[bytes] = (), *, limit_bytes: int = HELD_BYTES) -> None:
        self._limit = limit_bytes
        self._free = limit_bytes
        self._held: list[bytes] = []
        self._file: int | None = None  # a descriptor: the file has no name, and goes with the list
        self._owner = os.getpid()
        self._ends = array("Q")  # of the blobs in the file
        for blob in blobs:
            self.append(blob)

    def append(self, blob: bytes) -> None:
        """Put a blob at the end."""
        needed = len(blob) + _BLOB_BYTES
        if self._file is None and needed <= self._free:
            self._held.append(blob)
            self._free -= needed
            return
        if os.getpid() != self._owner:
            # After a fork both processes would write over each other.
            raise StoreUnusable("A list in a temporary file must be used by the process that made it. Got a fork.")
        try:
            self._write(blob)
        except OSError as error:
            raise StoreUnusable(
                "A run too large to be held in memory must be able to write to the temporary folder. Got for "
                f"{tempfile.gettempdir()}: {error.strerror or error}. Free space there, or set TMPDIR to a folder with "
                "more."
            ) from error

    def _write(self, blob: bytes) -> None:
        if self._file is None:
            with tempfile.TemporaryFile(buffering=0) as file:
                self._file = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._file)
        place = self._ends[-1] if self._ends else 0
        rest = memoryview(blob)
        while rest:
            written = _write_at(self._file, rest, place)
            rest, place = rest[written:], place + written
        self._ends.append(place)

    def __len__(self) -> int:
        return len(self._held) + len(self._ends)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        beyond = range(len(self))[place] - len(self._held)
        if beyond < 0:
            return self._held[beyond]
        assert self._file is not None
        start, end = self._ends[beyond - 1] if beyond else 0, self._ends[beyond]
        blob = b""
        while len(blob) < end - start:  # one call reads 2 GiB at most
            more = _read_at(self._file, end - start - len(blob), start + len(blob))
            if not more:
                raise StoreDamaged("A temporary file must read back as written. Got less of it; run again.")
            blob += more
        return blob

    def __reduce__(self) -> tuple[Any, ...]:
        # The file stays in its process, so a pickle takes the blobs along.
        return partial(BlobList, limit_bytes=self._limit), (list(self),)


_position = threading.Lock()


def _write_at(file: int, content: memoryview, place: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, content, place)
    with _position:  # Windows: the position is the open file's, so that threads take turns
        os.lseek(file, place, os.SEEK_SET)
        return os.write(file, content)


def _read_at(file: int, size: int, place: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, size, place)
    with _position:
        os.lseek(file, place, os.SEEK_SET)
        return os.read(file, min(size, 1 << 30))
