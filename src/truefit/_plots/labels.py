"""Labels: at the ends of lines, along the x axis, and for one point of a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots.canvas import FONT, annotate, format_ticks, shortened, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a line of text in font sizes.
LEADING = 1.3


class End(NamedTuple):
    """End and name of a line; NaN for a line without a single point."""

    label: str
    x: float
    y: float
    colour: str


def label_ends(ax: Axes, ends: Sequence[End]) -> bool:
    """Write each label at the right of the axes, as near to its line's end as its neighbours allow.

    Call it when the limits, labels and ticks of both axes are final. Returns False, and writes nothing, where the
    labels find no room.
    """
    from matplotlib.transforms import ScaledTranslation

    figure = ax.figure.figure
    engine = figure.get_layout_engine()
    if engine is None:
        return False
    ax.autoscale_view()
    # How high the axes are is known once the ticks have their room; labels at the side change the width alone.
    engine.execute(figure)
    gap = LEADING * FONT / (ax.get_window_extent().height * 72 / figure.dpi)
    if gap * (len(ends) - 1) > 1:
        return False
    beside = ax.transAxes + ScaledTranslation(16 / 72, 0, figure.dpi_scale_trans)
    # A line without points is named at the bottom.
    wanted = np.nan_to_num((ax.transData - ax.transAxes).transform([(end.x, end.y) for end in ends])[:, 1])
    for end, height in zip(ends, spread(wanted, gap), strict=True):
        drawn = bool(np.isfinite(end.y))
        # The leader is too thin to look like a continuation of the curve.
        leader = {"arrowstyle": "-", "linewidth": 0.9, "shrinkA": 2, "shrinkB": 3, "relpos": (0, 0.5)}
        ax.annotate(
            end.label if drawn else f"{end.label}: no values",
            (end.x, end.y) if drawn else (1, height),
            xycoords="data" if drawn else "axes fraction",
            xytext=(1, height),
            textcoords=beside,
            verticalalignment="center",
            fontsize=FONT,
            color=text_colour(ax),
            parse_math=False,
            annotation_clip=False,
            arrowprops=leader | {"color": end.colour} if drawn else None,
        )
    return True


def spread(heights: npt.NDArray[np.float64], gap: float) -> npt.NDArray[np.float64]:
    """Move heights, as little as possible in squares, until any two are ``gap`` apart and all are within 0 and 1.

    Examples
    --------
    >>> spread(np.array([0.5, 0.5, 0.9]), 0.1).round(2).tolist()
    [0.45, 0.55, 0.9]
    >>> spread(np.array([1.0, 0.98]), 0.1).round(2).tolist()
    [1.0, 0.9]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(heights.size)
    # Heights a gap apart are heights in order, once each is lowered by the gaps below it.
    lowered = isotonic_regression(heights[order] - steps).x
    placed = np.empty_like(heights)
    placed[order] = np.clip(lowered, 0, max(1 - gap * (heights.size - 1), 0)) + steps
    return placed


#: Numbers, or anything else as names.
Values: TypeAlias = Sequence[object] | npt.NDArray[np.generic]

#: Letters of names that fit beside each other along the axis.
LETTERS = 48
#: Vertical names that fit, in letters of the usual size and in the smallest.
UPRIGHT, SMALL = 24, 40
#: Inches that a letter of a vertical name takes.
LETTER = 0.085


@dataclass(frozen=True)
class Places:
    """Coordinates along the x axis, ascending: ``order`` is the index of the value at each place."""

    numbers: Floats
    labels: list[str]
    order: npt.NDArray[np.intp]
    names: bool
    log: bool

    @classmethod
    def of(cls, x: Values, *, log: bool) -> Places:
        """Place values: by size if all are finite numbers, else as names in the order given.

        Examples
        --------
        >>> Places.of([4, 1, 2.5], log=False).labels
        ['1', '2.5', '4']
        >>> Places.of([None, 8, 4], log=False).labels
        ['None', '8', '4']
        """
        values: list[Any] = list(x)
        flags = (bool, np.bool_)
        names = any(isinstance(v, flags) or not isinstance(v, Real) or not np.isfinite(float(v)) for v in values)
        numbers = np.arange(len(values), dtype=np.float64) if names else np.asarray(values, dtype=np.float64)
        order = np.argsort(numbers, kind="stable")
        labels = [str(values[i]) if names else f"{numbers[i]:,.6g}" for i in order]
        return cls(numbers[order], labels, order, names, log and not names)

    def sorted(self, columns: Sequence[npt.ArrayLike | None]) -> list[Floats]:
        """Return columns of numbers in the order of the places; NaN for a column that is None."""
        missing = np.full(self.order.size, np.nan)
        return [missing if column is None else np.asarray(column, dtype=np.float64)[self.order] for column in columns]

    def beside(self, number: int, count: int) -> Floats:
        """Coordinates for one of several series: at a name they are side by side."""
        return self.numbers + ((number - (count - 1) / 2) * min(0.14, 0.7 / count) if self.names else 0.0)

    def find(self, value: Any) -> int:
        """Return the place of one of the values."""
        return self.labels.index(str(value)) if self.names else int(np.abs(self.numbers - float(value)).argmin())

    @property
    def height(self) -> float:
        """Inches below the axis that vertical names take."""
        return LETTER * max(map(len, self._short)) if self._upright else 0.0

    def scale(self, ax: Axes, *, percent: bool = False) -> None:
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
            format_ticks(ax.xaxis, "%" if percent else "")

    @property
    def _short(self) -> list[str]:
        return shortened(self.labels, length=20)

    @property
    def _upright(self) -> bool:
        return self.names and len(self.labels) * max(map(len, self._short)) > LETTERS


def mark_point(ax: Axes, x: float, y: float, text: str, *, colour: str) -> None:
    """Mark a point by a diamond, with a label above it, outside the axes. The scale of the x axis must be final."""
    ax.axvline(x, color=text_colour(ax), alpha=0.45, linewidth=1.0, dashes=(2, 2), zorder=1)
    ax.plot(x, y, marker="D", markersize=8.5, color=colour, markeredgecolor=text_colour(ax), markeredgewidth=1.2)
    ax.autoscale_view()
    across = (ax.transData - ax.transAxes).transform((x, 0))[0]
    # Near a side the words go inwards: outwards they would push the axes away.
    side = "left" if across < 1 / 3 else "right" if across > 2 / 3 else "center"
    above = ax.get_xaxis_transform()
    annotate(ax, text, (x, 1), (0, 4), xycoords=above, horizontalalignment=side, fontweight="bold")
