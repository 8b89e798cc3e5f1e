"""Estimates: a value with its interval; which interval suits a design and a metric.

The factors on the spread of pooled losses were found by simulation (docs/coverage.md): the models of a partition share
most of their training rows, and the final model is trained on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.rows import Rows
from truefit._methods.assessment.evidence import Evidence, Triangle, extension, overflow, tail_note, tail_of
from truefit._methods.assessment.hold_out_interval import contributions_of, hold_out_interval
from truefit._methods.splitting.designs import BOOTSTRAPS, NESTED_REPEATS
from truefit._metrics import row_loss
from truefit._metrics.metric import Metric
from truefit._metrics.scorers import StoredPredictor, is_auc
from truefit._metrics.smooth import Ratios, Total
from truefit._stats.auc import auc_interval, fold_mean_auc
from truefit._stats.bootstrap_error import (
    OutOfBag,
    Rule,
    bbc,
    bootstrap_error,
    no_information_absolute,
    no_information_error,
    no_information_squared,
    no_information_zero_one,
)
from truefit._stats.clustered import LEAST_GROUPS, clustered_wilson
from truefit._stats.delta import Linearised, delta_interval
from truefit._stats.intervals import (
    Tail,
    averaged_repeats,
    conservative_z,
    corrected_t,
    prediction_interval,
    wald,
    wilson,
)
from truefit._stats.triangle import nested_cv, triangle_tau


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with what is known of its uncertainty."""

    value: float
    interval: tuple[float, float] | None
    method: str | None
    reason: str | None = None
    note: str | None = None
    sd: float = float("nan")
    tail: Tail | None = None

    def text(self, level: float) -> str:
        """Return the estimate with its interval."""
        if self.interval is None:
            return f"{self.value:.4g}  (no interval: {self.reason})"
        low, high = self.interval
        return f"{self.value:.4g}  ({level:.0%} confidence interval {low:.4g} to {high:.4g}, {self.method})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        interval = None if self.interval is None else [float(end) for end in self.interval]
        value = None if np.isnan(self.value) else float(self.value)
        return {"estimate": value, "interval": interval, "method": self.method, "reason": self.reason}


#: No-information errors that need no table of all pairs.
_NO_INFORMATION: dict[Any, Callable[[Any, Any], float]] = {
    row_loss.wrong: no_information_zero_one,
    row_loss.right: lambda truth, predicted: 1 - no_information_zero_one(truth, predicted),
    row_loss.squared: no_information_squared,
    row_loss.absolute: no_information_absolute,
}


def no_information_value(metric: Metric, outcome: Outcome, data: Data, rows: Rows) -> float:
    """Mean of a per-sample metric over all pairs of a prediction and a true value."""
    loss = metric.row_loss
    assert loss is not None
    replay: Any = StoredPredictor.of(outcome, data, rows)
    predicted = getattr(replay, loss.response)(None)
    truth = data.y if loss.response == "predict" else data.codes
    assert truth is not None
    truth = truth[rows.index]
    closed_form = _NO_INFORMATION.get(loss.of)
    if closed_form is not None and truth.ndim == 1:
        return loss.sign * closed_form(truth, predicted)
    return loss.sign * no_information_error(truth, predicted, loss.of)


def bootstrap_estimate(evidence: Evidence, *, level: float) -> Estimate:
    """Estimate from bootstrap samples, with an interval for a per-sample metric."""
    kind, metric, n = evidence.design.kind, evidence.metric, evidence.data.n
    if metric.row_loss is None or evidence.data.weight is not None:
        return _from_scores(evidence)
    top = 1.0 if metric.zero_one else 0.0

    def as_loss(value: Any) -> Any:
        """Turn a score into a loss, and back."""
        return top - value if metric.greater_is_better else value

    bag = OutOfBag(n)
    losses = np.empty(n)
    for split, each in zip(evidence.splits, evidence.rows(), strict=True):
        losses[split.test.index] = as_loss(each)
        bag.add(losses, np.bincount(split.train.index, minlength=n))
    options: dict[str, Any] = {}
    if kind != "bootstrap":
        options["apparent"] = as_loss(next(evidence.extra_rows()))
    if kind == ".632+":
        chance = no_information_value(metric, evidence.extra_outcomes[0], evidence.data, Rows.all(n))
        options["no_information"] = as_loss(chance)
    rule = cast("Rule", "loo" if kind == "bootstrap" else kind)
    found = bootstrap_error(bag, rule=rule, zero_one=metric.zero_one, level=level, **options)
    value, low, high = (as_loss(each) for each in (found.estimate, found.low, found.high))
    reason = None
    if not evidence.independent:
        reason = "rows of one group are not independent; use k-fold for an interval"
    elif low == high:
        reason = f"{metric.name} is the same for all rows"
    missed = bag.never_left_out
    note = (
        f"{missed} of the rows were in all samples, so they have no test error; draw more samples." if missed else None
    )
    method = f"bootstrap of {bag.models} samples"
    return _finished(evidence, value, (min(low, high), max(low, high)), method, reason=reason, note=note)


def _from_scores(evidence: Evidence) -> Estimate:
    """Estimate from the score of each sample on its test rows."""
    kind, metric = evidence.design.kind, evidence.metric
    value = float(evidence.scores.mean())
    if kind == ".632":
        value = 0.632 * value + 0.368 * float(evidence.extra_scores()[0])
    elif kind == ".632+":
        raise InvalidInput(
            f"The .632+ bootstrap needs a per-sample metric and rows without weights. Got {metric.name}"
            f"{'' if evidence.data.weight is None else ' with weights'}. Use design='.632' or 'bootstrap'."
        )
    reason = f"{metric.name} is not a mean over rows of equal weight; use k-fold for an interval"
    return Estimate(value, None, None, reason, sd=_sd(evidence.scores))


#: Factors on the spread of one run: of one partition, of several, of rankings.
ONE_PARTITION, REPEATED, RANKED = 1.2, 1.1, 1.15
#: Those of the selected candidate, of losses that are 0 or 1 and of others, which may be skewed (docs/decisions/0041).
_WINNER_ZERO_ONE, _WINNER = 1.3, 1.4
#: From this many rows on the variance of an AUC is computed from the ranks; below, from the scores of the folds.
RANKED_ROWS = 400

_BLIND = (
    "an interval from one partition does not include the variance of the learner itself: for an unstable learner it is "
    "too narrow."
)


def winner_factor(metric: Metric) -> float:
    """Return the factor on the spread of one partition in which a candidate was selected, too."""
    return _WINNER_ZERO_ONE if metric.zero_one else _WINNER


def estimate(evidence: Evidence, *, level: float, factor: float = ONE_PARTITION) -> Estimate:
    """Estimate with the interval of the design; ``factor`` multiplies the spread of one partition.

    Heavy tails of the losses are noted. With few training rows per column the interval of one learner is extended at
    its better end; that of a selection, with a larger factor, is extended by what its own fits show.
    """
    too_large = overflow(evidence)
    if too_large is not None:
        return Estimate(float(np.mean(evidence.scores)), None, None, too_large)
    found = _of_design(evidence, level, factor)
    if found.interval is None:
        return found
    tail = tail_of(evidence)
    notes = [found.note, tail_note(tail)]
    low, high = found.interval
    reach = extension(evidence, found.value) if factor == ONE_PARTITION else 0.0
    if reach > 0:
        low, high = (low, high + reach) if evidence.metric.greater_is_better else (low - reach, high)
        notes.append(
            f"the models of the folds are trained on {evidence.splits.mean_train_rows:,.0f} rows of "
            f"{evidence.data.columns:,} columns. A linear model may gain much from a few more rows, so the interval is "
            f"extended by {reach:.3g} at its better end."
        )
    note = " ".join(filter(None, notes)) or None
    return replace(found, interval=evidence.metric.clipped((low, high)), note=note, tail=tail)


def _of_design(evidence: Evidence, level: float, factor: float) -> Estimate:
    design, metric = evidence.design, evidence.metric
    if design.kind in BOOTSTRAPS:
        return bootstrap_estimate(evidence, level=level)
    if design.interval == "conservative_z":
        return _conservative_z(evidence, level)
    if evidence.splits.chronological:
        return _next_period(evidence, level)
    by_rows = metric.row_loss is not None or metric.smooth is not None
    if len(evidence.splits) == 1 and design.interval != "corrected_t" and not _is_plain(evidence):
        return _test_set(evidence, level)
    if design.interval == "corrected_t" or not evidence.independent:
        clustered = design.interval != "corrected_t" and evidence.clustered
        return _clustered(evidence, level, factor) if clustered else _corrected_t(evidence, level)
    if design.interval in ("triangle", "nested_cv"):
        return _triangle(evidence, level)
    if evidence.one_row_tests and design.interval == "auto":
        return _leave_one_out(evidence)
    once, partition = len(evidence.splits) == 1, evidence.splits.partition
    if by_rows and (once or partition):
        return _pooled(evidence, level, factor)
    if not by_rows and is_auc(metric, evidence.data) and (once or (partition and evidence.data.n >= RANKED_ROWS)):
        return _ranked(evidence, level, factor)
    return _corrected_t(evidence, level)


def _is_plain(evidence: Evidence) -> bool:
    """Whether a hold-out has an interval by plain formulas: rows are independent, the metric is of values or ranks."""
    metric = evidence.metric
    known = metric.row_loss is not None or metric.smooth is not None or is_auc(metric, evidence.data)
    return evidence.independent and known


def _test_set(evidence: Evidence, level: float) -> Estimate:
    """Interval of any metric on one test set from what its rows, or groups of rows, contribute to it."""
    found = contributions_of(evidence)
    if isinstance(found, str):
        return Estimate(float(evidence.scores[0]), None, None, found)
    interval = hold_out_interval(evidence, found, level=level)
    return _finished(evidence, float(evidence.scores[0]), interval.interval, found.method, reason=interval.reason)


def _pooled(evidence: Evidence, level: float, factor: float) -> Estimate:
    """Interval from the spread of the rows' values: of a hold-out, of one partition, or of several."""
    metric, splits = evidence.metric, evidence.splits
    note = None
    if len(splits) == 1:
        factor, method = 1.0, "hold-out"
    elif evidence.design.interval == "bayle":
        factor, method = 1.0, "pooled losses"
        note = "without a factor the coverage of this interval is below its level at ordinary sizes."
    elif splits.repeats == 1:
        method, note = f"pooled losses × {factor:g}", _BLIND
    else:
        factor, method = REPEATED, f"averaged repeats × {REPEATED:g}"
    smooth = metric.smooth
    if smooth is not None:
        # Rates are computed from the counts of all rows, since a fold may lack their denominator, and totals are sums
        # over all rows; other values are means over the folds, as in scikit-learn.
        centre = None if evidence.pooled_rates and isinstance(smooth, Ratios | Total) else float(evidence.scores.mean())
        found = delta_interval(
            evidence.runs(), smooth.value, smooth.slopes, smooth.scale,
            factor=factor, level=level, shares=smooth.shares, centre=centre,
        )  # fmt: skip
        return _finished(evidence, found.estimate, found.interval, method, reason=found.reason, note=note)
    zero_one = metric.zero_one and evidence.design.interval != "bayle"
    runs = list(evidence.runs())
    if zero_one and len(splits) == 1:
        interval = wilson(runs[0].mean(), len(runs[0]), level)
    elif len(runs[0]) == 1:
        return _finished(evidence, float(runs[0][0]), None, method, reason="a single tested row shows no spread")
    elif evidence.design.interval == "bayle":
        interval = wald(runs, level)
    else:
        interval = averaged_repeats(runs, factor=factor, zero_one=zero_one, level=level)
    reason = f"{metric.name} is the same for all rows" if interval[0] == interval[1] else None
    return _finished(evidence, float(evidence.scores.mean()), interval, method, reason=reason, note=note)


def _clustered(evidence: Evidence, level: float, factor: float) -> Estimate:
    """Interval of a 0-1 loss from the spread of whole groups: of one partition, or of several."""
    splits = evidence.splits
    note = None
    if splits.repeats == 1:
        method, note = f"clustered by group × {factor:g}", _BLIND
    else:
        factor, method = REPEATED, f"averaged repeats, clustered by group × {REPEATED:g}"
    interval = clustered_wilson(evidence.runs(), evidence.groups_of_runs(), factor=factor, level=level)
    # Of groups left out one by one, the small ones would count as much as the large ones.
    mean = np.mean([run.mean() for run in evidence.runs()]) if evidence.one_group_tests else evidence.scores.mean()
    return _finished(evidence, float(mean), interval, method, note=note)


def _triangle(evidence: Evidence, level: float) -> Estimate:
    """Interval from the fits without one fold and without two."""
    metric = evidence.metric
    repetitions = evidence.triangles()
    near = None
    if metric.smooth is not None:
        means = np.mean([run.mean(axis=0) for run in evidence.runs()], axis=0)
        near = Linearised(means, metric.smooth.value, metric.smooth.slopes, metric.smooth.scale)
        if not near.defined:
            return _pooled(evidence, level, ONE_PARTITION)
        repetitions = _linearised(near, repetitions)
    note = None
    if evidence.design.interval == "nested_cv":
        value, low, high, *_ = nested_cv(repetitions, level=level)
        method = "nested cross-validation"
        if evidence.splits.repeats < NESTED_REPEATS:
            note = (
                f"with fewer than {NESTED_REPEATS} repeats the coverage of nested cross-validation is below its level."
            )
    else:
        shares = metric.smooth is not None and metric.smooth.scale == "logit"
        zero_one = metric.zero_one and near is None
        value, low, high, *_ = triangle_tau(repetitions, zero_one=zero_one, shares=shares, level=level)
        method = "triangle + τ"
    if near is not None:
        value, low, high = (near.back(each) for each in (value, low, high))
    reason = f"{metric.name} is the same for all rows" if low == high else None
    return _finished(evidence, value, (low, high), method, reason=reason, note=note)


def _linearised(near: Linearised, repetitions: Iterator[Triangle]) -> Iterator[Triangle]:
    for singles, pairs in repetitions:
        yield (
            [near.rows(each) for each in singles],
            [[None if each is None else near.rows(each) for each in line] for line in pairs],
        )


def _ranked(evidence: Evidence, level: float, factor: float) -> Estimate:
    """Interval of an AUC from the ranks within each test set."""
    value, variance = np.mean([fold_mean_auc(folds) for folds in evidence.ranked_runs()], axis=0)
    factor = 1.0 if len(evidence.splits) == 1 else RANKED * factor / ONE_PARTITION
    negatives, positives = np.bincount(evidence.tested_codes())
    found = auc_interval(float(value), float(variance), factor, level, counts=(int(positives), int(negatives)))
    method = "ranks (DeLong)" if factor == 1 else f"ranks (DeLong) × {factor:.3g}"
    return _finished(evidence, float(value), found.interval, method, reason=found.reason)


def _leave_one_out(evidence: Evidence) -> Estimate:
    metric = evidence.metric
    value = evidence.pooled_value() if metric.row_loss is None else float(evidence.scores.mean())
    reason = (
        f"{metric.name} of single rows has no spread to measure"
        if metric.row_loss is None
        else "the spread of leave-one-out losses does not show the error of their mean; use k-fold for an interval"
    )
    return Estimate(value, None, None, reason, sd=_sd(evidence.scores) if metric.row_loss is not None else float("nan"))


def _conservative_z(evidence: Evidence, level: float) -> Estimate:
    holdouts = len(evidence.splits)
    halves = evidence.extra_scores().reshape(-1, 2, holdouts).mean(axis=2)
    found = conservative_z(evidence.scores, halves, level=level)
    return _finished(evidence, found.estimate, (found.low, found.high), "conservative z")


def _corrected_t(evidence: Evidence, level: float) -> Estimate:
    """Interval from the scores of the test sets alone."""
    metric, scores = evidence.metric, evidence.scores
    value, sd = float(scores.mean()), _sd(scores)
    if len(scores) < 2:
        return Estimate(value, None, None, f"one split shows no spread of {metric.name}", sd=sd)
    if sd == 0:
        return Estimate(value, None, None, f"{metric.name} is the same on all splits", sd=sd)
    interval = corrected_t(scores, evidence.splits.share, level=level)
    notes = [f"the interval is computed from {len(scores)} scores only."] if len(scores) < 10 else []
    if evidence.splits.forward:
        notes.append("it is too narrow where neighbouring rows are dependent, as they are over time.")
    return _finished(evidence, value, interval, "corrected t", note=" ".join(notes) or None)


#: With fewer periods their spread says too little about the next one.
FEWEST_PERIODS = 4


def _next_period(evidence: Evidence, level: float) -> Estimate:
    """Mean score of the periods, with Student's interval for one more: the next period varies as they do."""
    metric, scores = evidence.metric, evidence.scores
    value, sd = float(scores.mean()), _sd(scores)
    reason = None
    if len(scores) < FEWEST_PERIODS:
        skipped, tested = evidence.splits.skipped, "one period" if len(scores) == 1 else f"{len(scores)} periods"
        enough = f"{FEWEST_PERIODS} tested ones"
        if skipped:  # by a nested selection, which needs earlier periods
            tested += f", those of the {len(scores) + skipped} with earlier ones to select by,"
            enough = f"{FEWEST_PERIODS + skipped} periods (cv)"
        reason = f"{tested} show{'s' if len(scores) == 1 else ''} too little of the spread between periods; use at "
        reason += f"least {enough}"
    elif sd == 0:
        reason = f"{metric.name} is the same on all periods"
    if reason is not None:
        return Estimate(value, None, None, reason, sd=sd)
    note = "neighbouring periods may be dependent, and a change that no period shows yet is not in the interval."
    interval = prediction_interval(scores, level=level)
    return _finished(evidence, value, interval, f"Student's t for the next of {len(scores)} periods", note=note)


def _finished(
    evidence: Evidence, value: float, interval: Any, method: str, *, reason: str | None = None, note: str | None = None
) -> Estimate:
    sd = _sd(evidence.scores)
    if reason is not None:
        return Estimate(value, None, None, reason, sd=sd)
    return Estimate(value, evidence.metric.clipped(interval), method, note=note, sd=sd)


def _sd(scores: npt.NDArray[np.float64]) -> float:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")


#: Factor on the spread of the selected candidate's losses.
_FACTOR = 1.1


def winner_estimate(evidence: Sequence[Evidence], *, level: float) -> Estimate:
    """Estimate for the best of several candidates, by repeating the selection on bootstrap samples of the rows.

    With groups the samples are of whole groups.
    """
    first = evidence[0]
    data, metric, splits = first.data, first.metric, first.splits
    tested_alike = splits.partition or (len(splits) == 1 and not splits.chronological)
    if metric.row_loss is None or data.weight is not None or not tested_alike:
        reason = (
            "needs a per-sample metric, each row of equal weight and tested equally often; got "
            f"{metric.name} by {splits.description}. Nested cross-validation (HonestSearchCV, study) gives the estimate"
        )
        return Estimate(float("nan"), None, None, reason)
    runs = np.stack([np.stack(list(each.runs_by_row())) for each in evidence], axis=-1)
    groups = None
    if data.groups is not None:
        groups = data.group_codes if splits.partition else data.group_codes[np.sort(splits[0].test.index)]
        if np.ptp(groups) == 0:
            return Estimate(float("nan"), None, None, "all test rows are of one group; use k-fold")
    better: dict[str, Any] = {"greater_is_better": metric.greater_is_better, "zero_one": metric.zero_one}
    found = bbc(runs, seed=0, factor=_FACTOR, level=level, groups=groups, **better)
    if groups is not None and not first.clustered:
        reason = f"the spread of whole groups is used for 0-1 losses of {LEAST_GROUPS} or more groups only"
        return Estimate(float(found.estimate), None, None, reason)
    interval = metric.clipped((found.low, found.high))
    drawn = "bootstrap samples" if groups is None else "bootstrap samples of groups"
    return Estimate(float(found.estimate), interval, f"selection repeated on {drawn} × {_FACTOR:g}")
