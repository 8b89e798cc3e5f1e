"""ROC curves: the share of positives found against the share of negatives taken for positives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.unit_square import MeanCurve, Pair, areas_of, draw_means, fold_points, grid, spread_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]


def roc(
    names: Sequence[str],
    curves: Sequence[Sequence[Pair]],
    *,
    aucs: Sequence[float | None] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean ROC curve of every estimator, with a band of one standard deviation over its folds.

    The curves are averaged vertically: at each false positive rate, the mean of the folds' true positive rates.
    Scores are not pooled, since those of two folds come from two models and need not be on one scale. So the area
    below the mean curve is the mean of the folds' areas. The band is pointwise, and no interval: folds share
    training rows.

    Parameters
    ----------
    names : sequence of str
    curves : sequence of lists of (array-like, array-like)
        For each name one pair per fold: false and true positive rates, as ``sklearn.metrics.roc_curve`` gives them.
        A fold with NaN, where a class had no row, is left out, and the legend says so.
    aucs : sequence of float, optional
        The areas to show; those below the curves by default.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Where there are more estimators than colours, those with the largest areas are coloured and named.

    References
    ----------
    T. Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27:861-874: vertical averaging.

    Examples
    --------
    >>> folds = [([0, 0, 0.5, 1], [0, 0.5, 1, 1]), ([0, 0.5, 1], [0, 0.5, 1])]
    >>> ax = roc(["ridge"], [folds])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0.688  ridge', '±1 sd over 2 folds', 'chance']
    """
    folds = fold_points(names, curves)
    means = [mean_roc(one.points) if one.points else None for one in folds]
    notes = [one.note() for one in folds]
    chance = ([0.0, 1.0], [0.0, 1.0], "chance")
    ax = draw_means(ax, names, means, areas_of(means, aucs), notes=notes, area_name="AUC", reference=chance)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    return ax


def mean_roc(folds: Sequence[tuple[Floats, Floats]]) -> MeanCurve:
    """Average the folds' curves vertically.

    Examples
    --------
    >>> step = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    >>> line = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    >>> curve = mean_roc([step, line])
    >>> curve.x.tolist(), curve.mean.tolist(), curve.area
    ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 1.0, 1.0], 0.75)
    """
    for fpr, tpr in folds:
        _rising(fpr, tpr)
    x = grid(folds)
    # A ROC curve rises in steps: at one rate it has a lower and an upper end, and the mean has both.
    lower = np.array([_ends(fpr, tpr, x, "left") for fpr, tpr in folds])
    upper = np.array([_ends(fpr, tpr, x, "right") for fpr, tpr in folds])
    both = np.stack([lower, upper], axis=2).reshape(len(folds), -1)
    area = float(np.mean([np.trapezoid(tpr, fpr) for fpr, tpr in folds]))
    return MeanCurve(np.repeat(x, 2), both.mean(axis=0), spread_of(both), len(folds), area)


def _ends(fpr: Floats, tpr: Floats, x: Floats, side: Literal["left", "right"]) -> Floats:
    """Return the curve's lower (left) or upper (right) end at each x."""
    after = np.searchsorted(fpr, x, side=side).clip(1, fpr.size - 1)
    before = after - 1
    width = fpr[after] - fpr[before]
    # Without width there are only the two ends of the axis, where the curve rises straight up.
    share = np.divide(x - fpr[before], width, out=np.full(x.size, float(side == "right")), where=width > 0)
    return np.asarray(tpr[before] + share * (tpr[after] - tpr[before]))


def _rising(fpr: Floats, tpr: Floats) -> None:
    if (
        fpr.size < 2
        or (fpr[0], tpr[0], fpr[-1], tpr[-1]) != (0, 0, 1, 1)
        or min(np.diff(fpr).min(), np.diff(tpr).min()) < 0
    ):
        raise InvalidInput(
            "A ROC curve must rise from (0, 0) to (1, 1). Got one that does not; pass false, then true positive rates, "
            "as sklearn.metrics.roc_curve gives them."
        )
