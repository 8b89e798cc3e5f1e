"""Forest plots: estimates with intervals, scores of every fold, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._plots.canvas import (
    DATA,
    MARK,
    NAME_LENGTH,
    WIDTH,
    canvas,
    decimals,
    name_rows,
    number_at_right,
    numeral,
    shortened,
    style_axes,
    text_colour,
    with_interval,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    ends = axis_limits(np.concatenate([centre, low, high]))
    places = decimals(centre.tolist(), (high - low).tolist())
    for row, name in enumerate(names):
        chosen = name == best
        colour = MARK if chosen else DATA
        marker = "D" if chosen else "o"
        interval_row(ax, row, (centre[row], low[row], high[row]), ends, colour=colour, marker=marker)
        number_at_right(ax, row, with_interval(centre[row], low[row], high[row], places), bold=chosen)
    style_axes(ax, xlabel=xlabel)
    name_rows(ax, names, best)
    ax.set_xlim(*ends)
    ax.locator_params(axis="x", nbins=5)
    return ax


def column_of(values: npt.ArrayLike, n: int, what: str) -> Floats:
    """Return one number per row."""
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise InvalidInput(f"The {what!r} parameter must have {n} values, one per name. Got shape {column.shape}.")
    return column


def axis_limits(numbers: Floats) -> tuple[float, float]:
    """Limits of an axis on which all finite numbers are seen, with a margin.

    Examples
    --------
    >>> [round(end, 2) for end in axis_limits(np.array([1.0, 2.0, np.nan, np.inf]))]
    [0.92, 2.08]
    >>> axis_limits(np.array([np.nan]))
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


#: Half the height, in rows, of the band that the points of one candidate lie in.
BAND = 0.26


def fold_scores(
    names: Sequence[str],
    scores_per_name: Sequence[npt.ArrayLike],
    *,
    xlabel: str,
    best: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of every split as a point, and their mean as a line with its number at the right.

    Within a row the splits are ordered from top to bottom, so that the same split stands at the same height
    for every candidate. The points are not an interval: splits share training rows.

    Parameters
    ----------
    names : sequence of str
        From top to bottom.
    scores_per_name : sequence of array-like
        The scores of each candidate, one per split, in the same order of splits.
    xlabel : str
        What the scores are.
    best : str, optional
        The name to set off.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = fold_scores(["ridge", "forest"], [[0.10, 0.14], [0.08, 0.09]], xlabel="error per fold")
    >>> [text.get_text() for text in ax.texts]
    ['0.120', '0.085']
    """
    columns = [np.asarray(scores, dtype=np.float64) for scores in scores_per_name]
    if len(columns) != len(names) or any(column.ndim != 1 or not column.size for column in columns):
        raise InvalidInput(
            f"The 'scores_per_name' parameter must have one row of scores per name, {len(names)}. "
            f"Got shapes {[column.shape for column in columns]}."
        )
    ax = canvas(height=0.75 + 0.46 * len(names)) if ax is None else ax
    means = [float(column.mean()) for column in columns]
    places = decimals(means, [2 * float(column.std()) for column in columns])
    for row, (name, scores, mean) in enumerate(zip(names, columns, means, strict=True)):
        colour = MARK if name == best else DATA
        heights = row + np.linspace(-BAND, BAND, scores.size) if scores.size > 1 else [row]
        ax.scatter(scores, heights, s=20, color=colour, alpha=0.75, linewidth=0)
        ax.plot([mean, mean], [row - 0.34, row + 0.34], color=text_colour(ax), linewidth=1.8, solid_capstyle="butt")
        number_at_right(ax, row, numeral(mean, places), bold=name == best)
    style_axes(ax, xlabel=xlabel)
    name_rows(ax, names, best)
    ax.set_xmargin(0.06)
    ax.locator_params(axis="x", nbins=6)
    return ax


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
    ends = axis_limits(np.concatenate([centre, low, high, region]))
    if rope is not None:
        ax.axvspan(*region, color=text_colour(ax), alpha=SHADE, linewidth=0, zorder=0)
    ax.axvline(0, color=text_colour(ax), alpha=0.6, linewidth=1.2, zorder=1)
    set_off = (low > region[1]) | (high < region[0]) if apart is None else apart
    for row in range(len(names)):
        colour, marker = (MARK, "D") if set_off[row] else (DATA, "o")
        interval_row(ax, row, (centre[row], low[row], high[row]), ends, colour=colour, marker=marker)
        number_at_right(ax, row, with_interval(centre[row], low[row], high[row], places), bold=False)
    figure: Any = ax.get_figure()
    # On a narrow figure the label takes two lines.
    style_axes(ax, xlabel=fill(xlabel, int(LETTERS * figure.get_size_inches()[0])))
    name_rows(ax, names, None, length=PAIR_LENGTH)
    ax.set_xlim(*ends)
    ax.locator_params(axis="x", nbins=4)
    return ax


def _region(rope: float | tuple[float, float]) -> tuple[float, float]:
    low, high = (-rope, rope) if isinstance(rope, int | float) else rope
    if not low <= high:
        raise InvalidInput(
            f"The 'rope' parameter must be a number of at least 0, or its low and then its high end. Got {rope!r}."
        )
    return float(low), float(high)
