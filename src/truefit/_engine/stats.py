"""Stats: what an engine has done so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Stats:
    """Counts of fits.

    Of the fits ``asked`` for, ``run`` were fitted, ``shared`` were answered by a fit of this engine that somebody
    else had asked for, or together with others from one piece of work, and ``stored`` came from the store as an
    earlier run left them. Work that answers several fits counts as one ``run``: a boosted model whose stages are the
    smaller ones, one factorisation for all rows that are left out in turn, one for all label vectors. Where each is
    still trained by itself, if faster (support vectors, what follows a pipeline's shared steps), each counts.
    ``refitted`` counts fits that the store knew, but whose model or further predictions were wanted. ``failed`` are
    those of the fitted ones that came to nothing, and ``seconds`` is the time spent inside the fits.
    """

    asked: int = 0
    run: int = 0
    shared: int = 0
    stored: int = 0
    refitted: int = 0
    failed: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Plain numbers by name."""
        return asdict(self)

    def __str__(self) -> str:
        text = f"{self.asked:,} fits asked for: {self.run:,} run, {self.shared:,} shared, {self.stored:,} restored"
        left = self.asked - self.run - self.shared - self.stored - self.refitted
        if left > 0:
            text += f", {left:,} not run"
        if self.refitted:
            text += f", {self.refitted:,} refitted"
        if self.failed:
            text += f", {self.failed:,} failed"
        return f"{text}; {self.seconds:.1f} s of fitting"
