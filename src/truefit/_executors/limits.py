"""Limits: how long a fit may take, how much memory it may use, and how often it may kill its worker."""

from __future__ import annotations

import time
from dataclasses import dataclass

from truefit._core.errors import InvalidInput
from truefit._core.protocols import Job

#: Workers that a job may kill before it is given up: the first may have died of something else.
KILLS = 2


@dataclass(frozen=True)
class Limits:
    """What holds for the fits of one map.

    Parameters
    ----------
    timeout : float, optional
        Seconds that a fit may take.
    memory : int, optional
        Bytes that a worker may have.
    deadline : float, optional
        When all of them end, in seconds of ``time.monotonic()``.
    """

    timeout: float | None = None
    memory: int | None = None
    deadline: float | None = None

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return past(self.deadline)


def past(deadline: float | None) -> bool:
    """Whether a deadline has passed."""
    return deadline is not None and time.monotonic() > deadline


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
