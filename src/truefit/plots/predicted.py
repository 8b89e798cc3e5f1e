"""Predicted against true values of a regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.plots.canvas import canvas, ink, tidy
from truefit.plots.cloud import draw_cloud, left_out, true_and_predicted
from truefit.plots.forest import reach

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def predicted_vs_true(
    true: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    xlabel: str = "true",
    ylabel: str = "predicted",
    ax: Axes | None = None,
) -> Axes:
    """Draw predictions over true values, with the line on which they agree.

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

    Examples
    --------
    >>> ax = predicted_vs_true([1.0, 2.0, 3.0], [1.2, 1.9, 2.5])
    >>> ax.get_xlim() == ax.get_ylim()
    True
    """
    x, y = true_and_predicted(true, predicted)
    known = np.isfinite(x) & np.isfinite(y)
    ax = canvas(width=3.9, height=3.7, square=True) if ax is None else ax
    limits = reach(np.concatenate([x[known], y[known]]))
    ax.plot(limits, limits, color=ink(ax), alpha=0.55, linewidth=1.2, dashes=(4, 3))
    draw_cloud(ax, x[known], y[known], limits + limits)
    tidy(ax, grid="both")
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    ax.set_xlabel(xlabel + left_out(int((~known).sum())), parse_math=False)
    ax.set_ylabel(ylabel, parse_math=False)
    ax.locator_params(nbins=6, min_n_ticks=4)
    return ax
