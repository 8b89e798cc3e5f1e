"""Decrease rates: along a parameter or by name, those that tie set off, and beside training and test errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._plots.canvas import (
    BAND,
    DATA,
    FONT,
    MARK,
    Stroke,
    canvas,
    decimals,
    legend,
    numeral,
    series_style,
    style_axes,
    text_colour,
)
from truefit._plots.forest import forest
from truefit._plots.labels import Places, Values, mark_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: Rates with low and high ends.
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
    """Draw rates with their intervals: a line over numbers, a row for each name; those that tie have rings.

    Parameters
    ----------
    x : sequence of length n
        The numbers that a parameter had, or names.
    found : (rates, lows, highs)
        Each array-like of shape (n,); NaN where there is no number.
    ties : values of x
        Those that cannot be told apart from the best; the best may be among them.
    best : value of x, optional
    xlabel, ylabel : str
        What was varied, and what the rates are.
    log_x : bool, default=False
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = rates([1, 2, 3], ([0.7, 0.8, 0.5], [0.6, 0.7, 0.4], [0.8, 0.9, 0.6]), ties=[1, 2], best=2, xlabel="depth")
    >>> [text.get_text() for text in ax.texts][0]
    '0.80 at 2'
    """
    at = Places.of(x, log=log_x)
    centre, low, high = _columns("rates", found, at)
    places = [place for place in map(at.find, ties) if place is not None]
    if at.names or at.numbers.size == 1:
        ax = forest(at.labels, centre, low, high, xlabel=ylabel, best=None if best is None else str(best), ax=ax)
        spots = [(float(centre[place]), float(place)) for place in places]
    else:
        ax = canvas() if ax is None else ax
        _draw_series(ax, at, (centre, low, high), DATA, "-")
        _style_x(ax, at, xlabel, ylabel)
        spots = [(float(at.numbers[place]), float(centre[place])) for place in places]
        place = None if best is None else at.find(best)
        if place is not None:
            digits = decimals(centre.tolist(), (high - low).tolist())
            words = f"{numeral(float(centre[place]), digits)} at {at.labels[place]}"
            mark_point(ax, float(at.numbers[place]), float(centre[place]), words, colour=MARK)
    if len(spots) > 1:
        (rings,) = ax.plot(*zip(*spots, strict=True), linestyle="none", marker="o", markersize=_RING)
        rings.set(markerfacecolor="none", markeredgecolor=text_colour(ax), markeredgewidth=1.2)
        lines = [line for line in (ax.get_xlabel(), "with a ring: cannot be told apart") if line]
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
    ax: Axes | None = None,
) -> Axes:
    """Draw rates, on an axis of their own at the right, beside the errors on training rows and on folds.

    Parameters
    ----------
    x : sequence of length n
        The numbers that a parameter had, or names.
    found, test : (values, lows, highs)
        Rates, and errors on rows left out.
    train : array-like of shape (n,), optional
        Errors on the training rows.
    xlabel, metric : str
    log_x : bool, default=False
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        That of the errors.

    Examples
    --------
    >>> some = ([0.7, 0.8], [0.6, 0.7], [0.8, 0.9])
    >>> ax = rate_and_errors([1, 2], some, train=[0.1, 0.0], test=([0.1, 0.2], [0.0, 0.1], [0.2, 0.3]), xlabel="depth")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['test', 'train', 'decrease rate (right)']
    """
    at = Places.of(x, log=log_x)
    ax = canvas(height=3.7 + at.height) if ax is None else ax
    handles = [_draw_series(ax, at, _columns("test", test, at), *series_style(0))]
    names = ["test"]
    if train is not None:
        none = np.full(at.numbers.size, np.nan)
        handles.append(_draw_series(ax, at, _columns("train", (train, none, none), at), *series_style(3)))
        names.append("train")
    _style_x(ax, at, xlabel, metric)
    right = ax.twinx()
    handles.append(_draw_series(right, at, _columns("rates", found, at), *series_style(1)))
    style_axes(right, grid=None)
    right.spines["bottom"].set_visible(False)  # that of the errors is there already
    right.tick_params(axis="y", colors=text_colour(ax), labelsize=FONT)
    right.set_ylabel("decrease rate", color=text_colour(ax), fontsize=FONT)
    right.locator_params(axis="y", nbins=7)
    at.scale(ax)  # the second axis has its own idea of the limits
    legend(ax, handles, [*names, "decrease rate (right)"], above=True)
    return ax


def _draw_series(ax: Axes, at: Places, columns: tuple[Floats, Floats, Floats], colour: str, stroke: Stroke) -> Line2D:
    """Draw values in their band over numbers, with posts at names; return the line."""
    centre, low, high = columns
    if at.names:
        ax.vlines(at.numbers, low, high, color=colour, linewidth=2.2)
    else:
        ax.fill_between(at.numbers, low, high, color=colour, alpha=BAND, linewidth=0)
    (line,) = ax.plot(at.numbers, centre, color=colour, linestyle=stroke, linewidth=1.9, marker="o", markersize=4.2)
    return line


def _style_x(ax: Axes, at: Places, xlabel: str, ylabel: str) -> None:
    style_axes(ax, grid="y" if at.names else "both", xlabel=xlabel, ylabel=ylabel)
    at.scale(ax)
    ax.locator_params(axis="y", nbins=7)


def _columns(what: str, found: Rates, at: Places) -> tuple[Floats, Floats, Floats]:
    columns = [np.asarray(column, dtype=np.float64) for column in found]
    if len(columns) != 3 or any(column.shape != at.numbers.shape for column in columns):
        raise InvalidInput(
            f"The {what} must be values, lows and highs with {at.numbers.size} numbers each, one per x. Got shapes "
            f"{[column.shape for column in columns]}."
        )
    centre, low, high = (column[at.order] for column in columns)
    return centre, low, high
