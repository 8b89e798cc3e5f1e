"""The winner's estimate: how good the best of several is, from the out-of-fold losses of all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truefit.methods.assessment.estimate import Estimate
from truefit.methods.assessment.evidence import Evidence
from truefit.stats.selection import bbc

#: On the spread of the winner's losses.
_FACTOR = 1.1


def winner_estimate(evidence: Sequence[Evidence], *, level: float) -> Estimate:
    """Estimate for the candidate that looks best, by choosing anew on bootstrap samples of the rows."""
    first = evidence[0]
    metric, splits = first.metric, first.splits
    if metric.row_loss is None or not first.independent or not (splits.partition or len(splits) == 1):
        reason = (
            "the losses of all rows must be known, each row tested as often as any other; a search with nesting "
            "(HonestSearchCV, study) tells the winner's"
        )
        return Estimate(float("nan"), None, None, f"{reason}. This is {metric.name} by {splits.description}")
    runs = np.stack([np.stack(list(each.runs_by_row())) for each in evidence], axis=-1)
    found = bbc(
        runs,
        seed=0,
        greater_is_better=metric.greater_is_better,
        zero_one=metric.zero_one,
        factor=_FACTOR,
        level=level,
    )
    interval = metric.clipped((found.low, found.high))
    return Estimate(float(found.estimate), interval, f"choice made anew on bootstrap samples × {_FACTOR:g}")
