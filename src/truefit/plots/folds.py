"""Scores of every split beside their mean: how much of a difference is the luck of the split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.canvas import canvas, ink, name_rows, number_at_right, tidy
from truefit.plots.numerals import decimals, numeral
from truefit.plots.palette import DATA, MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Half the height, in rows, of the band that the points of one candidate lie in.
BAND = 0.26


def fold_scores(
    names: Sequence[str],
    scores_per_name: Sequence[npt.ArrayLike],
    *,
    xlabel: str,
    best: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of every split as a point, and their mean as a line with its number at the right.

    Within a row the splits are ordered from top to bottom, so that the same split stands at the same height
    for every candidate. The points are not an interval: splits share training rows.

    Parameters
    ----------
    names : sequence of str
        From top to bottom.
    scores_per_name : sequence of array-like
        The scores of each candidate, one per split, in the same order of splits.
    xlabel : str
        What the scores are.
    best : str, optional
        The name to set off.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = fold_scores(["ridge", "forest"], [[0.10, 0.14], [0.08, 0.09]], xlabel="error per fold")
    >>> [text.get_text() for text in ax.texts]
    ['0.120', '0.085']
    """
    columns = [np.asarray(scores, dtype=np.float64) for scores in scores_per_name]
    if len(columns) != len(names) or any(column.ndim != 1 or not column.size for column in columns):
        raise InvalidInput(
            f"The 'scores_per_name' parameter must have one row of scores per name, {len(names)}. "
            f"Got shapes {[column.shape for column in columns]}."
        )
    ax = canvas(height=0.75 + 0.46 * len(names)) if ax is None else ax
    means = [float(column.mean()) for column in columns]
    places = decimals(means, [2 * float(column.std()) for column in columns])
    for row, (name, scores, mean) in enumerate(zip(names, columns, means, strict=True)):
        colour = MARK if name == best else DATA
        heights = row + np.linspace(-BAND, BAND, scores.size) if scores.size > 1 else [row]
        ax.scatter(scores, heights, s=20, color=colour, alpha=0.75, linewidth=0)
        ax.plot([mean, mean], [row - 0.34, row + 0.34], color=ink(ax), linewidth=1.8, solid_capstyle="butt")
        number_at_right(ax, row, numeral(mean, places), bold=name == best)
    tidy(ax)
    name_rows(ax, names, best)
    ax.set_xmargin(0.06)
    ax.set_xlabel(xlabel, parse_math=False)
    ax.locator_params(axis="x", nbins=6)
    return ax
