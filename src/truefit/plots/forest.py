"""The forest plot: an estimate with its interval for every candidate, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.canvas import canvas, name_rows, number_at_right, tidy
from truefit.plots.numerals import decimals, with_interval
from truefit.plots.palette import DATA, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]


def forest(
    names: Sequence[str],
    estimates: npt.ArrayLike,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    *,
    xlabel: str,
    best: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one estimate with its interval per row, the numbers at the right.

    Parameters
    ----------
    names : sequence of str
        From top to bottom.
    estimates, lows, highs : array-like of shape (len(names),)
        None or NaN as low or high where no interval can be given: the estimate is then drawn alone.
    xlabel : str
        What the numbers are, the level of the interval included.
    best : str, optional
        The name to set off: in bold, with a diamond.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = forest(["ridge", "forest"], [0.12, 0.08], [0.09, 0.06], [0.16, 0.11], xlabel="error")
    >>> [text.get_text() for text in ax.texts]
    ['0.120 (0.090 to 0.160)', '0.080 (0.060 to 0.110)']
    """
    columns = {"estimates": estimates, "lows": lows, "highs": highs}
    centre, low, high = (_column(values, len(names), what) for what, values in columns.items())
    ax = canvas(height=0.75 + 0.34 * len(names)) if ax is None else ax
    places = decimals(centre.tolist(), (high - low).tolist())
    for row, name in enumerate(names):
        chosen = name == best
        colour = MARK if chosen else DATA
        ax.plot([low[row], high[row]], [row, row], color=colour, linewidth=2.4, solid_capstyle="round")
        ax.plot(centre[row], row, marker="D" if chosen else "o", markersize=6.5, color=colour)
        number_at_right(ax, row, with_interval(centre[row], low[row], high[row], places), bold=chosen)
    tidy(ax)
    name_rows(ax, names, best)
    ax.set_xmargin(0.08)
    ax.set_xlabel(xlabel, parse_math=False)
    ax.locator_params(axis="x", nbins=5)
    return ax


def _column(values: npt.ArrayLike, n: int, what: str) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise InvalidInput(f"The {what!r} parameter must have {n} values, one per name. Got shape {column.shape}.")
    return column
