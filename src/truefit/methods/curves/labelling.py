"""Labelling: whether to label more rows, and how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from truefit.methods.curves.learning_curve import LearningCurve


@dataclass(frozen=True)
class Labelling:
    """What to do next. ``print`` it, or read the parts.

    Attributes
    ----------
    rows : int
        How many more rows to label; 0 to stop.
    reading : str
        The advice in words.
    """

    rows: int
    reading: str

    def __str__(self) -> str:
        return self.reading

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"rows": self.rows, "reading": self.reading}


def labelling(curve: LearningCurve, labelled: int, *, unlabelled: int | None = None) -> Labelling:
    """Say whether to label more rows after a curve, and how many before the next one.

    Parameters
    ----------
    curve : LearningCurve
    labelled : int
        Rows that have a label.
    unlabelled : int, optional
        Rows that could still be labelled, if that is known.
    """
    if curve.enough:
        return Labelling(0, f"Stop labelling. {curve.reason}")
    if curve.rule in ("budget", "time"):
        return Labelling(0, f"Stop here. {curve.reason}")
    if curve.next_size is None or curve.next_size <= labelled:
        return Labelling(0, f"No more labels are asked for. {curve.reason}")
    more = curve.next_size - labelled
    if unlabelled is None or unlabelled >= more:
        return Labelling(more, f"Label {more:,} more {_rows(more)}, then look again.")
    if unlabelled:
        return Labelling(unlabelled, f"Label what is left, {unlabelled:,} {_rows(unlabelled)}, then look again.")
    return Labelling(0, "Stop labelling: no rows are left to label.")


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"
