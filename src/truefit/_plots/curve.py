"""Curves: an error against what was varied (a parameter, training rows), scores against time, learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots import canvas as style
from truefit._plots.labels import LEADING, End, Places, Values, label_ends, mark_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Centre, low and high end of the band; None for a line without a band.
Series: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike | None, npt.ArrayLike | None]

#: Up to so many measured points each gets a dot.
DOTTED = 25
#: Standard errors that a bar of a learning curve reaches to each side.
_BAR = 2.0


def bands(
    x: Values,
    series: Mapping[str, Series],
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    mark: tuple[str, object] | None = None,
    percent: bool = False,
    percent_x: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw several series over one x, each a line in its band, with its name at its end.

    Numbers of x may be in any order; anything else is taken as names. NaN is a missing value. ``mark`` is a series and
    a value of x: that point is highlighted.
    """
    at = Places.of(x, log=log_x)
    ends = (0.0, 1.0) if percent else (-np.inf, np.inf)
    drawn = [DrawnSeries.of(name, values, at, i, len(series), ends) for i, (name, values) in enumerate(series.items())]
    ax = style.canvas(height=max(3.4, 1.1 + len(drawn) * LEADING * style.FONT / 72) + at.height) if ax is None else ax
    for one in drawn:
        (_posts if at.names else _line)(ax, one)
    style.style_axes(ax, grid="y" if at.names else "both", xlabel=xlabel, ylabel=ylabel)
    at.scale(ax, percent=percent_x)
    ax.locator_params(axis="y", nbins=7)
    unit: style.Unit = "%" if percent else ""
    style.format_ticks(ax.yaxis, unit)
    if mark is not None:
        one, place = drawn[list(series).index(mark[0])], at.find(mark[1])
        number_format = style.NumberFormat.of(one.centre, one.high - one.low, unit)
        words = f"{number_format(one.centre[place])} at {style.shortened([at.labels[place]])[0]}"
        mark_point(ax, one.x[place], one.centre[place], words, colour=one.colour)
    name_series(ax, drawn)
    return ax


@dataclass(frozen=True)
class DrawnSeries:
    """A series with its coordinates and its style."""

    name: str
    x: Floats
    centre: Floats
    low: Floats
    high: Floats
    colour: str
    stroke: style.Stroke

    @classmethod
    def of(cls, name: str, values: Series, at: Places, i: int, count: int, ends: tuple[float, float]) -> DrawnSeries:
        centre, low, high = at.sorted(values)
        low, high = np.clip([low, high], *ends)
        return cls(name, at.beside(i, count), centre, low, high, *style.series_style(i))

    @property
    def end(self) -> tuple[float, float]:
        known = np.flatnonzero(np.isfinite(self.centre))
        return (float(self.x[known[-1]]), float(self.centre[known[-1]])) if known.size else (np.nan, np.nan)


def _line(ax: Axes, one: DrawnSeries) -> None:
    ax.fill_between(one.x, one.low, one.high, color=one.colour, alpha=style.BAND, linewidth=0)
    # A band between two points needs two points: where a neighbour is missing the interval is a line.
    known = np.isfinite(one.low) & np.isfinite(one.high)
    alone = known & ~np.append(known[1:], False) & ~np.append(False, known[:-1])
    ax.vlines(one.x[alone], one.low[alone], one.high[alone], color=one.colour, linewidth=1.6)
    ax.plot(one.x, one.centre, color=one.colour, linestyle=one.stroke, linewidth=1.9)
    if one.x.size <= DOTTED:
        ax.plot(one.x, one.centre, color=one.colour, linestyle="none", marker="o", markersize=4.2)


def _posts(ax: Axes, one: DrawnSeries) -> None:
    """Intervals as vertical lines: between two names there is nothing for a band to span."""
    ax.vlines(one.x, one.low, one.high, color=one.colour, linewidth=2.2)
    ax.plot(one.x, one.centre, color=one.colour, alpha=0.45, linewidth=1.1)
    ax.plot(one.x, one.centre, color=one.colour, linestyle="none", marker="o", markersize=5.5)


def name_series(ax: Axes, drawn: Sequence[DrawnSeries]) -> None:
    """Write the name of each series at its end, or in a legend where there is no room."""
    short = style.shortened([one.name for one in drawn])
    if label_ends(ax, [End(name, *one.end, one.colour) for name, one in zip(short, drawn, strict=True)]):
        return
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=one.colour, linestyle=one.stroke, linewidth=1.9) for one in drawn]
    style.legend(ax, handles, short)


def periods(
    spans: Sequence[tuple[Any, Any]],
    scores: Mapping[str, npt.ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of each candidate against time: a stroke per period, from its first to its last time.

    Times are numbers or datetime64. NaN is a missing score.
    """
    ax = style.canvas() if ax is None else ax
    first, last = _times(ax, spans)
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


def _times(ax: Axes, spans: Sequence[tuple[Any, Any]]) -> Floats:
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


def learning_curve(
    sizes: npt.ArrayLike,
    errors: npt.ArrayLike,
    stderr: npt.ArrayLike | None = None,
    *,
    curve: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    train: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    target: float | None = None,
    ylabel: str,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw errors on test rows with bars of two standard errors, and their extrapolation.

    ``curve`` is the sizes, values, low and high ends of the fitted curve; ``train`` the errors on the training rows and
    their standard deviation; ``target`` an error to be reached.
    """
    n, y = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    ends = (0.0, 1.0) if percent else (-np.inf, np.inf)
    ax = style.canvas() if ax is None else ax
    ink = style.text_colour(ax)
    style.style_axes(ax, grid="both", xlabel="rows", ylabel=ylabel)
    Places.of(n if curve is None else np.append(n, curve[0]), log=True).scale(ax)
    if curve is not None:
        at, value, low, high = (np.asarray(column, dtype=np.float64) for column in curve)
        # The band of the curve begins where the measured points end.
        ahead = at >= n.max()
        ax.fill_between(at[ahead], low[ahead], high[ahead], color=style.DATA, alpha=style.BAND, linewidth=0)
        ax.plot(at[~ahead], value[~ahead], color=style.DATA, linewidth=1.2, alpha=0.6)
        ax.plot(at[ahead], value[ahead], color=style.DATA, linewidth=1.9)
        last, above = float(n.max()), ax.get_xaxis_transform()
        ax.axvline(last, color=ink, alpha=0.45, linewidth=1.0, dashes=(2, 2), zorder=1)
        words = f"measured up to {last:,.6g}"
        style.annotate(ax, words, (last, 1), (0, 4), xycoords=above, horizontalalignment="right")
    if stderr is not None:
        reach = _BAR * np.asarray(stderr, dtype=np.float64)
        low, high = np.clip([y - reach, y + reach], *ends)
        ax.vlines(n, low, high, color=ink, linewidth=1.2)
    ax.plot(n, y, color=ink, linestyle="none", marker="o", markersize=4.2)
    ax.locator_params(axis="y", nbins=7)
    style.format_ticks(ax.yaxis, "%" if percent else "")
    if target is not None:
        words = f"target {100 * target:.4g}%" if percent else f"target {target:.4g}"
        ax.axhline(target, color=style.MARK, linewidth=1.4, dashes=(5, 2), zorder=1)
        beside = ax.get_yaxis_transform()
        style.annotate(ax, words, (1, target), (6, 0), xycoords=beside, verticalalignment="center")
    if train is not None:
        _draw_train(ax, n, *train)
    return ax


def _draw_train(ax: Axes, n: npt.NDArray[np.float64], mean: npt.ArrayLike, sd: npt.ArrayLike) -> None:
    centre, reach = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    colour, stroke = style.series_style(2)  # the second is too near to that of targets
    ax.fill_between(n, centre - reach, centre + reach, color=colour, alpha=style.BAND, linewidth=0)
    ax.plot(n, centre, color=colour, linestyle=stroke, linewidth=1.9, marker="o", markersize=3.2)
    style.annotate(ax, "train", (n[-1], centre[-1]), (6, 0), verticalalignment="center")
