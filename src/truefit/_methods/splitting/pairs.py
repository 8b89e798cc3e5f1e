"""Many training and test sets in little memory, and the tasks of a plan in portions of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import overload

import numpy as np

from truefit._core.rows import Rows, smallest_int
from truefit._core.spill import BlobList
from truefit._core.task import FitTask

Pair = tuple[Rows, Rows]  # to train on, to test on

#: Of packed rows: length of the table if they are known by what they leave out, else -1; how many are listed, or -1
#: for the same list as the rows before; bytes of a gap, and of a position.
_HEAD = Struct("<qqBB")
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


class PackedPairs(Sequence[Pair]):
    """Pairs as they were appended, each made anew when it is looked at.

    Rows are kept as the gaps between them, which mostly are a byte each, on a shelf: a run of many thousands of fits
    has its rows on disk.

    Examples
    --------
    >>> pairs = PackedPairs()
    >>> pairs.append(Rows.without(300, [7, 260]), Rows.of([7, 260]))
    >>> pairs[0]
    (Rows.without(300, [7, 260]), Rows.of([7, 260]))
    """

    def __init__(self) -> None:
        self.train_rows = 0  # over all pairs
        self.test_rows = 0
        self._shelf = BlobList()

    def append(self, train: Rows, test: Rows) -> None:
        """Put a pair at the end."""
        self.train_rows += len(train)
        self.test_rows += len(test)
        if train.listed is test.listed:
            packed = _HEAD.pack(_total(train), -1, 1, 1)
        else:
            packed = _packed(train)
        self._shelf.append(_packed(test) + packed)

    def __len__(self) -> int:
        return len(self._shelf)

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> list[Pair]: ...
    def __getitem__(self, place: int | slice) -> Pair | list[Pair]:
        if isinstance(place, slice):
            return [_pair(blob) for blob in self._shelf[place]]
        return _pair(self._shelf[place])

    def __iter__(self) -> Iterator[Pair]:
        return map(_pair, self._shelf)


class LeaveOneOutPairs(Sequence[Pair]):
    """Each row of a table of n by itself to test on, with the rest to train on; nothing is held.

    Examples
    --------
    >>> LeaveOneOutPairs(4)[2]
    (Rows.without(4, [2]), Rows.of([2]))
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.train_rows = n * (n - 1)
        self.test_rows = n
        self._dtype = smallest_int(n - 1)

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> list[Pair]: ...
    def __getitem__(self, place: int | slice) -> Pair | list[Pair]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(self.n))]
        return self._pair(range(self.n)[place])

    def __iter__(self) -> Iterator[Pair]:
        return map(self._pair, range(self.n))

    def _pair(self, place: int) -> Pair:
        row = np.array([place], self._dtype)
        return Rows(row, self.n), Rows(row, None)


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


#: What fills a portion: so many tasks, or so many bytes in their lists of rows.
_TASKS = 2_000
_ROW_BYTES = 8 << 20
#: Leave-one-out may have larger ones: closed forms answer a portion with one factorisation.
_ONE_ROW_TASKS = 21_000


def one_row_portions(n: int) -> Iterator[Rows]:
    """Rows of a table in portions that closed forms of leave-one-out answer at once."""
    for start in range(0, n, _ONE_ROW_TASKS):
        yield Rows.of(np.arange(start, min(start + _ONE_ROW_TASKS, n)))


def portions(tasks: Iterable[FitTask]) -> Iterator[list[FitTask]]:
    """Tasks in portions of bounded size."""
    portion: list[FitTask] = []
    filled = 0.0
    for task in tasks:
        portion.append(task)
        one_row, row_bytes = True, task.train.nbytes
        for ask in task.asks:
            one_row &= len(ask.rows) == 1
            row_bytes += ask.rows.nbytes
        filled += 1 / (_ONE_ROW_TASKS if one_row else _TASKS) + row_bytes / _ROW_BYTES
        if filled >= 1:
            yield portion
            portion, filled = [], 0.0
    if portion:
        yield portion
