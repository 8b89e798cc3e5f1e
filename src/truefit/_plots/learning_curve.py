"""Learning curves: errors against the number of rows, and their extrapolation with a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._plots import canvas as style
from truefit._plots.labels import Places

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Standard errors that a bar reaches to each side.
BAR = 2.0


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
        reach = BAR * np.asarray(stderr, dtype=np.float64)
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
