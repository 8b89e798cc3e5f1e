"""Estimates from evidence: which interval suits a design and a metric, and the making of it.

The factors on the spread of pooled losses were found by simulation (docs/coverage.md): they pay for what a partition
cannot show, that its models share most of their rows and are not the model trained on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.methods.assessment.bootstrap_estimate import bootstrap_estimate
from truefit.methods.assessment.estimate import Estimate
from truefit.methods.assessment.evidence import Evidence, Triangle
from truefit.methods.splitting.designs import BOOTSTRAPS, NESTED_REPEATS
from truefit.metrics.ranking import is_auc
from truefit.metrics.smooth import Ratios, Total
from truefit.stats.auc import auc_interval, fold_mean_auc
from truefit.stats.conservative_z import conservative_z
from truefit.stats.delta import delta_repeats
from truefit.stats.intervals import averaged_repeats, corrected_t, pooled, t_interval, wilson
from truefit.stats.linearised import Linearised
from truefit.stats.nested_cv import nested_cv
from truefit.stats.triangle import triangle_tau_repeats

#: Factors on the spread of one run: of one partition, of several, of the winner of a selection, of rankings.
ONE_PARTITION, REPEATED, WINNER, RANKED = 1.2, 1.1, 1.4, 1.15
#: From this many rows on the variance of an AUC can be told from the ranks; below, the folds tell it better.
RANKED_ROWS = 400

_BLIND = (
    "one partition cannot show how much the learner itself varies, and for an unstable one the interval is too short; "
    "interval='triangle' shows it."
)


def estimate(evidence: Evidence, *, level: float, factor: float = ONE_PARTITION) -> Estimate:
    """Estimate under the metric of the evidence, with the interval that its design asks for.

    ``factor`` multiplies the spread of one partition; the winner of a selection needs a greater one.
    """
    design, metric = evidence.design, evidence.metric
    if design.kind in BOOTSTRAPS:
        return bootstrap_estimate(evidence, level=level)
    if design.interval == "conservative_z":
        return _conservative_z(evidence, level)
    by_rows = metric.row_loss is not None or metric.smooth is not None
    if design.interval == "corrected_t" or not evidence.independent:
        return _corrected_t(evidence, level)
    if design.interval in ("triangle", "nested_cv"):
        return _triangle(evidence, level)
    if evidence.one_row_tests and design.interval == "auto":
        return _leave_one_out(evidence)
    if not by_rows:
        by_ranks = is_auc(metric, evidence.data) and _told_by_ranks(evidence)
        return _ranked(evidence, level, factor) if by_ranks else _corrected_t(evidence, level)
    if not _told_by_rows(evidence):
        return _corrected_t(evidence, level)
    return _pooled(evidence, level, factor)


def _told_by_rows(evidence: Evidence) -> bool:
    return evidence.splits.partition or len(evidence.splits) == 1


def _told_by_ranks(evidence: Evidence) -> bool:
    return len(evidence.splits) == 1 or (evidence.splits.partition and evidence.data.n >= RANKED_ROWS)


def _pooled(evidence: Evidence, level: float, factor: float) -> Estimate:
    """Interval from the spread of the rows' values: of a hold-out, of one partition, or of several."""
    metric, splits = evidence.metric, evidence.splits
    note = None
    if len(splits) == 1:
        factor, method = 1.0, "hold-out"
    elif evidence.design.interval == "bayle":
        factor, method = 1.0, "pooled losses"
        note = "without a factor this interval covers less than it says at ordinary sizes."
    elif splits.repeats == 1:
        method, note = f"pooled losses × {factor:g}", _BLIND
    else:
        factor, method = REPEATED, f"averaged repeats × {REPEATED:g}"
    smooth = metric.smooth
    if smooth is not None:
        # Rates are told by the counts of all rows, since a fold may lack what they are shares of, and totals are sums
        # over all of them; other values are the mean of the folds' own, as scikit-learn has it.
        centre = None if evidence.pooled_rates and isinstance(smooth, Ratios | Total) else float(evidence.scores.mean())
        found = delta_repeats(
            evidence.runs(), smooth.value, smooth.slopes, smooth.scale,
            factor=factor, level=level, shares=smooth.shares, centre=centre,
        )  # fmt: skip
        return _finished(evidence, found.estimate, found.interval, method, reason=found.reason, note=note)
    zero_one = metric.zero_one and evidence.design.interval != "bayle"
    options: dict[str, Any] = {"zero_one": zero_one, "level": level}
    if len(splits) == 1:
        losses = next(evidence.runs())
        interval = wilson(losses.mean(), len(losses), level) if zero_one else _t_interval(losses, level)
    elif splits.repeats == 1:
        interval = pooled(next(evidence.runs()), factor=factor, **options)
    else:
        interval = averaged_repeats(evidence.runs(), factor=factor, **options)
    reason = f"{metric.name} is the same for all rows" if interval[0] == interval[1] else None
    return _finished(evidence, float(evidence.scores.mean()), interval, method, reason=reason, note=note)


def _t_interval(losses: npt.NDArray[np.float64], level: float) -> tuple[float, float]:
    if len(losses) < 2:
        return float(losses[0]), float(losses[0])
    return t_interval(losses, level)


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
        repetitions = _told(near, repetitions)
    note = None
    if evidence.design.interval == "nested_cv":
        value, low, high, _ = nested_cv(repetitions, level=level)
        method = "nested cross-validation"
        if evidence.splits.repeats < NESTED_REPEATS:
            note = f"with fewer than {NESTED_REPEATS} repeats nested cross-validation covers less than it says."
    else:
        value, low, high, *_ = triangle_tau_repeats(repetitions, zero_one=metric.zero_one and near is None, level=level)
        method = "triangle + τ"
    if near is not None:
        value, low, high = (near.back(each) for each in (value, low, high))
    reason = f"{metric.name} is the same for all rows" if low == high else None
    return _finished(evidence, value, (low, high), method, reason=reason, note=note)


def _told(near: Linearised, repetitions: Iterator[Triangle]) -> Iterator[Triangle]:
    for singles, pairs in repetitions:
        yield (
            [near.rows(each) for each in singles],
            [[None if each is None else near.rows(each) for each in line] for line in pairs],
        )


def _ranked(evidence: Evidence, level: float, factor: float) -> Estimate:
    """Interval of an AUC from the ranks within each test set."""
    value, variance = np.mean([fold_mean_auc(folds) for folds in evidence.ranked_runs()], axis=0)
    # What one partition needs more for a winner, ranks need more too.
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
        else "the spread of leave-one-out losses does not show how far off their mean is; use k-fold for one"
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
    notes = [f"the interval rests on the spread of {len(scores)} scores."] if len(scores) < 10 else []
    if evidence.splits.forward:
        notes.append("it is too narrow where neighbouring rows depend on one another, as they do over time.")
    return _finished(evidence, value, interval, "corrected t", note=" ".join(notes) or None)


def _finished(
    evidence: Evidence, value: float, interval: Any, method: str, *, reason: str | None = None, note: str | None = None
) -> Estimate:
    sd = _sd(evidence.scores)
    if reason is not None:
        return Estimate(value, None, None, reason, sd=sd)
    return Estimate(value, evidence.metric.clipped(interval), method, note=note, sd=sd)


def _sd(scores: npt.NDArray[np.float64]) -> float:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
