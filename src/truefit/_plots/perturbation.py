"""Decrease rates: along a parameter or by name, with ties highlighted, and beside training and test errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots import canvas as style
from truefit._plots.forest import forest
from truefit._plots.labels import Places, Values, mark_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: Values with low and high ends; NaN where there is no number.
Rates: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]

#: Width of the ring around a point, in points.
_RING = 13


def rates(
    x: Values,
    found: Rates,
    *,
    ties: Sequence[object] = (),
    best: object = None,
    xlabel: str = "",
    ylabel: str = "decrease rate",
    log_x: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw rates with their intervals: a line over numbers, a row for each name; ties with the best have rings."""
    at = Places.of(x, log=log_x)
    centre, low, high = at.sorted(found)
    places = [at.find(tie) for tie in ties]
    if at.names or at.numbers.size == 1:
        name = None if best is None else at.labels[at.find(best)]
        ax = forest(at.labels, centre, low, high, xlabel=ylabel, best=name, ax=ax)
        spots = [(centre[place], float(place)) for place in places]
    else:
        ax = style.canvas() if ax is None else ax
        _draw_series(ax, at, (centre, low, high), style.DATA, "-")
        _style_x(ax, at, xlabel, ylabel)
        spots = [(at.numbers[place], centre[place]) for place in places]
        if best is not None:
            place = at.find(best)
            words = f"{style.NumberFormat.of(centre, high - low)(centre[place])} at {at.labels[place]}"
            mark_point(ax, at.numbers[place], centre[place], words, colour=style.MARK)
    if len(spots) > 1:
        (rings,) = ax.plot(*zip(*spots, strict=True), linestyle="none", marker="o", markersize=_RING)
        rings.set(markerfacecolor="none", markeredgecolor=style.text_colour(ax), markeredgewidth=1.2)
        lines = [line for line in (ax.get_xlabel(), "ring: no significant difference from the largest") if line]
        ax.set_xlabel("\n".join(lines), parse_math=False)
    return ax


def rate_and_errors(
    x: Values,
    found: Rates,
    *,
    train: npt.ArrayLike | None,
    test: Rates,
    xlabel: str = "",
    metric: str = "error",
    log_x: bool = False,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw rates, on an axis of their own at the right, beside the errors on training rows and on folds."""
    at = Places.of(x, log=log_x)
    ax = style.canvas(height=3.7 + at.height) if ax is None else ax
    handles = {"test": _draw_series(ax, at, at.sorted(test), *style.series_style(0))}
    if train is not None:
        handles["train"] = _draw_series(ax, at, at.sorted((train, None, None)), *style.series_style(3))
    _style_x(ax, at, xlabel, metric)
    style.format_ticks(ax.yaxis, "%" if percent else "")
    right = ax.twinx()
    handles["decrease rate (right)"] = _draw_series(right, at, at.sorted(found), *style.series_style(1))
    style.style_axes(right, grid=None)
    right.spines["bottom"].set_visible(False)  # that of the errors is there already
    right.tick_params(axis="y", colors=style.text_colour(ax), labelsize=style.FONT)
    right.set_ylabel("decrease rate", color=style.text_colour(ax), fontsize=style.FONT)
    right.locator_params(axis="y", nbins=7)
    at.scale(ax)  # the second axis changed the limits
    style.legend(ax, list(handles.values()), list(handles), above=True)
    return ax


def _draw_series(ax: Axes, at: Places, columns: Sequence[Floats], colour: str, stroke: style.Stroke) -> Line2D:
    """Draw values in their band over numbers, with vertical lines at names; return the line."""
    centre, low, high = columns
    if at.names:
        ax.vlines(at.numbers, low, high, color=colour, linewidth=2.2)
    else:
        ax.fill_between(at.numbers, low, high, color=colour, alpha=style.BAND, linewidth=0)
    (line,) = ax.plot(at.numbers, centre, color=colour, linestyle=stroke, linewidth=1.9, marker="o", markersize=4.2)
    return line


def _style_x(ax: Axes, at: Places, xlabel: str, ylabel: str) -> None:
    style.style_axes(ax, grid="y" if at.names else "both", xlabel=xlabel, ylabel=ylabel)
    at.scale(ax)
    ax.locator_params(axis="y", nbins=7)
