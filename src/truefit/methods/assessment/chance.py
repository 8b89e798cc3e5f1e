"""Chance: what a metric would be if a fit's predictions had nothing to do with the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truefit.core.data import Data
from truefit.core.outcome import Outcome
from truefit.core.rows import Rows
from truefit.metrics import row_loss
from truefit.metrics.metric import Metric
from truefit.metrics.replay import Replay
from truefit.stats.no_information import (
    no_information,
    no_information_absolute,
    no_information_squared,
    no_information_zero_one,
)

_SHORT: dict[Any, Callable[[Any, Any], float]] = {
    row_loss.wrong: no_information_zero_one,
    row_loss.squared: no_information_squared,
    row_loss.absolute: no_information_absolute,
}


def chance(metric: Metric, outcome: Outcome, data: Data, rows: Rows) -> float:
    """Mean of a metric of single rows, with every prediction set against the truth of every row."""
    loss = metric.row_loss
    assert loss is not None
    replay: Any = Replay.of(outcome, data, rows)
    said = getattr(replay, loss.response)(None)
    truth = data.y if loss.response == "predict" else data.codes
    assert truth is not None
    truth = truth[rows.index]
    if loss.of is row_loss.right:
        return 1 - no_information_zero_one(truth, said)
    short = _SHORT.get(loss.of)
    if short is not None and truth.ndim == 1:
        return loss.sign * short(truth, said)
    return loss.sign * no_information(truth, said, loss.of)
