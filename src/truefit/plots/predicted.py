"""Predicted against true values of a regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.canvas import canvas, ink, tidy
from truefit.plots.palette import DATA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More points than this are drawn as a picture inside the SVG: as shapes they would take megabytes.
SHAPES = 2000


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
    x, y = np.asarray(true, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or not x.size:
        raise InvalidInput(
            f"'true' and 'predicted' must be two rows of numbers of one length. Got shapes {x.shape} and {y.shape}."
        )
    ax = canvas(width=3.9, height=3.7) if ax is None else ax
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    ax.plot(ends, ends, color=ink(ax), alpha=0.55, linewidth=1.2, dashes=(4, 3))
    # Where points are many the densest places should still be told apart.
    alpha = float(np.clip(60 / x.size**0.75, 0.06, 0.7))
    ax.scatter(x, y, s=16, color=DATA, alpha=alpha, linewidth=0, rasterized=x.size > SHAPES)
    tidy(ax, grid="both")
    margin = 0.04 * (ends[1] - ends[0]) or 1.0
    limits = (ends[0] - margin, ends[1] + margin)
    ax.set(xlim=limits, ylim=limits, aspect="equal")
    ax.set_xlabel(xlabel, parse_math=False)
    ax.set_ylabel(ylabel, parse_math=False)
    ax.locator_params(nbins=6, min_n_ticks=4)
    return ax
