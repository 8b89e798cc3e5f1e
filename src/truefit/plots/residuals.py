"""Residuals of a regression against its predictions: where it errs to one side, and how far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.plots.canvas import canvas, ink, tidy
from truefit.plots.cloud import draw_cloud, left_out, true_and_predicted
from truefit.plots.forest import reach
from truefit.plots.legend import legend
from truefit.plots.palette import DATA, MARK

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

#: Rows that a median along the predictions is taken over, at least: of fewer it would follow single rows.
NEIGHBOURS = 20
#: Medians along the predictions, at most.
MEDIANS = 25
#: Rows that a histogram is drawn of, at least, and its bars, at most: far outliers would ask for thousands.
COUNTED, BARS = 20, 150
#: Width of the histogram, and of the gap before it, in widths of the cloud.
SIDE, GAP = 0.26, 0.05


def residuals(
    true: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    xlabel: str = "predicted",
    ylabel: str = "true − predicted",
    ax: Axes | None = None,
) -> Axes:
    """Draw residuals over predictions with their running median, and their histogram at the right.

    Parameters
    ----------
    true, predicted : array-like of shape (n,)
        Rows in which either is not finite are left out, and the picture says how many.
    xlabel, ylabel : str
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The median is over groups of rows with neighbouring predictions, of one size, 20 rows at least. The histogram
    stands beside the normal density with the same mean and standard deviation, on the same scale.

    Examples
    --------
    >>> ax = residuals([1.0, 2.0, 3.0], [1.5, 2.0, 2.0])
    >>> ax.collections[0].get_offsets().tolist()
    [[1.5, -0.5], [2.0, 0.0], [2.0, 1.0]]
    """
    from matplotlib.ticker import MaxNLocator

    y, x = true_and_predicted(true, predicted)
    known = np.isfinite(x) & np.isfinite(y)
    x, rest = x[known], y[known] - x[known]
    ax = canvas(height=3.6) if ax is None else ax
    left, right = reach(x)
    bottom, top = reach(np.append(rest, 0.0))
    ax.plot([left, right], [0, 0], color=ink(ax), alpha=0.6, linewidth=1.2, zorder=1)
    draw_cloud(ax, x, rest, (left, right, bottom, top))
    tidy(ax, grid="both")
    named = _medians(ax, x, rest) | _histogram(ax, rest, right + GAP * (right - left), SIDE * (right - left))
    ax.set(xlim=(left, right + (GAP + SIDE) * (right - left)), ylim=(bottom, top))
    # Below the histogram there are no predictions.
    ax.set_xticks([tick for tick in MaxNLocator(6).tick_values(left, right) if left <= tick <= right])
    ax.locator_params(axis="y", nbins=7)
    ax.set_xlabel(xlabel + left_out(int((~known).sum())), parse_math=False)
    ax.set_ylabel(ylabel, parse_math=False)
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
    (line,) = ax.plot(start + unit * normal, along, color=ink(ax), alpha=0.8, linewidth=1.2, dashes=(3, 2))
    return {"normal, same mean and sd": line}
