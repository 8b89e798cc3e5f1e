"""Manifest: how a table lies in a file, so that every worker on the machine shares its pages.

::

    magic, id, length of the index │ index (a pickle) │ padding │ X │ buffers of y, tokens, columns, ...

The index holds the pickled Data without its buffers, and where the buffers start: each on a page of its own.
"""

from __future__ import annotations

import copy
import mmap
import os
import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt

from truefit._core.data import STRETCH_BYTES, Data

_HEAD = struct.Struct("<8s32sQ")
_MAGIC = b"truefit\x01"


class Absent(Exception):
    """The table does not lie where it should, or another one does."""


@dataclass(frozen=True)
class Layout:
    """An array in a file: where it starts and what it is."""

    start: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"] = "C"

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(frozen=True)
class OwnFile:
    """X in a file of the user's own; by ``stamp``, its size and time of change, it is known to be the same."""

    path: str
    layout: Layout
    stamp: tuple[int, int]


@dataclass(frozen=True)
class _Index:
    stream: bytes
    buffers: list[tuple[int, int]]
    table: Layout | OwnFile | None


def write_manifest(data: Data, file: BinaryIO, identity: str, own_file: OwnFile | None = None) -> None:
    """Write data to a file; an X that lies in a file of its own is only referred to."""
    table = own_file or _layout_of(data.X)
    bare = data
    if table is not None:
        bare = copy.copy(data)
        bare.X = None
    views: list[pickle.PickleBuffer] = []
    stream = cloudpickle.dumps(bare, protocol=5, buffer_callback=views.append)
    parts = [view.raw() for view in views]
    start = _next_page(table.nbytes) if isinstance(table, Layout) else 0
    bounds = []
    for part in parts:
        bounds.append((start, part.nbytes))
        start = _next_page(start + part.nbytes)
    index = pickle.dumps(_Index(stream, bounds, table), protocol=5)
    file.write(_HEAD.pack(_MAGIC, identity.encode(), len(index)))
    file.write(index)
    _pad(file)
    if isinstance(table, Layout):
        for block in _blocks(data.X, table.order):
            file.write(block.reshape(-1).view(np.uint8).data)
        _pad(file)
    for part in parts:
        file.write(part)
        _pad(file)


def _layout_of(X: Any) -> Layout | None:
    if type(X) not in (np.ndarray, np.memmap) or X.dtype.hasobject:
        return None
    return Layout(0, X.dtype, X.shape, "F" if X.flags.f_contiguous and not X.flags.c_contiguous else "C")


def read_manifest(file: BinaryIO, identity: str) -> Data:
    """Data over the pages of an open file; big ones let go of them after use."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or _HEAD.unpack(head)[:2] != (_MAGIC, identity.encode()):
        raise Absent("the file is another one")
    length = _HEAD.unpack(head)[2]
    index: _Index = pickle.loads(file.read(length))
    base = _next_page(_HEAD.size + length)
    mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    pages = memoryview(mapping)
    buffers = [pages[base + start : base + start + size] for start, size in index.buffers]
    data: Data = pickle.loads(index.stream, buffers=buffers)
    big = mapping
    if index.table is not None:
        data.X, big = _mapped(file, index.table, base)
    # Rows gathered stretch by stretch come out in C order, so another order has to do without.
    if len(big) > STRETCH_BYTES and (not isinstance(data.X, np.ndarray) or data.X.flags.c_contiguous):
        data.release = lambda: big.madvise(mmap.MADV_DONTNEED)
    return data


def _mapped(file: BinaryIO, table: Layout | OwnFile, base: int) -> tuple[npt.NDArray[Any], mmap.mmap]:
    # A mapping of its own, so that letting go of X's pages leaves the tokens and the target alone.
    if isinstance(table, Layout):
        return _map_array(file.fileno(), table, base + table.start)
    try:
        with open(table.path, "rb") as own:
            if stamp_of(own.fileno()) != table.stamp:
                raise Absent(f"the file {table.path} has changed")
            return _map_array(own.fileno(), table.layout, table.layout.start)
    except OSError as error:
        raise Absent(str(error)) from error


def _map_array(descriptor: int, layout: Layout, start: int) -> tuple[npt.NDArray[Any], mmap.mmap]:
    before = start % mmap.ALLOCATIONGRANULARITY
    size = max(before + layout.nbytes, 1)
    mapping = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ, offset=start - before)
    array: npt.NDArray[Any] = np.ndarray(layout.shape, layout.dtype, buffer=mapping, offset=before, order=layout.order)
    return array, mapping


def stamp_of(descriptor: int) -> tuple[int, int]:
    """Size of an open file and when it was changed."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns


def _next_page(position: int) -> int:
    return -(-position // mmap.PAGESIZE) * mmap.PAGESIZE


def _pad(file: BinaryIO) -> None:
    position = file.tell()
    file.write(b"\0" * (_next_page(position) - position))


def _blocks(X: npt.NDArray[Any], order: Literal["C", "F"]) -> Iterator[npt.NDArray[Any]]:
    # Stretch by stretch: an X that is not contiguous, or a map of a file, is never there twice.
    rows = X.T if order == "F" else X
    step = max(1, STRETCH_BYTES * len(rows) // max(X.nbytes, 1))
    for start in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[start : start + step])
