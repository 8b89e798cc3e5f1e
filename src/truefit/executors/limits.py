"""Limits: how long a fit may take, and how often it may kill its worker."""

from __future__ import annotations

from truefit.core.errors import InvalidInput
from truefit.core.job import Job

#: Workers that a job may kill before it is given up: the first may have died of something else.
KILLS = 2


def limit_of(job: Job, timeout: float) -> float:
    """Seconds that a job may take: as many times the limit as it fits models; to answer from one counts too."""
    return timeout * max(job.work, 1)


def limit_in_words(job: Job, timeout: float) -> str:
    """Return the limit of a job as a message puts it."""
    return f"{timeout:g} s" if job.work <= 1 else f"{timeout:g} s for each of {job.work} models"


def checked_timeout(timeout: float | None, owner: str) -> float | None:
    """Return a time limit that can be worked with."""
    if timeout is None:
        return None
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout > 0:
        raise InvalidInput(
            f"The 'timeout' parameter of {owner} must be a number of seconds above 0, or None. Got {timeout!r} instead."
        )
    return float(timeout)
