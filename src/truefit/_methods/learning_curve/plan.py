"""Plan of a learning curve: k-fold cross-validation in one sample after the other, until a stopping rule holds."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError
from truefit._core.metadata import check_takes_weights
from truefit._core.outcome import Failure, Outcome, grouped_failures, reasons
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.stored_outcomes import Outcomes
from truefit._core.task import Ask, FitTask, Response
from truefit._core.typing import Floats, Positions
from truefit._methods.assessment.plan import portions
from truefit._methods.candidates import default_responses
from truefit._methods.learning_curve.config import LONGEST_STEP, SHORTEST_STEP, LearningCurveConfig
from truefit._methods.learning_curve.extrapolation import forecast_of
from truefit._methods.learning_curve.forecast import MULTIPLES, Forecast
from truefit._methods.learning_curve.result import LearningCurve
from truefit._methods.learning_curve.samples import MeasuredCurve, SampledRows
from truefit._methods.splitting.splits import Split, row_subset, shared_partition
from truefit._metrics.metric import Metric
from truefit._stats.curve_forecast import LEAST_POINTS
from truefit._stats.curve_paper import LARGE
from truefit._stats.curve_paper import LEAST_POINTS as PAPER_POINTS
from truefit._stats.curve_points import lemma_4_size, nested_covariance


@dataclass(frozen=True)
class SamplePoint:
    """The error at one size.

    Attributes
    ----------
    size : int
    error : float
    shares : array of shape (size,) or None
        What each row of the sample, in the order of the sequence, adds to the error less its mean; None for metrics
        that are made of no means over rows.
    folds : array of shape (k,)
        The error on each fold.
    train : array of shape (k,) or None
        The error on the rows that each fit was trained on, where that was asked for.
    seconds : float
        Spent in the fits.
    """

    size: int
    error: float
    shares: Floats | None
    folds: Floats
    train: Floats | None
    seconds: float


def sample_splits(data: Data, sequence: Positions, size: int, *, k: int, random_state: int | None) -> list[Split]:
    """Return k folds of the first rows of a sequence; of all rows those that other methods use too."""
    rows = np.sort(sequence[:size])
    folds = shared_partition(row_subset(data, rows), k, random_state=random_state, rare=True)
    return [
        Split(Rows.train_of(data.n, rows[folds != fold]), Rows.of(rows[folds == fold]))
        for fold in range(k)
        if (folds == fold).any()
    ]


def sample_tasks(
    estimator: object, splits: Sequence[Split], responses: Sequence[Response], *, train: bool
) -> list[FitTask]:
    """Return the fits of a sample; with ``train`` they answer for their training rows too."""
    return [
        FitTask(
            estimator,
            split.train,
            tuple(
                Ask(rows, response)
                for rows in ((split.test, split.train) if train else (split.test,))
                for response in responses
            ),
        )
        for split in splits
    ]


def sample_point(
    data: Data,
    sequence: Positions,
    splits: Sequence[Split],
    outcomes: Sequence[Outcome],
    metric: Metric,
    *,
    train: bool,
) -> SamplePoint:
    """Read the error of a sample from fits of which none failed."""
    tested = list(zip(splits, outcomes, strict=True))
    positions = np.concatenate([split.test.index for split in splits])
    folds = np.array([metric.value(outcome, data, split.test) for split, outcome in tested])
    error, shares = float(folds.mean()), None
    if metric.row_loss is not None or metric.smooth is not None:
        each = np.concatenate([_of_rows(metric, outcome, data, split.test) for split, outcome in tested])
        error, shares = _summed_up(metric, each, _counts(data, splits, by_fold=metric.smooth is None))
        place = np.empty(data.n, dtype=np.intp)
        place[sequence] = np.arange(data.n)
        shares = shares[np.argsort(place[positions], kind="stable")]
    on_train = np.array([metric.value(o, data, split.train) for split, o in tested]) if train else None
    return SamplePoint(len(positions), error, shares, folds, on_train, sum(o.fit_seconds for o in outcomes))


def _of_rows(metric: Metric, outcome: Outcome, data: Data, rows: Rows) -> Floats:
    if metric.smooth is not None:
        return metric.smooth.rows(outcome, data, rows)
    each = metric.rows(outcome, data, rows)
    assert each is not None
    return np.asarray(each, dtype=np.float64)[:, None]


def _counts(data: Data, splits: Sequence[Split], *, by_fold: bool) -> Floats:
    """What each row counts: all folds alike, as in the mean over the folds, or all rows alike."""
    tests = [split.test.index for split in splits]
    weights = [np.ones(len(test)) if data.weight is None else data.weight[test] for test in tests]
    counts = np.concatenate([each / each.sum() for each in weights] if by_fold else weights)
    return np.asarray(counts / counts.sum())


def _summed_up(metric: Metric, each: Floats, counts: Floats) -> tuple[float, Floats]:
    """Return the metric over all rows, and what each of them adds to it less the mean."""
    means = counts @ each
    shares = counts[:, None] * (each - means)
    if metric.smooth is None:
        return float(means[0]), shares[:, 0]
    # A part that is the same for all rows adds nothing, even where its slope is infinite: an RMSE of zero.
    slopes = np.where(shares.any(axis=0), metric.smooth.slopes(means), 0.0)
    return float(metric.smooth.value(means)), shares @ slopes


#: Why a curve was not measured further: what is known is enough; the target; or rows, budget, sizes or time are spent.
Rule = Literal["gain", "width", "paper", "target reached", "target out of reach", "rows", "budget", "sizes", "time"]


class Verdict(NamedTuple):
    """Why a curve was not measured further, None where it is to be; and at which size it would go on."""

    rule: Rule | None
    reason: str
    next_size: int | None


@dataclass(eq=False)
class CurveRun:
    """One curve on its way."""

    name: str
    estimator: Any
    sampled: SampledRows
    config: LearningCurveConfig
    points: list[SamplePoint] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    fits: int = 0
    last: int = 0

    def measure(self, sizes: Sequence[int]) -> Plan[bool]:
        """Measure at sizes; say whether time ran out."""
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
                    self.config.metric,
                    train=self.config.train,
                )
            )

    @property
    def seconds(self) -> float:
        """Spent in fits so far."""
        return sum(point.seconds for point in self.points)

    def forecast(self) -> tuple[MeasuredCurve, Forecast, float]:
        """Return what was measured, what follows from it, and the size that this is asked for."""
        if not self.points:
            raise FitError(f"All fits of {self.name} failed. {reasons(self.failures)}", self.failures)
        config = self.config
        covariance = covariance_of(self.points, self._clusters)
        measured = MeasuredCurve.of(
            [point.size for point in self.points],
            [point.error for point in self.points],
            np.sqrt(np.diag(covariance)),
            largest=float(config.metric.bounds[1]),
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

    @property
    def _clusters(self) -> Positions | None:
        data, sequence = self.sampled.data, self.sampled.sequence
        if data.groups is None:
            return None
        return np.unique(data.groups[sequence], return_inverse=True)[1]

    def _horizon(self, last: float) -> float:
        if self.config.horizon is not None:
            return self.config.horizon
        if self.config.mode == "paper":
            return LARGE
        total = self.sampled.total
        return float(total) if total is not None and total > last else MULTIPLES[-1] * last

    def verdict(self) -> Verdict:
        """Say whether to go on, and where."""
        config = self.config
        measured, forecast, horizon = self.forecast()
        wanted = self._wanted(measured, forecast)
        if not config.schedule.goes_on:
            by_target = self._target(measured, forecast, horizon)
            if by_target is not None:
                return by_target
            if forecast.stop.rule is not None:
                return Verdict(forecast.stop.rule, forecast.stop.reason, None)
        following = config.schedule.after(self.last, wanted)
        if following is None:
            rule, words = self._end()
            return Verdict(rule, f"{words} {forecast.stop.reason}", int(np.ceil(wanted)))
        expected = self.seconds + self.points[-1].seconds * following / self.last
        if config.budget.too_long(expected):
            words = (
                f"The budget of {config.budget.seconds:.3g} s in fits does not reach for {following:,} rows: "
                f"{self.seconds:.3g} s are spent, and it would be some {expected:.3g} s."
            )
            return Verdict("budget", f"{words} {forecast.stop.reason}", following)
        return Verdict(None, forecast.stop.reason, following)

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
        # No further than where the curve is expected to end: the rows beyond would be read in vain.
        enough = forecast.enough_at(measured.last * np.geomspace(SHORTEST_STEP, LONGEST_STEP, 13))
        return wanted if enough is None else min(wanted, enough)

    def _target(self, measured: MeasuredCurve, forecast: Forecast, horizon: float) -> Verdict | None:
        target, now = self.config.target, measured.errors[-1]
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
        total, budget = self.sampled.total, self.config.budget
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


_MORE = "More rows have to be read."


def learning_curve_plan(
    name: str, estimator: Any, sampled: SampledRows, config: LearningCurveConfig
) -> Plan[LearningCurve]:
    """Measure at one size after the other until a rule says that it is enough, or the rows that were read end."""
    if sampled.data.weight is not None:
        check_takes_weights(estimator)
    curve_run = CurveRun(name, estimator, sampled, config)
    wanted = config.schedule.opening(PAPER_POINTS if config.mode == "paper" else LEAST_POINTS)
    while True:
        sizes = [size for size in wanted if size <= sampled.data.n]
        late = yield from curve_run.measure(sizes)
        if late:
            return _result(curve_run, Verdict("time", "The time for the call is spent.", None))
        if len(sizes) < len(wanted):
            return _result(curve_run, Verdict(None, _MORE, wanted[len(sizes)]))
        verdict = curve_run.verdict()
        if verdict.rule is not None:
            return _result(curve_run, verdict)
        assert verdict.next_size is not None
        wanted = [verdict.next_size]
        if wanted[0] > sampled.data.n:
            return _result(curve_run, verdict)


def _result(curve_run: CurveRun, verdict: Verdict) -> LearningCurve:
    """Return what there is."""
    if curve_run.failures and curve_run.points:
        warnings.warn(
            f"{len(curve_run.failures)} of {curve_run.fits} fits failed; their sizes are left out.\n\n"
            f"{grouped_failures(curve_run.failures)}",
            stacklevel=2,
        )
    measured, forecast, horizon = curve_run.forecast()
    return LearningCurve(curve_run, measured, forecast, horizon, verdict)
