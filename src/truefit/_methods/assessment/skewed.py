"""What the losses of an estimate show about its interval: heavy tails, and folds with few rows per column."""

from __future__ import annotations

import math

import numpy as np

from truefit._core.typing import Floats
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.splitting.designs import BOOTSTRAPS
from truefit._stats.skewness import Tail
from truefit._stats.triangle import single_fit_weight

#: With fewer training rows per column the last rows may matter much, above all to a linear model.
FEW_ROWS_PER_COLUMN = 5
#: A linear model of more columns than this share of its rows is taken to be regularised as if it had no more.
MOST_COLUMNS = 2 / 3


def tail_of(evidence: Evidence) -> Tail | None:
    """Measure the tail of the losses; None for shares of rows, and where the rows of a run are not tested once each."""
    metric, splits = evidence.metric, evidence.splits
    once = len(splits) == 1 or splits.partition
    if not once or splits.chronological or evidence.design.kind in BOOTSTRAPS or not has_tail(evidence):
        return None
    return Tail.mean_of(Tail.of(run if metric.smooth is None else _influence(evidence, run)) for run in evidence.runs())


def overflow(evidence: Evidence) -> str | None:
    """Say that losses are too large to compute with, or None: squares of finite errors may be infinite."""
    if not has_tail(evidence) or evidence.one_row_tests:  # leave-one-out has no interval, and many test sets
        return None
    with np.errstate(over="ignore"):
        rows = [np.square(each) for each in evidence.rows()]
    large = sum(int((~np.isfinite(each)).sum()) for each in rows)
    return f"{large} of the losses are infinite or too large to compute with; check the predictions" if large else None


def has_tail(evidence: Evidence) -> bool:
    """Whether the metric is made of losses that are not 0-1."""
    metric = evidence.metric
    if metric.smooth is not None:
        return metric.smooth.scale != "logit"
    return metric.row_loss is not None and not metric.zero_one


def _influence(evidence: Evidence, parts: Floats) -> Floats:
    """How much each row adds to a metric of several means."""
    smooth = evidence.metric.smooth
    assert smooth is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.nan_to_num(smooth.slopes(parts.mean(axis=0)), posinf=0.0, neginf=0.0)
    influence: Floats = parts @ slopes
    return influence


def tail_note(tail: Tail | None) -> str | None:
    """Say that the tail is heavy, with the numbers."""
    if tail is None or not tail.heavy:
        return None
    return (
        f"the losses have a heavy tail: the largest 1% of them carry {tail.largest:.0%} of their sum (tail index "
        f"{tail.hill:.2f}). A sample without the rare largest ones looks too certain, so the interval may cover less "
        "than its level."
    )


def gain_of_all_rows(rows: int, train_rows: float, columns: int) -> float:
    r"""Share by which the squared error of least squares falls from ``train_rows`` to ``rows`` training rows.

    With p normal columns it is proportional to :math:`(m - 1)/(m - p - 1)` at m rows. 0 with many rows per column.

    >>> round(gain_of_all_rows(100, 90, 60), 2), gain_of_all_rows(100, 90, 10)
    (0.17, 0.0)
    """
    if columns * FEW_ROWS_PER_COLUMN <= train_rows:
        return 0.0
    p = min(columns, MOST_COLUMNS * train_rows)
    return 1 - (rows - 1) / (rows - p - 1) * (train_rows - p - 1) / (train_rows - 1)


def extension(evidence: Evidence, value: float) -> float:
    """Length by which an interval is extended at its better end, since the final model is trained on more rows."""
    metric, data, splits = evidence.metric, evidence.data, evidence.splits
    if not has_tail(evidence) or not splits.partition or splits.chronological:
        return 0.0
    folds = len(splits) // splits.repeats
    train_rows = splits.mean_train_rows
    if evidence.design.interval in ("triangle", "nested_cv"):
        train_rows -= (1 - single_fit_weight(folds)) * data.n / folds
    best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0]
    gain = gain_of_all_rows(data.n, train_rows, data.columns)
    return gain * abs(best - value) if math.isfinite(best) else 0.0
