"""Answers in a store: packed as compressed ``.npy`` bytes, never a pickle; a cache of arrays, and lazy handles."""

from __future__ import annotations

import math
import zlib
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from truefit._core.errors import InvalidInput, StoreDamaged
from truefit._core.outcome import Predictions
from truefit._core.protocols import Response
from truefit._core.rows import rowset_id
from truefit._core.typing import Array

if TYPE_CHECKING:
    from truefit._stores.memory import MemoryStore
    from truefit._stores.sqlite import SqliteStore

    _Store: TypeAlias = MemoryStore | SqliteStore

#: The kinds of numbers, times and texts that ``.npy`` holds as they are.
_KINDS = "biufcmMSU"
_LEVEL = 1
_SAMPLED_FROM = 4 << 10
_SAMPLE = 1 << 10
_MAGIC = b"\x93NUMPY\x01\x00"


def encodable(array: Array) -> bool:
    """Whether the array can be kept: numbers, times and texts, but no objects, records or foreign types."""
    return array.dtype.kind in _KINDS and array.dtype.isbuiltin != 2


def encode(array: Array, *, compress: bool = True) -> bytes:
    """Pack an array into compressed ``.npy`` bytes, or as fast as can be."""
    if not encodable(array):
        raise InvalidInput(
            f"An array in a store must hold numbers, times or text. Got {array.dtype}, which only a pickle "
            "could hold. Convert it, for instance with astype(str)."
        )
    # Sums depend on the layout in their last bit, so it is kept, and a replayed score is the same number.
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    data = _header(array.dtype, array.shape, fortran) + array.tobytes("F" if fortran else "C")
    return zlib.compress(data, _level(data) if compress else 0)


def decode(packed: bytes, where: object = "the store") -> Array:
    """Unpack what ``encode`` made, as a read-only array; ``where`` says whose bytes they are if they are damaged."""
    try:
        data = zlib.decompress(packed)
        if data[:8] != _MAGIC:
            raise ValueError("not an array")
        start = 10 + int.from_bytes(data[8:10], "little")
        dtype, shape, fortran = _layout(data[:start])
        if len(data) - start != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{len(data) - start} bytes for {dtype} of shape {shape}")
    except (zlib.error, TypeError, ValueError) as error:
        raise StoreDamaged(
            f"An array in a store must read back as it was written. In {where} one does not: {error}. Delete "
            "the store, or put a copy of it back; what is missing is fitted again."
        ) from error
    if len(data) == start:
        return np.empty(shape, dtype)
    flat = np.frombuffer(data, dtype, offset=start)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def _level(data: bytes) -> int:
    # Tokens and most probabilities are noise to zlib: trying costs more than the fit of a small model did.
    if len(data) < _SAMPLED_FROM:
        return _LEVEL
    middle = len(data) // 2
    sample = data[middle : middle + _SAMPLE]
    return _LEVEL if len(zlib.compress(sample, _LEVEL)) < 0.9 * len(sample) else 0


# numpy writes and parses a header in ten times the time of all the rest, and there are few distinct ones.
@lru_cache(maxsize=256)
def _header(dtype: np.dtype[Any], shape: tuple[int, ...], fortran: bool) -> bytes:
    stream = BytesIO()
    layout = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, layout)
    return stream.getvalue()


@lru_cache(maxsize=256)
def _layout(header: bytes) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    stream = BytesIO(header)
    np.lib.format.read_magic(stream)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in _KINDS or any(length < 0 for length in shape):
        raise ValueError(f"{dtype} of shape {shape}")
    return dtype, shape, fortran


#: Several metrics look at the same answer in turn, and many answers share their rows.
_CACHE_BYTES = 1 << 20

#: About what Python takes for an array and its place here, beyond the numbers in it.
_ARRAY_BYTES = 350


class ArrayCache:
    """Arrays by key, the least recently used removed first; at least one is held, whatever its size."""

    def __init__(self, limit_bytes: int = _CACHE_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._arrays: OrderedDict[Hashable, Array] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> Array | None:
        """Return the array, which is now the most recently used, or None."""
        array = self._arrays.get(key)
        if array is not None:
            self._arrays.move_to_end(key)
        return array

    def add(self, key: Hashable, array: Array) -> None:
        """Hold an array that is not held yet."""
        self._arrays[key] = array
        self._bytes += _ARRAY_BYTES + array.nbytes
        while self._bytes > self.limit_bytes and len(self._arrays) > 1:
            self._bytes -= _ARRAY_BYTES + self._arrays.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        """Let go of everything."""
        self._arrays.clear()
        self._bytes = 0


class StoredAnswer(Predictions):
    """A handle: which answer it is is known, its tokens and values are read each time they are used.

    They are not kept in it: a plan may hold the handles of all its fits, and so all that the store is to save.
    """

    __slots__ = ("_key", "_source", "rowset")

    rowset: bytes  # takes the place of the property: known without the tokens
    _source: _Store
    _key: str

    @classmethod
    def of(cls, source: _Store, key: str, response: Response, rowset: bytes, coded: bool) -> StoredAnswer:
        """Return the handle of one answer of the fit ``key`` in ``source``."""
        answer = cls.__new__(cls)
        answer.response, answer.coded, answer.rowset = response, coded, rowset
        answer._source, answer._key = source, key
        return answer

    def __getattr__(self, name: str) -> Any:
        # Reached for the two fields that `of` leaves out, and for the rows where only a part was replaced.
        if name == "values":
            return self._source.read_values(self._key, self.response, self.rowset)
        if name == "tokens":
            return self._source.read_tokens(self.rowset)
        if name == "rowset":
            return rowset_id(self.tokens)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Away from its store an answer has to bring its values along.
        return Predictions, (self.response, self.tokens, self.values, self.coded)
