"""Arrays as compressed ``.npy`` bytes and back, never a pickle; and a cache of the arrays that were read last."""

from __future__ import annotations

import math
import zlib
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np

from truefit._core.errors import InvalidInput, StoreDamaged
from truefit._core.typing import Array

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
    """Pack an array into compressed ``.npy`` bytes, or as fast as can be.

    Examples
    --------
    >>> packed = encode(np.array([0.5, np.nan, -0.0]))
    >>> decode(packed)
    array([ 0.5,  nan, -0. ])
    """
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
    """Unpack what ``encode`` made, as a read-only array.

    Raises
    ------
    StoreDamaged
        If the bytes are not what was written; ``where`` says in the message whose bytes they were.
    """
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
    """Arrays by key, the least recently used removed first; at least one is held, whatever its size.

    Examples
    --------
    >>> cache = ArrayCache(limit_bytes=800)
    >>> for name in "abc":
    ...     cache.add(name, np.zeros(1))
    >>> cache.get("a") is None, cache.get("c")
    (True, array([0.]))
    """

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
