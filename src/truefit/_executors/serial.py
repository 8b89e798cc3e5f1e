"""SerialExecutor: jobs one after the other, in this process; and run_job, by which every worker runs a job too."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import Failure
from truefit._core.fingerprint import Fingerprint
from truefit._core.hidden_inputs import HiddenInputs, forks_end_here
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job, Origin
from truefit._executors.environment import CodeCheck, check_threads, limited_threads, origins

_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # those by which a run is ended


def run_job(job: Job, data: Data) -> list[Outcome]:
    """Return the outcomes of a job; only an interrupt gets through.

    What a fit has forked ends with it. The working folder, the file mode mask, the handlers of SIGINT and SIGTERM and
    numpy's error state are afterwards as they were before, so that the next fit does not depend on this one.
    """
    # They are the whole process's: where fits run in several threads, one must not undo what another needs.
    before = ProcessState.now() if threading.current_thread() is threading.main_thread() else None
    own = [(estimator, origin) for estimator, origin in origins(job) if origin.own_code]
    changed = _changed(own)
    try:
        with forks_end_here(), HiddenInputs(own_code=bool(own)) as watch:
            outcomes = job.run(data)
    except (Exception, SystemExit) as error:
        return job.failed(Failure.of(error))
    finally:
        if before is not None:
            before.restore()
    reason = watch.reason or ("changes values that it depends on" if _changed(own) and not changed else None)
    if reason is None and changed:
        reason = "depends on values that have changed since the call began"
    if reason is not None:
        for outcome in outcomes:
            outcome.hidden_input = reason
    return outcomes


def run_checked(job: Job, data: Data, check: CodeCheck) -> list[Outcome]:
    """Run a job in a worker, or refuse it with a failure of the kind "other code"."""
    failure = check.failure(job)
    return run_job(job, data) if failure is None else job.failed(failure)


def _changed(own: Iterable[tuple[Any, Origin]]) -> bool:
    return any(Fingerprint(estimator, tolerant=True).digest != origin.fingerprint for estimator, origin in own)


@dataclass(frozen=True)
class ProcessState:
    """What a fit can change for all that runs after it, as far as it is cheap to undo."""

    folder: str | None
    mask: int
    handlers: list[Any]
    float_errors: Any

    @classmethod
    def now(cls) -> ProcessState:
        """Return the state of this process."""
        mask = os.umask(0o077)
        os.umask(mask)
        return cls(_folder(), mask, [signal.getsignal(each) for each in _SIGNALS], np.geterr())

    def restore(self) -> None:
        """Undo what has changed since."""
        os.umask(self.mask)
        if self.folder is not None and _folder() != self.folder:
            with suppress(OSError):  # it is gone
                os.chdir(self.folder)
        for each, handler in zip(_SIGNALS, self.handlers, strict=True):
            if handler is not None and signal.getsignal(each) is not handler:
                signal.signal(each, handler)
        if np.geterr() != self.float_errors:
            np.seterr(**self.float_errors)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # removed
        return None


class SerialExecutor:
    """Runs each job when its outcomes are requested, with a number of threads of BLAS and OpenMP inside a fit.

    Examples
    --------
    >>> from truefit._core.data import Data
    >>> data = Data([[0.0], [1.0]], [0.0, 1.0], task="regression")
    >>> list(SerialExecutor().map([], data))
    []
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = check_threads(threads, "SerialExecutor")

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs in their order; a deadline is looked at between them."""
        with limited_threads(self.threads):
            for job in jobs:
                if deadline is not None and time.monotonic() > deadline:
                    return
                yield run_job(job, data)

    def close(self) -> None:
        """There is nothing to stop."""

    def __repr__(self) -> str:
        return f"SerialExecutor(threads={self.threads})"
