"""Labels at the ends of lines: the eye need not go back and forth between a line and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from truefit.plots.canvas import FONT, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a line of text in font sizes.
LEADING = 1.3


class End(NamedTuple):
    """Where a line ends, and what it is called. NaN for a line without a single point."""

    label: str
    x: float
    y: float
    colour: str


def label_ends(ax: Axes, ends: Sequence[End]) -> bool:
    """Write each label at the right of the axes, as near to its line's end as its neighbours allow.

    To be called when the limits, labels and ticks of both axes are final.

    Returns
    -------
    bool
        False where the labels find no room: none is written then.
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
    # A line that was never drawn is named at the bottom.
    wanted = np.nan_to_num((ax.transData - ax.transAxes).transform([(end.x, end.y) for end in ends])[:, 1])
    for end, height in zip(ends, spread(wanted, gap), strict=True):
        drawn = bool(np.isfinite(end.y))
        ax.annotate(
            end.label if drawn else f"{end.label}: no values",
            (end.x, end.y) if drawn else (1, height),
            xycoords="data" if drawn else "axes fraction",
            xytext=(1, height),
            textcoords=beside,
            verticalalignment="center",
            fontsize=FONT,
            color=ink(ax),
            parse_math=False,
            annotation_clip=False,
            arrowprops=_leader(end.colour) if drawn else None,
        )
    return True


def _leader(colour: str) -> dict[str, object]:
    """A line to the label, too thin to be taken for the curve going on."""
    return {"arrowstyle": "-", "color": colour, "linewidth": 0.9, "shrinkA": 2, "shrinkB": 3, "relpos": (0, 0.5)}


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
