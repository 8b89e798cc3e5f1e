"""Attempt: a job run to its end, whatever goes wrong being its own failure."""

from __future__ import annotations

from truefit.core.data import Data
from truefit.core.job import Job
from truefit.core.outcome import Failure, Outcome


def run_job(job: Job, data: Data) -> list[Outcome]:
    """Return the outcomes of a job; only an interrupt gets through."""
    try:
        return job.run(data)
    except (Exception, SystemExit) as error:
        return job.failed(Failure.of(error))
