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
    centre, low, high = (column_of(values, len(names), what) for what, values in columns.items())
    ax = canvas(height=0.75 + 0.34 * len(names)) if ax is None else ax
    ends = reach(np.concatenate([centre, low, high]))
    places = decimals(centre.tolist(), (high - low).tolist())
    for row, name in enumerate(names):
        chosen = name == best
        colour = MARK if chosen else DATA
        marker = "D" if chosen else "o"
        interval_row(ax, row, (centre[row], low[row], high[row]), ends, colour=colour, marker=marker)
        number_at_right(ax, row, with_interval(centre[row], low[row], high[row], places), bold=chosen)
    tidy(ax)
    name_rows(ax, names, best)
    ax.set_xlim(*ends)
    ax.set_xlabel(xlabel, parse_math=False)
    ax.locator_params(axis="x", nbins=5)
    return ax


def column_of(values: npt.ArrayLike, n: int, what: str) -> Floats:
    """Return one number per row."""
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise InvalidInput(f"The {what!r} parameter must have {n} values, one per name. Got shape {column.shape}.")
    return column


def reach(numbers: Floats) -> tuple[float, float]:
    """Limits of an axis on which all finite numbers are seen, with a margin.

    Examples
    --------
    >>> [round(end, 2) for end in reach(np.array([1.0, 2.0, np.nan, np.inf]))]
    [0.92, 2.08]
    >>> reach(np.array([np.nan]))
    (0.0, 1.0)
    """
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    # Numbers that are all one get an axis on the scale of their size, not a width of nothing.
    margin = 0.08 * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def interval_row(
    ax: Axes, row: int, numbers: tuple[float, float, float], ends: tuple[float, float], *, colour: str, marker: str
) -> None:
    """Draw an estimate and its interval; one without an end goes to the edge of the axes, with an arrowhead."""
    centre, low, high = numbers
    span = np.clip([low, high], *ends)
    ax.plot(span, [row, row], color=colour, linewidth=2.4, solid_capstyle="round")
    for end, edge, head in ((low, ends[0], "<"), (high, ends[1], ">")):
        if np.isinf(end):
            ax.plot(edge, row, marker=head, markersize=7, color=colour, clip_on=False)
    ax.plot(centre, row, marker=marker, markersize=6.5, color=colour)
