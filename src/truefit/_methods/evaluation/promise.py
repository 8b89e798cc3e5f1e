"""Promise: the estimate that a study gave for its model, and whether other rows agree with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Interval = tuple[float, float]

_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Promise:
    """What the rows that a model was made from said about new rows.

    Attributes
    ----------
    metric : str
        Name of the metric.
    estimate : float
        Its estimate.
    interval : tuple of float or None
        Its confidence interval at ``level``.
    level : float
    rows : int
        Number of rows of the table.
    pos_label : label or None
        The positive class of the metric, where one was named.
    """

    metric: str
    estimate: float
    interval: Interval | None
    level: float
    rows: int
    pos_label: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"interval": None if self.interval is None else list(self.interval)}

    @classmethod
    def of(cls, notes: Any) -> Promise:
        """Return the promise in the notes of a saved model; ValueError where they are not valid."""
        if not isinstance(notes, Mapping):
            raise ValueError("it must be an object")
        metric, rows, label = (notes.get(name) for name in ("metric", "rows", "pos_label"))
        ends = notes.get("interval")
        numbers = [notes.get("estimate"), notes.get("level"), *(ends if isinstance(ends, list) else [])]
        if not all(type(each) in (int, float) and math.isfinite(each) for each in numbers):
            raise ValueError("its numbers must be finite")
        pair = ends is None or (isinstance(ends, list) and len(ends) == 2)
        if (
            not isinstance(metric, str)
            or len(metric) > _LONGEST_NAME
            or type(rows) is not int
            or not isinstance(label, str | int | float | None)
            or not (pair and 0 < numbers[1] < 1)
        ):
            raise ValueError("its fields must be those that truefit writes")
        interval = None if ends is None else (float(ends[0]), float(ends[1]))
        return cls(metric, float(numbers[0]), interval, float(numbers[1]), rows, label)


@dataclass(frozen=True, slots=True)
class Agreement:
    """An estimate from a test set less the one from the training rows, and whether the two agree.

    ``agrees`` is None where one of them has no interval.
    """

    difference: float
    interval: Interval | None
    agrees: bool | None

    @classmethod
    def between(cls, found: float, ends: Interval | None, known: float, known_ends: Interval | None) -> Agreement:
        """Test the difference of two independent estimates by their intervals.

        R. G. Newcombe (1998), Interval estimation for the difference between independent proportions, Statistics in
        Medicine 17:873-890, method 10; for other metrics G. Y. Zou and A. Donner (2008).

        Examples
        --------
        >>> Agreement.between(0.25, (0.20, 0.31), 0.20, (0.16, 0.25))
        Agreement(difference=0.0..., interval=(-0.02..., 0.12...), agrees=True)
        """
        difference = found - known
        if ends is None or known_ends is None or math.isnan(difference):
            return cls(difference, None, None)
        low = math.hypot(found - ends[0], known_ends[1] - known)
        high = math.hypot(ends[1] - found, known - known_ends[0])
        between = (difference - low, difference + high)
        return cls(difference, between, between[0] <= 0 <= between[1])
