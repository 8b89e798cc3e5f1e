"""Row: one case of a speed benchmark, and the table of several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HEADS = ("case", "peer s", "ours s", "ratio", "target", "fits requested", "run", "max difference")


@dataclass(frozen=True, slots=True)
class Row:
    """What the peer took and what we did, in seconds, for the same answers.

    Attributes
    ----------
    asked, run : int, optional
        Fits that were asked of the engine, and those that it ran.
    difference : float, optional
        The largest difference between the answers; None where they are not of the same thing.
    target : float, optional
        What the ratio of peer to ours is to be at least.
    """

    case: str
    peer: float
    own: float
    asked: int | None = None
    run: int | None = None
    difference: float | None = None
    target: float | None = None

    @property
    def ratio(self) -> float:
        """How many times faster than the peer."""
        return self.peer / self.own

    @property
    def missed(self) -> bool:
        """Whether there is a target and the ratio is below it."""
        return self.target is not None and self.ratio < self.target

    def cells(self) -> tuple[str, ...]:
        """The row as texts, one for each of ``HEADS``."""
        return (
            self.case,
            f"{self.peer:.3g}",
            f"{self.own:.3g}",
            times(self.ratio) + (" (missed)" if self.missed else ""),
            "" if self.target is None else times(self.target),
            "" if self.asked is None else f"{self.asked:,}",
            "" if self.run is None else f"{self.run:,}",
            "" if self.difference is None else f"{self.difference:.1e}" if self.difference else "0",
        )


def times(ratio: float) -> str:
    """A ratio as text, with no more digits than it is good for."""
    return f"{ratio:,.0f}x" if ratio >= 99.5 else f"{ratio:.3g}x"


def show(rows: Iterable[Row]) -> None:
    """Print rows as they come."""
    widths = (50, 8, 8, 14, 7, 11, 8, 15)
    print("  " + _spaced(HEADS, widths))
    for row in rows:
        print("  " + _spaced(row.cells(), widths), flush=True)


def _spaced(cells: Iterable[str], widths: Iterable[int]) -> str:
    (first, wide), *rest = zip(cells, widths, strict=True)
    return f"{first:<{wide}s}" + "".join(f" {cell:>{width}s}" for cell, width in rest)


def markdown(rows: Iterable[Row]) -> str:
    """Rows as a table in Markdown."""
    lines = [HEADS, ("---", *["---:"] * (len(HEADS) - 1)), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
