"""The canvas: Axes in one style, with palette, legend and number format.

Every colour contrasts at least 3:1 with a white page and with a nearly black one, the minimum that WCAG 2.2
asks of graphics (1.4.11), so that one picture reads on both. Any two of them stay apart in the common kinds of
colour blindness. What stands out also has a shape or a weight of its own, and every series a stroke of its own:
never a colour alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.legend import Legend


#: A line style as matplotlib takes it: unbroken, or an offset and the lengths of dashes and gaps.
Stroke: TypeAlias = Literal["-"] | tuple[float, tuple[float, ...]]

#: Text, axes, and with some transparency the grid. Becomes ``currentColor`` in SVG.
INK = "#1d222b"
#: Data.
DATA = "#3a80c1"
#: The one thing that the eye should find first.
MARK = "#d2641a"
#: Several series in one picture: blue, orange, violet, moss, rose.
SERIES = (DATA, MARK, "#9333ea", "#5f7048", "#cb7a9c")
STROKES: tuple[Stroke, ...] = ("-", (0, (5, 1.6)), (0, (5, 1.4, 1.4, 1.4)), (0, (1.6, 1.3)), (0, (9, 2)))

#: How much of the ink is left in lines that should stay behind the data.
FAINT = 0.16
#: How much of a series' colour is left in the band around it: two bands that overlap are still seen through.
BAND = 0.22


def series_style(place: int) -> tuple[str, Stroke]:
    """Return colour and stroke of a series by its place: no two of the first 25 have both in common.

    Examples
    --------
    >>> series_style(0)
    ('#3a80c1', '-')
    >>> series_style(5)[0] == series_style(0)[0], series_style(5)[1] == series_style(0)[1]
    (True, False)
    """
    count = len(SERIES)
    return SERIES[place % count], STROKES[(place + place // count) % count]


#: Inches. At this width a figure fills a column of text, and its letters are still read on a phone.
WIDTH = 6.4
#: For a phone: shrunk to its width, letters are about 10 pixels high.
NARROW = 4.9
FONT = 10.0

#: A name longer than this would leave no room for the picture.
NAME_LENGTH = 25


def canvas(width: float = WIDTH, height: float = 3.4, *, square: bool = False) -> Axes:
    """Return an empty Axes on a new figure in the house style; one that will stay square where asked for."""
    from matplotlib.figure import Figure

    # A Figure made directly has no manager: it is drawn when asked for and freed when nobody holds it.
    layout: Literal["constrained", "compressed"] = "compressed" if square else "constrained"
    ax = Figure(figsize=(width, height), layout=layout, facecolor="white").add_subplot()
    ax.set_facecolor("none")
    for part in (ax.xaxis, ax.yaxis):
        part.label.set(color=INK, fontsize=FONT)
    for spine in ax.spines.values():
        spine.set_edgecolor(INK)
    ax.tick_params(colors=INK, labelsize=FONT)
    return ax


def text_colour(ax: Axes) -> str:
    """Colour of text on these axes: a caller's own style, dark or light, is kept."""
    from matplotlib.colors import to_hex

    return to_hex(ax.xaxis.label.get_color())


def style_axes(
    ax: Axes, *, grid: Literal["x", "y", "both"] | None = "x", xlabel: str | None = None, ylabel: str | None = None
) -> None:
    """Label the axes, and leave only the lines that are read: the bottom axis, and a faint grid behind the data."""
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_alpha(0.5)
    ax.tick_params(axis="both", length=0, pad=6)
    if grid is not None:
        ax.grid(axis=grid, color=text_colour(ax), alpha=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    # Labels are the user's words: a dollar sign in them is no formula.
    for label, text in ((ax.xaxis.label, xlabel), (ax.yaxis.label, ylabel)):
        if text is not None:
            label.set(text=text, parse_math=False)


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


def name_rows(ax: Axes, names: Sequence[str], best: str | None, *, length: int = NAME_LENGTH) -> None:
    """Put names, shortened to a length, on the y axis from top to bottom, and set off the best."""
    if best is not None and best not in names:
        raise InvalidInput(f"The 'best' parameter must be one of the names. Got {best!r}; names are {list(names)}.")
    # Names are the user's words: a dollar sign in them is no formula.
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
    """Names that fit beside a picture: the middle of a long one is left out.

    Those that would look alike then are cut before the place where they part, or are told apart by number.

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
    """Leave out what stands between the first letters and a few before the parting, and what is too much at the end."""
    quarter = length // 4
    kept = name[max(parting - quarter, quarter) :]
    rest = length - quarter - 1
    return f"{name[:quarter]}…{kept if len(kept) <= rest else kept[: rest - 1] + '…'}"


def legend(
    ax: Axes,
    handles: Sequence[Artist | BarContainer],
    labels: Sequence[str],
    *,
    title: str = "",
    inside: str = "best",
    above: bool = False,
) -> Legend:
    """Name the handles.

    Parameters
    ----------
    ax : matplotlib Axes
    handles, labels : sequences of one length
    title : str
    inside : str, default="best"
        Where it stands when it must stand inside, as matplotlib names the places.
    above : bool, default=False
        Stand in one line above the picture instead.
    """
    # Inside it may lie on data: what is below shines through, but does not disturb.
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
        # Names are the user's words: a dollar sign in them is no formula.
        text.set_parse_math(False)
    return box


MISSING = "–"


def decimals(values: Sequence[float], widths: Sequence[float] = ()) -> int:
    """Decimal places that all of a column's numbers are shown with.

    Half a typical interval gets two significant digits; without intervals the largest number gets three.

    Examples
    --------
    >>> decimals([0.0421, 0.1873], widths=[0.026, 0.031])
    3
    >>> decimals([1234.5, 1300.2], widths=[210.0, 190.0])
    0
    >>> decimals([10.44, 9.31])
    1
    """
    known = sorted(w for w in widths if math.isfinite(w) and w > 0)
    if known:
        scale, digits = known[len(known) // 2] / 2, 2
    else:
        scale, digits = max((abs(v) for v in values if math.isfinite(v)), default=0.0), 3
    if scale == 0:
        return digits
    return min(max(digits - 1 - math.floor(math.log10(scale)), 0), 8)


def numeral(value: float, places: int) -> str:
    """Return one number as text.

    Examples
    --------
    >>> numeral(0.04213, 3), numeral(-1234.5, 0), numeral(float("nan"), 2)
    ('0.042', '−1,234', '–')
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{places}f}".replace("-", "−")


def with_interval(value: float, low: float, high: float, places: int) -> str:
    """Return a number and its interval as text; the number alone where there is no interval.

    Examples
    --------
    >>> with_interval(0.0421, 0.031, 0.0574, 3)
    '0.042 (0.031 to 0.057)'
    """
    if math.isnan(low) or math.isnan(high):
        return numeral(value, places)
    return f"{numeral(value, places)} ({numeral(low, places)} to {numeral(high, places)})"
