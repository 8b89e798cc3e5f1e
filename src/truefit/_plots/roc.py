"""ROC and precision-recall curves, averaged over folds, with the area below each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._plots.canvas import (
    BAND,
    SERIES,
    canvas,
    legend,
    numeral,
    series_style,
    shortened,
    style_axes,
    text_colour,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: x and y of one fold's curve.
Pair: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]
#: A line to compare with: its x, its y, its name.
Reference: TypeAlias = tuple[Sequence[float], Sequence[float], str]

#: More vertices than this are not told apart on paper.
VERTICES = 500
#: Names in a legend stand beside a square: they have less room than at the side of rows.
LEGEND_LENGTH = 20


@dataclass(frozen=True)
class MeanCurve:
    """The mean of the folds' curves, its vertices from left to right, and the spread over the folds."""

    x: Floats
    mean: Floats
    spread: Floats
    folds: int
    area: float


@dataclass(frozen=True)
class Folds:
    """The folds of one estimator that have a curve, and of how many: without a row of a class rates are NaN."""

    points: list[tuple[Floats, Floats]]
    count: int

    def note(self) -> str:
        """Return the words beside the name where folds had to be left out."""
        return "" if len(self.points) == self.count else f" ({len(self.points)} of {self.count} folds)"


def fold_points(names: Sequence[str], curves: Sequence[Sequence[Pair]]) -> list[Folds]:
    """Return the folds' curves for each name, those left out that are not defined."""
    if len(curves) != len(names):
        raise InvalidInput(
            f"The 'curves' parameter must have one list of folds per name, {len(names)}. Got {len(curves)}."
        )
    return [Folds([p for pair in folds if (p := _points(pair)) is not None], len(folds)) for folds in curves]


def _points(pair: Pair) -> tuple[Floats, Floats] | None:
    x, y = (np.asarray(values, dtype=np.float64) for values in pair)
    if x.ndim != 1 or x.shape != y.shape:
        raise InvalidInput(f"A curve must be two rows of numbers of one length. Got shapes {x.shape} and {y.shape}.")
    if not x.size or np.isnan(x).any() or np.isnan(y).any():
        return None
    if min(x.min(), y.min()) < 0 or max(x.max(), y.max()) > 1:
        raise InvalidInput("A curve must be two rows of rates, within 0 and 1. Got numbers outside; pass rates.")
    return x, y


def grid(folds: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return where the mean has its vertices: wherever a fold has one, as long as these are few."""
    every = np.unique(np.concatenate([[0.0, 1.0], *(x for x, _ in folds)]))
    return every if every.size <= VERTICES else np.linspace(0.0, 1.0, VERTICES)


def spread_of(values: Floats) -> Floats:
    """Return the standard deviation over folds, the first axis; NaN for a single fold."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1], np.nan)


def areas_of(means: Sequence[MeanCurve | None], given: Sequence[float | None] | None) -> list[float]:
    """Return the areas to be shown: those given, or else those below the curves; NaN where there is neither."""
    if given is None:
        return [np.nan if curve is None else curve.area for curve in means]
    if len(given) != len(means):
        raise InvalidInput(f"There must be one area per name, {len(means)}. Got {len(given)} areas.")
    return [np.nan if area is None else float(area) for area in given]


def draw_means(
    ax: Axes | None,
    names: Sequence[str],
    means: Sequence[MeanCurve | None],
    areas: Sequence[float],
    *,
    notes: Sequence[str],
    area_name: str,
    reference: Reference | None,
) -> Axes:
    """Draw mean curves with a band of one standard deviation, and their areas in the legend, with a note for each.

    Where there are more curves than colours, those with the largest areas are set off from the others.
    """
    legend_names = [short + note for short, note in zip(shortened(names, LEGEND_LENGTH), notes, strict=True)]
    if ax is None:
        # The square keeps its size: it is the figure that grows with the names beside it.
        ax = canvas(width=5.0 + 0.08 * max(map(len, [*legend_names, "±1 sd over 10"])), height=3.6, square=True)
    handles: list[Artist] = []
    labels: list[str] = []
    front, back = _ranked(areas)
    for i in back:
        _faint(ax, means[i])
    for place, i in enumerate(front):
        handles.append(_coloured(ax, means[i], place))
        labels.append(f"{numeral(areas[i], 3)}  {legend_names[i]}")
    if back:
        handles.append(_faint(ax, None))
        labels.append(_range([areas[i] for i in back]))
    folds = {curve.folds for i in front if (curve := means[i]) is not None and curve.folds > 1}
    if folds:
        handles.append(ax.fill_between([], [], color=text_colour(ax), alpha=BAND, linewidth=0))
        labels.append(f"±1 sd over {folds.pop() if len(folds) == 1 else 'the'} folds")
    if reference is not None:
        xs, ys, label = reference
        handles += ax.plot(xs, ys, color=text_colour(ax), alpha=0.55, linewidth=1.2, dashes=(4, 3), zorder=1)
        labels.append(label)
    legend(ax, handles, labels, title=area_name, inside="lower right")
    return ax


def style_square(ax: Axes, xlabel: str, ylabel: str, *, bottom: float = -0.02) -> None:
    """Label the axes of two shares, and scale both alike from 0 to 1."""
    style_axes(ax, grid="both", xlabel=xlabel, ylabel=ylabel)
    # A little more than the square, so that lines on its border are drawn whole.
    ax.set(xlim=(-0.02, 1.02), ylim=(bottom, 1.02), aspect="equal")
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))


def _ranked(areas: Sequence[float]) -> tuple[list[int], list[int]]:
    order = list(range(len(areas)))
    if len(order) > len(SERIES):
        order.sort(key=lambda i: np.inf if np.isnan(areas[i]) else -areas[i])
    return order[: len(SERIES)], order[len(SERIES) :]


def _coloured(ax: Axes, curve: MeanCurve | None, place: int) -> Artist:
    colour, stroke = series_style(place)
    if curve is None:
        return ax.plot([], [], color=colour, linestyle=stroke, linewidth=1.9)[0]
    if curve.folds > 1:
        low, high = (np.clip(curve.mean + side * curve.spread, 0, 1) for side in (-1, 1))
        ax.fill_between(curve.x, low, high, color=colour, alpha=BAND, linewidth=0)
    return ax.plot(curve.x, curve.mean, color=colour, linestyle=stroke, linewidth=1.9)[0]


def _faint(ax: Axes, curve: MeanCurve | None) -> Artist:
    x = y = np.empty(0)
    if curve is not None:
        x, y = curve.x, curve.mean
    return ax.plot(x, y, color=text_colour(ax), alpha=0.25, linewidth=0.8, zorder=1.5)[0]


def _range(areas: Sequence[float]) -> str:
    known = [area for area in areas if not np.isnan(area)]
    others = "1 other" if len(areas) == 1 else f"{len(areas)} others"
    return f"{numeral(min(known), 3)} to {numeral(max(known), 3)}  {others}" if known else others


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
    style_square(ax, "false positive rate", "true positive rate")
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
    style_square(ax, "recall", "precision")
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
