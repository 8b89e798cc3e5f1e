"""The ledger of a perturbation: every measured agreement, by candidate, repeat and noise level."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from truefit.core.outcome import Failure
from truefit.methods.perturbation.noise import Disturbed
from truefit.methods.perturbation.terms import Grid
from truefit.stats.decrease_rate import decrease_rates
from truefit.stats.paired import PairedDifference, holm, pooled_paired_t

Floats = npt.NDArray[np.float64]
#: A repeat and a noise level.
Cell = tuple[int, float]

_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class RatePair:
    """A candidate set against the leader, repeat by repeat on the same noise."""

    candidate: str
    leader: str
    found: PairedDifference | None
    p_adjusted: float

    def told_apart(self, level: float) -> bool:
        """Whether the candidate's rate is lower than the leader's beyond chance."""
        return self.found is not None and self.p_adjusted <= 1 - level


@dataclass
class Ledger:
    """What was measured so far."""

    names: Sequence[str]
    absolute: bool = False
    shares: dict[Cell, float] = field(default_factory=dict)
    dummies: dict[Cell, float] = field(default_factory=dict)
    values: dict[str, dict[Cell, float]] = field(default_factory=lambda: defaultdict(dict))
    ideals: dict[str, dict[Cell, float]] = field(default_factory=lambda: defaultdict(dict))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    asked: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[Failure]] = field(default_factory=lambda: defaultdict(list))

    def note(self, cell: Cell, disturbed: Disturbed) -> None:
        """Write down what the noise of a cell was."""
        self.shares[cell], self.dummies[cell] = disturbed.share, disturbed.dummy

    def table(self, entries: dict[Cell, float], grid: Grid) -> Floats:
        """Entries of a grid, of shape (repeats, levels), NaN where there is none."""
        return np.array([[entries.get((b, level), _NAN) for level in grid.levels] for b in range(grid.repeats)])

    def finished(self, name: str, grid: Grid) -> npt.NDArray[np.intp]:
        """Return the repeats of a grid of which a candidate has every level."""
        return np.flatnonzero(np.isfinite(self.table(self.values[name], grid)).all(axis=1))

    def usable(self, name: str, grid: Grid) -> bool:
        """Whether a candidate has enough of a grid to be rated on it."""
        return name not in self.failures and len(self.finished(name, grid)) >= min(2, grid.repeats)

    def rates(self, name: str, grid: Grid) -> Floats:
        """Rate of a candidate in each repeat of a grid; NaN where it is not finished."""
        found = np.full(grid.repeats, _NAN)
        done = self.finished(name, grid)
        if len(done):
            shares, values = self.table(self.shares, grid)[done], self.table(self.values[name], grid)[done]
            found[done] = decrease_rates(shares, values)
        return np.abs(found) if self.absolute else found

    def leader(self, names: Iterable[str], grid: Grid) -> str:
        """Return the candidate with the largest mean rate; of equal ones the first."""
        return max(names, key=lambda name: float(np.nanmean(self.rates(name, grid))))

    def compare(self, names: Sequence[str], grid: Grid, looks: int) -> list[RatePair]:
        """Set each candidate against the leader.

        The p-values are adjusted for the number of candidates (Holm), and times the number of ``looks`` for the chance
        to be told apart at each of them.
        """
        leader = self.leader(names, grid)
        others = [name for name in names if name != leader]
        best = self.rates(leader, grid)
        found = [_paired(self.rates(name, grid) - best) for name in others]
        adjusted = iter(np.minimum(1.0, looks * holm([each.p for each in found if each is not None])))
        return [
            RatePair(name, leader, each, _NAN if each is None else float(next(adjusted)))
            for name, each in zip(others, found, strict=True)
        ]


def _paired(differences: Floats) -> PairedDifference | None:
    known = differences[np.isfinite(differences)]
    return pooled_paired_t([known], factor=1.0) if len(known) > 1 else None
