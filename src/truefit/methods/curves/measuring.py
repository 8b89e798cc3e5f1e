"""Measuring: the plan of a learning curve, sample after sample until enough is known."""

from __future__ import annotations

import warnings
from typing import Any

from truefit.core.job import Plan
from truefit.core.metadata import check_takes_weights
from truefit.core.outcome import grouped_failures
from truefit.methods.curves.course import Course, Verdict
from truefit.methods.curves.learning_curve import LearningCurve
from truefit.methods.curves.sampled import Sampled
from truefit.methods.curves.terms import CurveTerms
from truefit.stats.curve_outlook import LEAST_POINTS
from truefit.stats.paper_curve import LEAST_POINTS as PAPER_POINTS

_MORE = "More rows have to be read."


def learning_curve_plan(name: str, estimator: Any, sampled: Sampled, terms: CurveTerms) -> Plan[LearningCurve]:
    """Measure at one size after the other until a rule says that it is enough, or the rows that were read end."""
    if sampled.data.weight is not None:
        check_takes_weights(estimator)
    course = Course(name, estimator, sampled, terms)
    wanted = terms.schedule.opening(PAPER_POINTS if terms.mode == "paper" else LEAST_POINTS)
    while True:
        sizes = [size for size in wanted if size <= sampled.data.n]
        late = yield from course.measure(sizes)
        if late:
            return _result(course, Verdict("time", "The time for the call is spent.", None))
        if len(sizes) < len(wanted):
            return _result(course, Verdict(None, _MORE, wanted[len(sizes)]))
        verdict = course.verdict()
        if verdict.rule is not None:
            return _result(course, verdict)
        assert verdict.next_size is not None
        wanted = [verdict.next_size]
        if wanted[0] > sampled.data.n:
            return _result(course, verdict)


def _result(course: Course, verdict: Verdict) -> LearningCurve:
    """Return what there is."""
    if course.failures and course.points:
        warnings.warn(
            f"{len(course.failures)} of {course.fits} fits failed; their sizes are left out.\n\n"
            f"{grouped_failures(course.failures)}",
            stacklevel=2,
        )
    measured, forecast, horizon = course.forecast()
    return LearningCurve(course, measured, forecast, horizon, verdict)
