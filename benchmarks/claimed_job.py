"""Claimed job: the job in which the engine's solvers answer some fits together."""

from __future__ import annotations

from truefit._solvers.registry import all_solvers


def claimed_job(fits, data):
    """Return the one job of the first solver that claims the fits."""
    for solver in all_solvers():
        jobs = solver.claim(fits, data)
        if jobs:
            [job] = jobs
            return job
    raise AssertionError("the last solver takes all")
