"""Clouds of points: dots while they can be told apart, hexagons shaded by how many they hold where they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.palette import DATA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

#: More points than this are drawn as a picture inside the SVG: as shapes they would take megabytes.
SHAPES = 2000
#: More points than this cover each other: counts are then shown instead.
DOTS = 5000
#: Hexagons along a side of the square.
HEXAGONS = 45


def true_and_predicted(true: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return both as numbers of one length."""
    x, y = np.asarray(true, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or not x.size:
        raise InvalidInput(
            f"'true' and 'predicted' must be two rows of numbers of one length. Got shapes {x.shape} and {y.shape}."
        )
    return x, y


def draw_cloud(ax: Axes, x: Floats, y: Floats, limits: tuple[float, float, float, float]) -> None:
    """Draw finite points within the limits: left, right, bottom, top of a field that is about square."""
    if x.size <= DOTS:
        # Where points are many the densest places should still be told apart.
        alpha = float(np.clip(60 / max(x.size, 1) ** 0.75, 0.18, 0.7))
        ax.scatter(x, y, s=16, color=DATA, alpha=alpha, linewidth=0, rasterized=x.size > SHAPES)
        return
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    # From a shade that a single point is seen by to the full colour, on whatever page is below.
    shades = LinearSegmentedColormap.from_list("counts", [to_rgba(DATA, 0.3), to_rgba(DATA)])
    grid = (HEXAGONS, round(HEXAGONS / 3**0.5))
    ax.hexbin(x, y, gridsize=grid, extent=limits, bins="log", mincnt=1, cmap=shades, linewidths=0, rasterized=True)


def left_out(count: int) -> str:
    r"""Return what is said below the axis of rows that have no place in the picture.

    Examples
    --------
    >>> left_out(0), left_out(1), left_out(1200)
    ('', '\n1 row without a finite value left out', '\n1,200 rows without a finite value left out')
    """
    return f"\n{count:,} {'row' if count == 1 else 'rows'} without a finite value left out" if count else ""
