"""Parcel: jobs on their way through an executor that is not ours, and what its worker does with them."""

from __future__ import annotations

import os
import pickle
import socket
import threading
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from truefit._core.data import Data
from truefit._core.outcome import Failure, Outcome
from truefit._core.protocols import Job
from truefit._executors.agreement import Agreement
from truefit._executors.attempt import run_job
from truefit._executors.manifest import Absent
from truefit._executors.mark import Mark
from truefit._executors.packing import Unpacker, packed, packed_outcomes
from truefit._executors.shipment import Shipment
from truefit._executors.surroundings import Surroundings, as_worker
from truefit._executors.threads import limited_threads
from truefit._executors.versions import difference_from

#: Tables that a process keeps open.
_TABLES = 2
_tables: dict[str, Data] = {}
_loading = threading.Lock()
_agreement = Agreement()


@dataclass(frozen=True)
class Terms:
    """How jobs are to be run: surroundings (as bytes), threads inside a fit, and where to leave a mark meanwhile.

    ``versions`` are those that a worker must have.
    """

    surroundings: bytes
    threads: int
    mark: str | None = None
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Parcel:
    """Jobs as bytes with what they need; ``content`` is the table itself, for a worker that cannot open it."""

    # Unlike any other: Dask takes equal arguments for the same task, and a second try must be run.
    identity: str
    shipment: Shipment
    parts: tuple[tuple[int, bytes], ...]
    jobs: tuple[bytes, ...]
    terms: Terms
    content: bytes | None = None


@dataclass
class Reply:
    """Outcomes of each job (as bytes, or as they are within a process) with the seconds it took."""

    outcomes: list[Any] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    marked: bool = False
    needs_data: bool = False
    abandoned: bool = False  # a worker had begun, and is dead
    error: str | None = None  # why the data cannot be loaded
    unfit: str | None = None  # why this worker must not run fits: a package is missing, or of another version


class Message:
    """A parcel that pickles as the call of ``deliver`` with it: ``pickle.loads`` of the bytes runs the jobs.

    To the executor it is bytes and a function of Python's own. Dask's scheduler need not have truefit then, and a
    worker that does not have it says so; it would close if it could not read its task, and the next one after it.
    """

    def __init__(self, parcel: Parcel) -> None:
        self.parcel = parcel

    def __reduce__(self) -> tuple[Any, ...]:
        return deliver, (self.parcel,)

    def content(self) -> bytes:
        """Return the bytes."""
        return pickle.dumps(self, protocol=5)


def deliver(parcel: Parcel) -> Reply:
    """Run the jobs of a parcel: what a worker is asked to do.

    Dask gives the next worker what the last one died of, several times over. So a parcel that bears the mark of a dead
    worker is left alone.
    """
    different = difference_from(parcel.terms.versions)
    if different is not None:
        return Reply(unfit=f"Workers must have the versions of this process: {different}.")
    mark = Mark(parcel.terms.mark)
    if not mark.make():
        return Reply(abandoned=True)
    try:
        return _run(parcel, mark)
    finally:
        mark.remove()


def _run(parcel: Parcel, mark: Mark) -> Reply:
    try:
        data = _table(parcel.shipment, parcel.content)
    except Absent:
        return Reply(needs_data=True)
    except ModuleNotFoundError as error:
        return _without_module(error.name)
    except Exception:
        return Reply(error=traceback.format_exc())
    unpacker = Unpacker()
    for number, content in parcel.parts:
        unpacker.add(number, content)
    if unpacker.missing_module is not None:
        return _without_module(unpacker.missing_module)
    reply = Reply(marked=mark.made)
    with _under(parcel.terms):
        for content in parcel.jobs:
            mark.step()
            start = time.perf_counter()
            job = unpacker.job(content)
            result = packed(job) if isinstance(job, Failure) else packed_outcomes(job, _agreement.run_job(job, data))
            reply.outcomes.append(result)
            reply.seconds.append(time.perf_counter() - start)
    if data.release is not None:
        data.release()
    return reply


def _without_module(name: str | None) -> Reply:
    where = f"{socket.gethostname()} (process {os.getpid()})"
    return Reply(unfit=f"Workers must be able to import {name!r}, which the fits need: {where} cannot.")


def run_here(jobs: list[Job], data: Data, terms: Terms) -> Reply:
    """Run jobs in a thread of the process that they come from."""
    mark = Mark(terms.mark)
    mark.make()
    reply = Reply(marked=mark.made)
    try:
        with _under(terms):
            for job in jobs:
                mark.step()
                start = time.perf_counter()
                outcomes: list[Outcome] = run_job(job, data)
                reply.outcomes.append(outcomes)
                reply.seconds.append(time.perf_counter() - start)
    finally:
        mark.remove()
    return reply


def _under(terms: Terms) -> ExitStack:
    with ExitStack() as stack:
        stack.enter_context(as_worker())
        surroundings: Surroundings = pickle.loads(terms.surroundings)
        stack.enter_context(surroundings.visit())
        stack.enter_context(limited_threads(terms.threads))
        return stack.pop_all()


def _table(shipment: Shipment, content: bytes | None) -> Data:
    with _loading:
        data = _tables.pop(shipment.identity, None)
        if data is None:
            data = shipment.open() if content is None else shipment.unpack(content)
        _tables[shipment.identity] = data
        for oldest in list(_tables)[:-_TABLES]:
            del _tables[oldest]
        return data
