"""Agghoo: how candidates did on each split, members beside their aggregate, and estimates beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._plots.canvas import DATA, FONT, MARK, canvas, name_rows, series_style, style_axes, text_colour
from truefit._plots.forest import BAND, fold_scores, forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def cross_tested(
    names: Sequence[str],
    scores_per_name: Sequence[npt.ArrayLike],
    *,
    interval: tuple[float, float] | None,
    xlabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of every test set, and the interval of the first row's mean as a band behind it.

    Parameters
    ----------
    names : sequence of str
        From top to bottom; the first is what was cross-tested.
    scores_per_name : sequence of array-like
        The scores of each row, one per test set, in the same order of test sets.
    interval : pair of floats or None
        Of the first row.
    xlabel : str
        What the scores are.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = cross_tested(["Agghoo", "members"], [[2.0, 3.0], [4.0, 3.0]], interval=(1.5, 3.5), xlabel="mse")
    >>> [text.get_text() for text in ax.texts]
    ['2.50', '3.50']
    """
    ax = fold_scores(names, scores_per_name, xlabel=xlabel, best=names[0], ax=ax)
    if interval is not None:
        low, high = interval
        ax.fill_between([low, high], -BAND - 0.1, BAND + 0.1, color=MARK, alpha=0.15, linewidth=0, zorder=0)
    return ax


def validation_curves(
    places: npt.ArrayLike,
    scores: npt.ArrayLike,
    chosen: Sequence[int],
    *,
    xlabel: str,
    ylabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw what every candidate scored on the validation rows of each split, and mark the one that was chosen.

    Parameters
    ----------
    places : array-like of shape (candidates,)
        Where the candidates stand: stages, or numbers.
    scores : array-like of shape (splits, candidates)
        NaN where a fit failed: the line is broken there.
    chosen : sequence of int
        The column that was chosen on each split.
    xlabel, ylabel : str
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = validation_curves([1, 2, 3], [[3, 1, 2], [4, 3, 2]], [1, 2], xlabel="stage", ylabel="mse")
    >>> [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "D"]
    [[[2.0, 1.0]], [[3.0, 2.0]]]
    """
    x, table = np.asarray(places, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape != (len(chosen), len(x)):
        raise InvalidInput(
            f"The 'scores' parameter must have a row per split and a column per candidate, {(len(chosen), len(x))}. "
            f"Got shape {table.shape}."
        )
    from matplotlib.ticker import MaxNLocator

    ax = canvas() if ax is None else ax
    marker = "o" if len(x) < 2 else ""
    for place, (line, best) in enumerate(zip(table, chosen, strict=True)):
        colour, stroke = series_style(place)
        ax.plot(x, line, color=colour, linestyle=stroke, linewidth=1.4, alpha=0.8, marker=marker)
        ax.plot(x[best], line[best], marker="D", markersize=7, color=colour, markeredgecolor=text_colour(ax), zorder=3)
    style_axes(ax, grid="both", xlabel=xlabel, ylabel=ylabel)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return ax


def members_and_aggregate(
    members: Sequence[npt.ArrayLike], aggregates: npt.ArrayLike, *, xlabel: str, ax: Axes | None = None
) -> Axes:
    """Draw for each test set what the members score alone, and what they score together.

    Parameters
    ----------
    members : sequence of array-like
        For each test set the scores of its members.
    aggregates : array-like
        For each test set the score of their aggregate.
    xlabel : str
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = members_and_aggregate([[3.0, 4.0], [2.0, 5.0]], [2.5, 3.0], xlabel="mse")
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_marker() == "D"]
    [[2.5], [3.0]]
    """
    together = np.asarray(aggregates, dtype=np.float64)
    if together.shape != (len(members),):
        raise InvalidInput(
            f"The 'aggregates' parameter must have {len(members)} values, one per test set. Got shape {together.shape}."
        )
    ax = canvas(height=1.0 + 0.34 * len(members)) if ax is None else ax
    for row, (scores, value) in enumerate(zip(members, together, strict=True)):
        alone = np.asarray(scores, dtype=np.float64)
        ax.scatter(alone, np.full(len(alone), row), s=26, color=DATA, alpha=0.7, linewidth=0)
        ax.plot([value], [row], marker="D", markersize=7, color=MARK)
    style_axes(ax, xlabel=xlabel)
    name_rows(ax, [f"test set {place}" for place in range(len(members))], None)
    ax.set_xmargin(0.06)
    ax.set_title("dots: members alone; diamonds: together", fontsize=FONT, color=text_colour(ax), loc="left")
    return ax


def estimates_and_truth(
    names: Sequence[str],
    estimates: npt.ArrayLike,
    *,
    interval: tuple[float, float] | None = None,
    truth: float | None = None,
    xlabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw several estimates of one number below each other, and the number itself as a line where it is known.

    Parameters
    ----------
    names : sequence of str
        From top to bottom; the first is the one that is reported.
    estimates : array-like of shape (len(names),)
    interval : pair of floats, optional
        Of the first.
    truth : float, optional
        Measured on rows that nothing else has seen.
    xlabel : str
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = estimates_and_truth(["cross-tested", "mean validation"], [2.0, 1.5], truth=2.1, xlabel="mse")
    >>> ax.lines[-1].get_xdata()
    [2.1, 2.1]
    """
    values = np.asarray(estimates, dtype=np.float64)
    lows, highs = np.full(len(names), np.nan), np.full(len(names), np.nan)
    if interval is not None:
        lows[0], highs[0] = interval
    ax = forest(names, values, lows, highs, xlabel=xlabel, best=names[0], ax=ax)
    if truth is not None:
        left, right = ax.get_xlim()
        margin = 0.05 * (right - left)
        ax.set_xlim(min(left, truth - margin), max(right, truth + margin))
        ax.axvline(truth, color=text_colour(ax), linewidth=1.4, linestyle=(0, (4, 2)), zorder=0)
        ax.set_title("dashed: on rows that nothing has seen", fontsize=FONT, color=text_colour(ax), loc="left")
    return ax
