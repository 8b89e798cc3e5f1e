"""Forest plots: estimates with intervals, scores of every fold, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots import canvas as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Half the height, in rows, of the band that the points of one candidate lie in.
BAND = 0.26
#: Names of pairs are longer than names of candidates.
PAIR_LENGTH = 36
#: Opacity of the region of practical equivalence.
SHADE = 0.10


def forest(
    names: Sequence[str],
    estimates: npt.ArrayLike,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    *,
    xlabel: str,
    best: str | None = None,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw one estimate with its interval per row, the numbers at the right; None or NaN is no interval."""
    columns = [np.asarray(column, dtype=np.float64) for column in (estimates, lows, highs)]
    ax = style.canvas(height=0.75 + 0.34 * len(names)) if ax is None else ax
    bold = np.array([name == best for name in names])
    unit: style.Unit = "%" if percent else ""
    _interval_rows(ax, columns, axis_limits(np.concatenate(columns)), diamonds=bold, bold=bold, unit=unit)
    style.style_axes(ax, xlabel=xlabel)
    style.name_rows(ax, names, best)
    ax.locator_params(axis="x", nbins=5)
    return ax


def axis_limits(numbers: Floats) -> tuple[float, float]:
    """Limits of an axis that shows all finite numbers, with a margin.

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
    # Equal numbers get an axis on the scale of their size, not one of width 0.
    margin = 0.08 * (high - low) if high - low > 1e-9 * max(abs(low), abs(high)) else 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def _interval_rows(
    ax: Axes,
    columns: Sequence[Floats],
    ends: tuple[float, float],
    *,
    diamonds: npt.NDArray[np.bool_],
    bold: npt.NDArray[np.bool_],
    unit: style.Unit,
) -> None:
    """Draw estimates and intervals; an infinite interval goes to the edge of the axes, with an arrowhead."""
    number_format = style.NumberFormat.of(columns[0], columns[2] - columns[1], unit)
    for row, (centre, low, high) in enumerate(zip(*columns, strict=True)):
        colour, marker = (style.MARK, "D") if diamonds[row] else (style.DATA, "o")
        ax.plot(np.clip([low, high], *ends), [row, row], color=colour, linewidth=2.4, solid_capstyle="round")
        for end, edge, head in ((low, ends[0], "<"), (high, ends[1], ">")):
            if np.isinf(end):
                ax.plot(edge, row, marker=head, markersize=7, color=colour, clip_on=False)
        ax.plot(centre, row, marker=marker, markersize=6.5, color=colour)
        style.number_at_right(ax, row, number_format.with_interval(centre, low, high), bold=bool(bold[row]))
    ax.set_xlim(*ends)
    style.format_ticks(ax.xaxis, unit)


def fold_scores(
    names: Sequence[str],
    scores_per_name: Sequence[npt.ArrayLike],
    *,
    xlabel: str,
    best: str | None = None,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of every split as a point, and their mean as a line with its number at the right.

    Within a row the splits are ordered from top to bottom: the same split is at the same height for every candidate.
    """
    columns = [np.asarray(scores, dtype=np.float64) for scores in scores_per_name]
    ax = style.canvas(height=0.75 + 0.46 * len(names)) if ax is None else ax
    means = [float(column.mean()) for column in columns]
    unit: style.Unit = "%" if percent else ""
    number_format = style.NumberFormat.of(means, [2 * column.std() for column in columns], unit)
    for row, (name, scores, mean) in enumerate(zip(names, columns, means, strict=True)):
        colour = style.MARK if name == best else style.DATA
        heights = row + np.linspace(-BAND, BAND, scores.size) if scores.size > 1 else [row]
        ax.scatter(scores, heights, s=20, color=colour, alpha=0.75, linewidth=0)
        ax.plot(
            [mean, mean], [row - 0.34, row + 0.34], color=style.text_colour(ax), linewidth=1.8, solid_capstyle="butt"
        )
        style.number_at_right(ax, row, number_format(mean), bold=name == best)
    style.style_axes(ax, xlabel=xlabel)
    style.name_rows(ax, names, best)
    ax.set_xmargin(0.06)
    ax.locator_params(axis="x", nbins=6)
    style.format_ticks(ax.xaxis, unit)
    return ax


def differences(
    names: Sequence[str],
    values: npt.ArrayLike,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    *,
    significant: Sequence[bool],
    rope: float | None = None,
    xlabel: str = "",
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw one difference with its interval per row, a line at 0, and the numbers at the right.

    Significant differences have a diamond. ``rope`` is half the width of the region of practical equivalence, which is
    shaded. With ``percent`` the differences are in percentage points.
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (values, lows, highs)]
    region = (0.0, 0.0) if rope is None else (-rope, rope)
    longest = max(map(len, style.shortened(names, PAIR_LENGTH)), default=0)
    width = style.WIDTH + 0.08 * max(longest - style.NAME_LENGTH, 0)
    ax = style.canvas(width, height=0.75 + 0.34 * len(names)) if ax is None else ax
    if rope is not None:
        ax.axvspan(*region, color=style.text_colour(ax), alpha=SHADE, linewidth=0, zorder=0)
    ax.axvline(0, color=style.text_colour(ax), alpha=0.6, linewidth=1.2, zorder=1)
    ends = axis_limits(np.concatenate([*columns, region]))
    diamonds, none = np.asarray(significant, dtype=bool), np.zeros(len(names), dtype=bool)
    _interval_rows(ax, columns, ends, diamonds=diamonds, bold=none, unit="points" if percent else "")
    style.style_axes(ax, xlabel=xlabel)
    style.name_rows(ax, names, length=PAIR_LENGTH)
    ax.locator_params(axis="x", nbins=4)
    return ax
