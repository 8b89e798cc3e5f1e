"""Estimates from bootstrap samples: leave-one-out bootstrap, .632 and .632+."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from truefit.core.errors import InvalidInput
from truefit.core.rows import Rows
from truefit.methods.assessment.chance import chance
from truefit.methods.assessment.estimate import Estimate
from truefit.methods.assessment.evidence import Evidence
from truefit.stats.bootstrap_error import OutOfBag, Rule, bootstrap_error


def bootstrap_estimate(evidence: Evidence, *, level: float) -> Estimate:
    """Estimate under the metric of the evidence, with an interval where the metric is a mean over rows."""
    kind, metric, n = evidence.design.kind, evidence.metric, evidence.data.n
    if metric.row_loss is None or evidence.data.weight is not None:
        return _from_scores(evidence)
    # Overfitting is told by losses; what is better the greater it is becomes one, and the estimate is turned back.
    top = 1.0 if metric.zero_one else 0.0

    def turned(value: Any) -> Any:
        return top - value if metric.greater_is_better else value

    bag = OutOfBag(n)
    losses = np.empty(n)
    for split, each in zip(evidence.splits, evidence.rows(), strict=True):
        losses[split.test.index] = turned(each)
        bag.add(losses, np.bincount(split.train.index, minlength=n))
    options: dict[str, Any] = {}
    if kind != "bootstrap":
        options["apparent"] = turned(next(evidence.extra_rows()))
    if kind == ".632+":
        options["no_information"] = turned(chance(metric, evidence.extra_outcomes[0], evidence.data, Rows.all(n)))
    rule = cast("Rule", "loo" if kind == "bootstrap" else kind)
    found = bootstrap_error(bag, rule=rule, zero_one=metric.zero_one, level=level, **options)
    value, low, high = (turned(each) for each in (found.estimate, found.low, found.high))
    sd = float(np.std(evidence.scores, ddof=1))
    if not evidence.independent:
        return Estimate(value, None, None, "rows of one group are not independent", sd=sd)
    if low == high:
        return Estimate(value, None, None, f"{metric.name} is the same for all rows", sd=sd)
    missed = bag.never_left_out
    note = f"{missed} of the rows were in all samples and so are not judged; draw more samples." if missed else None
    interval = metric.clipped((min(low, high), max(low, high)))
    return Estimate(value, interval, f"bootstrap of {bag.models} samples", note=note, sd=sd)


def _from_scores(evidence: Evidence) -> Estimate:
    """Estimate from the score of each sample on the rows that it left out."""
    kind, metric = evidence.design.kind, evidence.metric
    value = float(evidence.scores.mean())
    if kind == ".632":
        value = 0.632 * value + 0.368 * float(evidence.extra_scores()[0])
    elif kind == ".632+":
        raise InvalidInput(
            f"The .632+ bootstrap needs a metric that is a mean over rows, and no weights. {metric.name} is not known "
            "for such rows. Use design='.632' or 'bootstrap'."
        )
    reason = f"{metric.name} is no mean over rows that count alike; use k-fold for an interval"
    return Estimate(value, None, None, reason, sd=float(np.std(evidence.scores, ddof=1)))
