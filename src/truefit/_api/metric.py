"""The metric that a call names."""

from __future__ import annotations

from typing import Any

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._metrics.metric import Metric, get_metric


def metric_for(data: Data, metric: str | None, pos_label: Any) -> Metric:
    """Return the metric of that name, or the task's own; refuse one that cannot judge these data."""
    if pos_label is not None and (data.classes is None or pos_label not in data.classes.tolist()):
        known = "none: this is a regression" if data.classes is None else ", ".join(map(repr, data.classes.tolist()))
        raise InvalidInput(
            f"The 'pos_label' parameter must be a class of y. Got {pos_label!r}; the classes are {known}."
        )
    chosen = get_metric(metric, data.task, pos_label=pos_label)
    chosen.check(data)
    return chosen
