"""Attempt: a job run to its end, whatever goes wrong being its own failure, and how it travels."""

from __future__ import annotations

import pickle
import time
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from truefit.core.data import Data
from truefit.core.job import Job
from truefit.core.outcome import Failure, Outcome


def run_job(job: Job, data: Data) -> list[Outcome]:
    """Return the outcomes of a job; only an interrupt gets through."""
    try:
        return job.run(data)
    except (Exception, SystemExit) as error:
        return job.failed(Failure.of(error))


def run_packed(job: Job, data: Data) -> tuple[bytes, float]:
    """Outcomes as bytes and the seconds that the job took; what cannot be sent back has failed."""
    start = time.perf_counter()
    outcomes = run_job(job, data)
    seconds = time.perf_counter() - start
    try:
        return packed(outcomes), seconds
    except Exception as error:
        message = (
            "The outcome of a fit must be picklable to come back from a worker. Got "
            f"{type(error).__name__}: {error}. Make the model picklable, or run with workers=1."
        )
        return packed(job.failed(Failure("raised", message))), seconds


def unpacked(content: bytes | bytearray | memoryview, job: Job) -> list[Outcome]:
    """Outcomes that came back as bytes."""
    try:
        outcomes: list[Outcome] = pickle.loads(content)
    except Exception as error:
        return job.failed(Failure.of(error))
    return outcomes


def packed(thing: Any) -> bytes:
    """Pickle anything that a worker has to get, classes and functions of the user's script included."""
    # cloudpickle takes twice as long; only what lies in a script or has no name at all is in need of it.
    if not cloudpickle.list_registry_pickle_by_value():
        try:
            content = pickle.dumps(thing, protocol=5)
        except Exception:
            content = b"__main__"
        if b"__main__" not in content:
            return content
    by_value: bytes = cloudpickle.dumps(thing, protocol=5)
    return by_value


def packed_job(job: Job) -> bytes | Failure:
    """Return a job as bytes, or why it cannot travel."""
    try:
        return packed(job)
    except Exception as error:
        names = sorted({type(fit.estimator).__name__ for fit in job.fits})
        message = (
            f"An estimator must be picklable to be fitted in a worker. Got {', '.join(names)}, for which "
            f"pickling says: {type(error).__name__}: {error}. Leave out what cannot be pickled (locks, open "
            "files, connections), or run with workers=1."
        )
        return Failure("raised", message)
