"""TriangleLosses: what the fits without one fold and without two folds lose on the folds they left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.stats.samples import Floats, sample

Singles = Sequence[npt.ArrayLike]
Pairs = Sequence[Sequence[npt.ArrayLike | None]]


@dataclass(frozen=True, slots=True)
class TriangleLosses:
    """The losses of one triangle, fold by fold.

    Attributes
    ----------
    singles : tuple of arrays of shape (m_a,)
        Losses of fold a's rows by the fit without fold a.
    pairs : tuple of arrays of shape (K - 1, m_a)
        Losses of fold a's rows by the fits without folds a and b; one line for each b, in order, a left out.
    """

    singles: tuple[Floats, ...]
    pairs: tuple[Floats, ...]

    @classmethod
    def of(cls, singles: Singles, pairs: Pairs, *, function: str, zero_one: bool = False) -> TriangleLosses:
        """Check the losses as a plan has them: ``pairs[a][b]`` for all b other than a, anything at b = a."""
        folds = len(singles)
        if folds < 3 or len(pairs) != folds or any(len(line) != folds for line in pairs):
            raise InvalidInput(
                f"The triangle of {function} must have at least 3 folds, and for each fold the losses without each "
                f"other fold. Got {folds} folds and pair losses of {[len(line) for line in pairs]}."
            )
        single = tuple(sample(each, "singles", function, least=1, zero_one=zero_one) for each in singles)
        pair = []
        for a, line in enumerate(pairs):
            found = [
                sample(() if each is None else each, "pairs", function, least=1, zero_one=zero_one)
                for b, each in enumerate(line)
                if b != a
            ]
            if {each.size for each in found} != {single[a].size}:
                raise InvalidInput(
                    f"The pair losses of fold {a} in {function} must have one loss per row of the fold, "
                    f"{single[a].size}. Got {[each.size for each in found]}."
                )
            pair.append(np.stack(found))
        return cls(single, tuple(pair))

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return len(self.singles)

    @property
    def rows(self) -> int:
        """How many rows there are in all folds."""
        return sum(each.size for each in self.singles)
