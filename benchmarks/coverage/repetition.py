"""A repetition: the claims of the methods that are still to be made about one sample of a setting."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import sklearn

from benchmarks.coverage.methods import METHODS
from benchmarks.coverage.sample import Sample
from benchmarks.coverage.settings import SETTINGS
from truefit._core.errors import TruefitError

_METHODS = {method.name: method for method in METHODS}
_SETTINGS = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True)
class Task:
    """Names only: a task travels to a worker and back."""

    setting: str
    repetition: int
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One line of the store: a method's interval in one repetition, and the truth.

    ``seconds`` of a core is what the method took beyond the fits that were there from the methods before it.
    """

    setting: str
    repetition: int
    method: str
    estimate: float | None
    low: float | None
    high: float | None
    truth: float | None
    fits: int
    seconds: float
    reason: str | None


def run_task(task):
    """Draw the sample and make the claims."""
    setting = _SETTINGS[task.setting]
    lines = []
    start = time.process_time()
    # The samples are sound, so scikit-learn need not check them before each of millions of fits.
    with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        warnings.simplefilter("ignore")
        sample = Sample(setting, task.repetition)
        with sample.engine:
            for name in task.methods:
                estimate, low, high, truth, reason = _claimed(_METHODS[name], sample)
                now = time.process_time()
                fits = _METHODS[name].fits_for(setting.n)
                lines.append(
                    Line(task.setting, task.repetition, name, estimate, low, high, truth, fits, now - start, reason)
                )
                start = now
    return lines


def _claimed(method, sample):
    try:
        found = method.make(sample)
    except TruefitError as error:
        return None, None, None, None, str(error)
    low, high = found.interval or (None, None)
    return found.estimate, low, high, found.truth, found.reason if low is None else None
