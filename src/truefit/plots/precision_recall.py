"""Precision-recall curves: how many of those taken for positives are, against how many of the positives are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.unit_square import MeanCurve, Pair, areas_of, draw_means, fold_points, grid, spread_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]


def precision_recall(
    names: Sequence[str],
    curves: Sequence[Sequence[Pair]],
    *,
    base_rate: float | None = None,
    average_precisions: Sequence[float | None] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean precision-recall curve of every estimator, with a band of one standard deviation over its folds.

    At each recall the folds' precisions are averaged. Between two points a fold's curve is a step, as in its
    average precision: a straight line would promise what no threshold gives. So the area below the mean curve is
    the mean of the folds' average precisions. The band is pointwise, and no interval: folds share training rows.

    Parameters
    ----------
    names : sequence of str
    curves : sequence of lists of (array-like, array-like)
        For each name one pair per fold: **recall, then precision**. ``sklearn.metrics.precision_recall_curve`` gives
        both, precision first. A fold with NaN is left out, and the legend says so.
    base_rate : float, optional
        Share of positives: the precision of guessing, drawn as a line.
    average_precisions : sequence of float, optional
        The areas to show; those below the curves by default.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Where there are more estimators than colours, those with the largest areas are coloured and named.

    Examples
    --------
    >>> recall, precision = [0.0, 0.5, 0.5, 1.0], [1.0, 1.0, 0.5, 0.6]
    >>> ax = precision_recall(["ridge"], [[(recall, precision)]], base_rate=0.3)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0.800  ridge', 'base rate 0.300']
    """
    folds = fold_points(names, curves)
    means = [mean_precision(one.points) if one.points else None for one in folds]
    notes = [one.note() for one in folds]
    guess = None if base_rate is None else ([0.0, 1.0], [base_rate, base_rate], f"base rate {base_rate:.3f}")
    areas = areas_of(means, average_precisions)
    ax = draw_means(ax, names, means, areas, notes=notes, area_name="average precision", reference=guess)
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")
    return ax


def mean_precision(folds: Sequence[tuple[Floats, Floats]]) -> MeanCurve:
    """Average the folds' precisions at each recall.

    Examples
    --------
    >>> good = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    >>> poor = np.array([0.5, 1.0]), np.array([0.8, 0.4])
    >>> curve = mean_precision([good, poor])
    >>> curve.x.tolist(), curve.mean.round(2).tolist(), round(curve.area, 3)
    ([0.0, 0.5, 0.5, 1.0], [0.9, 0.9, 0.7, 0.7], 0.8)
    """
    steps = [_steps(recall, precision) for recall, precision in folds]
    x = grid(folds)
    # The step that ends at a recall has the precision there.
    heights = np.array([height[np.searchsorted(ends, x[1:], side="left")] for ends, height in steps])
    both = np.repeat(heights, 2, axis=1)
    area = float(np.mean([height @ np.diff(ends, prepend=0.0) for ends, height in steps]))
    return MeanCurve(np.repeat(x, 2)[1:-1], both.mean(axis=0), spread_of(both), len(folds), area)


def _steps(recall: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return where each step ends, from left to right, and how high it is."""
    ends, which = np.unique(recall, return_inverse=True)
    if ends[-1] != 1:
        raise InvalidInput(
            f"A precision-recall curve must go up to a recall of 1. Got one that ends at {ends[-1]:g}; pass recall, "
            "then precision, over all thresholds."
        )
    # Of the thresholds with one recall the highest counts: it takes in the fewest negatives.
    height = np.zeros(ends.size)
    np.maximum.at(height, which, precision)
    return ends, height
