"""How many rows an error takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Nothing is said about more rows than so many times those that were measured.
SIGHT = 1000


@dataclass(frozen=True)
class RowsNeeded:
    """How many rows it takes to reach an error. ``print`` it, or read the parts.

    Attributes
    ----------
    error : float
        What is to be reached.
    rows : int or None
        Where the curve reaches it; None if it does not, as far as can be seen.
    low, high : int or None
        Where the ends of the curve's interval reach it: at best, and at worst. None where they do not.
    reading : str
        The answer in words.
    """

    error: float
    rows: int | None
    low: int | None
    high: int | None
    reading: str

    def __str__(self) -> str:
        return self.reading

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"error": self.error, "rows": self.rows, "low": self.low, "high": self.high, "reading": self.reading}


def rows_needed(
    error: float,
    predict: Callable[[Floats], tuple[Floats, Floats, Floats]],
    *,
    first: float,
    last: float,
    end: float,
    level: float,
) -> RowsNeeded:
    """Find where a curve and its interval come down to an error.

    Parameters
    ----------
    error : float
    predict : callable
        Value, low and high end at sizes.
    first, last : float
        Smallest and largest size measured.
    end : float
        What the curve falls to in the end.
    level : float
        Of the interval.
    """
    sizes = np.geomspace(first, SIGHT * last, 4001)
    rows, low, high = (_crossing(sizes, values, error) for values in predict(sizes))
    if low is not None and (rows is None or rows > last):
        # What was measured says that so many rows are not enough.
        low = max(low, int(last))
    return RowsNeeded(error, rows, low, high, _reading(error, rows, low, high, last=last, end=end, level=level))


def _crossing(sizes: Floats, values: Floats, error: float) -> int | None:
    below = np.flatnonzero(values <= error)
    if not below.size:
        return None
    at = int(below[0])
    if at == 0:
        return int(np.ceil(sizes[0]))
    share = (values[at - 1] - error) / (values[at - 1] - values[at])
    return int(np.ceil(sizes[at - 1] * (sizes[at] / sizes[at - 1]) ** share))


def _reading(
    error: float, rows: int | None, low: int | None, high: int | None, *, last: float, end: float, level: float
) -> str:
    target = f"an error of {error:.4g}"
    if rows is None:
        never, why = "Never", f"the curve levels off at {end:.3g}"
        if end <= error:
            never, why = "Hardly ever", f"not within {SIGHT:,} times the rows that were measured"
        best = "" if low is None else f" At best about {_about(low)} rows would do."
        return f"{never}, at this learner: {why}, and {target} is asked for.{best}"
    if rows <= last:
        return f"About {_about(rows)} rows reach {target}, no more than were measured."
    least = _about(low or rows)
    sure = f"at least {least}, and it may never be reached"
    if high is not None:
        sure = f"{100 * level:.4g}% interval {least} to {_about(high)}"
    return f"About {_about(rows)} rows for {target} ({sure})."


def _about(rows: float) -> str:
    """Two digits: no more of it is known."""
    digits = max(int(np.floor(np.log10(max(rows, 1)))) - 1, 0)
    return f"{round(rows / 10**digits) * 10**digits:,}"
