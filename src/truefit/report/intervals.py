"""Intervals: a column of them drawn to one scale, so that a reader sees which overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Room at both ends of the scale, in percent.
MARGIN = 4.0
#: An interval that begins so many widths of all others beyond them is only pointed at.
FAR = 2.0


@dataclass(frozen=True, slots=True)
class Bar:
    """Where an interval and its estimate stand, in percent of the width; None for what cannot be drawn."""

    low: float | None = None
    high: float | None = None
    value: float | None = None
    beyond: bool = False


def bars(values: Sequence[Any], intervals: Sequence[Any], ends: Sequence[float] | None = None) -> list[Bar]:
    """Place intervals on one scale; one that is far from all others is only pointed at.

    Parameters
    ----------
    values : sequence of float or None
    intervals : sequence of pairs of float, or None
    ends : pair of float, optional
        Of the scale; by default it is as wide as the intervals need.

    Examples
    --------
    >>> drawn = bars([0.1, 0.2], [[0.0, 0.2], [0.1, 0.3]])
    >>> [round(bar.low) for bar in drawn], [round(bar.value) for bar in drawn]
    ([4, 35], [35, 65])
    """
    known = [_known(value, interval) for value, interval in zip(values, intervals, strict=True)]
    scale = (ends[0], ends[1]) if ends is not None else _scale([each for each in known if each is not None])
    # One that is missing takes the same room, so that the numbers beside it line up.
    return [Bar() if each is None or scale is None else _bar(each, *scale) for each in known]


def _known(value: Any, interval: Any) -> tuple[float, float, float] | None:
    if interval is None or value is None:
        return None
    numbers = (float(interval[0]), float(value), float(interval[1]))
    return numbers if all(map(math.isfinite, numbers)) else None


def _scale(known: Sequence[tuple[float, float, float]]) -> tuple[float, float] | None:
    """Ends of the scale: all intervals, less those at the upper end whose distance would squeeze the others."""
    ordered = sorted(known)
    while len(ordered) > 2:
        near = max(high for _, _, high in ordered[:-1])
        if ordered[-1][0] <= near + FAR * (near - ordered[0][0]):
            break
        ordered.pop()
    if not ordered:
        return None
    low, high = ordered[0][0], max(high for _, _, high in ordered)
    return (low, high) if high > low else None


def _bar(each: tuple[float, float, float], low: float, high: float) -> Bar:
    width = (100 - 2 * MARGIN) / (high - low)
    places = [max(MARGIN + (number - low) * width, 0.0) for number in each]
    if places[0] > 100:
        return Bar(beyond=True)
    return Bar(places[0], min(places[2], 100), places[1] if places[1] <= 100 else None)
