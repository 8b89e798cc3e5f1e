"""The zip archive of a model file and its arrays, read within bounds of memory and time.

A small file must not become large in memory. Every bound is in proportion to the file's own size: a large model is a
large file, because truefit and skops store arrays without compression.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from truefit._core.errors import InvalidInput

#: What the entries of a small file may hold together.
ENTRIES_BYTES: Final = 64 * 2**20
#: What those of a larger file may hold, in multiples of its size: compressed arrays of trees come to about a tenth.
EXPANSION: Final = 8
#: The list of entries at the end of the archive: some 90,000 of them.
DIRECTORY_BYTES: Final = 6 * 2**20
#: Commas and brackets in the description of a small file; each is worth about 150 bytes in memory.
VALUES: Final = 1_500_000
#: In a larger one there is at most one in so many bytes. skops writes fewer.
BYTES_PER_VALUE: Final = 12
NOTES_BYTES: Final = 8 * 2**20

SCHEMA: Final = "schema.json"
NOTES: Final = "truefit.json"
_ENTRY: Final = re.compile(
    r"schema\.json|truefit\.json|\d{1,20}\.np[yz]|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.bin"
)
_INDENT: Final = re.compile(rb"\n[\n ]*")
_CHUNK: Final = 2**20


class BrokenModel(InvalidInput):
    """A model file that cannot be what skops wrote; the message is the reason, without the file's name."""


class _BoundedFile(io.FileIO):
    """A file of which one call reads a few megabytes at most: zipfile reads the list of entries in one call."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            size = DIRECTORY_BYTES + 1
        elif size > DIRECTORY_BYTES:
            raise BrokenModel("its list of entries is too long")
        return super().read(size) or b""


class Archive:
    """The entries of a model file."""

    def __init__(self, place: Path) -> None:
        self._file = _BoundedFile(place)
        try:
            self.size = self._file.seek(0, io.SEEK_END)
            self._left = max(ENTRIES_BYTES, EXPANSION * self.size)
            self._zip = zipfile.ZipFile(self._file)
            _check_entries(self._zip.infolist(), self._left, _ENTRY)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exception: object) -> None:
        self._zip.close()
        self._file.close()

    def read(self, name: str) -> bytearray:
        """Return an entry's bytes."""
        return self._read(self._zip, self._entry(name))

    def read_inner(self, name: str) -> dict[str, bytearray]:
        """Return the entries of an archive within the archive, as scipy writes sparse matrices."""
        with zipfile.ZipFile(io.BytesIO(self.read(name))) as inner:
            entries = inner.infolist()
            if len(entries) > 8:
                raise BrokenModel(f"its entry {name!r} is not a sparse matrix")
            _check_entries(entries, self._left, re.compile(r"[a-z_]{1,20}\.npy"))
            return {entry.filename: self._read(inner, entry) for entry in entries}

    def schema(self) -> Any:
        """Return the description of the model, parsed."""
        return self._parsed(SCHEMA, self._left)

    def notes(self) -> Any:
        """Return what truefit noted beside the model, parsed; None where something else wrote the file."""
        return self._parsed(NOTES, NOTES_BYTES) if NOTES in self._zip.namelist() else None

    def _entry(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(name)
        except KeyError:
            raise BrokenModel(f"it has no entry {name[:40]!r}") from None

    def _chunks(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
        with archive.open(entry) as stream:
            while chunk := stream.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise BrokenModel("its entries are too large for a file of this size")
                yield chunk

    def _read(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytearray:
        found = bytearray()
        for chunk in self._chunks(archive, entry):
            found += chunk
        return found

    def _parsed(self, name: str, limit: int) -> Any:
        entry = self._entry(name)
        if entry.file_size > limit:
            raise BrokenModel(f"its entry {name!r} is too large")
        most = max(VALUES, self.size // BYTES_PER_VALUE)
        text, values = bytearray(), 0
        for chunk in self._chunks(self._zip, entry):
            values += _values(chunk)
            if values > most:
                raise BrokenModel(f"its entry {name!r} is too large for a file of this size")
            # skops indents: most of the text is blanks, which need not be held.
            text += without_indentation(chunk)
        return json.loads(text)


def without_indentation(description: bytes) -> bytes:
    """Return a description without line breaks and the blanks after them: no string of JSON has a line break."""
    return _INDENT.sub(b"", description)


def is_small(description: bytes, sizes: Mapping[str, int]) -> bool:
    """Whether the entries are read from a file of any size, so that they may be compressed; sizes are by name."""
    # A sparse matrix is compressed within its entry, and counts once more when it is read.
    total = sum(size * (1 + EXPANSION * name.endswith(".npz")) for name, size in sizes.items())
    return len(description) + total <= ENTRIES_BYTES and _values(description) <= VALUES


def _values(description: bytes) -> int:
    """Return how many values a description has at most; skops begins a line for each."""
    return max(description.count(b"\n"), sum(description.count(mark) for mark in (b",", b"{", b"[")))


def _check_entries(entries: list[zipfile.ZipInfo], limit: int, pattern: re.Pattern[str]) -> None:
    names = [entry.filename for entry in entries]
    unknown = next((name for name in names if not pattern.fullmatch(name)), None)
    if unknown is not None:
        raise BrokenModel(f"skops writes no entry {unknown[:40]!a}")
    if len(set(names)) < len(names):
        raise BrokenModel("it has two entries with the same name")
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
        raise BrokenModel("its entries must be stored or deflated")
    if sum(entry.file_size for entry in entries) > limit:
        raise BrokenModel("its entries are too large for a file of this size")


#: An item of an array: long enough for a label that is a page of text.
ITEM_BYTES: Final = 2**20
_PLAIN: Final = "biufcmMUS"


def array_of(content: bytearray) -> Any:
    """Return the array that ``numpy.save`` wrote; it shares the entry's memory."""
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
        raise BrokenModel("the shape of an array is not valid")
    start = stream.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise BrokenModel("the content of an array does not have the size in its header")
    if not dtype.itemsize:
        return np.empty(shape, dtype)
    flat = np.frombuffer(content, dtype, offset=start)
    if (dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1) or (dtype.kind == "U" and not _is_text(flat)):
        # numpy counts by these bytes, and trusts them.
        raise BrokenModel("an array holds values that are not of its type")
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
    """Return the csr or csc matrix or array that ``scipy.sparse.save_npz`` wrote, its indices within its shape."""
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
