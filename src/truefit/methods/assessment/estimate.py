"""Estimate: a number with its interval, how the interval was made, and what to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from truefit.core.errors import InvalidInput

IntervalChoice = Literal["auto", "pooled", "bayle", "corrected_t", "triangle", "nested_cv", "conservative_z"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with what is known of its uncertainty."""

    value: float
    interval: tuple[float, float] | None
    method: str | None
    reason: str | None = None
    note: str | None = None
    sd: float = float("nan")

    def text(self, level: float) -> str:
        """Return the estimate as a person reads it."""
        if self.interval is None:
            return f"{self.value:.4g}  (no interval: {self.reason})"
        low, high = self.interval
        return f"{self.value:.4g}  ({level:.0%} interval {low:.4g} to {high:.4g}, {self.method})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "estimate": None if np.isnan(self.value) else float(self.value),
            "interval": None if self.interval is None else [float(end) for end in self.interval],
            "method": self.method,
            "reason": self.reason,
        }


def check_interval_choice(choice: Any, level: Any) -> None:
    """Refuse an interval that is not offered."""
    if choice not in get_args(IntervalChoice):
        offered = ", ".join(map(repr, get_args(IntervalChoice)))
        raise InvalidInput(f"The 'interval' parameter must be one of {offered}. Got {choice!r} instead.")
    if not isinstance(level, float) or not 0 < level < 1:
        raise InvalidInput(
            f"The 'level' parameter must be a share between 0 and 1, such as 0.95. Got {level!r} instead."
        )
