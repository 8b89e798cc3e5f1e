"""Curves with bands: an error against what was varied, such as a parameter or the number of training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._plots.canvas import (
    BAND,
    FONT,
    Stroke,
    canvas,
    decimals,
    legend,
    numeral,
    series_style,
    shortened,
    style_axes,
)
from truefit._plots.labels import LEADING, End, Places, Values, label_ends, mark_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Centre, low and high end of the band; None for a line without a band.
Series: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike | None, npt.ArrayLike | None]

#: Up to so many points each gets a dot, so that it is seen where something was measured.
DOTTED = 25


def bands(
    x: Values,
    series: Mapping[str, Series],
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    mark: tuple[str, object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw several series over one x, each a line in its band, with its name at its end.

    Parameters
    ----------
    x : sequence of length n
        Numbers, in any order. Anything else is taken as names, drawn side by side in the order given.
    series : mapping of str to (centre, low, high)
        Each of them array-like of shape (n,). NaN where a value is missing, None for low and high where there is no
        band at all.
    xlabel, ylabel : str
        What was varied; what is shown, and what the band is.
    log_x : bool, default=False
        Whether equal ratios of x are equally wide. Without effect on names.
    mark : (str, value of x), optional
        The series and the place of the point to set off.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> test = [0.30, 0.21, 0.25], [0.26, 0.17, 0.20], [0.34, 0.25, 0.30]
    >>> train = [0.28, 0.15, 0.02], None, None
    >>> ax = bands([1, 4, 16], {"test": test, "train": train}, xlabel="depth", ylabel="error", mark=("test", 4))
    >>> [text.get_text() for text in ax.texts]
    ['0.210 at 4', 'test', 'train']
    """
    at = Places.of(x, log=log_x)
    if not series:
        raise InvalidInput("The 'series' parameter must have at least one series. Got none; name what is to be drawn.")
    drawn = [_Drawn.of(name, values, at, i, len(series)) for i, (name, values) in enumerate(series.items())]
    place = None if mark is None else at.find(mark[1])
    if mark is not None and (mark[0] not in series or place is None):
        raise InvalidInput(f"The 'mark' parameter must be one of the series, {list(series)}, and of x. Got {mark!r}.")
    ax = canvas(height=max(3.4, 1.1 + len(drawn) * LEADING * FONT / 72) + at.height) if ax is None else ax
    for one in drawn:
        (_posts if at.names else _line)(ax, one)
    style_axes(ax, grid="y" if at.names else "both", xlabel=xlabel, ylabel=ylabel)
    at.scale(ax)
    ax.locator_params(axis="y", nbins=7)
    for one in drawn:
        if mark is not None and place is not None and one.name == mark[0]:
            words = f"{_value(one, place)} at {shortened([at.labels[place]])[0]}"
            mark_point(ax, float(one.x[place]), float(one.centre[place]), words, colour=one.colour)
    _name(ax, drawn)
    return ax


@dataclass(frozen=True)
class _Drawn:
    """A series with its place and its looks."""

    name: str
    x: Floats
    centre: Floats
    low: Floats
    high: Floats
    colour: str
    stroke: Stroke

    @classmethod
    def of(cls, name: str, values: Series, at: Places, number: int, count: int) -> _Drawn:
        n = at.numbers.size
        columns = [np.full(n, np.nan) if column is None else np.asarray(column, dtype=np.float64) for column in values]
        if len(columns) != 3 or any(column.shape != (n,) for column in columns):
            raise InvalidInput(
                f"The series {name!r} must be centre, low and high with {n} values each, one per x. "
                f"Got shapes {[column.shape for column in columns]}."
            )
        centre, low, high = (column[at.order] for column in columns)
        return cls(name, at.beside(number, count), centre, low, high, *series_style(number))

    @property
    def end(self) -> tuple[float, float]:
        known = np.flatnonzero(np.isfinite(self.centre))
        return (float(self.x[known[-1]]), float(self.centre[known[-1]])) if known.size else (np.nan, np.nan)


def _line(ax: Axes, one: _Drawn) -> None:
    ax.fill_between(one.x, one.low, one.high, color=one.colour, alpha=BAND, linewidth=0)
    # A band between two points needs two points: where a neighbour is missing the interval stands alone.
    known = np.isfinite(one.low) & np.isfinite(one.high)
    alone = known & ~np.append(known[1:], False) & ~np.append(False, known[:-1])
    ax.vlines(one.x[alone], one.low[alone], one.high[alone], color=one.colour, linewidth=1.6)
    ax.plot(one.x, one.centre, color=one.colour, linestyle=one.stroke, linewidth=1.9)
    if one.x.size <= DOTTED:
        ax.plot(one.x, one.centre, color=one.colour, linestyle="none", marker="o", markersize=4.2)


def _posts(ax: Axes, one: _Drawn) -> None:
    """Intervals as posts: between two names there is nothing for a band to span."""
    ax.vlines(one.x, one.low, one.high, color=one.colour, linewidth=2.2)
    ax.plot(one.x, one.centre, color=one.colour, alpha=0.45, linewidth=1.1)
    ax.plot(one.x, one.centre, color=one.colour, linestyle="none", marker="o", markersize=5.5)


def _value(one: _Drawn, place: int) -> str:
    return numeral(float(one.centre[place]), decimals(one.centre.tolist(), (one.high - one.low).tolist()))


def _name(ax: Axes, drawn: Sequence[_Drawn]) -> None:
    short = shortened([one.name for one in drawn])
    if label_ends(ax, [End(name, *one.end, one.colour) for name, one in zip(short, drawn, strict=True)]):
        return
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=one.colour, linestyle=one.stroke, linewidth=1.9) for one in drawn]
    legend(ax, handles, short)
