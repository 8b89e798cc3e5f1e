"""Places on the x axis: at numbers in ascending order, or side by side by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.canvas import FONT, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
#: Numbers, or anything else as names.
Values: TypeAlias = Sequence[object] | npt.NDArray[np.generic]

#: Letters of names that find room beside each other along the axis.
LETTERS = 48
#: Names that find room when they are turned upright, in letters of the usual size and in the smallest.
UPRIGHT, SMALL = 24, 40
#: Inches that a letter of a name takes when it is turned upright.
LETTER = 0.085


@dataclass(frozen=True)
class Places:
    """Where things stand, from left to right.

    Attributes
    ----------
    numbers : array of shape (n,)
        Coordinates, ascending.
    labels : list of str
    order : array of shape (n,)
        Which of the values given stands at each place.
    names : bool
        Whether the values are names and not numbers.
    log : bool
        Whether equal ratios are equally wide.
    """

    numbers: Floats
    labels: list[str]
    order: npt.NDArray[np.intp]
    names: bool
    log: bool

    @classmethod
    def of(cls, x: Values, *, log: bool) -> Places:
        """Place values: by size if all are numbers, else in the order given.

        Examples
        --------
        >>> Places.of([4, 1, 2.5], log=False).labels
        ['1', '2.5', '4']
        >>> Places.of([None, 8, 4], log=False).labels
        ['None', '8', '4']
        """
        values = list(x)
        names = not all(isinstance(v, Real) and not isinstance(v, bool | np.bool_) for v in values)
        numbers = np.arange(len(values), dtype=np.float64) if names else np.asarray(values, dtype=np.float64)
        if not values or not np.isfinite(numbers).all():
            raise InvalidInput(
                f"Every x must be a finite number, or a name. Got {values}; leave out what has no place."
            )
        if log and not names and numbers.min() <= 0:
            raise InvalidInput(f"With 'log_x' every x must be above 0. Got {numbers.min():g}; leave 'log_x' out.")
        order = np.argsort(numbers, kind="stable")
        labels = [str(values[i]) if names else f"{numbers[i]:,.6g}" for i in order]
        return cls(numbers[order], labels, order, names, log and not names)

    def beside(self, number: int, count: int) -> Floats:
        """Coordinates for one of several series: at a name they stand beside each other."""
        return self.numbers + ((number - (count - 1) / 2) * min(0.14, 0.7 / count) if self.names else 0.0)

    def find(self, value: object) -> int | None:
        """Return which place a value has, None if it has none."""
        if self.names:
            return self.labels.index(str(value)) if str(value) in self.labels else None
        wanted = float(value) if isinstance(value, Real) else np.nan
        hits = np.flatnonzero(np.isclose(self.numbers, wanted, rtol=1e-9, atol=0))
        return int(hits[0]) if hits.size else None

    @property
    def height(self) -> float:
        """Inches below the axis that names take which are too long to stand side by side."""
        return LETTER * max(map(len, self._short)) if self._upright else 0.0

    def scale(self, ax: Axes) -> None:
        """Scale the x axis, and put readable numbers or names on it."""
        if self.names:
            n = self.numbers.size
            shown = slice(None, None, -(-n // SMALL))
            ax.set_xticks(self.numbers[shown], self._short[shown], parse_math=False)
            if self._upright:
                ax.tick_params(axis="x", labelrotation=90, labelsize=FONT * min(1.0, UPRIGHT / min(n, SMALL)))
            ax.set_xlim(-0.6, n - 0.4)
            return
        ax.set_xmargin(0.03)
        if self.log:
            from matplotlib.ticker import FuncFormatter, LogLocator

            ax.set_xscale("log")
            wide = self.numbers[-1] > 300 * self.numbers[0]
            ax.xaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5), numticks=12))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
            ax.minorticks_off()
        else:
            whole = bool((self.numbers == self.numbers.round()).all())
            ax.locator_params(axis="x", nbins=8, integer=whole, min_n_ticks=1 if whole else 2)

    @property
    def _short(self) -> list[str]:
        return shortened(self.labels, length=20)

    @property
    def _upright(self) -> bool:
        return self.names and len(self.labels) * max(map(len, self._short)) > LETTERS
