"""Terms: how a learning curve is measured, and when that is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.methods.capacity.bound import number
from truefit.methods.curves.budget import Budget
from truefit.methods.curves.extrapolate import Mode, check_forecast
from truefit.methods.curves.sampled import Sampled
from truefit.methods.curves.schedule import Schedule, least_size, make_schedule
from truefit.methods.splitting.splits import is_whole
from truefit.metrics.metric import Metric


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
    trained_on: int = 1,
) -> CurveTerms | None:
    """Check the terms; None where more rows have to be read before a first sample can be made.

    The learners need training sets of at least ``trained_on`` rows.
    """
    check_forecast(mode, level, tolerance)
    if not is_whole(k) or k < 2:
        raise InvalidInput(f"The number of folds k must be a whole number of at least 2. Got {k!r} instead.")
    _check_loss(metric)
    spend = Budget.of(budget)
    wanted = None if target is None else number("target", target, at_least=0.0)
    far = None if horizon is None else number("horizon", horizon, above=0.0)
    most = min(np.inf if sampled.total is None else sampled.total, spend.most_rows)
    least = least_size(sampled.data, sampled.sequence, k, trained_on=trained_on)
    if least is None and not sampled.ends:
        return None
    if least is None or least > most:
        raise InvalidInput(_too_few(sampled.data, k, most, trained_on))
    # The paper's own sizes are part of its procedure.
    if mode == "paper" and isinstance(schedule, str):
        schedule = "paper"
    first = None if sampled.first is None else min(sampled.first, spend.most_rows)
    sizes = make_schedule(schedule, least=least, most=most, first=first, stations=sampled.stations, k=k)
    if not sampled.ends and sizes.opening(1)[0] > sampled.data.n:
        return None
    return CurveTerms(metric, sizes, spend, k, mode, level, tolerance, far, wanted, train, random_state)


def _too_few(data: Data, k: int, most: float, trained_on: int) -> str:
    wanted = f"A learning curve with k={k} folds must have at least {k} rows"
    if data.task == "classification":
        wanted += ", and as many of each of two classes"
    if data.groups is not None:
        wanted += f", of {k} groups"
    if trained_on > 1:
        wanted += f", and {trained_on} in every training set for n_neighbors={trained_on}"
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
