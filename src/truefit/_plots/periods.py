"""Scores against time: one stroke per period, as long as the period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots import canvas as style
from truefit._plots.curve import DrawnSeries, name_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def periods(
    spans: Sequence[tuple[Any, Any]],
    scores: Mapping[str, npt.ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of each candidate on each period, over the first and last time of the period.

    Times are numbers or datetime64. NaN is a missing score.
    """
    ax = style.canvas() if ax is None else ax
    first, last = _numbers(ax, spans)
    middle = (first + last) / 2
    drawn = []
    for place, (name, values) in enumerate(scores.items()):
        y = np.asarray(values, dtype=np.float64)
        colour, stroke = style.series_style(place)
        ax.hlines(y, first, last, color=colour, linewidth=3.2)
        ax.plot(middle, y, color=colour, linestyle=stroke, linewidth=1.1, alpha=0.7)
        # A period of a single time has no length.
        ax.plot(middle, y, color=colour, linestyle="none", marker="o", markersize=4.2)
        drawn.append(DrawnSeries(name, last, y, y, y, colour, stroke))
    style.style_axes(ax, grid="both", xlabel=xlabel, ylabel=ylabel)
    ax.locator_params(axis="y", nbins=7)
    style.format_ticks(ax.yaxis, "%" if percent else "")
    if len(drawn) > 1:
        name_series(ax, drawn)
    return ax


def _numbers(ax: Axes, spans: Sequence[tuple[Any, Any]]) -> Floats:
    """Return the first and the last time of each period as numbers, and scale the axis for dates."""
    times = np.array(spans).T
    if times.dtype.kind != "M":
        return times.astype(np.float64)
    from matplotlib import dates

    library: Any = dates  # without types
    locator = library.AutoDateLocator(minticks=3, maxticks=6)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(library.ConciseDateFormatter(locator))
    return np.asarray(library.date2num(times), dtype=np.float64)
