"""Unlocked fits: those that do nearly all of their work outside of Python's lock, so that threads are enough."""

from __future__ import annotations

from collections.abc import Iterable

from truefit._core.protocols import Job

#: Learners of which two fits in two threads take little more than half as long as one after the other
#: (``python -m benchmarks unlocked``), by module and class: nothing is imported to look one up. Forests and histogram
#: boosting are not among them: they take the lock back for every tree.
_LEARNERS = frozenset(f"sklearn.svm._classes.{name}" for name in ("SVC", "SVR", "NuSVC", "NuSVR"))


def all_unlocked(jobs: Iterable[Job]) -> bool:
    """Whether all these jobs are of learners that leave Python's lock free while they work."""
    return all(
        job.solver.name == "plain" and all(_name(type(fit.estimator)) in _LEARNERS for fit in job.fits) for job in jobs
    )


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
