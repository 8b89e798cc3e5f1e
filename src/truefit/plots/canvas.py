"""The canvas: an Axes in the house style, on a figure that pyplot does not know of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from truefit.core.errors import InvalidInput
from truefit.plots.palette import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def ink(ax: Axes) -> str:
    """Colour of text on these axes: a caller's own style, dark or light, is kept."""
    from matplotlib.colors import to_hex

    return to_hex(ax.xaxis.label.get_color())


def tidy(ax: Axes, *, grid: Literal["x", "y", "both"] | None = "x") -> None:
    """Leave only the lines that are read: the bottom axis, and a faint grid behind the data."""
    for side, spine in ax.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_alpha(0.5)
    ax.tick_params(axis="both", length=0, pad=6)
    if grid is not None:
        ax.grid(axis=grid, color=ink(ax), alpha=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)


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
    ax.annotate(
        text,
        (1, row),
        xycoords=ax.get_yaxis_transform(),
        # In points: an offset in widths of the axes would move when the layout makes room for the number.
        xytext=(12, 0),
        textcoords="offset points",
        verticalalignment="center_baseline",
        fontsize=FONT,
        fontweight="bold" if bold else "normal",
        color=ink(ax),
    )


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
