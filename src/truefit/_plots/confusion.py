"""The confusion matrix as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots.canvas import DATA, FAINT, FONT, MISSING, WIDTH, canvas, shortened, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: With more classes the cells are too small for numbers.
NUMBERED = 16
#: With more classes not every one is named, and no lines are drawn between the cells.
NAMED = 32
#: The strongest shade on which text is legible, on a light and on a dark page.
SHADE = 0.55
#: Inches of a letter, of a cell at least, and beside the cells and the names of classes.
LETTER, CELL, MARGIN = 0.086, 0.5, 0.5
#: Letters of a class's name, at most.
LABEL_LENGTH = 16


def confusion(matrix: npt.ArrayLike, labels: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Draw counts or summed weights: true classes down, predicted across, shaded by the share of the true class.

    Cells of more than 16 classes have no numbers. Their shade then goes with the square root of the share, so that
    rare errors are visible.
    """
    counts = np.asarray(matrix, dtype=np.float64)
    k = len(labels)
    rows = np.nansum(counts, axis=1, keepdims=True)
    shares = np.divide(counts, rows, out=np.full_like(counts, np.nan), where=rows > 0)
    texts = [[_count(value) for value in row] for row in counts]
    longest = max(len(text) for row in texts for text in row)
    short = shortened(labels, LABEL_LENGTH)
    beside = MARGIN + LETTER * max(map(len, short))
    cell = min(max(CELL, LETTER * (longest + 2)), (WIDTH - beside) / k)
    ax = canvas(width=beside + cell * k, height=min(1.0 + 0.38 * k, 6.0)) if ax is None else ax
    if k <= NUMBERED:
        _shade(ax, SHADE * np.nan_to_num(shares))
        _write(ax, texts, FONT * min(1.0, cell / (LETTER * longest)))
    else:
        _paint(ax, 0.95 * np.sqrt(np.nan_to_num(shares)))
    _frame(ax, short)
    return ax


def _count(value: float) -> str:
    if np.isnan(value):
        return MISSING
    return f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"


def _shade(ax: Axes, opacities: Floats) -> None:
    from matplotlib.patches import Rectangle

    for (row, column), opacity in np.ndenumerate(opacities):
        if opacity > 0:
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=(DATA, float(opacity)), linewidth=0))


def _paint(ax: Axes, opacities: Floats) -> None:
    """Shade many cells at once, as a picture: as shapes they would take megabytes."""
    from matplotlib.colors import to_rgb

    colours = np.empty((*opacities.shape, 4))
    colours[..., :3], colours[..., 3] = to_rgb(DATA), opacities
    edges = np.arange(len(opacities) + 1) - 0.5
    ax.pcolormesh(edges, edges, colours, rasterized=True)


def _write(ax: Axes, texts: Sequence[Sequence[str]], size: float) -> None:
    for row, line in enumerate(texts):
        for column, text in enumerate(line):
            ax.text(
                column,
                row,
                text,
                horizontalalignment="center",
                verticalalignment="center_baseline",
                fontsize=size,
                fontweight="bold" if row == column else "normal",
                color=text_colour(ax),
            )


def _frame(ax: Axes, short: Sequence[str]) -> None:
    k = len(short)
    edges = np.arange(k + 1) - 0.5
    if k <= NAMED:
        for lines in (ax.hlines, ax.vlines):
            lines(edges, -0.5, k - 0.5, color=text_colour(ax), alpha=FAINT, linewidth=0.8)
    named = range(0, k, -(-k // NAMED))
    crowded = max(map(len, short)) * k > 44
    ax.set_xticks(named, [short[i] for i in named], rotation=90 if crowded else 0, parse_math=False)
    ax.set_yticks(named, [short[i] for i in named], parse_math=False)
    ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5), xlabel="predicted", ylabel="true")
    ax.tick_params(axis="both", length=0, pad=5)
    ax.spines[:].set_visible(False)
