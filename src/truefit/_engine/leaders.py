"""Leaders: the one model per group that a plan wants to keep."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

from truefit._core.outcome import Outcome
from truefit._core.task import Fit, Keep


@dataclass(slots=True)
class Leader:
    """The fit that leads a group, with its model where that is at hand."""

    loss: float
    order: int
    fit: Fit
    model: Any = None


class Leaders:
    """Holds a model only while it leads its group, so memory is bounded by the number of groups."""

    def __init__(self) -> None:
        self._by_group: dict[Hashable, Leader] = {}
        self._asked = 0

    def order(self) -> int:
        """Place in the order of asking, by which ties are decided whatever finishes first."""
        self._asked += 1
        return self._asked

    def offer(self, keep: Keep, order: int, fit: Fit, outcome: Outcome, model: Any) -> None:
        """Let a finished fit compete for its group."""
        loss = 0.0 if keep.metric is None else float(keep.metric(outcome))
        if isnan(loss):
            loss = inf
        leader = self._by_group.get(keep.group)
        if leader is None or (loss, order) < (leader.loss, leader.order):
            self._by_group[keep.group] = Leader(loss, order, fit, model)
        elif leader.fit.key == fit.key and leader.model is None:
            leader.model = model

    def without_model(self) -> list[Leader]:
        """Leaders that were found in the store: their model has to be fitted again, once."""
        return [leader for leader in self._by_group.values() if leader.model is None]

    def model(self, keep: Keep, order: int) -> Any:
        """Return the model of the fit asked for at this place if it leads, else None."""
        leader = self._by_group.get(keep.group)
        return leader.model if leader is not None and leader.order == order else None
