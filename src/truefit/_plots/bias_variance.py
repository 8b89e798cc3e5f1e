"""Bias and variance: what an expected loss is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._plots.canvas import (
    DATA,
    FAINT,
    MARK,
    canvas,
    decimals,
    legend,
    name_rows,
    number_at_right,
    numeral,
    style_axes,
    text_colour,
)
from truefit._plots.labels import Places, Values, mark_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where each area begins and ends.
Areas: TypeAlias = dict[str, tuple[Floats, Floats]]

#: What a variance below 0 takes from the loss.
OFFSET = "bias made up for"


def bias_variance(
    x: Values,
    bias: npt.ArrayLike,
    variance: npt.ArrayLike,
    *,
    noise: npt.ArrayLike | None = None,
    xlabel: str = "",
    loss_name: str = "expected loss",
    log_x: bool = False,
    best: object = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw bias, variance and noise on top of each other: bars for names, areas over numbers.

    Parameters
    ----------
    x : sequence of length n
        Names of estimators, from top to bottom, or the numbers that a parameter had.
    bias, variance : array-like of shape (n,)
        As they add up: for squared loss the *squared* bias, for 0-1 loss the *net* variance. This may be below 0,
        where varying predictions make up for some of the bias: that part of the bias is then crossed out.
    noise : array-like of shape (n,), optional
        Where it is known.
    xlabel : str
        What the numbers of x are. Not used with names.
    loss_name : str
        What the sum of the parts is.
    log_x : bool, default=False
        Whether equal ratios of x are equally wide. Without effect on names.
    best : value of x, optional
        The one to set off.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = bias_variance(["ridge", "tree"], [0.30, 0.05], [0.02, 0.25], best="tree")
    >>> [text.get_text() for text in ax.texts]
    ['0.320', '0.300']
    """
    at = Places.of(x, log=log_x)
    parts = _column("bias", bias, at), _column("variance", variance, at)
    rest = None if noise is None else _column("noise", noise, at)
    place = None if best is None else at.find(best)
    if best is not None and place is None:
        raise InvalidInput(f"The 'best' parameter must be one of x, {at.labels}. Got {best!r}.")
    total = parts[0] + parts[1] + (0.0 if rest is None else rest)
    areas = _stacked(*parts, rest)
    # Over a single number there is no area.
    if at.names or at.numbers.size == 1:
        ax = _bars(ax, at, areas, total, place)
        style_axes(ax, xlabel=loss_name)
    else:
        ax = _curves(ax, at, areas, total, place)
        style_axes(ax, grid="both", xlabel=xlabel, ylabel=loss_name)
    return ax


def _column(what: str, values: npt.ArrayLike, at: Places) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != at.numbers.shape:
        raise InvalidInput(
            f"The {what!r} parameter must have {at.numbers.size} values, one per x. Got shape {column.shape}."
        )
    return column[at.order]


def _looks(ax: Axes, what: str) -> dict[str, Any]:
    """How a part is filled: told apart in grey print as well, by hatching."""
    return {
        "bias": {"facecolor": (DATA, 0.85), "linewidth": 0.0},
        # Without a fill of their own: in SVG it would hide the hatching.
        OFFSET: {"facecolor": "none", "edgecolor": DATA, "hatch": "xxxx", "linewidth": 0.0},
        "variance": {"facecolor": "none", "edgecolor": MARK, "hatch": "//////", "linewidth": 0.0},
        "noise": {"facecolor": (text_colour(ax), FAINT), "linewidth": 0.0},
    }[what]


def _stacked(bias: Floats, variance: Floats, noise: Floats | None) -> dict[str, tuple[Floats, Floats]]:
    """Return where each area begins and ends, from the bottom up, those left out that are nowhere."""
    both = bias + variance
    areas = {
        "bias": (np.zeros_like(bias), np.minimum(bias, both)),
        OFFSET: (np.minimum(bias, both), bias),
        "variance": (bias, np.maximum(bias, both)),
    }
    if not (variance < 0).any():
        del areas[OFFSET]
    return areas if noise is None else areas | {"noise": (both, both + noise)}


def _bars(ax: Axes | None, at: Places, areas: Areas, total: Floats, place: int | None) -> Axes:
    ax = canvas(height=1.0 + 0.4 * len(at.labels)) if ax is None else ax
    rows = np.arange(len(at.labels))
    handles = [
        ax.barh(rows, np.nan_to_num(end - start), height=0.56, left=np.nan_to_num(start), **_looks(ax, what))
        for what, (start, end) in areas.items()
    ]
    digits = decimals(total.tolist())
    for row, loss in enumerate(total.tolist()):
        ax.plot([loss, loss], [row - 0.36, row + 0.36], color=text_colour(ax), linewidth=2.2, solid_capstyle="butt")
        number_at_right(ax, row, numeral(loss, digits), bold=row == place)
    name_rows(ax, at.labels, None if place is None else at.labels[place])
    ax.locator_params(axis="x", nbins=6)
    legend(ax, handles, list(areas), above=True)
    return ax


def _curves(ax: Axes | None, at: Places, areas: Areas, total: Floats, place: int | None) -> Axes:
    ax = canvas() if ax is None else ax
    handles = [ax.fill_between(at.numbers, *ends, **_looks(ax, what)) for what, ends in areas.items()]
    ax.plot(at.numbers, total, color=text_colour(ax), linewidth=1.9, marker="o", markersize=4.2)
    at.scale(ax)
    ax.set_ylim(bottom=min(0.0, *np.nan_to_num(total)))
    ax.locator_params(axis="y", nbins=7)
    if place is not None:
        words = f"{numeral(float(total[place]), decimals(total.tolist()))} at {at.labels[place]}"
        mark_point(ax, float(at.numbers[place]), float(total[place]), words, colour=DATA)
    # From top to bottom as the areas lie.
    legend(ax, handles[::-1], list(areas)[::-1])
    return ax
