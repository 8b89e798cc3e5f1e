"""Numerals: numbers beside a picture, with as many digits as their intervals can bear."""

from __future__ import annotations

import math
from collections.abc import Sequence

MISSING = "–"


def decimals(values: Sequence[float], widths: Sequence[float] = ()) -> int:
    """Decimal places that all of a column's numbers are shown with.

    Half a typical interval gets two significant digits; without intervals the largest number gets three.

    Examples
    --------
    >>> decimals([0.0421, 0.1873], widths=[0.026, 0.031])
    3
    >>> decimals([1234.5, 1300.2], widths=[210.0, 190.0])
    0
    >>> decimals([10.44, 9.31])
    1
    """
    known = sorted(w for w in widths if math.isfinite(w) and w > 0)
    if known:
        scale, digits = known[len(known) // 2] / 2, 2
    else:
        scale, digits = max((abs(v) for v in values if math.isfinite(v)), default=0.0), 3
    if scale == 0:
        return digits
    return min(max(digits - 1 - math.floor(math.log10(scale)), 0), 8)


def numeral(value: float, places: int) -> str:
    """Return one number as text.

    Examples
    --------
    >>> numeral(0.04213, 3), numeral(-1234.5, 0), numeral(float("nan"), 2)
    ('0.042', '−1,234', '–')
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{places}f}".replace("-", "−")


def with_interval(value: float, low: float, high: float, places: int) -> str:
    """Return a number and its interval as text; the number alone where there is no interval.

    Examples
    --------
    >>> with_interval(0.0421, 0.031, 0.0574, 3)
    '0.042 (0.031 to 0.057)'
    """
    if math.isnan(low) or math.isnan(high):
        return numeral(value, places)
    return f"{numeral(value, places)} ({numeral(low, places)} to {numeral(high, places)})"
