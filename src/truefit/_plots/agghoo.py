"""Agghoo: validation curves, scores on test sets, members beside their aggregate, and estimates beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._plots import canvas as style
from truefit._plots.forest import BAND, fold_scores, forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def cross_tested(
    names: Sequence[str],
    scores_per_name: Sequence[npt.ArrayLike],
    *,
    interval: tuple[float, float] | None,
    xlabel: str,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of every test set, and the interval of the first row's mean as a band behind it."""
    ax = fold_scores(names, scores_per_name, xlabel=xlabel, best=names[0], percent=percent, ax=ax)
    if interval is not None:
        low, high = interval
        ax.fill_between([low, high], -BAND - 0.1, BAND + 0.1, color=style.MARK, alpha=0.15, linewidth=0, zorder=0)
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
    """Draw every candidate's score on the validation rows of each split, and mark the selected candidate.

    ``scores`` has a row per split and a column per candidate, NaN where a fit failed; ``chosen`` is a column per split.
    """
    from matplotlib.ticker import MaxNLocator

    x = np.asarray(places, dtype=np.float64)
    ax = style.canvas() if ax is None else ax
    marker = "o" if len(x) < 2 else ""
    for place, (line, best) in enumerate(zip(np.asarray(scores, dtype=np.float64), chosen, strict=True)):
        colour, stroke = style.series_style(place)
        ax.plot(x, line, color=colour, linestyle=stroke, linewidth=1.4, alpha=0.8, marker=marker)
        ax.plot(
            x[best], line[best], marker="D", markersize=7, color=colour, markeredgecolor=style.text_colour(ax), zorder=3
        )
    style.style_axes(ax, grid="both", xlabel=xlabel, ylabel=ylabel)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return ax


def members_and_aggregate(
    members: Sequence[npt.ArrayLike],
    aggregates: npt.ArrayLike,
    *,
    xlabel: str,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw for each test set the scores of its members, and the score of their aggregate."""
    ax = style.canvas(height=1.0 + 0.34 * len(members)) if ax is None else ax
    for row, (scores, value) in enumerate(zip(members, np.asarray(aggregates, dtype=np.float64), strict=True)):
        alone = np.asarray(scores, dtype=np.float64)
        ax.scatter(alone, np.full(len(alone), row), s=26, color=style.DATA, alpha=0.7, linewidth=0)
        ax.plot([value], [row], marker="D", markersize=7, color=style.MARK)
    style.style_axes(ax, xlabel=xlabel)
    style.name_rows(ax, [f"test set {place}" for place in range(len(members))])
    ax.set_xmargin(0.06)
    style.format_ticks(ax.xaxis, "%" if percent else "")
    ax.set_title(
        "dots: single members; diamonds: aggregate", fontsize=style.FONT, color=style.text_colour(ax), loc="left"
    )
    return ax


def estimates_and_truth(
    names: Sequence[str],
    estimates: npt.ArrayLike,
    *,
    interval: tuple[float, float] | None = None,
    truth: float | None = None,
    xlabel: str,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw several estimates of one number, the first with its interval, and the number itself where it is known."""
    lows, highs = np.full(len(names), np.nan), np.full(len(names), np.nan)
    if interval is not None:
        lows[0], highs[0] = interval
    ax = forest(names, estimates, lows, highs, xlabel=xlabel, best=names[0], percent=percent, ax=ax)
    if truth is not None:
        left, right = ax.get_xlim()
        margin = 0.05 * (right - left)
        ax.set_xlim(min(left, truth - margin), max(right, truth + margin))
        ax.axvline(truth, color=style.text_colour(ax), linewidth=1.4, linestyle=(0, (4, 2)), zorder=0)
        ax.set_title("dashed: on held-out rows", fontsize=style.FONT, color=style.text_colour(ax), loc="left")
    return ax
