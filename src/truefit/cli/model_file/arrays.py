"""Arrays of a model file: numpy's own format, of plain types only, and of the size that they say."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from truefit.cli.model_file.archive import BrokenModel

#: An item of an array: long enough for a label that is a page of text.
ITEM_BYTES: Final = 2**20
_PLAIN: Final = "biufcmMUS"


def array_of(content: bytearray) -> Any:
    """Return the array that an entry holds; it shares the entry's memory.

    Parameters
    ----------
    content : bytearray
        What ``numpy.save`` writes.
    """
    stream = io.BytesIO(content[: 2**16])
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(stream)
    else:
        raise BrokenModel("an array is of an unknown version")
    if not _is_plain(dtype):
        raise BrokenModel("an array must be of numbers, times or text")
    if any(length < 0 or length > 2**40 for length in shape) or len(shape) > 32:
        raise BrokenModel("an array's shape is impossible")
    start = stream.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise BrokenModel("an array is not of the size that it says")
    if not dtype.itemsize:
        return np.empty(shape, dtype)
    flat = np.frombuffer(content, dtype, offset=start)
    if (dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1) or (dtype.kind == "U" and not _is_text(flat)):
        # numpy counts by these bytes, and trusts them.
        raise BrokenModel("an array holds values that are none of its type")
    array = flat.reshape(shape, order="F" if fortran else "C")
    return array if array.flags.aligned else array.copy()


def _is_plain(dtype: np.dtype[Any]) -> bool:
    if dtype.hasobject or dtype.subdtype is not None or dtype.itemsize > ITEM_BYTES:
        return False
    if dtype.fields is None:
        return dtype.kind in _PLAIN
    # The nodes of trees: a flat record of numbers.
    return dtype.itemsize <= 256 and all(
        field[0].fields is None and field[0].subdtype is None and field[0].kind in "iuf"
        for field in dtype.fields.values()
    )


def _is_text(flat: Any) -> bool:
    if not flat.dtype.itemsize or not flat.size:
        return True
    codes = flat.view(flat.dtype.str[0] + "u4")
    return int(codes.max()) <= 0x10FFFF and not bool(((codes >= 0xD800) & (codes < 0xE000)).any())


def sparse_of(entries: Mapping[str, bytearray], name: str) -> Any:
    """Return a compressed sparse matrix whose indices are within its shape.

    Parameters
    ----------
    entries : mapping of names to bytes
        What ``scipy.sparse.save_npz`` writes.
    name : str
        Of the type: csr or csc, matrix or array.
    """
    from scipy import sparse

    found = {entry.removesuffix(".npy"): array_of(content) for entry, content in entries.items()}
    kind = name.rpartition(".")[2]
    if {"data", "indices", "indptr", "shape"} - set(found):
        raise BrokenModel("a sparse matrix is not complete")
    if any(found[part].dtype.kind not in "iu" for part in ("indices", "indptr", "shape")):
        raise BrokenModel("the indices of a sparse matrix must be whole numbers")
    if found["data"].dtype.kind not in "biuf" or any(found[part].ndim != 1 for part in ("data", "indices", "indptr")):
        raise BrokenModel("a sparse matrix must be of numbers")
    shape = tuple(int(length) for length in found["shape"].ravel()[:2])
    made = getattr(sparse, kind)((found["data"], found["indices"], found["indptr"]), shape=shape)
    made.check_format(full_check=True)
    return made
