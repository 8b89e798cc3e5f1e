"""Paired differences as a forest plot: what differs from nothing, and what is the same for all practical purposes."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.canvas import NAME_LENGTH, WIDTH, canvas, ink, name_rows, number_at_right, shortened, tidy
from truefit.plots.forest import column_of, interval_row, reach
from truefit.plots.numerals import decimals, with_interval
from truefit.plots.palette import DATA, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Names of pairs are longer than names of candidates.
PAIR_LENGTH = 36
#: How much of the ink is left in the shade of the region.
SHADE = 0.10
#: Letters that stand beside each other on an inch.
LETTERS = 12


def differences(
    names: Sequence[str],
    values: npt.ArrayLike,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    *,
    apart: Sequence[bool] | None = None,
    rope: float | tuple[float, float] | None = None,
    xlabel: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw one difference with its interval per row, a line at 0, and the numbers at the right.

    Parameters
    ----------
    names : sequence of str
        What was compared, from top to bottom.
    values, lows, highs : array-like of shape (len(names),)
        None or NaN as low or high where no interval can be given: the difference is then drawn alone.
    apart : sequence of bool, optional
        Which ones to set off by a diamond. By default those whose interval lies wholly on one side of 0, or of the
        region of practical equivalence where there is one.
    rope : float or (float, float), optional
        The region of practical equivalence, shaded: its ends, or one number for as much on either side of 0.
    xlabel : str
        What the differences are, which sign is good, and the level of the intervals.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = differences(["forest − ridge"], [-0.040], [-0.062], [-0.018], rope=0.01, xlabel="difference of error")
    >>> [text.get_text() for text in ax.texts]
    ['−0.040 (−0.062 to −0.018)']
    """
    columns = {"values": values, "lows": lows, "highs": highs}
    centre, low, high = (column_of(column, len(names), what) for what, column in columns.items())
    region = (0.0, 0.0) if rope is None else _region(rope)
    longest = max(map(len, shortened(names, PAIR_LENGTH)), default=0)
    width = WIDTH + 0.08 * max(longest - NAME_LENGTH, 0)
    ax = canvas(width, height=0.75 + 0.34 * len(names)) if ax is None else ax
    places = decimals(centre.tolist(), (high - low).tolist())
    ends = reach(np.concatenate([centre, low, high, region]))
    if rope is not None:
        ax.axvspan(*region, color=ink(ax), alpha=SHADE, linewidth=0, zorder=0)
    ax.axvline(0, color=ink(ax), alpha=0.6, linewidth=1.2, zorder=1)
    set_off = (low > region[1]) | (high < region[0]) if apart is None else apart
    for row in range(len(names)):
        colour, marker = (MARK, "D") if set_off[row] else (DATA, "o")
        interval_row(ax, row, (centre[row], low[row], high[row]), ends, colour=colour, marker=marker)
        number_at_right(ax, row, with_interval(centre[row], low[row], high[row], places), bold=False)
    tidy(ax)
    name_rows(ax, names, None, length=PAIR_LENGTH)
    ax.set_xlim(*ends)
    figure: Any = ax.get_figure()
    # On a narrow figure it takes two lines.
    ax.set_xlabel(fill(xlabel, int(LETTERS * figure.get_size_inches()[0])), parse_math=False)
    ax.locator_params(axis="x", nbins=4)
    return ax


def _region(rope: float | tuple[float, float]) -> tuple[float, float]:
    low, high = (-rope, rope) if isinstance(rope, int | float) else rope
    if not low <= high:
        raise InvalidInput(
            f"The 'rope' parameter must be a number of at least 0, or its low and then its high end. Got {rope!r}."
        )
    return float(low), float(high)
