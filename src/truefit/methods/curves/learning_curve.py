"""Learning curve: would more data help? Measured in samples that grow, until enough is known."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import BudgetSpent, FitError, InvalidInput
from truefit.core.job import Plan
from truefit.core.metadata import check_takes_weights
from truefit.core.outcome import Failure, Outcome, grouped_failures
from truefit.core.outcomes import Outcomes
from truefit.core.row_source import RowSource
from truefit.methods.candidates import default_responses
from truefit.methods.capacity.bound import number
from truefit.methods.curves.budget import Budget
from truefit.methods.curves.extrapolate import Extrapolation, Mode, check_forecast, forecast_of
from truefit.methods.curves.forecast import MULTIPLES, Forecast
from truefit.methods.curves.measured import Measured
from truefit.methods.curves.sample_point import SamplePoint, sample_point, sample_splits, sample_tasks
from truefit.methods.curves.schedule import LONGEST_STEP, SHORTEST_STEP, Schedule, least_size, make_schedule
from truefit.methods.curves.sequence import row_sequence
from truefit.methods.splitting.portions import portions
from truefit.methods.splitting.splits import is_whole
from truefit.metrics.metric import Metric
from truefit.plots.learning_curve import learning_curve
from truefit.stats.curve_outlook import LEAST_POINTS
from truefit.stats.curve_step import lemma_4_size
from truefit.stats.nested_noise import nested_covariance
from truefit.stats.paper_curve import LARGE
from truefit.stats.paper_curve import LEAST_POINTS as PAPER_POINTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]

#: Why a curve was not measured further: what is known is enough; the target; or rows, budget, sizes or time are spent.
Rule = Literal["gain", "width", "paper", "target reached", "target out of reach", "rows", "budget", "sizes", "time"]


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows in their sequence, and what is known of those that are not read yet.

    Attributes
    ----------
    data : Data
    sequence : array of int
        Positions of the rows of the data; a sample is the first of them.
    total : int or None
        How many rows can be had; None where that is not known.
    first : int or None
        How many there were said to be when the curve was begun.
    stations : tuple of int
        Where rows came to an end before.
    """

    data: Data
    sequence: Positions
    total: int | None
    first: int | None
    stations: tuple[int, ...] = ()

    @property
    def ends(self) -> bool:
        """Whether all rows are read."""
        return self.total is not None and self.data.n >= self.total


def sampled_table(data: Data, *, batches: Any = None, random_state: int | None = None) -> Sampled:
    """Return a table in memory in the sequence that follows from its rows."""
    sequence = row_sequence(data, batches=batches, random_state=random_state)
    stations = tuple(int(end) for end in batches or ())
    return Sampled(data, sequence, data.n, stations[0] if stations else data.n, stations)


def sampled_source(source: RowSource, asked: int, data: Data, *, batches: Any = None) -> Sampled:
    """Return the first rows of a source, of which so many were asked for; a source that gives fewer has no more."""
    total = data.n if data.n < asked else source.total
    stations = tuple(int(end) for end in batches or ())
    return Sampled(data, np.arange(data.n), total, stations[0] if stations else source.total, stations)


@dataclass(frozen=True, eq=False)
class CurveTerms:
    """How a curve is measured, and when that is enough."""

    metric: Metric
    schedule: Schedule
    budget: Budget
    k: int
    mode: Mode
    level: float
    tolerance: float | None
    horizon: float | None
    target: float | None
    train: bool
    random_state: int | None


def curve_terms(
    sampled: Sampled,
    metric: Metric,
    *,
    schedule: Any,
    k: int,
    budget: Any,
    mode: Mode,
    level: float,
    tolerance: float | None,
    horizon: float | None,
    target: float | None,
    train: bool,
    random_state: int | None,
) -> CurveTerms | None:
    """Check the terms; None where more rows have to be read before a first sample can be made."""
    check_forecast(mode, level, tolerance)
    if not is_whole(k) or k < 2:
        raise InvalidInput(f"The number of folds k must be a whole number of at least 2. Got {k!r} instead.")
    _check_loss(metric)
    spend = Budget.of(budget)
    wanted = None if target is None else number("target", target, at_least=0.0)
    far = None if horizon is None else number("horizon", horizon, above=0.0)
    most = min(np.inf if sampled.total is None else sampled.total, spend.most_rows)
    least = least_size(sampled.data, sampled.sequence, k)
    if least is None and not sampled.ends:
        return None
    if least is None or least > most:
        raise InvalidInput(_too_few(sampled.data, k, most))
    # The paper's own sizes are part of its procedure.
    if mode == "paper" and isinstance(schedule, str):
        schedule = "paper"
    first = None if sampled.first is None else min(sampled.first, spend.most_rows)
    sizes = make_schedule(schedule, least=least, most=most, first=first, stations=sampled.stations, k=k)
    if not sampled.ends and sizes.opening(1)[0] > sampled.data.n:
        return None
    return CurveTerms(metric, sizes, spend, k, mode, level, tolerance, far, wanted, train, random_state)


def _too_few(data: Data, k: int, most: float) -> str:
    wanted = f"A learning curve with k={k} folds must have at least {k} rows"
    if data.task == "classification":
        wanted += ", and as many of each of two classes"
    if data.groups is not None:
        wanted += f", of {k} groups"
    rows = f"{data.n:,} rows" if most >= data.n else f"a budget of {int(most):,} rows"
    if data.codes is not None and data.classes is not None:
        counts = np.bincount(data.codes)
        rare = counts.argmin()
        rows += f", {counts[rare]} of them of class {data.classes[rare].item()!r}"
    return f"{wanted}. Got {rows}; use fewer folds, or get more rows."


def _check_loss(metric: Metric) -> None:
    if metric.greater_is_better or metric.bounds[0] < 0 or metric.total:
        why = "grows with the number of rows" if metric.total else "is better when it is greater, or may be negative"
        raise InvalidInput(
            f"The metric of a learning curve must be a loss, small where a model is good. {metric.name!r} {why}; "
            "choose for instance 'error', 'log_loss', 'mse' or 'mae'."
        )


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
            return course.result(Verdict("time", "The time for the call is spent.", None))
        if len(sizes) < len(wanted):
            return course.result(Verdict(None, _MORE, wanted[len(sizes)]))
        verdict = course.verdict()
        if verdict.rule is not None:
            return course.result(verdict)
        assert verdict.next_size is not None
        wanted = [verdict.next_size]
        if wanted[0] > sampled.data.n:
            return course.result(verdict)


_MORE = "More rows have to be read."


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
            raise BudgetSpent("The time was spent before a first point of the curve was measured.")
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
            raise FitError(f"All fits of {self.name} failed.\n\n{grouped_failures(self.failures)}", self.failures)
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

    def result(self, verdict: Verdict) -> LearningCurve:
        """Return what there is."""
        if self.failures and self.points:
            warnings.warn(
                f"{len(self.failures)} of {self.fits} fits failed; their sizes are left out.\n\n"
                f"{grouped_failures(self.failures)}",
                stacklevel=2,
            )
        measured, forecast, horizon = self.forecast()
        return LearningCurve(self, measured, forecast, horizon, verdict)


def covariance_of(points: Sequence[SamplePoint], clusters: Positions | None = None) -> Floats:
    """Return the covariance of points: from their rows, or where there are none from their folds."""
    shares = [point.shares for point in points if point.shares is not None]
    if len(shares) < len(points):
        return np.diag([point.folds.var(ddof=1) / len(point.folds) for point in points])
    return nested_covariance(shares, clusters)


class LearningCurve(Extrapolation):
    """Errors in samples that grow, what more rows would bring, and why it was not measured further.

    Attributes
    ----------
    name : str
        Of the estimator.
    sizes, errors, stderr : array of shape (points,)
        Rows of each sample, test folds included; the cross-validated error in it; and its standard error, from what
        drawing the rows anew would do.
    train, train_sd : array of shape (points,) or None
        Mean error on the training rows of the folds, and its standard deviation, where asked for.
    stopped : bool
        False only where more rows are to be read before the curve can go on.
    rule : str or None
        Why it was not measured further: "gain" (more rows bring less than matters), "width" (what they bring is known),
        "target reached", "target out of reach", "paper" (Eq. 40), "rows", "budget", "sizes" or "time" (spent).
    next_size : int or None
        The size to go on with; None where more rows are not worth it.
    fits : int
    seconds : float
        Spent in the fits, also in those that were found in a store.
    """

    title = "Learning curve"

    def __init__(
        self, course: Course, measured: Measured, forecast: Forecast, horizon: float, verdict: Verdict
    ) -> None:
        terms, points = course.terms, course.points
        super().__init__(measured, forecast, mode=terms.mode, horizon=horizon, metric=terms.metric.name)
        self.name = course.name
        self.k = terms.k
        self.target = terms.target
        self.rule = verdict.rule
        self.next_size = verdict.next_size
        self.fits = course.fits
        self.seconds = course.seconds
        self.train = (
            np.array([point.train.mean() for point in points if point.train is not None]) if terms.train else None
        )
        self.train_sd = (
            np.array([point.train.std(ddof=1) for point in points if point.train is not None]) if terms.train else None
        )
        self._reason = verdict.reason
        self._seconds = [point.seconds for point in points]

    @property
    def stopped(self) -> bool:
        """Whether the curve came to its end; ``reason`` says why."""
        return self.rule is not None

    @property
    def enough(self) -> bool:
        """Whether more rows are not worth it, or not needed."""
        return self.rule in ("gain", "width", "paper", "target reached", "target out of reach")

    @property
    def reason(self) -> str:
        """Why it was not measured further, or what is to come."""
        return self._reason

    @property
    def outlook(self) -> pd.DataFrame:
        """What once, twice, 5 and 10 times the rows bring, and those at the horizon."""
        return self._forecast.table

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per size; in paper mode with the columns of the paper's Table 1."""
        import pandas as pd

        if self.mode == "paper":
            found = self._forecast.table
            return found.set_index(pd.Index(self.sizes.astype(np.int64), name="rows"))
        columns: dict[str, Any] = {"error": self.errors, "stderr": self.stderr}
        if self.train is not None:
            columns |= {"train": self.train, "train_sd": self.train_sd}
        return pd.DataFrame(
            columns | {"seconds": self._seconds}, index=pd.Index(self.sizes.astype(np.int64), name="rows")
        )

    def summary(self) -> str:
        """Return what was measured, what more rows would bring, and why it ended."""
        lines = [
            f"{self.metric} of {self.name} with {self._measured.last:,.0f} rows: {self.errors[-1]:.4g}"
            f" ({self.k}-fold; {len(self.sizes)} sizes from {self.sizes[0]:,.0f}, {self.fits:,} fits)"
        ]
        if self.refused is not None:
            lines.append(f"No extrapolation: {self.refused}")
        else:
            ahead = [multiple * self._measured.last for multiple in MULTIPLES[1:]]
            for n in np.unique([*ahead, self.horizon]):
                value, low, high = self.predict(float(n))
                lines.append(f"  {n:>12,.0f} rows  {value:.4g}  ({self._percent} interval {low:.4g} to {high:.4g})")
        lines.append(f"{'Stopped' if self.stopped else 'Not at its end'}: {self.reason}")
        if self.next_size is not None:
            lines.append(f"Next: {self.next_size:,} rows.")
        if self.target is not None and self.refused is None:
            lines.append(str(self.rows_for(self.target)))
        return "\n".join(lines + [f"Note: {warning}" for warning in self.warnings])

    def plot(self, ax: Axes | None = None, *, target: float | None = None) -> Axes:
        """Draw the measured points, with training errors where there are any, and the curve in its band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        target : float, optional
            An error to be reached, drawn as a line; by default that of the curve.
        """
        return learning_curve(
            self.sizes,
            self.errors,
            self.stderr,
            curve=self._drawn(),
            train=None if self.train is None or self.train_sd is None else (self.train, self.train_sd),
            target=self.target if target is None else target,
            ylabel=f"{self.metric} ({self._percent} interval)" if self.refused is None else self.metric,
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return super().to_dict() | {
            "kind": "learning_curve",
            "name": self.name,
            "k": self.k,
            "rule": self.rule,
            "next_size": self.next_size,
            "target": self.target,
            "fits": self.fits,
            "seconds": self.seconds,
            "train": None if self.train is None else self.train.tolist(),
            "train_sd": None if self.train_sd is None else self.train_sd.tolist(),
        }
