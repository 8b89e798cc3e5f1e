"""Remote worker: runs batches of jobs in the workers of the user's executor, and records their progress."""

from __future__ import annotations

import os
import pickle
import socket
import time
import traceback
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from truefit._core.data import Data
from truefit._core.errors import Failure
from truefit._core.protocols import Job
from truefit._executors.dataset_file import DatasetCache, DatasetFile, DatasetMissing
from truefit._executors.environment import CodeCheck, FitEnvironment, as_worker, limited_threads, version_difference
from truefit._executors.file_lock import is_locked, lock_file
from truefit._executors.serial import run_checked, run_job
from truefit._executors.serialization import JobDeserializer, serialize, serialize_outcomes

_LOCKED, _NOT_LOCKED, _JOB = b"h", b"l", b"."
#: A process that is killed lets go of its connections a little before its locks.
_LOOKS, _LOOK_SECONDS = 10, 0.02

_datasets = DatasetCache()
_code_check = CodeCheck()


@dataclass(frozen=True)
class BatchSettings:
    """How jobs are run."""

    environment: bytes
    threads: int
    progress_path: str | None = None
    versions: dict[str, str] = field(default_factory=dict)  # which a worker must have


@dataclass(frozen=True)
class JobBatch:
    """Jobs as bytes with what they need; ``content`` is the table itself, for a worker that cannot open it."""

    # Unlike any other: Dask takes equal arguments for the same task, and a second try must be run.
    identity: str
    dataset: DatasetFile
    shared: tuple[tuple[int, bytes], ...]
    jobs: tuple[bytes, ...]
    settings: BatchSettings
    content: bytes | None = None


@dataclass
class BatchReply:
    """Outcomes of each job (as bytes, or as they are within a process) with the seconds it took."""

    outcomes: list[Any] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    has_progress_file: bool = False
    needs_data: bool = False
    died: bool = False  # a worker had begun with it, and is dead
    error: str | None = None  # why the data cannot be loaded
    incompatible: str | None = None  # why this worker must not run fits: a package is missing, or of another version


class BatchCall:
    """A batch that pickles as the call of ``run_batch`` with it: ``pickle.loads`` of the bytes runs the jobs.

    To the executor it is bytes and a function of Python's own. Dask's scheduler need not have truefit then, and a
    worker that does not have it reports an error; if it could not read its task it would close, and so would the next.
    """

    def __init__(self, batch: JobBatch) -> None:
        self.batch = batch

    def __reduce__(self) -> tuple[Any, ...]:
        return run_batch, (self.batch,)

    def content(self) -> bytes:
        """Return the bytes."""
        return pickle.dumps(self, protocol=5)


def run_batch(batch: JobBatch) -> BatchReply:
    """Run the jobs of a batch.

    Dask gives a batch whose worker died to the next worker, several times. So a batch that has the progress file of a
    dead worker is not run.
    """
    different = version_difference(batch.settings.versions)
    if different is not None:
        return BatchReply(incompatible=f"Workers must have the versions of this process: {different}.")
    progress = ProgressFile(batch.settings.progress_path)
    if not progress.create():
        return BatchReply(died=True)
    try:
        return _run(batch, progress)
    finally:
        progress.remove()


def _run(batch: JobBatch, progress: ProgressFile) -> BatchReply:
    try:
        data = _datasets.get(batch.dataset, batch.content)
    except DatasetMissing:
        return BatchReply(needs_data=True)
    except ModuleNotFoundError as error:
        return _without_module(error.name)
    except Exception:
        return BatchReply(error=traceback.format_exc())
    deserializer = JobDeserializer()
    for number, content in batch.shared:
        deserializer.add(number, content)
    if deserializer.missing_module is not None:
        return _without_module(deserializer.missing_module)

    def run(content: bytes) -> bytes:
        job = deserializer.job(content)
        return (
            serialize(job) if isinstance(job, Failure) else serialize_outcomes(job, run_checked(job, data, _code_check))
        )

    reply = _run_each(batch.jobs, run, batch.settings, progress)
    if data.release is not None:
        data.release()
    return reply


def _run_each(
    jobs: Iterable[Any], run: Callable[[Any], Any], settings: BatchSettings, progress: ProgressFile
) -> BatchReply:
    reply = BatchReply(has_progress_file=progress.created)
    environment: FitEnvironment = pickle.loads(settings.environment)
    with as_worker(), environment.applied(), limited_threads(settings.threads):
        for job in jobs:
            progress.add_job()
            start = time.perf_counter()
            reply.outcomes.append(run(job))
            reply.seconds.append(time.perf_counter() - start)
    return reply


def _without_module(name: str | None) -> BatchReply:
    where = f"{socket.gethostname()} (process {os.getpid()})"
    return BatchReply(incompatible=f"Workers must be able to import {name!r}, which the fits need: {where} cannot.")


def run_in_thread(jobs: list[Job], data: Data, settings: BatchSettings) -> BatchReply:
    """Run jobs in a thread of the process that they come from."""
    progress = ProgressFile(settings.progress_path)
    progress.create()
    try:
        return _run_each(jobs, partial(run_job, data=data), settings, progress)
    finally:
        progress.remove()


class ProgressFile:
    """A file that records the progress of a worker, to be read when the worker has died.

    It is created when the worker begins with some jobs, gets a byte longer with each job that starts, and is removed
    when all are done. The worker holds a lock on it, which the system releases when it dies; one that ends in good
    order removes the file. So a file that is left means a death, and its length identifies the job. Workers on machines
    that do not share the folder have no such file.
    """

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._file: int | None = None
        self._removal: weakref.finalize[..., Any] | None = None

    @property
    def created(self) -> bool:
        """Whether it was created here."""
        return self._file is not None

    def create(self) -> bool:
        """Create the file, where that can be done; return False if the worker that created one before is dead."""
        if self.path is None:
            return True
        if self._owner_alive():
            # Its worker was closed or is out of reach, and the jobs are given to this one now.
            with suppress(OSError):
                os.unlink(self.path)
        try:
            self._file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            return False
        except OSError:  # another machine
            return True
        self._removal = weakref.finalize(self, _remove, self._file, self.path, os.getpid())
        try:
            lock_file(self._file)
            self._write(_LOCKED)
        except OSError:  # not on this kind of disk
            self._write(_NOT_LOCKED)
        return True

    def add_job(self) -> None:
        """Note that the next job starts."""
        self._write(_JOB)

    def started(self) -> int | None:
        """Return how many jobs were started, or None if there is no file."""
        try:
            with open(self.path or "", "rb") as file:
                return file.read().count(_JOB)
        except OSError:
            return None

    def owner_died(self) -> bool | None:
        """Whether the worker that created it is dead; None if that cannot be known, or if there is no file."""
        try:
            with open(self.path or "", "rb", buffering=0) as file:
                if file.read(1) != _LOCKED:
                    return None
                return not is_locked(file.fileno())
        except OSError:
            return None

    def remove(self) -> None:
        """Remove it: no worker runs these jobs any more."""
        if self._removal is not None:
            self._removal()
            self._file = self._removal = None
        elif self.path is not None:
            with suppress(OSError):
                os.unlink(self.path)

    def _owner_alive(self) -> bool:
        for _ in range(_LOOKS):
            if self.owner_died() is not False:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def _write(self, byte: bytes) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.write(self._file, byte)


def _remove(file: int, path: str, owner: int) -> None:
    if os.getpid() != owner:  # a forked child must leave its parent's file alone
        return
    ours = False
    with suppress(OSError):
        ours = os.path.samestat(os.fstat(file), os.stat(path))  # else somebody has taken over
    os.close(file)  # first: Windows removes no open file
    if ours:
        with suppress(OSError):
            os.unlink(path)
