"""Course: a learning curve on its way, what it shows so far, and whether and where it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from truefit.core.errors import BudgetSpent, FitError
from truefit.core.job import Plan
from truefit.core.outcome import Failure, Outcome, reasons
from truefit.core.outcomes import Outcomes
from truefit.methods.candidates import default_responses
from truefit.methods.curves.extrapolate import forecast_of
from truefit.methods.curves.forecast import MULTIPLES, Forecast
from truefit.methods.curves.measured import Measured
from truefit.methods.curves.sample_point import SamplePoint, sample_point, sample_splits, sample_tasks
from truefit.methods.curves.sampled import Sampled
from truefit.methods.curves.schedule import LONGEST_STEP, SHORTEST_STEP
from truefit.methods.curves.terms import CurveTerms
from truefit.methods.splitting.portions import portions
from truefit.stats.curve_step import lemma_4_size
from truefit.stats.nested_noise import nested_covariance
from truefit.stats.paper_curve import LARGE

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

#: Why a curve was not measured further: what is known is enough; the target; or rows, budget, sizes or time are spent.
Rule = Literal["gain", "width", "paper", "target reached", "target out of reach", "rows", "budget", "sizes", "time"]


class Verdict(NamedTuple):
    """Why a curve was not measured further, None where it is to be; and at which size it would go on."""

    rule: Rule | None
    reason: str
    next_size: int | None


@dataclass(eq=False)
class Course:
    """One curve on its way."""

    name: str
    estimator: Any
    sampled: Sampled
    terms: CurveTerms
    points: list[SamplePoint] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    fits: int = 0
    last: int = 0

    def measure(self, sizes: Sequence[int]) -> Plan[bool]:
        """Measure at sizes; say whether time ran out."""
        terms, data, sequence = self.terms, self.sampled.data, self.sampled.sequence
        responses = tuple(
            dict.fromkeys((*default_responses(self.estimator, data.task), *terms.metric.responses(self.estimator)))
        )
        splits = {
            size: sample_splits(data, sequence, size, k=terms.k, random_state=terms.random_state) for size in sizes
        }
        tasks = (
            task for size in sizes for task in sample_tasks(self.estimator, splits[size], responses, train=terms.train)
        )
        outcomes, late = Outcomes(), False
        for portion in portions(tasks):
            try:
                outcomes.extend((yield portion))
            except BudgetSpent as spent:
                outcomes.extend(spent.outcomes)
                late = True
                break
        start = 0
        for size in sizes:
            found = outcomes[start : start + len(splits[size])]
            start += len(splits[size])
            if len(found) == len(splits[size]) and all(outcome is not None for outcome in found):
                self._take(size, splits[size], [outcome for outcome in found if outcome is not None])
        if late and not self.points:
            raise BudgetSpent(
                "The time budget was exhausted before a first point of the curve was measured. Give it more time, "
                "smaller sizes or a faster model."
            )
        return late

    def _take(self, size: int, splits: Sequence[Any], outcomes: Sequence[Outcome]) -> None:
        self.last = size
        self.fits += len(outcomes)
        failures = [outcome.error for outcome in outcomes if outcome.error is not None]
        self.failures += failures
        if not failures:
            self.points.append(
                sample_point(
                    self.sampled.data,
                    self.sampled.sequence,
                    splits,
                    outcomes,
                    self.terms.metric,
                    train=self.terms.train,
                )
            )

    @property
    def seconds(self) -> float:
        """Spent in fits so far."""
        return sum(point.seconds for point in self.points)

    def forecast(self) -> tuple[Measured, Forecast, float]:
        """Return what was measured, what follows from it, and the size that this is asked for."""
        if not self.points:
            raise FitError(f"All fits of {self.name} failed. {reasons(self.failures)}", self.failures)
        terms = self.terms
        covariance = covariance_of(self.points, self._clusters)
        measured = Measured.of(
            [point.size for point in self.points],
            [point.error for point in self.points],
            np.sqrt(np.diag(covariance)),
            largest=float(terms.metric.bounds[1]),
        )
        measured = replace(measured, covariance=covariance)
        horizon = max(self._horizon(measured.last), measured.last)
        forecast = forecast_of(
            measured, level=terms.level, mode=terms.mode, tolerance=terms.tolerance, horizon=horizon, single_runs=True
        )
        return measured, forecast, horizon

    @property
    def _clusters(self) -> Positions | None:
        data, sequence = self.sampled.data, self.sampled.sequence
        if data.groups is None:
            return None
        return np.unique(data.groups[sequence], return_inverse=True)[1]

    def _horizon(self, last: float) -> float:
        if self.terms.horizon is not None:
            return self.terms.horizon
        if self.terms.mode == "paper":
            return LARGE
        total = self.sampled.total
        return float(total) if total is not None and total > last else MULTIPLES[-1] * last

    def verdict(self) -> Verdict:
        """Say whether to go on, and where."""
        terms = self.terms
        measured, forecast, horizon = self.forecast()
        wanted = self._wanted(measured, forecast)
        if not terms.schedule.goes_on:
            by_target = self._target(measured, forecast, horizon)
            if by_target is not None:
                return by_target
            if forecast.stop.rule is not None:
                return Verdict(forecast.stop.rule, forecast.stop.reason, None)
        following = terms.schedule.after(self.last, wanted)
        if following is None:
            rule, words = self._end()
            return Verdict(rule, f"{words} {forecast.stop.reason}", int(np.ceil(wanted)))
        expected = self.seconds + self.points[-1].seconds * following / self.last
        if terms.budget.too_long(expected):
            words = (
                f"The budget of {terms.budget.seconds:.3g} s in fits does not reach for {following:,} rows: "
                f"{self.seconds:.3g} s are spent, and it would be some {expected:.3g} s."
            )
            return Verdict("budget", f"{words} {forecast.stop.reason}", following)
        return Verdict(None, forecast.stop.reason, following)

    def _wanted(self, measured: Measured, forecast: Forecast) -> float:
        if forecast.refused is not None or measured.stderr is None or measured.last < self.last:
            return LONGEST_STEP * self.last
        wanted = lemma_4_size(
            measured.last,
            lambda sizes: forecast.predict(sizes)[0],
            float(measured.stderr[-1]),
            shortest=SHORTEST_STEP,
            longest=LONGEST_STEP,
        )
        # No further than where the curve is expected to end: the rows beyond would be read in vain.
        enough = forecast.enough_at(measured.last * np.geomspace(SHORTEST_STEP, LONGEST_STEP, 13))
        return wanted if enough is None else min(wanted, enough)

    def _target(self, measured: Measured, forecast: Forecast, horizon: float) -> Verdict | None:
        target, now = self.terms.target, measured.errors[-1]
        if target is None:
            return None
        if forecast.refused is None:
            # One lucky point does not reach it: the curve through all of them must, too.
            now = max(now, forecast.predict(np.array([measured.last]))[0][0])
        if now <= target:
            reason = f"The error with {measured.last:,.0f} rows, {now:.3g}, is no more than the {target:.3g} asked for."
            return Verdict("target reached", reason, None)
        least = forecast.predict(np.array([horizon]))[1][0]
        if least > target:
            reason = (
                f"With {horizon:,.0f} rows the error would still be {least:.3g} or more; {target:.3g} is asked for."
            )
            return Verdict("target out of reach", reason, None)
        return None

    def _end(self) -> tuple[Rule, str]:
        total, budget = self.sampled.total, self.terms.budget
        if total is not None and self.last >= total:
            return "rows", f"All {total:,} rows are used."
        if self.last >= budget.most_rows:
            return "budget", budget.words(self.last)
        if total is not None and self.sampled.first is None:
            return "rows", f"There are only {total:,} rows."
        return "sizes", f"All sizes up to {self.last:,} rows are measured."


def covariance_of(points: Sequence[SamplePoint], clusters: Positions | None = None) -> Floats:
    """Return the covariance of points: from their rows, or where there are none from their folds."""
    shares = [point.shares for point in points if point.shares is not None]
    if len(shares) < len(points):
        return np.diag([point.folds.var(ddof=1) / len(point.folds) for point in points])
    return nested_covariance(shares, clusters)
