"""A cross-test: Agghoo on each test set, beside its members and the usual way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy.typing as npt

from truefit.plots.folds import BAND, fold_scores
from truefit.plots.palette import MARK

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
