"""Learning curves: errors against the number of rows, and their extrapolation with a band."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._plots.canvas import BAND, DATA, MARK, annotate, canvas, series_style, style_axes, text_colour
from truefit._plots.labels import Places

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Standard errors that a bar reaches to each side.
BAR = 2.0


def extrapolation(
    sizes: npt.ArrayLike,
    errors: npt.ArrayLike,
    stderr: npt.ArrayLike | None = None,
    *,
    curve: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    target: float | None = None,
    xlabel: str = "rows",
    ylabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw what was measured, and where it goes.

    Parameters
    ----------
    sizes, errors : array-like of shape (n,)
    stderr : array-like of shape (n,), optional
        Drawn as bars of two standard errors.
    curve : (sizes, values, low, high), optional
        The fitted curve with its band, each array-like of shape (m,). None where there is none.
    target : float, optional
        An error to be reached.
    xlabel, ylabel : str
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> curve = [100, 200, 400, 800], [0.3, 0.25, 0.22, 0.2], [0.28, 0.23, 0.19, 0.15], [0.32, 0.27, 0.25, 0.25]
    >>> ax = extrapolation([100, 200, 400], [0.3, 0.25, 0.22], curve=curve, target=0.18, ylabel="error")
    >>> [text.get_text() for text in ax.texts]
    ['measured up to 400', 'target 0.18']
    """
    n, y = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if n.ndim != 1 or n.shape != y.shape or not n.size:
        raise InvalidInput(f"There must be one error per size, and at least one. Got shapes {n.shape} and {y.shape}.")
    ax = canvas() if ax is None else ax
    style_axes(ax, grid="both", xlabel=xlabel, ylabel=ylabel)
    beyond = n if curve is None else np.append(n, np.asarray(curve[0], dtype=np.float64))
    Places.of(beyond.tolist(), log=True).scale(ax)
    if curve is not None:
        at, value, low, high = (np.asarray(column, dtype=np.float64) for column in curve)
        # Up to the last point it is the points that count, not what a curve says about them.
        ahead = at >= n.max()
        ax.fill_between(at[ahead], low[ahead], high[ahead], color=DATA, alpha=BAND, linewidth=0)
        ax.plot(at[~ahead], value[~ahead], color=DATA, linewidth=1.2, alpha=0.6)
        ax.plot(at[ahead], value[ahead], color=DATA, linewidth=1.9)
        _mark_the_end(ax, float(n.max()))
    if stderr is not None:
        reach = BAR * np.asarray(stderr, dtype=np.float64)
        ax.vlines(n, y - reach, y + reach, color=text_colour(ax), linewidth=1.2)
    ax.plot(n, y, color=text_colour(ax), linestyle="none", marker="o", markersize=4.2)
    ax.locator_params(axis="y", nbins=7)
    if target is not None:
        _draw_target(ax, target)
    return ax


def _mark_the_end(ax: Axes, last: float) -> None:
    """Set off what was measured from what is expected."""
    ax.axvline(last, color=text_colour(ax), alpha=0.45, linewidth=1.0, dashes=(2, 2), zorder=1)
    above = ax.get_xaxis_transform()
    annotate(ax, f"measured up to {last:,.6g}", (last, 1), (0, 4), xycoords=above, horizontalalignment="right")


def _draw_target(ax: Axes, target: float) -> None:
    ax.axhline(target, color=MARK, linewidth=1.4, dashes=(5, 2), zorder=1)
    beside = ax.get_yaxis_transform()
    annotate(ax, f"target {target:.4g}", (1, target), (6, 0), xycoords=beside, verticalalignment="center")


def learning_curve(
    sizes: npt.ArrayLike,
    errors: npt.ArrayLike,
    stderr: npt.ArrayLike | None = None,
    *,
    curve: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    train: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    target: float | None = None,
    xlabel: str = "rows",
    ylabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw what was measured on test rows and on training rows, and where the former goes.

    Parameters
    ----------
    sizes, errors, stderr, curve, target, xlabel, ylabel, ax
        As for :func:`truefit._plots.learning_curve`.
    train : (mean, sd), optional
        Errors on the training rows and their spread over the folds, each array-like of shape (n,).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> train = [0.02, 0.05, 0.08], [0.01, 0.01, 0.01]
    >>> ax = learning_curve([100, 200, 400], [0.3, 0.25, 0.22], train=train, ylabel="error")
    >>> [text.get_text() for text in ax.texts]
    ['train']
    """
    ax = extrapolation(sizes, errors, stderr, curve=curve, target=target, xlabel=xlabel, ylabel=ylabel, ax=ax)
    if train is not None:
        n = np.asarray(sizes, dtype=np.float64)
        mean, sd = (np.asarray(column, dtype=np.float64) for column in train)
        colour, stroke = series_style(2)  # the second is too near to that of targets
        ax.fill_between(n, mean - sd, mean + sd, color=colour, alpha=BAND, linewidth=0)
        ax.plot(n, mean, color=colour, linestyle=stroke, linewidth=1.9, marker="o", markersize=3.2)
        annotate(ax, "train", (n[-1], mean[-1]), (6, 0), verticalalignment="center")
    return ax
