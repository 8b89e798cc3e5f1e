"""Plan of a learning curve: k-fold cross-validation in growing samples, until a stopping rule holds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, Failure, FitError, InvalidInput, grouped_failures, reasons
from truefit._core.outcome import Outcome, Outcomes, Predictions
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Plan, Response
from truefit._core.rows import Rows
from truefit._core.typing import Floats, Positions
from truefit._methods.assessment.plan import portions
from truefit._methods.candidates import default_responses
from truefit._methods.learning_curve.config import LONGEST_STEP, SHORTEST_STEP, LearningCurveConfig, SampledRows
from truefit._methods.learning_curve.extrapolation import forecast_of
from truefit._methods.learning_curve.forecast import MULTIPLES, Forecast, MeasuredCurve
from truefit._methods.learning_curve.result import LearningCurve
from truefit._methods.splitting.splits import Split, row_subset, shared_partition
from truefit._metrics.metric import Metric
from truefit._stats.curve_forecast import LEAST_POINTS
from truefit._stats.curve_paper import LARGE
from truefit._stats.curve_paper import LEAST_POINTS as PAPER_POINTS
from truefit._stats.curve_points import lemma_4_size, nested_covariance


@dataclass(frozen=True)
class SamplePoint:
    """The error at one size.

    ``shares`` is what each row of the sample, in the order of the sequence, adds to the error minus its mean; None for
    metrics that are not means over rows. ``folds`` and ``train`` are the errors on test and training rows of each fold.
    """

    size: int
    error: float
    shares: Floats | None
    folds: Floats
    train: Floats | None
    seconds: float


def sample_splits(data: Data, sequence: Positions, size: int, *, k: int, random_state: int | None) -> list[Split]:
    """Return k folds of the first rows of a sequence; for all rows these are the folds of other methods."""
    rows = np.sort(sequence[:size])
    folds = shared_partition(row_subset(data, rows), k, random_state=random_state)
    return [
        Split(Rows.train_of(data.n, rows[folds != fold]), Rows.of(rows[folds == fold]))
        for fold in range(k)
        if (folds == fold).any()
    ]


def sample_tasks(
    estimator: object, splits: Sequence[Split], responses: Sequence[Response], *, train: bool
) -> list[FitTask]:
    """Return the fits of a sample; with ``train`` they predict their training rows too."""
    tasks = []
    for split in splits:
        predicted = (split.test, split.train) if train else (split.test,)
        asks = tuple(Ask(rows, response) for rows in predicted for response in responses)
        tasks.append(FitTask(estimator, split.train, asks))
    return tasks


def sample_point(
    data: Data,
    sequence: Positions,
    splits: Sequence[Split],
    outcomes: Sequence[Outcome],
    metric: Metric,
    *,
    train: bool,
) -> SamplePoint:
    """Compute the error of a sample from its fits, none of which failed."""
    tested = list(zip(splits, outcomes, strict=True))
    positions = np.concatenate([split.test.index for split in splits])
    folds = np.array([metric.value(outcome, data, split.test) for split, outcome in tested])
    error, shares = float(folds.mean()), None
    if metric.row_loss is not None or metric.smooth is not None:
        each = np.concatenate([_row_parts(metric, outcome, data, split.test) for split, outcome in tested])
        error, shares = _mean_and_shares(metric, each, _row_weights(data, splits, by_fold=metric.smooth is None))
        place = np.empty(data.n, dtype=np.intp)
        place[sequence] = np.arange(data.n)
        shares = shares[np.argsort(place[positions], kind="stable")]
    on_train = np.array([metric.value(o, data, split.train) for split, o in tested]) if train else None
    return SamplePoint(len(positions), error, shares, folds, on_train, sum(o.fit_seconds for o in outcomes))


def _row_parts(metric: Metric, outcome: Outcome, data: Data, rows: Rows) -> Floats:
    if metric.smooth is not None:
        return metric.smooth.rows(outcome, data, rows)
    each = metric.rows(outcome, data, rows)
    assert each is not None
    return np.asarray(each, dtype=np.float64)[:, None]


def _row_weights(data: Data, splits: Sequence[Split], *, by_fold: bool) -> Floats:
    """Weight of each row: the same for all folds, as in the mean over the folds, or for all rows."""
    tests = [split.test.index for split in splits]
    weights = [np.ones(len(test)) if data.weight is None else data.weight[test] for test in tests]
    counts = np.concatenate([each / each.sum() for each in weights] if by_fold else weights)
    return np.asarray(counts / counts.sum())


def _mean_and_shares(metric: Metric, each: Floats, counts: Floats) -> tuple[float, Floats]:
    """Return the metric over all rows, and what each row adds to it minus the mean."""
    means = counts @ each
    shares = counts[:, None] * (each - means)
    if metric.smooth is None:
        return float(means[0]), shares[:, 0]
    # A constant part adds nothing, even where its slope is infinite: an RMSE of zero.
    slopes = np.where(shares.any(axis=0), metric.smooth.slopes(means), 0.0)
    return float(metric.smooth.value(means)), shares @ slopes


#: Why a curve stopped: enough is known; the target; or rows, budget, sizes or time are exhausted.
Rule = Literal["gain", "width", "paper", "target reached", "target out of reach", "rows", "budget", "sizes", "time"]


class StopDecision(NamedTuple):
    """The rule that stopped a curve, None where it continues; the reason; and the size to continue with."""

    rule: Rule | None
    reason: str
    next_size: int | None


@dataclass(eq=False)
class CurveRun:
    """The state of one curve while it is measured."""

    name: str
    estimator: Any
    sampled: SampledRows
    config: LearningCurveConfig
    points: list[SamplePoint] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    fits: int = 0
    last: int = 0

    def measure(self, sizes: Sequence[int]) -> Plan[bool]:
        """Measure at sizes; return whether the time budget was exhausted."""
        config, data, sequence = self.config, self.sampled.data, self.sampled.sequence
        responses = tuple(
            dict.fromkeys((*default_responses(self.estimator, data.task), *config.metric.responses(self.estimator)))
        )
        splits = {
            size: sample_splits(data, sequence, size, k=config.k, random_state=config.random_state) for size in sizes
        }
        tasks = (
            task for size in sizes for task in sample_tasks(self.estimator, splits[size], responses, train=config.train)
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
                self._record(size, splits[size], [outcome for outcome in found if outcome is not None])
        if late and not self.points:
            raise BudgetSpent(
                "Time budget exhausted before the first point of the curve was measured. Allow more time, smaller "
                "sizes or a faster model."
            )
        return late

    def _record(self, size: int, splits: Sequence[Split], outcomes: Sequence[Outcome]) -> None:
        self.last = size
        self.fits += len(outcomes)
        failures = [outcome.error for outcome in outcomes if outcome.error is not None]
        self.failures += failures
        if not failures:
            data, sequence, config = self.sampled.data, self.sampled.sequence, self.config
            with np.errstate(over="ignore", invalid="ignore"):  # infinite losses are refused here
                point = sample_point(data, sequence, splits, outcomes, config.metric, train=config.train)
            if not np.isfinite(point.error):
                raise FitError(
                    f"The {config.metric.name} of {self.name} with {size:,} rows is infinite or too large to compute "
                    "with. Check its predictions, or scale the target."
                )
            self.points.append(point)

    @property
    def seconds(self) -> float:
        """Seconds spent in fits so far."""
        return sum(point.seconds for point in self.points)

    def forecast(self) -> tuple[MeasuredCurve, Forecast, float]:
        """Return the measured curve, its forecast, and the horizon."""
        if not self.points:
            raise FitError(f"All fits of {self.name} failed. {reasons(self.failures)}", self.failures)
        config = self.config
        covariance = covariance_of(self.points, self._clusters)
        measured = MeasuredCurve.of(
            [point.size for point in self.points],
            [point.error for point in self.points],
            np.sqrt(np.diag(covariance)),
            largest=float(config.metric.bounds[1]),
            baseline=self._baseline,
        )
        measured = replace(measured, covariance=covariance)
        horizon = max(self._horizon(measured.last), measured.last)
        forecast = forecast_of(
            measured,
            level=config.level,
            mode=config.mode,
            tolerance=config.tolerance,
            horizon=horizon,
            single_runs=True,
        )
        return measured, forecast, horizon

    @cached_property
    def _baseline(self) -> float | None:
        return baseline_error(self.sampled.data, self.config.metric)

    @property
    def _clusters(self) -> Positions | None:
        data, sequence = self.sampled.data, self.sampled.sequence
        if data.groups is None:
            return None
        return data.group_codes[sequence]

    def _horizon(self, last: float) -> float:
        if self.config.horizon is not None:
            return self.config.horizon
        if self.config.mode == "paper":
            return LARGE
        total = self.sampled.total
        return float(total) if total is not None and total > last else MULTIPLES[-1] * last

    def decide(self) -> StopDecision:
        """Decide whether to stop, and at which size to continue."""
        config = self.config
        measured, forecast, horizon = self.forecast()
        wanted = self._wanted(measured, forecast)
        if not config.schedule.exhaustive:
            by_target = self._target(measured, forecast, horizon)
            if by_target is not None:
                return by_target
            if forecast.stop.rule is not None:
                return StopDecision(forecast.stop.rule, forecast.stop.reason, None)
        following = config.schedule.after(self.last, wanted)
        if following is None:
            rule, text = self._end()
            more = None if rule == "budget" else self._attainable(wanted)
            return StopDecision(rule, f"{text} {forecast.stop.reason}", more)
        expected = self.seconds + self.points[-1].seconds * following / self.last
        allowed = config.budget.seconds
        if allowed is not None and expected > allowed:
            text = (
                f"Time budget of {allowed:.3g} s in fits exhausted: {self.seconds:.3g} s used, about {expected:.3g} s "
                f"needed for {following:,} rows."
            )
            return StopDecision("budget", f"{text} {forecast.stop.reason}", following)
        return StopDecision(None, forecast.stop.reason, following)

    def _wanted(self, measured: MeasuredCurve, forecast: Forecast) -> float:
        if forecast.refused is not None or measured.stderr is None or measured.last < self.last:
            return LONGEST_STEP * self.last
        wanted = lemma_4_size(
            measured.last,
            lambda sizes: forecast.predict(sizes)[0],
            float(measured.stderr[-1]),
            shortest=SHORTEST_STEP,
            longest=LONGEST_STEP,
        )
        # No further than where the curve is expected to stop.
        enough = forecast.enough_at(measured.last * np.geomspace(SHORTEST_STEP, LONGEST_STEP, 13))
        return wanted if enough is None else min(wanted, enough)

    def _attainable(self, wanted: float) -> int | None:
        """Return a wanted size, or the largest that the horizon and the budget allow; None where that is measured."""
        horizon = np.inf if self.config.horizon is None else self.config.horizon
        size = int(min(np.ceil(wanted), horizon, self.config.budget.most_rows))
        return size if size > self.last else None

    def _target(self, measured: MeasuredCurve, forecast: Forecast, horizon: float) -> StopDecision | None:
        target, now = self.config.target, measured.errors[-1]
        if target is None:
            return None
        if forecast.refused is None:
            # A single low point is not enough: the fitted curve must reach the target, too.
            now = max(now, forecast.predict(np.array([measured.last]))[0][0])
        if now <= target:
            reason = (
                f"Target reached: error {measured.errors[-1]:.3g} with {measured.last:,.0f} rows (target {target:.3g})."
            )
            return StopDecision("target reached", reason, None)
        least = forecast.predict(np.array([horizon]))[1][0]
        if least > target:
            reason = f"Target out of reach: error {least:.3g} or more with {horizon:,.0f} rows (target {target:.3g})."
            return StopDecision("target out of reach", reason, None)
        return None

    def _end(self) -> tuple[Rule, str]:
        total, budget = self.sampled.total, self.config.budget
        if total is not None and self.last >= total:
            return "rows", f"All {total:,} rows are used."
        if self.last >= self.sampled.whole(budget.most_rows):
            return "budget", budget.exhausted(self.last)
        if total is not None and self.sampled.first is None:
            return "rows", f"There are only {total:,} rows."
        return "sizes", f"All sizes up to {self.last:,} rows are measured."


def baseline_error(data: Data, metric: Metric) -> float | None:
    """Return the metric of the majority class, or of the mean, on all rows; None where it cannot be computed."""
    if data.codes is not None and data.classes is not None:
        shares = np.bincount(data.codes, weights=data.weight, minlength=len(data.classes))
        values = np.tile(data.classes[[shares.argmax()]], data.n)
        answers = [Predictions("predict_proba", data.tokens, np.tile(shares / shares.sum(), (data.n, 1)))]
    else:
        values, answers = np.repeat(np.average(data.y, axis=0, weights=data.weight)[None], data.n, axis=0), []
    outcome = Outcome("baseline", [Predictions("predict", data.tokens, values), *answers], classes=data.classes)
    try:
        found = metric.value(outcome, data, Rows.of(np.arange(data.n)))
    except InvalidInput:  # a metric of a response that a constant does not have
        return None
    return found if np.isfinite(found) and found >= 0 else None


def covariance_of(points: Sequence[SamplePoint], clusters: Positions | None = None) -> Floats:
    """Return the covariance of points from their rows, or from their folds where rows have no losses."""
    shares = [point.shares for point in points if point.shares is not None]
    if len(shares) < len(points):
        return np.diag([point.folds.var(ddof=1) / len(point.folds) for point in points])
    return nested_covariance(shares, clusters)


def learning_curve_plan(
    name: str, estimator: Any, sampled: SampledRows, config: LearningCurveConfig
) -> Plan[LearningCurve]:
    """Measure at one size after the other until a stopping rule holds, or the rows read so far are exhausted."""
    if sampled.data.weight is not None:
        check_takes_weights(estimator)
    curve_run = CurveRun(name, estimator, sampled, config)
    wanted = config.schedule.first_sizes(PAPER_POINTS if config.mode == "paper" else LEAST_POINTS)
    while True:
        sizes = [size for size in wanted if size <= sampled.data.n]
        late = yield from curve_run.measure(sizes)
        if late:
            decision = StopDecision("time", "Time budget exhausted.", None)
        elif len(sizes) < len(wanted):
            decision = StopDecision(None, "More rows have to be read.", wanted[len(sizes)])
        else:
            decision = curve_run.decide()
        following = decision.next_size
        if decision.rule is not None or following is None or following > sampled.data.n:
            return _result(curve_run, decision)
        wanted = [following]


def _result(curve_run: CurveRun, decision: StopDecision) -> LearningCurve:
    if curve_run.failures and curve_run.points:
        warnings.warn(
            f"{len(curve_run.failures)} of {curve_run.fits} fits failed; their sizes are not used.\n\n"
            f"{grouped_failures(curve_run.failures)}",
            stacklevel=2,
        )
    measured, forecast, horizon = curve_run.forecast()
    return LearningCurve(curve_run, measured, forecast, horizon, decision)
