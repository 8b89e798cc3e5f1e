"""Many training and test sets in little memory: for designs of thousands of splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct

import numpy as np

from truefit._core.rows import Rows, smallest_int
from truefit._core.spill import BlobList
from truefit._methods.splitting.splits import Pair

#: Of packed rows: length of the table if they are known by what they leave out, else -1; how many are listed, or -1
#: for the same list as the rows before; bytes of a gap, and of a position.
_HEAD = Struct("<qqBB")
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


class PackedPairs:
    """Pairs of rows to train on and rows to test on, each unpacked when it is read.

    Rows are stored as the gaps between them, which mostly are a byte each, in a list that spills to disk: so a run of
    many thousands of fits needs little memory.

    Examples
    --------
    >>> PackedPairs([(Rows.without(300, [7, 260]), Rows.of([7, 260]))])[0]
    (Rows.without(300, [7, 260]), Rows.of([7, 260]))
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._blobs = BlobList()
        for train, test in pairs:
            # Mostly the training rows are the rest of the table: known by the same list, which is not stored again.
            same = train.listed is test.listed
            self._blobs.append(_packed(test) + (_HEAD.pack(_total(train), -1, 1, 1) if same else _packed(train)))

    def __len__(self) -> int:
        return len(self._blobs)

    def __getitem__(self, place: int) -> Pair:
        return _pair(self._blobs[place])

    def __iter__(self) -> Iterator[Pair]:
        return map(_pair, self._blobs)


def _total(rows: Rows) -> int:
    return -1 if rows.total is None else rows.total


def _packed(rows: Rows) -> bytes:
    listed = rows.listed
    gaps = listed.copy()
    gaps[1:] -= listed[:-1]
    gaps = gaps.astype(smallest_int(int(gaps.max(initial=0))))
    return _HEAD.pack(_total(rows), len(gaps), gaps.itemsize, listed.itemsize) + gaps.tobytes()


def _pair(blob: bytes) -> Pair:
    test, end = _unpacked(blob, 0)
    total, count, _, _ = _HEAD.unpack_from(blob, end)
    if count < 0:
        return Rows(test.listed, None if total < 0 else total), test
    return _unpacked(blob, end)[0], test


def _unpacked(blob: bytes, start: int) -> tuple[Rows, int]:
    """Return the rows packed from ``start`` on, and where they end."""
    total, count, gap_bytes, bytes_each = _HEAD.unpack_from(blob, start)
    start += _HEAD.size
    gaps = np.frombuffer(blob, _UNSIGNED[gap_bytes], count, start)
    listed = np.add.accumulate(gaps, dtype=_UNSIGNED[bytes_each])
    return Rows(listed, None if total < 0 else total), start + count * gap_bytes
