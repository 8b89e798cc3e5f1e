"""Regression: residuals, and predicted against true values, as points or as hexagons where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots.canvas import DATA, MARK, canvas, legend, style_axes, text_colour
from truefit._plots.forest import axis_limits

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: More points than this are drawn as a picture inside the SVG: as shapes they would take megabytes.
SHAPES = 2000
#: More points than this cover each other: counts are then shown instead.
DOTS = 5000
#: Hexagons along a side of the square.
HEXAGONS = 45


def _draw_cloud(ax: Axes, x: Floats, y: Floats, limits: tuple[float, float, float, float]) -> None:
    """Draw finite points within the limits: left, right, bottom, top of a field that is about square."""
    if x.size <= DOTS:
        # Of many points the densest places should still be visible.
        alpha = float(np.clip(60 / max(x.size, 1) ** 0.75, 0.18, 0.7))
        ax.scatter(x, y, s=16, color=DATA, alpha=alpha, linewidth=0, rasterized=x.size > SHAPES)
        return
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    # From a shade that a single point is seen by to the full colour, on whatever page is below.
    shades = LinearSegmentedColormap.from_list("counts", [to_rgba(DATA, 0.3), to_rgba(DATA)])
    grid = (HEXAGONS, round(HEXAGONS / 3**0.5))
    ax.hexbin(x, y, gridsize=grid, extent=limits, bins="log", mincnt=1, cmap=shades, linewidths=0, rasterized=True)


def _finite_rows(true: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Floats, Floats, str]:
    """Return the rows in which both are finite, and a line about the others."""
    x, y = np.asarray(true, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    known = np.isfinite(x) & np.isfinite(y)
    count = int((~known).sum())
    note = f"\n{count:,} {'row' if count == 1 else 'rows'} without a finite value not shown" if count else ""
    return x[known], y[known], note


#: Rows per median along the predictions, at least: with fewer it would follow single rows.
NEIGHBOURS = 20
#: Medians along the predictions, at most.
MEDIANS = 25
#: Rows of a histogram, at least, and its bars, at most: far outliers would need thousands.
COUNTED, BARS = 20, 150
#: Width of the histogram, and of the gap before it, in widths of the cloud.
SIDE, GAP = 0.26, 0.05


def residuals(true: npt.ArrayLike, predicted: npt.ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw residuals over predictions with their running median, and their histogram at the right.

    The median is over groups of at least 20 rows with neighbouring predictions. The histogram is drawn with the normal
    density of the same mean and standard deviation, on the same scale.
    """
    from matplotlib.ticker import MaxNLocator

    y, x, note = _finite_rows(true, predicted)
    rest = y - x
    ax = canvas(height=3.6) if ax is None else ax
    left, right = axis_limits(x)
    bottom, top = axis_limits(np.append(rest, 0.0))
    ax.plot([left, right], [0, 0], color=text_colour(ax), alpha=0.6, linewidth=1.2, zorder=1)
    _draw_cloud(ax, x, rest, (left, right, bottom, top))
    style_axes(ax, grid="both", xlabel=f"predicted{note}", ylabel="true − predicted")
    named = _medians(ax, x, rest) | _histogram(ax, rest, right + GAP * (right - left), SIDE * (right - left))
    ax.set(xlim=(left, right + (GAP + SIDE) * (right - left)), ylim=(bottom, top))
    # Below the histogram there are no predictions.
    ax.set_xticks([tick for tick in MaxNLocator(6).tick_values(left, right) if left <= tick <= right])
    ax.locator_params(axis="y", nbins=7)
    if named:
        legend(ax, list(named.values()), list(named), above=True)
    return ax


def _medians(ax: Axes, x: Floats, rest: Floats) -> dict[str, Artist]:
    groups = min(x.size // NEIGHBOURS, MEDIANS)
    if groups < 3:
        return {}
    order = np.array_split(np.argsort(x, kind="stable"), groups)
    medians = [(np.median(x[rows]), np.median(rest[rows])) for rows in order]
    (line,) = ax.plot(*np.transpose(medians), color=MARK, linewidth=2.2)
    return {"median of neighbours": line}


def _histogram(ax: Axes, rest: Floats, start: float, width: float) -> dict[str, Artist]:
    """Draw the histogram inside the axes, from a line at ``start`` to the right."""
    if rest.size < COUNTED or np.ptp(rest) == 0:
        return {}
    bins = min(len(np.histogram_bin_edges(rest, bins="auto")) - 1, BARS)
    density, edges = np.histogram(rest, bins=bins, density=True)
    centre, scale = float(rest.mean()), float(rest.std())
    along = centre + scale * np.linspace(-4, 4, 200)
    along = along[(along >= edges[0]) & (along <= edges[-1])]
    normal = np.exp(-(((along - centre) / scale) ** 2) / 2) / (scale * np.sqrt(2 * np.pi))
    unit = width / max(density.max(), normal.max())
    ax.barh(edges[:-1], unit * density, np.diff(edges), start, align="edge", color=DATA, alpha=0.65, linewidth=0)
    (line,) = ax.plot(start + unit * normal, along, color=text_colour(ax), alpha=0.8, linewidth=1.2, dashes=(3, 2))
    return {"normal, same mean and sd": line}


def predicted_vs_true(true: npt.ArrayLike, predicted: npt.ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw predictions over true values, with the line on which they agree."""
    x, y, note = _finite_rows(true, predicted)
    ax = canvas(width=3.9, height=3.7, square=True) if ax is None else ax
    limits = axis_limits(np.concatenate([x, y]))
    ax.plot(limits, limits, color=text_colour(ax), alpha=0.55, linewidth=1.2, dashes=(4, 3))
    _draw_cloud(ax, x, y, limits + limits)
    style_axes(ax, grid="both", xlabel=f"true{note}", ylabel="predicted")
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    ax.locator_params(nbins=6, min_n_ticks=4)
    return ax
