"""Rows of a table: the hash of each (128 bits, two lanes of uint64), and Rows: a lazy sorted multiset of them.

A hash is computed from the row's own content. The sum of the hashes is the digest of a set of rows, so a growing table
keeps the identity of what it held before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truefit._core.typing import Array, Positions

Tokens = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
#: Rows of plain values, of which the bytes count; in a masked array also what is masked.
Block = npt.NDArray[Any]

_CHUNK_BYTES = 1 << 18
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MASKED = np.uint64(0xD1B54A32D192ED03)
#: So many distinct values, or fewer, are found by comparing.
_FEW_VALUES = 32


def row_tokens(blocks: Sequence[Block]) -> Tokens:
    """Hash each row of blocks laid side by side; equal rows differ by their occurrence number."""
    n = len(blocks[0])
    width = sum(block.shape[1] * block.dtype.itemsize for block in blocks)
    keys = _keys(-(-width // 8))
    step = max(1, _CHUNK_BYTES // max(width, 1))
    words = np.empty((min(n, step), len(keys)), dtype="<u8")
    spare = np.empty_like(words)
    sums = np.empty((n, 2), dtype=np.uint64)
    for start in range(0, n, step):
        # Chunk by chunk: one that stays close to the processor is hashed fastest.
        chunk = words[: min(step, n - start)]
        chunk[:, -1:] = 0  # its bytes beyond a row's own
        _lay_side_by_side([block[start : start + step] for block in blocks], chunk.view(np.uint8))
        np.matmul(_spread(chunk, spare[: len(chunk)]), keys, out=sums[start : start + step])
    _add_masks(blocks, sums)
    return _number_occurrences(_blend(sums))


def _add_masks(blocks: Sequence[Block], sums: Tokens) -> None:
    """Let what is masked count, in rows where something is: the others have the tokens of a table without masks."""
    place = 0
    for block in blocks:
        _, width = block.shape
        if isinstance(block, np.ma.MaskedArray):
            places = place + block.dtype.itemsize * np.arange(width, dtype=np.uint64)
            with np.errstate(over="ignore"):
                keys = _scramble(_scramble(np.stack([2 * places, 2 * places + 1], axis=1) + _MASKED))
                sums += np.ma.getmaskarray(block).astype(np.uint64) @ keys
        place += width * block.dtype.itemsize


def _lay_side_by_side(parts: Sequence[Block], rows: Bytes) -> None:
    start = 0
    for part in parts:
        width = part.shape[1] * part.dtype.itemsize
        rows[:, start : start + width] = _as_bytes(part)
        start += width


def _as_bytes(rows: Block) -> Bytes:
    return np.ascontiguousarray(np.asarray(rows)).view(np.uint8).reshape(len(rows), -1)


def _keys(words: int) -> Tokens:
    """Factors of the words of a row, one for each lane, without any pattern and always the same."""
    with np.errstate(over="ignore"):
        places = np.arange(1, 2 * words + 1, dtype=np.uint64) * _GOLDEN
    return _scramble(places).reshape(words, 2) | np.uint64(1)


def _spread(words: Tokens, spare: Tokens) -> Tokens:
    """Let each bit of a word change others above and below it, in place."""
    # Numbers with few digits differ in their high bits only, which a product carries to higher ones alone. The first
    # shift is no width of a number: two in one word that change alike would cancel.
    np.right_shift(words, np.uint64(29), out=spare)
    np.bitwise_xor(words, spare, out=words)
    np.multiply(words, np.uint64(0xBF58476D1CE4E5B9), out=words)
    np.right_shift(words, np.uint64(32), out=spare)
    return np.bitwise_xor(words, spare, out=words)


def _blend(sums: Tokens) -> Tokens:
    """Turn sums over words into tokens, one to one: otherwise two rows that swap a value would have the same sum."""
    with np.errstate(over="ignore"):
        first = _scramble(sums[:, 0] + _scramble(sums[:, 1]))
        second = _scramble(sums[:, 1] + first)
        first ^= _scramble(second + _GOLDEN)
    return np.stack([first, second], axis=1)


def _number_occurrences(tokens: Tokens) -> Tokens:
    first = np.sort(tokens[:, 0])
    if not (first[1:] == first[:-1]).any():  # as in most tables: a quarter of the time of the sort below
        return tokens
    order = np.lexsort((np.arange(len(tokens)), tokens[:, 1], tokens[:, 0]))
    ordered = tokens[order]
    again = np.zeros(len(tokens), dtype=bool)
    again[1:] = (ordered[1:] == ordered[:-1]).all(axis=1)
    if not again.any():
        return tokens
    starts = np.flatnonzero(~again)
    occurrence = np.arange(len(tokens)) - np.repeat(starts, np.diff(np.append(starts, len(tokens))))
    tokens = tokens.copy()
    for place in np.flatnonzero(occurrence):
        row = order[place]
        digest = blake2b(tokens[row].tobytes() + int(occurrence[place]).to_bytes(8, "little"), digest_size=16)
        tokens[row] = np.frombuffer(digest.digest(), dtype="<u8")
    return tokens


def rowset_id(tokens: Tokens) -> bytes:
    """Identity of a list of rows in its order."""
    return blake2b(np.ascontiguousarray(tokens).data, digest_size=16).digest()


def mix(tokens: Tokens, other: Tokens) -> Tokens:
    """Combine tokens row by row into new ones: for labels put in the place of others, groups, and shuffles."""
    # One lane after the other in memory: numpy goes through rows of two numbers at half its speed.
    lanes = np.empty(tokens.shape[::-1], dtype=np.uint64)
    with np.errstate(over="ignore"):
        np.bitwise_xor(tokens.T, _scramble(other + _GOLDEN).T, out=lanes)
        first, second = lanes = _scramble(lanes)
        second += _scramble(first)
        first ^= _scramble(second)
    return lanes.T


def salted(tokens: Tokens, salt: str) -> Tokens:
    """Combine every token with one text: random numbers that follow from the rows' content and a seed."""
    digest = blake2b(salt.encode(), digest_size=16).digest()
    return mix(tokens, np.frombuffer(digest, dtype="<u8").reshape(1, 2))


def _scramble(x: Tokens) -> Tokens:
    # the finaliser of splitmix64
    x = x ^ (x >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def value_tokens(values: Array) -> Tokens:
    """Token of each value of a one-dimensional array (labels, groups)."""
    few = few_values(values)
    if few is None:
        distinct, places = _distinct_rows(values)
    else:
        distinct, places = few, np.zeros(len(values), dtype=np.intp)
        for place, value in enumerate(few[1:], start=1):
            places[values == value] = place
    block, kind = array_block(distinct.reshape(len(distinct), -1))
    person = blake2b(kind.encode(), digest_size=16).digest()
    digests = b"".join(blake2b(row.tobytes(), digest_size=16, person=person).digest() for row in _as_bytes(block))
    table = np.frombuffer(digests, dtype="<u8").reshape(-1, 2).astype(np.uint64)
    return table.take(places, axis=0)


def few_values(values: Array) -> Array | None:
    """Return the values that occur, where they are few; None where not, or where equal ones may have other bytes."""
    if values.ndim != 1 or values.dtype.kind not in "biuU":
        return None
    few: list[Any] = []
    left = values
    while len(left):  # each time through is faster than a step of sorting
        if len(few) == _FEW_VALUES:
            return None
        few.append(left[0])
        left = left[left != left[0]]
    return np.array(few, dtype=values.dtype)


def _distinct_rows(values: Array) -> tuple[Array, Positions]:
    """Return one of each of the values that have the same bytes, and for each value which that is."""
    block, _ = array_block(values.reshape(len(values), -1))
    rows = _as_bytes(block)
    if rows.shape[1] == 8:  # a number of the usual size, whose bytes are sorted far faster as another
        rows = rows.view(np.uint64)
    _, first, places = np.unique(rows, axis=0 if rows.shape[1] > 1 else None, return_index=True, return_inverse=True)
    return values[first], np.asarray(places).reshape(-1)


def plain_numbers(values: Array) -> Array:
    """Return numbers as an array of which all bytes count.

    Those of a long double do not: some are padding, and hold whatever was in memory before. It is replaced by its
    exponent and its mantissa in three parts, which hold all of it on any machine.
    """
    if values.dtype.kind == "c" and values.dtype.itemsize > 16:
        return np.concatenate([plain_numbers(values.real), plain_numbers(values.imag)], axis=1)
    if values.dtype.kind != "f" or values.dtype.itemsize <= 8:
        return values
    rest, exponent = np.frexp(values)
    parts = [exponent.astype(np.float64)]
    with np.errstate(invalid="ignore"):  # of an infinity nothing is left but a NaN
        for _ in range(3):
            parts.append(rest.astype(np.float64))
            rest = rest - parts[-1]
    return np.concatenate([np.where(np.isnan(part), np.nan, part) for part in parts], axis=1)


def array_block(array: Array) -> tuple[Block, str]:
    """Block of a two-dimensional array, and the kind, which distinguishes equal bytes of other types."""
    if array.dtype.kind in "biufcmM":
        return plain_numbers(array), array.dtype.str
    from truefit._core.columns import object_block

    columns = [object_block(array[:, j].tolist()) for j in range(array.shape[1])]
    block = np.concatenate([np.empty((len(array), 0), np.uint8), *(column for column, _ in columns)], axis=1)
    if array.dtype.kind in "SU":
        return block, "str"
    return block, " ".join([str(array.dtype), *sorted({kind for _, kind in columns} - {"object"})])


def table_blocks(X: Any) -> tuple[list[Block], str]:
    """Blocks of the rows of any kind of X, and its schema."""
    if sparse.issparse(X):
        return [_sparse_block(X)], f"sparse {X.dtype.str} {X.shape[1]}"
    if isinstance(X, np.ndarray):
        block, kind = array_block(X if X.ndim == 2 else X.reshape(len(X), -1))
        return [block], f"array {kind} {X.shape[1:]}"
    from truefit._core.columns import pandas_blocks, polars_blocks

    return polars_blocks(X) if type(X).__module__.startswith("polars") else pandas_blocks(X)


def _sparse_block(X: Any) -> Bytes:
    rows = X.tocsr(copy=True)
    rows.sum_duplicates()
    bounds = rows.indptr
    indices = rows.indices.astype(np.int64, copy=False)
    values = plain_numbers(rows.data.reshape(-1, 1))
    digests = [
        blake2b(indices[a:b].tobytes() + values[a:b].tobytes(), digest_size=16).digest() for a, b in pairwise(bounds)
    ]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), 16)


#: The identity of so few rows is computed as fast as it is looked up: leave-one-out has as many of them as rows.
_FEW = 16

IntArray = npt.NDArray[np.integer]


def smallest_int(largest: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned integer type that holds ``largest``."""
    return np.min_scalar_type(max(int(largest), 0))


class Rows:
    """A sorted multiset of row positions, held as what is shorter: the rows, or those left out.

    ``Rows.without(n, i)`` for every i of a table is what leave-one-out needs; as explicit index
    arrays that would take n² numbers.

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
    def index(self) -> Positions:
        """The positions in ascending order, computed each time for a complement."""
        if self.total is None:
            return self.listed.astype(np.intp)
        mask = np.ones(self.total, dtype=bool)
        mask[self.listed] = False
        return np.flatnonzero(mask)

    @property
    def nbytes(self) -> int:
        """What the positions take in memory."""
        return int(self.listed.nbytes)

    def digest(self, tokens: Tokens, total: tuple[int, int]) -> tuple[int, int]:
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

    def rowset(self, tokens: Tokens) -> bytes:
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


def add_tokens(tokens: Tokens) -> tuple[int, int]:
    """Sum two-lane tokens modulo 2^64 in each lane."""
    lanes = tokens.sum(axis=0, dtype=np.uint64)
    return int(lanes[0]), int(lanes[1])
