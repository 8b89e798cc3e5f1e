"""Rows: which rows of a table, as a lazy sorted multiset."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from truefit._core.hashing import rowset_id

#: The identity of so few rows is worked out as fast as it is found: leave-one-out has as many of them as rows.
_FEW = 16

IntArray = npt.NDArray[np.integer]


def smallest_int(largest: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned integer type that holds ``largest``."""
    return np.min_scalar_type(max(int(largest), 0))


class Rows:
    """A sorted multiset of row positions, held as what is shorter: the rows, or those left out.

    ``Rows.without(n, i)`` for every i of a table is what leave-one-out needs; as explicit index
    arrays that would take n² numbers.

    Examples
    --------
    >>> Rows.all(4)
    Rows.all(4)
    >>> Rows.of([2, 0, 2])
    Rows.of([0, 2, 2])
    >>> Rows.without(5, [1, 3]).index
    array([0, 2, 4])
    >>> len(Rows.without(5, [1, 3])), 1 in Rows.without(5, [1, 3])
    (3, False)
    """

    __slots__ = ("_digest", "_rowset", "listed", "total")

    def __init__(self, listed: IntArray, total: int | None) -> None:
        self.listed = listed  # sorted; the rows themselves, or those left out of range(total)
        self.total = total  # None: `listed` are the rows; else the table's length
        self._digest: tuple[object, tuple[int, int]] | None = None
        self._rowset: tuple[object, bytes] | None = None

    @classmethod
    def all(cls, n: int) -> Rows:
        """Every row of a table of ``n``."""
        return cls(np.empty(0, dtype=np.uint8), int(n))

    @classmethod
    def of(cls, index: Iterable[int] | npt.ArrayLike) -> Rows:
        """Return the rows at ``index``; a row named twice counts twice."""
        array = np.asarray(index if isinstance(index, np.ndarray) else list(index))  # type: ignore[arg-type]
        if array.size and array.dtype.kind not in "iu":
            if array.dtype.kind != "b":
                raise TypeError(f"Row positions must be integers. Got {array.dtype} instead.")
            array = np.flatnonzero(array)
        array = np.sort(array, axis=None)
        if array.size and int(array[0]) < 0:
            raise ValueError(f"Row positions must not be negative. Got {int(array[0])}.")
        largest = int(array[-1]) if array.size else 0
        return cls(array.astype(smallest_int(largest), copy=False), None)

    @classmethod
    def without(cls, n: int, index: int | Iterable[int] | npt.ArrayLike) -> Rows:
        """Return all rows of a table of ``n`` but those at ``index``."""
        left_out = np.array([index]) if isinstance(index, int) else np.unique(np.atleast_1d(np.asarray(index)))
        if left_out.size and (int(left_out[0]) < 0 or int(left_out[-1]) >= n):
            raise ValueError(f"Rows left out must lie in 0..{n - 1}. Got {left_out[[0, -1]].tolist()}.")
        return cls(left_out.astype(smallest_int(max(n - 1, 0)), copy=False), int(n))

    @classmethod
    def train_of(cls, n: int, train: IntArray) -> Rows:
        """Return ``train`` rows of a table of ``n`` in whichever form is shorter."""
        if 2 * len(train) <= n:
            return cls.of(train)
        mask = np.ones(n, dtype=bool)
        mask[train] = False
        if len(train) != n - int(mask.sum()):  # a multiset has no complement
            return cls.of(train)
        return cls.without(n, np.flatnonzero(mask))

    @property
    def whole(self) -> bool:
        """Whether these are known to be all rows of the table."""
        return self.total is not None and len(self.listed) == 0

    @property
    def index(self) -> npt.NDArray[np.intp]:
        """The positions in ascending order, made anew each time for a complement."""
        if self.total is None:
            return self.listed.astype(np.intp)
        mask = np.ones(self.total, dtype=bool)
        mask[self.listed] = False
        return np.flatnonzero(mask)

    @property
    def nbytes(self) -> int:
        """What the positions take in memory."""
        return int(self.listed.nbytes)

    def digest(self, tokens: npt.NDArray[np.uint64], total: tuple[int, int]) -> tuple[int, int]:
        """Sum of the rows' tokens; for a complement the table's total less those left out."""
        if self._digest is not None and self._digest[0] is tokens:
            return self._digest[1]
        listed = self.listed
        first, second = tokens[listed[0]].tolist() if len(listed) == 1 else add_tokens(tokens[listed])
        if self.total is not None:
            if self.total != len(tokens):
                raise ValueError(f"Rows of a table of {self.total} were used with one of {len(tokens)}.")
            first, second = (total[0] - first) % 2**64, (total[1] - second) % 2**64
        self._digest = tokens, (first, second)
        return first, second

    def rowset(self, tokens: npt.NDArray[np.uint64]) -> bytes:
        """Identity of the rows in ascending order of position."""
        if self._rowset is not None and self._rowset[0] is tokens:
            return self._rowset[1]
        rowset = rowset_id(tokens[self.index])
        if len(self) > _FEW:
            self._rowset = tokens, rowset
        return rowset

    def __len__(self) -> int:
        return len(self.listed) if self.total is None else self.total - len(self.listed)

    def __contains__(self, position: object) -> bool:
        if self.total is None:
            return bool(np.any(self.listed == position))
        return 0 <= position < self.total and not np.any(self.listed == position)  # type: ignore[operator]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        if self.total == other.total:
            return np.array_equal(self.listed, other.listed)
        return len(self) == len(other) and np.array_equal(self.index, other.index)

    def __hash__(self) -> int:
        return hash(len(self))

    def __getstate__(self) -> tuple[IntArray, int | None]:
        return self.listed, self.total

    def __setstate__(self, state: tuple[IntArray, int | None]) -> None:
        self.listed, self.total = state
        self._digest = self._rowset = None

    def __repr__(self) -> str:
        if self.total is None:
            return f"Rows.of({self.listed.tolist()})"
        return f"Rows.without({self.total}, {self.listed.tolist()})" if len(self.listed) else f"Rows.all({self.total})"


def add_tokens(tokens: npt.NDArray[np.uint64]) -> tuple[int, int]:
    """Sum two-lane tokens modulo 2^64 in each lane."""
    lanes = tokens.sum(axis=0, dtype=np.uint64)
    return int(lanes[0]), int(lanes[1])
