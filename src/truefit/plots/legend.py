"""The legend: beside the picture where the layout makes room for it, inside where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truefit.plots.canvas import FONT, WIDTH, ink

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.legend import Legend


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
        labelcolor=ink(ax),
        handlelength=2.6,
        labelspacing=0.45,
        alignment="left",
        **place,
    )
    box.get_title().set(color=ink(ax), fontsize=FONT)
    for text in box.get_texts():
        # Names are the user's words: a dollar sign in them is no formula.
        text.set_parse_math(False)
    return box
