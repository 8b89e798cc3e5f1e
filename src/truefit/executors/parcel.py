"""Parcel: jobs on their way through an executor that is not ours, and what its worker does with them."""

from __future__ import annotations

import pickle
import threading
import time
import traceback
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from truefit.core.data import Data
from truefit.core.job import Job
from truefit.core.outcome import Failure, Outcome
from truefit.executors.agreement import Agreement
from truefit.executors.attempt import run_job
from truefit.executors.manifest import Absent
from truefit.executors.mark import Mark
from truefit.executors.packing import Unpacker, packed, packed_outcomes
from truefit.executors.shipment import Shipment
from truefit.executors.surroundings import Surroundings, as_worker
from truefit.executors.threads import limited_threads

#: Tables that a process keeps open.
_TABLES = 2
_tables: dict[str, Data] = {}
_loading = threading.Lock()
_agreement = Agreement()


@dataclass(frozen=True)
class Terms:
    """How jobs are to be run: surroundings (as bytes), threads inside a fit, and where to leave a mark meanwhile."""

    surroundings: bytes
    threads: int
    mark: str | None = None


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


def deliver(parcel: Parcel) -> Reply:
    """Run the jobs of a parcel: what a worker is asked to do.

    Dask gives the next worker what the last one died of, several times over. So a parcel that bears the mark of a dead
    worker is left alone.
    """
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
    except Exception:
        return Reply(error=traceback.format_exc())
    unpacker = Unpacker()
    for number, content in parcel.parts:
        unpacker.add(number, content)
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
