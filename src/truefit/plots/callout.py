"""A callout: one point of a curve set off, and said in words above the axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truefit.plots.canvas import FONT, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def call_out(ax: Axes, x: float, y: float, text: str, *, colour: str) -> None:
    """Mark a point by a diamond, and write above it, outside the axes, what it is.

    To be called when the scale of the x axis is final.
    """
    ax.axvline(x, color=ink(ax), alpha=0.45, linewidth=1.0, dashes=(2, 2), zorder=1)
    ax.plot(x, y, marker="D", markersize=8.5, color=colour, markeredgecolor=ink(ax), markeredgewidth=1.2)
    ax.autoscale_view()
    across = (ax.transData - ax.transAxes).transform((x, 0))[0]
    ax.annotate(
        text,
        (x, 1),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, 4),
        textcoords="offset points",
        # Near a side the words go inwards: outwards they would push the axes away.
        horizontalalignment="left" if across < 1 / 3 else "right" if across > 2 / 3 else "center",
        fontsize=FONT,
        fontweight="bold",
        color=ink(ax),
        parse_math=False,
    )
