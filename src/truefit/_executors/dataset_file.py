"""Dataset file: a table written once for all workers of this machine, which share its pages; removed with the table.

::

    magic, id, length of the index │ index (a pickle) │ padding │ X │ buffers of y, tokens, columns, ...

The index holds the pickled Data without its buffers, and where the buffers start: each on a page of its own.
"""

from __future__ import annotations

import copy
import io
import mmap
import os
import pickle
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal
from uuid import uuid4

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt

from truefit._core.data import STRETCH_BYTES, Data
from truefit._core.errors import ExecutorError
from truefit._executors.file_lock import lock_file

_HEAD = struct.Struct("<8s32sQ")
_MAGIC = b"truefit\x01"
_PREFIX = "truefit-"
_LOCK_FILE = "alive"
#: A folder is another process's beginning, not its remains, until it is this old.
_SECONDS_TO_LOCK = 60.0
#: Waits until its input is closed, which a process does whatever it ends by, and removes a folder.
_REMOVER = """trap '' INT TERM HUP; read -r _; rm -rf -- "$0" """


_datasets_here: weakref.WeakValueDictionary[str, Data] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class DatasetFile:
    """Where a table lies and what it must be."""

    identity: str
    path: str

    def open(self) -> Data:
        """Return the data over shared pages, or the object itself in the process that wrote it.

        Raise DatasetMissing if the file is not there: on another machine, or no longer.
        """
        data = _datasets_here.get(self.identity)
        if data is not None:
            return data
        try:
            with open(self.path, "rb") as file:
                return read_dataset(file, self.identity)
        except OSError as error:
            raise DatasetMissing(str(error)) from error

    def read(self, content: bytes) -> Data:
        """Return the data from the bytes that a file would hold."""
        # Pages of a file that has no name any more can be let go of under pressure; bytes could not.
        with tempfile.TemporaryFile(prefix=_PREFIX) as file:
            file.write(content)
            file.seek(0)
            return read_dataset(file, self.identity)


class DatasetCache:
    """The tables that a worker has open: two, for plans that go back and forth between tables."""

    def __init__(self, size: int = 2) -> None:
        self.size = size
        self._tables: dict[str, Data] = {}
        self._lock = threading.Lock()

    def get(self, file: DatasetFile, content: bytes | None = None) -> Data:
        """Return a table, from its file or from the bytes of one unless it is open already."""
        with self._lock:
            data = self._tables.pop(file.identity, None)
            if data is None:
                data = file.open() if content is None else file.read(content)
            self._tables[file.identity] = data
            for oldest in list(self._tables)[: -self.size]:
                del self._tables[oldest]
            return data


class DatasetWriter:
    """Writes each table once and removes it when the table is gone, on close, and at exit."""

    def __init__(self) -> None:
        self._written: weakref.WeakKeyDictionary[Data, DatasetFile] = weakref.WeakKeyDictionary()
        self._folder: Path | None = None
        self._removal: weakref.finalize[..., Any] | None = None

    @property
    def folder(self) -> Path:
        """A folder of our own for as long as this process lives."""
        if self._folder is None:
            remove_stale_folders(Path(tempfile.gettempdir()))
            self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            lock = open(self._folder / _LOCK_FILE, "wb")  # noqa: SIM115 - held until the folder goes
            with suppress(OSError):  # where files cannot be locked, nothing is removed by other processes either
                lock_file(lock.fileno())
            self._removal = weakref.finalize(
                self, _remove_folder, self._folder, lock, _remover(self._folder), os.getpid()
            )
        return self._folder

    def write(self, data: Data) -> DatasetFile:
        """Write the table unless that is done already."""
        known = self._written.get(data)
        if known is not None and os.path.exists(known.path):
            return known
        identity = uuid4().hex
        path = self.folder / identity
        user_file = user_file_of(data.X)
        try:
            with open(path, "xb") as file:
                write_dataset(data, file, identity, user_file)
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise ExecutorError(
                f"The data must be written to {self.folder} once, for the workers to share. Got {error}. Make "
                "room there, or set the environment variable TMPDIR to a folder with room."
            ) from error
        if user_file is not None:
            _let_go(_map_under(data.X)._mmap)
        written = DatasetFile(identity, str(path))
        self._written[data] = written
        _datasets_here[identity] = data
        weakref.finalize(data, _remove_file, path, os.getpid())
        return written

    def content(self, data: Data) -> bytes:
        """Return the file as bytes, X included: for a worker that cannot open the path."""
        file = io.BytesIO()
        write_dataset(data, file, self.write(data).identity)
        return file.getvalue()

    def close(self) -> None:
        """Remove what was written; workers that have opened it keep it."""
        self._written.clear()
        if self._removal is not None:
            self._removal()
        self._folder = self._removal = None


def user_file_of(X: Any) -> UserFile | None:
    """Where X lies, if it is a read-only map of a whole part of a file that is still there."""
    owner = _map_under(X)
    if owner is None or owner.mode != "r" or owner.filename is None or owner._mmap is None:
        return None
    if not X.flags.c_contiguous or X.nbytes == 0 or X.dtype.hasobject:
        return None
    address = X.__array_interface__["data"][0]
    origin = np.frombuffer(owner._mmap, dtype=np.uint8).__array_interface__["data"][0]
    start = owner.offset - owner.offset % mmap.ALLOCATIONGRANULARITY + (address - origin)
    try:
        with open(owner.filename, "rb") as file:
            status = os.fstat(file.fileno())
            if _mapped_inode(address) != status.st_ino:
                return None
            path = os.path.abspath(owner.filename)
            return UserFile(path, ArrayLayout(start, X.dtype, X.shape), file_stamp(file.fileno()))
    except OSError:
        return None


def _mapped_inode(address: int) -> int | None:
    # Another file may stand under the same name by now; the kernel knows which one is mapped.
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            bounds, _, _, _, inode, *_ = line.split(maxsplit=5)
            first, last = (int(bound, 16) for bound in bounds.split("-"))
            if first <= address < last:
                return int(inode)
    return None


def _map_under(X: Any) -> Any:
    if not isinstance(X, np.ndarray):
        return None
    while X is not None and not isinstance(X, np.memmap):
        X = getattr(X, "base", None)
    return X


def remove_stale_folders(parent: Path) -> None:
    """Remove what processes left behind that were killed: their locks are free."""
    for path in parent.glob(f"{_PREFIX}*/{_LOCK_FILE}"):
        with suppress(OSError):
            with open(path, "rb+") as lock:
                if time.time() - os.fstat(lock.fileno()).st_mtime <= _SECONDS_TO_LOCK:
                    continue
                lock_file(lock.fileno())
            shutil.rmtree(path.parent, ignore_errors=True)  # not before: Windows removes no open file


def _remove_file(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must leave its parent's files alone
        with suppress(OSError):
            path.unlink()


def _remover(folder: Path) -> subprocess.Popen[bytes] | None:
    """Start a process that removes the folder if this one ends without doing so: by SIGTERM or SIGKILL.

    A signal handler could do it only for SIGTERM, would be the whole program's, and would wait for a fit to return.
    """
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _REMOVER, os.path.abspath(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # a signal to our process group is not for it
        )
    except OSError:  # no shell, or no room for one more process: the next run removes it
        return None


def _remove_folder(folder: Path, lock: BinaryIO, remover: subprocess.Popen[bytes] | None, owner: int) -> None:
    lock.close()
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
        if remover is not None:
            remover.communicate(b"\n")  # a forked child may hold the pipe open, so that closing it is not enough


class DatasetMissing(Exception):
    """The table does not lie where it should, or another one does."""


@dataclass(frozen=True)
class ArrayLayout:
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
class UserFile:
    """X in a file of the user's own; by ``stamp``, its size and time of change, it is known to be the same."""

    path: str
    layout: ArrayLayout
    stamp: tuple[int, int]


@dataclass(frozen=True)
class _Index:
    stream: bytes
    buffers: list[tuple[int, int]]
    table: ArrayLayout | UserFile | None


def write_dataset(data: Data, file: BinaryIO, identity: str, user_file: UserFile | None = None) -> None:
    """Write data to a file; an X that lies in a file of its own is only referred to."""
    table = user_file or _layout_of(data.X)
    bare = data
    if table is not None:
        bare = copy.copy(data)
        bare.X = None
    views: list[pickle.PickleBuffer] = []
    stream = cloudpickle.dumps(bare, protocol=5, buffer_callback=views.append)
    parts = [view.raw() for view in views]
    start = _next_page(table.nbytes) if isinstance(table, ArrayLayout) else 0
    bounds = []
    for part in parts:
        bounds.append((start, part.nbytes))
        start = _next_page(start + part.nbytes)
    index = pickle.dumps(_Index(stream, bounds, table), protocol=5)
    file.write(_HEAD.pack(_MAGIC, identity.encode(), len(index)))
    file.write(index)
    _pad(file)
    if isinstance(table, ArrayLayout):
        for block in _blocks(data.X, table.order):
            file.write(block.reshape(-1).view(np.uint8).data)
        _pad(file)
    for part in parts:
        file.write(part)
        _pad(file)


def _layout_of(X: Any) -> ArrayLayout | None:
    if type(X) not in (np.ndarray, np.memmap) or X.dtype.hasobject:
        return None
    return ArrayLayout(0, X.dtype, X.shape, "F" if X.flags.f_contiguous and not X.flags.c_contiguous else "C")


def read_dataset(file: BinaryIO, identity: str) -> Data:
    """Data over the pages of an open file; big ones let go of them after use."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or _HEAD.unpack(head)[:2] != (_MAGIC, identity.encode()):
        raise DatasetMissing("the file is another one")
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
        data.release = lambda: _let_go(big)
    return data


def _mapped(file: BinaryIO, table: ArrayLayout | UserFile, base: int) -> tuple[npt.NDArray[Any], mmap.mmap]:
    # A mapping of its own, so that letting go of X's pages leaves the tokens and the target alone.
    if isinstance(table, ArrayLayout):
        return _map_array(file.fileno(), table, base + table.start)
    try:
        with open(table.path, "rb") as own:
            if file_stamp(own.fileno()) != table.stamp:
                raise DatasetMissing(f"the file {table.path} has changed")
            return _map_array(own.fileno(), table.layout, table.layout.start)
    except OSError as error:
        raise DatasetMissing(str(error)) from error


def _let_go(mapping: mmap.mmap) -> None:
    """Let go of the pages of a file; they are read again when they are needed."""
    if hasattr(mmap, "MADV_DONTNEED"):  # elsewhere the system does it by itself when memory is short
        mapping.madvise(mmap.MADV_DONTNEED)


def _map_array(descriptor: int, layout: ArrayLayout, start: int) -> tuple[npt.NDArray[Any], mmap.mmap]:
    before = start % mmap.ALLOCATIONGRANULARITY
    size = max(before + layout.nbytes, 1)
    mapping = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ, offset=start - before)
    array: npt.NDArray[Any] = np.ndarray(layout.shape, layout.dtype, buffer=mapping, offset=before, order=layout.order)
    return array, mapping


def file_stamp(descriptor: int) -> tuple[int, int]:
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
