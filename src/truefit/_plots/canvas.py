"""The canvas: Axes in one style, with palette, legend and number format.

Every colour contrasts at least 3:1 with a white page and with a nearly black one, the minimum that WCAG 2.2
requires of graphics (1.4.11), so that one picture reads on both. Any two colours stay distinct in the common kinds of
colour blindness. Highlighted items also have a shape or a weight of their own, and every series a line style of its
own: never a colour alone.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend


#: A line style as matplotlib takes it: solid, or an offset and the lengths of dashes and gaps.
Stroke: TypeAlias = Literal["-"] | tuple[float, tuple[float, ...]]

#: Text, axes, and with some transparency the grid. Becomes ``currentColor`` in SVG.
INK = "#1d222b"
#: Data.
DATA = "#3a80c1"
#: The highlighted item.
MARK = "#d2641a"
#: Several series in one picture: blue, orange, violet, moss, rose.
SERIES = (DATA, MARK, "#9333ea", "#5f7048", "#cb7a9c")
STROKES: tuple[Stroke, ...] = ("-", (0, (5, 1.6)), (0, (5, 1.4, 1.4, 1.4)), (0, (1.6, 1.3)), (0, (9, 2)))

#: Opacity of lines that should stay behind the data.
FAINT = 0.16
#: Opacity of the band around a series: two overlapping bands are both visible.
BAND = 0.22

#: Inches. At this width a figure fills a column of text, and its letters are still legible on a phone.
WIDTH = 6.4
#: For a phone: shrunk to its width, letters are about 10 pixels high.
NARROW = 4.9
FONT = 10.0
#: Inches between the labels and the edge of a figure.
PADDING = 0.08

#: Longer names would leave no room for the picture.
NAME_LENGTH = 25
#: Letters of an axis label per inch of the axes.
LETTERS = 14


def series_style(place: int) -> tuple[str, Stroke]:
    """Return colour and line style of a series by its place: the first 25 pairs are all different."""
    count = len(SERIES)
    return SERIES[place % count], STROKES[(place + place // count) % count]


def canvas(width: float = WIDTH, height: float = 3.4, *, square: bool = False) -> Axes:
    """Return an empty Axes on a new figure in the house style."""
    layout: Literal["constrained", "compressed"] = "compressed" if square else "constrained"
    figure = _new_figure(figsize=(width, height), facecolor="white")
    figure.set_layout_engine(layout, w_pad=PADDING, h_pad=PADDING)
    ax = figure.add_subplot()
    ax.set_facecolor("none")
    for part in (ax.xaxis, ax.yaxis):
        part.label.set(color=INK, fontsize=FONT)
    for spine in ax.spines.values():
        spine.set_edgecolor(INK)
    ax.tick_params(colors=INK, labelsize=FONT)
    return ax


def _new_figure(**options: Any) -> Figure:
    """Make a figure with pyplot in a notebook, which then displays it; elsewhere outside of pyplot.

    A figure outside of pyplot opens no window, and is freed when nobody refers to it.
    """
    if _in_notebook():
        from matplotlib import pyplot

        return pyplot.figure(**options)
    from matplotlib.figure import Figure

    return Figure(**options)


def _in_notebook() -> bool:
    """Whether IPython displays pyplot's figures below the cell that made them."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return False
    import matplotlib

    backend = matplotlib.get_backend().lower()
    return any(name in backend for name in ("inline", "nbagg", "ipympl", "widget", "notebook"))


def close(figure: Figure) -> None:
    """Keep a notebook from displaying a figure; it can still be saved."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def text_colour(ax: Axes) -> str:
    """Colour of text on these axes: a caller's own style, dark or light, is respected."""
    from matplotlib.colors import to_hex

    return to_hex(ax.xaxis.label.get_color())


def style_axes(
    ax: Axes, *, grid: Literal["x", "y", "both"] | None = "x", xlabel: str | None = None, ylabel: str | None = None
) -> None:
    """Label the axes, and leave only the bottom axis and a faint grid behind the data."""
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_alpha(0.5)
    ax.tick_params(axis="both", length=0, pad=6)
    if grid is not None:
        ax.grid(axis=grid, color=text_colour(ax), alpha=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    across, up = ax.figure.figure.get_size_inches() * ax.get_position(original=True).size
    for label, text, inches in ((ax.xaxis.label, xlabel, across), (ax.yaxis.label, ylabel, up)):
        if text is not None:
            lines = [fill(line, max(int(LETTERS * inches), 1)) for line in text.splitlines()]
            # Labels are the user's words: a dollar sign in them is no formula.
            label.set(text="\n".join(lines), parse_math=False)


def annotate(ax: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **options: Any) -> None:
    """Write beside a point, at an offset in points: one in widths of the axes would move with the layout."""
    ax.annotate(
        text,
        point,
        xytext=offset,
        textcoords="offset points",
        color=text_colour(ax),
        parse_math=False,
        **({"fontsize": FONT} | options),
    )


def name_rows(ax: Axes, names: Sequence[str], best: str | None = None, *, length: int = NAME_LENGTH) -> None:
    """Put names, shortened to a length, on the y axis from top to bottom, the best in bold."""
    ax.set_yticks(range(len(names)), shortened(names, length), parse_math=False)
    for name, label in zip(names, ax.get_yticklabels(), strict=True):
        label.set_fontweight("bold" if name == best else "normal")
    ax.set_ylim(len(names) - 0.5, -0.5)


def number_at_right(ax: Axes, row: int, text: str, *, bold: bool) -> None:
    """Put a number beside the row, outside the axes."""
    weight = "bold" if bold else "normal"
    beside = ax.get_yaxis_transform()
    annotate(ax, text, (1, row), (12, 0), xycoords=beside, verticalalignment="center_baseline", fontweight=weight)


def shortened(names: Sequence[str], length: int = NAME_LENGTH) -> list[str]:
    """Shorten long names in the middle; names that would look alike are cut before they differ, or numbered.

    Examples
    --------
    >>> shortened(["ridge", "pipeline-standardscaler-logisticregression"], length=20)
    ['ridge', 'pipeline-s…egression']
    >>> shortened(["pipeline, with 10 trees, balanced", "pipeline, with 500 trees, balanced"], length=20)
    ['pipel…with 10 trees…', 'pipel…with 500 tree…']
    >>> shortened(["one name that comes twice"] * 2, length=12)
    ['one… na… (1)', 'one… na… (2)']
    """
    head = length // 2
    cut = [n if len(n) <= length else f"{n[:head]}…{n[len(n) - (length - head - 1) :]}" for n in names]
    for short in _repeated(cut):
        group = [i for i, name in enumerate(names) if cut[i] == short != name]
        letters = zip_longest(*(names[i] for i in group))
        parting = next((at for at, column in enumerate(letters) if len(set(column)) > 1), 0)
        for i in group:
            cut[i] = _cut_before(names[i], parting, length)
    alike = _repeated(cut)
    return [
        f"{short[: length - 5]}… ({place})" if short in alike and short != name else short
        for place, (name, short) in enumerate(zip(names, cut, strict=True), start=1)
    ]


def _repeated(texts: Sequence[str]) -> set[str]:
    return {text for text, count in Counter(texts).items() if count > 1}


def _cut_before(name: str, parting: int, length: int) -> str:
    """Drop the letters between the first few and a few before the parting, and the rest that is too long."""
    quarter = length // 4
    end = name[max(parting - quarter, quarter) :]
    rest = length - quarter - 1
    return f"{name[:quarter]}…{end if len(end) <= rest else end[: rest - 1] + '…'}"


def legend(
    ax: Axes,
    handles: Sequence[Artist | BarContainer],
    labels: Sequence[str],
    *,
    title: str = "",
    inside: str = "best",
    above: bool = False,
) -> Legend:
    """Name the handles: in one line above the picture, at its right, or inside of axes whose layout is not ours."""
    # Inside it may lie on data, which stays visible below it.
    place: dict[str, Any] = {"loc": inside, "frameon": True, "framealpha": 0.8, "edgecolor": "none"}
    if above:
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2, "frameon": False}
    elif ax.figure.figure.get_layout_engine() is not None:
        place = {"loc": "upper left", "bbox_to_anchor": (1.03, 1.0), "borderaxespad": 0.0, "frameon": False}
    # More than two names beside each other need the width of a column of text.
    most = 2 if ax.figure.figure.get_size_inches()[0] < WIDTH - 1 else 3
    box = ax.legend(
        handles,
        labels,
        title=title or None,
        ncols=1 if not above else len(labels) if len(labels) <= most else 2,
        fontsize=FONT,
        labelcolor=text_colour(ax),
        handlelength=2.6,
        labelspacing=0.45,
        alignment="left",
        **place,
    )
    box.get_title().set(color=text_colour(ax), fontsize=FONT)
    for text in box.get_texts():
        text.set_parse_math(False)
    return box


MISSING = "–"

#: Numbers as they are, shares in percent, or differences of shares in percentage points.
Unit: TypeAlias = Literal["", "%", "points"]


@dataclass(frozen=True)
class NumberFormat:
    """Format of a column of numbers, all with the same number of decimals."""

    places: int
    unit: Unit = ""

    @classmethod
    def of(cls, values: npt.ArrayLike, widths: npt.ArrayLike = (), unit: Unit = "") -> NumberFormat:
        """Choose the decimals: two digits of half the median interval; without intervals three of the largest number.

        Examples
        --------
        >>> NumberFormat.of([0.0421, 0.1873], widths=[0.026, 0.031]).places
        3
        >>> NumberFormat.of([1234.5, 1300.2], widths=[210.0, 190.0]).places, NumberFormat.of([10.44, 9.31]).places
        (0, 1)
        """
        factor = 100 if unit else 1
        known = np.sort([width for width in np.ravel(widths) if np.isfinite(width) and width > 0])
        if known.size:
            scale, digits = factor * known[known.size // 2] / 2, 2
        else:
            numbers = np.abs(np.ravel(values).astype(np.float64))
            scale, digits = factor * np.max(numbers[np.isfinite(numbers)], initial=0.0), 3
        return cls(digits if scale == 0 else min(max(digits - 1 - math.floor(math.log10(scale)), 0), 8), unit)

    def __call__(self, value: float) -> str:
        """Return one number as text.

        Examples
        --------
        >>> NumberFormat(3)(0.04213), NumberFormat(0)(-1234.5), NumberFormat(2)(float("nan"))
        ('0.042', '−1,234', '–')
        >>> NumberFormat(1, "%")(0.0421), NumberFormat(1, "points")(-0.021)
        ('4.2%', '−2.1')
        """
        if math.isnan(value):
            return MISSING
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        shown = f"{value * (100 if self.unit else 1):,.{self.places}f}".replace("-", "−")
        return f"{shown}%" if self.unit == "%" else shown

    def with_interval(self, value: float, low: float, high: float) -> str:
        """Return a number and its interval; the number alone where there is no interval.

        Examples
        --------
        >>> NumberFormat(3).with_interval(0.0421, 0.031, 0.0574)
        '0.042 (0.031 to 0.057)'
        """
        if math.isnan(low) or math.isnan(high):
            return self(value)
        return f"{self(value)} ({self(low)} to {self(high)})"


def format_ticks(axis: Axis, unit: Unit) -> None:
    """Write the numbers of an axis in a unit; the data stay as they are."""
    if unit:
        from matplotlib.ticker import FuncFormatter

        sign = "%" if unit == "%" else ""

        def text(value: float, _: object) -> str:
            shown = round(100 * value, 6) + 0.0  # adding 0 makes a 0 of -0
            # A share is never negative, but an axis around shares of 0 is.
            return "" if sign and shown < 0 else f"{shown:g}".replace("-", "−") + sign

        axis.set_major_formatter(FuncFormatter(text))
