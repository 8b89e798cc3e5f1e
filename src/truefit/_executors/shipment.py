"""Shipment: a table on its way to workers, written once, known by its path, and gone with the table."""

from __future__ import annotations

import fcntl
import io
import mmap
import os
import shutil
import subprocess
import tempfile
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import ExecutorError
from truefit._executors.manifest import Absent, Layout, OwnFile, read_manifest, stamp_of, write_manifest

_PREFIX = "truefit-"
_ALIVE = "alive"
#: A folder is another process's beginning, not its remains, until it is this old.
_SECONDS_TO_LOCK = 60.0
#: Waits until its input is closed, which a process does whatever it ends by, and removes a folder.
_REMOVER = """trap '' INT TERM HUP; read -r _; rm -rf -- "$0" """

_here: weakref.WeakValueDictionary[str, Data] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class Shipment:
    """Where a table lies and what it must be."""

    identity: str
    path: str

    def open(self) -> Data:
        """Return the data over shared pages, or the very object where it came from this process.

        Raises
        ------
        Absent
            If it does not lie there: on another machine, or no longer.
        """
        data = _here.get(self.identity)
        if data is not None:
            return data
        try:
            with open(self.path, "rb") as file:
                return read_manifest(file, self.identity)
        except OSError as error:
            raise Absent(str(error)) from error

    def unpack(self, content: bytes) -> Data:
        """Return the data from the bytes that a file would hold."""
        # Pages of a file that has no name any more can be let go of under pressure; bytes could not.
        with tempfile.TemporaryFile(prefix=_PREFIX) as file:
            file.write(content)
            file.seek(0)
            return read_manifest(file, self.identity)


class Shipper:
    """Writes each table once and removes it when the table is gone, on close, and at exit."""

    def __init__(self) -> None:
        self._sent: weakref.WeakKeyDictionary[Data, Shipment] = weakref.WeakKeyDictionary()
        self._folder: Path | None = None
        self._removal: weakref.finalize[..., Any] | None = None

    @property
    def folder(self) -> Path:
        """A folder of our own for as long as this process lives."""
        if self._folder is None:
            sweep(Path(tempfile.gettempdir()))
            self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            lock = open(self._folder / _ALIVE, "w")  # noqa: SIM115 - held until the folder goes
            with suppress(OSError):  # where files cannot be locked, nothing is swept either
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._removal = weakref.finalize(
                self, _remove_folder, self._folder, lock, _remover(self._folder), os.getpid()
            )
        return self._folder

    def ship(self, data: Data) -> Shipment:
        """Write the table unless that is done already."""
        known = self._sent.get(data)
        if known is not None and os.path.exists(known.path):
            return known
        identity = uuid4().hex
        path = self.folder / identity
        own_file = own_file_of(data.X)
        try:
            with open(path, "xb") as file:
                write_manifest(data, file, identity, own_file)
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise ExecutorError(
                f"The data must be written to {self.folder} once, for the workers to share. Got {error}. Make "
                "room there, or set the environment variable TMPDIR to a folder with room."
            ) from error
        if own_file is not None:
            _map_under(data.X)._mmap.madvise(mmap.MADV_DONTNEED)
        shipment = Shipment(identity, str(path))
        self._sent[data] = shipment
        _here[identity] = data
        weakref.finalize(data, _remove_file, path, os.getpid())
        return shipment

    def content(self, data: Data) -> bytes:
        """Return the shipment as bytes, X included: for a worker that cannot open the path."""
        file = io.BytesIO()
        write_manifest(data, file, self.ship(data).identity)
        return file.getvalue()

    def close(self) -> None:
        """Remove what was written; workers that have opened it keep it."""
        self._sent.clear()
        if self._removal is not None:
            self._removal()
        self._folder = self._removal = None


def own_file_of(X: Any) -> OwnFile | None:
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
            return OwnFile(path, Layout(start, X.dtype, X.shape), stamp_of(file.fileno()))
    except OSError:
        return None


def _mapped_inode(address: int) -> int | None:
    # Another file may stand under the same name by now; the kernel knows which one is mapped.
    with open("/proc/self/maps") as maps:
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


def sweep(parent: Path) -> None:
    """Remove what processes left behind that were killed: their locks are free."""
    for alive in parent.glob(f"{_PREFIX}*/{_ALIVE}"):
        with suppress(OSError), open(alive, "r+") as lock:
            if time.time() - os.fstat(lock.fileno()).st_mtime > _SECONDS_TO_LOCK:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(alive.parent, ignore_errors=True)


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
    except OSError:  # no shell, or no room for one more process: the next run sweeps
        return None


def _remove_folder(folder: Path, lock: io.TextIOWrapper, remover: subprocess.Popen[bytes] | None, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
        if remover is not None:
            remover.communicate(b"\n")  # a forked child may hold the pipe open, so that closing it is not enough
    lock.close()
