"""The zip archive of a model file, read within bounds of memory and time.

A small file must not become large in memory. Every bound is in proportion to the file's own size: a large model is a
large file, because truefit and skops store arrays without compression.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from truefit.core.errors import InvalidInput

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
    """The entries of a model file.

    Parameters
    ----------
    place : Path
    """

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()
        self._file.close()

    def read(self, name: str) -> bytearray:
        """Return an entry's bytes."""
        try:
            entry = self._zip.getinfo(name)
        except KeyError:
            raise BrokenModel(f"it has no entry {name[:40]!r}") from None
        return self._read(self._zip, entry)

    def read_inner(self, name: str) -> dict[str, bytearray]:
        """Return the entries of an archive within the archive, as scipy writes sparse matrices."""
        with zipfile.ZipFile(io.BytesIO(self.read(name))) as inner:
            entries = inner.infolist()
            if len(entries) > 8:
                raise BrokenModel(f"its entry {name!r} is no sparse matrix")
            _check_entries(entries, self._left, re.compile(r"[a-z_]{1,20}\.npy"))
            return {entry.filename: self._read(inner, entry) for entry in entries}

    def schema(self) -> Any:
        """Return the description of the model, parsed."""
        return self._parsed(SCHEMA, self._left)

    def notes(self) -> Any:
        """Return what truefit noted beside the model, parsed; None where something else wrote the file."""
        return self._parsed(NOTES, NOTES_BYTES) if NOTES in self._zip.namelist() else None

    def _read(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytearray:
        found = bytearray()
        with archive.open(entry) as stream:
            while chunk := stream.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise BrokenModel("its entries are too large for a file of this size")
                found += chunk
        return found

    def _parsed(self, name: str, limit: int) -> Any:
        try:
            entry = self._zip.getinfo(name)
        except KeyError:
            raise BrokenModel(f"it has no entry {name!r}") from None
        if entry.file_size > limit:
            raise BrokenModel(f"its entry {name!r} is too large")
        most = max(VALUES, self.size // BYTES_PER_VALUE)
        text, values = bytearray(), 0
        with self._zip.open(entry) as stream:
            while chunk := stream.read(_CHUNK):
                self._left -= len(chunk)
                # skops begins a line for each value.
                values += max(chunk.count(b"\n"), sum(chunk.count(mark) for mark in (b",", b"{", b"[")))
                if self._left < 0 or values > most:
                    raise BrokenModel(f"its entry {name!r} is too large for a file of this size")
                # skops indents: most of the text is blanks, which need not be held. No string of JSON has a line break.
                text += _INDENT.sub(b"", chunk)
        return json.loads(text)


def _check_entries(entries: list[zipfile.ZipInfo], limit: int, pattern: re.Pattern[str]) -> None:
    names = [entry.filename for entry in entries]
    unknown = next((name for name in names if not pattern.fullmatch(name)), None)
    if unknown is not None:
        raise BrokenModel(f"skops writes no entry {unknown[:40]!a}")
    if len(set(names)) < len(names):
        raise BrokenModel("it has two entries of one name")
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
        raise BrokenModel("its entries must be stored or deflated")
    if sum(entry.file_size for entry in entries) > limit:
        raise BrokenModel("its entries are too large for a file of this size")
