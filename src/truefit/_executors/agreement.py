"""Agreement: whether a worker would run the code that a job is identified with."""

from __future__ import annotations

from typing import Any

from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._core.identity import Environments
from truefit._core.outcome import Failure, Outcome
from truefit._core.protocols import Job
from truefit._core.task import Origin
from truefit._executors.attempt import origins, run_job

#: Estimators whose fingerprint is remembered; beyond that all are forgotten.
_MANY = 1000


class Agreement:
    """Checks in a worker that it would run the code that a job is identified with.

    A worker is another process: it imports modules from files that may have been edited since, and knows nothing of
    what was changed at run time in the process that sends the jobs.
    """

    def __init__(self) -> None:
        self._environments = Environments()
        self._known: dict[int, tuple[Any, Fingerprint]] = {}

    def run_job(self, job: Job, data: Data) -> list[Outcome]:
        """Run a job, or refuse it with a failure of the kind "other code"."""
        for estimator, origin in origins(job):
            if not self._same(estimator, origin):
                name = type(estimator).__name__
                return job.failed(
                    Failure(
                        "other code",
                        f"A worker must run the same code as the process that sends the fits. For {name} it has other "
                        "code: a module or package was edited after it was imported, or something was changed at run "
                        "time. Restart Python, or run with workers=1.",
                    )
                )
        return run_job(job, data)

    def _same(self, estimator: Any, origin: Origin) -> bool:
        found = self._fingerprint(estimator, origin)
        if found.digest != origin.fingerprint:
            return False
        if origin.environment is None:
            return True
        try:
            return self._environments.digest(found.packages, found.classes, files=origin.files) == origin.environment
        except NotComparable:
            return False

    def _fingerprint(self, estimator: Any, origin: Origin) -> Fingerprint:
        if origin.own_code:  # which may have changed since
            return Fingerprint(estimator, tolerant=True)
        known = self._known.get(id(estimator))
        if known is None:
            if len(self._known) >= _MANY:
                self._known.clear()
            # The estimator is held so that its id stays its own.
            known = self._known[id(estimator)] = estimator, Fingerprint(estimator, tolerant=True)
        return known[1]
