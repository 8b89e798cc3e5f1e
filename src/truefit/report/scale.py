"""The scale: an estimate and its interval on a line that begins at nothing and ends at guessing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from truefit.report.cells import column

#: Room beyond the larger end, as a share of the line.
ROOM = 1.06


@dataclass(frozen=True, slots=True)
class Scale:
    """Places on a line, in percent, and the words at its ends."""

    low: float
    high: float
    value: float
    guess: float | None
    start_text: str
    guess_text: str


def scale_of(found: Mapping[str, Any]) -> Scale | None:
    """Place an estimate, its interval and what guessing gives on one line; None where there is no room for them.

    Examples
    --------
    >>> scale = scale_of({"value": 0.1, "interval": [0.05, 0.2], "guess": 0.5})
    >>> round(scale.value), round(scale.guess), scale.guess_text
    (19, 94, 'guessing 0.5000')
    >>> scale_of({"value": 0.1, "interval": [0.05, 0.2], "guess": 0.5, "percent": True}).guess_text
    'guessing 50.0%'
    """
    low, high = map(float, found["interval"])
    value, guess = float(found["value"]), found.get("guess")
    numbers = [low, high, value, *([] if guess is None else [float(guess)])]
    start, end = min(0.0, *numbers), max(numbers)
    end = start + (end - start) * ROOM
    if not end > start:
        return None

    def place(number: float) -> float:
        return 100 * (number - start) / (end - start)

    def said(number: float) -> str:
        return f"{number:.1%}" if found.get("percent") else str(column([number])[0].text)

    return Scale(
        place(low),
        place(high),
        place(value),
        None if guess is None else place(float(guess)),
        said(start) if start else "0",
        "" if guess is None else f"guessing {said(float(guess))}",
    )
