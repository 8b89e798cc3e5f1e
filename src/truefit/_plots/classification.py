"""Confusion matrices; curves over all thresholds: ROC and precision-recall, averaged over folds; decision curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._plots import canvas as style
from truefit._plots.canvas import DATA, FAINT, FONT, MISSING, WIDTH, canvas, shortened, text_colour

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: x and y of one fold's curve.
Pair: TypeAlias = tuple[npt.ArrayLike, npt.ArrayLike]

#: Averages the curves of folds.
_Mean: TypeAlias = Callable[[Sequence[tuple[Floats, Floats]]], "MeanCurve"]

#: More vertices than this make no visible difference.
VERTICES = 500
#: Names in a legend beside a square have less room than at the side of rows.
LEGEND_LENGTH = 20
#: Areas and Brier scores.
AREA = style.NumberFormat(3)
#: With more classes the cells are too small for numbers.
NUMBERED = 16
#: With more classes not every one is named, and no lines are drawn between the cells.
NAMED = 32
#: The strongest shade on which text is legible, on a light and on a dark page.
SHADE = 0.55
#: Inches of a letter, of a cell at least, and beside the cells and the names of classes.
LETTER, CELL, MARGIN = 0.086, 0.5, 0.5
#: Letters of a class's name, at most.
LABEL_LENGTH = 16


@dataclass(frozen=True)
class MeanCurve:
    """The mean of the folds' curves, its vertices from left to right, and the standard deviation over the folds."""

    x: Floats
    mean: Floats
    spread: Floats
    folds: int
    area: float

    @classmethod
    def of(cls, x: Floats, values: Floats, areas: Sequence[float]) -> MeanCurve:
        """Average over folds, the first axis of the values; a single fold has no standard deviation."""
        folds = len(values)
        spread = values.std(axis=0, ddof=1) if folds > 1 else np.full(x.size, np.nan)
        return cls(x, values.mean(axis=0), spread, folds, float(np.mean(areas)))


NO_CURVE = MeanCurve(np.empty(0), np.empty(0), np.empty(0), 0, np.nan)


def roc(names: Sequence[str], curves: Sequence[Sequence[Pair]], *, ax: Axes | None = None) -> Axes:
    """Draw the mean ROC curve of every estimator, with a band of one standard deviation over its folds.

    The curves are averaged vertically (T. Fawcett 2006, An introduction to ROC analysis, Pattern Recognition Letters
    27:861-874): at each false positive rate, the mean of the folds' true positive rates. Scores are not pooled, since
    those of two folds come from two models and need not be on one scale. So the area below the mean curve is the mean
    of the folds' areas. A fold with NaN, where a class had no row, is left out, and the legend says so.
    """
    ax = _draw_means(ax, names, curves, mean_roc, area_name="AUC", reference=([0.0, 1.0], "chance"))
    style_square(ax, "false positive rate", "true positive rate")
    return ax


def precision_recall(
    names: Sequence[str], curves: Sequence[Sequence[Pair]], *, base_rate: float, ax: Axes | None = None
) -> Axes:
    """Draw the mean precision-recall curve of every estimator, with a band of one standard deviation over its folds.

    A curve is recall, then precision. Between two points it is a step, as in the average precision: no threshold gives
    the points on a straight line. So the area below the mean curve is the mean of the folds' average precisions. The
    base rate, the share of positives, is the precision of a baseline.
    """
    baseline = ([base_rate, base_rate], f"base rate {base_rate:.1%}")
    ax = _draw_means(ax, names, curves, mean_precision, area_name="average precision", reference=baseline)
    style_square(ax, "recall", "precision")
    return ax


def _grid(folds: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return the vertices of the mean: those of all folds, unless they are many."""
    every = np.unique(np.concatenate([[0.0, 1.0], *(x for x, _ in folds)]))
    return every if every.size <= VERTICES else np.linspace(0.0, 1.0, VERTICES)


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
    x = _grid(folds)
    # A ROC curve rises in steps: at one rate it has a lower and an upper end, and the mean has both.
    lower = np.array([_ends(fpr, tpr, x, "left") for fpr, tpr in folds])
    upper = np.array([_ends(fpr, tpr, x, "right") for fpr, tpr in folds])
    both = np.stack([lower, upper], axis=2).reshape(len(folds), -1)
    return MeanCurve.of(np.repeat(x, 2), both, [float(np.trapezoid(tpr, fpr)) for fpr, tpr in folds])


def _ends(fpr: Floats, tpr: Floats, x: Floats, side: Literal["left", "right"]) -> Floats:
    """Return the curve's lower (left) or upper (right) end at each x."""
    after = np.searchsorted(fpr, x, side=side).clip(1, fpr.size - 1)
    before = after - 1
    width = fpr[after] - fpr[before]
    # Without width there are only the two ends of the axis, where the curve rises straight up.
    share = np.divide(x - fpr[before], width, out=np.full(x.size, float(side == "right")), where=width > 0)
    return np.asarray(tpr[before] + share * (tpr[after] - tpr[before]))


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
    x = _grid(folds)
    # The step that ends at a recall has the precision there.
    heights = np.array([height[np.searchsorted(ends, x[1:], side="left")] for ends, height in steps])
    areas = [float(height @ np.diff(ends, prepend=0.0)) for ends, height in steps]
    return MeanCurve.of(np.repeat(x, 2)[1:-1], np.repeat(heights, 2, axis=1), areas)


def _steps(recall: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return where each step ends, from left to right, and how high it is."""
    ends, which = np.unique(recall, return_inverse=True)
    # Of the thresholds with one recall the highest counts: it takes in the fewest negatives.
    height = np.zeros(ends.size)
    np.maximum.at(height, which, precision)
    return ends, height


def _draw_means(
    ax: Axes | None,
    names: Sequence[str],
    curves: Sequence[Sequence[Pair]],
    mean: _Mean,
    *,
    area_name: str,
    reference: tuple[Sequence[float], str],
) -> Axes:
    """Draw mean curves, and their areas in the legend; of more curves than colours the largest areas have colours."""
    means, legend_names = [], []
    for name, folds in zip(style.shortened(names, LEGEND_LENGTH), curves, strict=True):
        pairs = [(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)) for x, y in folds]
        known = [(x, y) for x, y in pairs if not (np.isnan(x).any() or np.isnan(y).any())]
        means.append(mean(known) if known else NO_CURVE)
        legend_names.append(name if len(known) == len(folds) else f"{name} ({len(known)} of {len(folds)} folds)")
    ax = square_canvas(legend_names, height=3.6) if ax is None else ax
    areas = [curve.area for curve in means]
    handles: list[Artist] = []
    labels: list[str] = []
    front, back = largest(areas)
    for place, i in enumerate(front):
        handles.append(_coloured(ax, means[i], place))
        labels.append(f"{AREA(areas[i])}  {legend_names[i]}")
    if back:
        for i in back:
            (faint,) = ax.plot(
                means[i].x, means[i].mean, color=style.text_colour(ax), alpha=0.25, linewidth=0.8, zorder=1.5
            )
        handles.append(faint)
        labels.append(_range([areas[i] for i in back]))
    counts = {means[i].folds for i in front if means[i].folds > 1}
    if counts:
        handles.append(ax.fill_between([], [], color=style.text_colour(ax), alpha=style.BAND, linewidth=0))
        labels.append(f"±1 sd over {counts.pop() if len(counts) == 1 else 'the'} folds")
    heights, label = reference
    handles += ax.plot([0, 1], heights, color=style.text_colour(ax), alpha=0.55, linewidth=1.2, dashes=(4, 3), zorder=1)
    style.legend(ax, handles, [*labels, label], title=area_name, inside="lower right")
    return ax


def square_canvas(legend_names: Sequence[str], *, height: float) -> Axes:
    """Return a canvas for a square: the figure grows with the names beside it, the square keeps its size."""
    return style.canvas(width=5.0 + 0.08 * max(map(len, [*legend_names, "±1 sd over 10"])), height=height, square=True)


def style_square(ax: Axes, xlabel: str, ylabel: str, *, bottom: float = -0.02) -> None:
    """Label the axes of two shares, and scale both alike from 0 to 100%."""
    style.style_axes(ax, grid="both", xlabel=xlabel, ylabel=ylabel)
    # A little more than the square, so that lines on its border are drawn whole.
    ax.set(xlim=(-0.02, 1.02), ylim=(bottom, 1.02), aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(np.linspace(0, 1, 6))
        style.format_ticks(axis, "%")


def largest(scores: Sequence[float]) -> tuple[list[int], list[int]]:
    """Return which curves have a colour and which not: in the order given, or where they are many by score."""
    order = list(range(len(scores)))
    if len(order) > len(style.SERIES):
        order.sort(key=lambda i: np.inf if np.isnan(scores[i]) else -scores[i])
    return order[: len(style.SERIES)], order[len(style.SERIES) :]


def _coloured(ax: Axes, curve: MeanCurve, place: int) -> Artist:
    colour, stroke = style.series_style(place)
    if curve.folds > 1:
        low, high = (np.clip(curve.mean + side * curve.spread, 0, 1) for side in (-1, 1))
        ax.fill_between(curve.x, low, high, color=colour, alpha=style.BAND, linewidth=0)
    return ax.plot(curve.x, curve.mean, color=colour, linestyle=stroke, linewidth=1.9)[0]


def _range(areas: Sequence[float]) -> str:
    known = [area for area in areas if not np.isnan(area)]
    others = "1 other" if len(areas) == 1 else f"{len(areas)} others"
    return f"{AREA(min(known))} to {AREA(max(known))}  {others}" if known else others


def decision_curves(
    names: Sequence[str],
    thresholds: Floats,
    curves: Sequence[tuple[Floats, Floats, Floats]],
    treat_all: Floats,
    *,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the net benefit of each model over the thresholds, beside treating all and treating none.

    A single model has its band.

    The axis ends a little below 0, since treating all has a large harm at high thresholds.
    """
    ax = style.canvas(height=3.4) if ax is None else ax
    ink = style.text_colour(ax)
    handles: list[Artist] = []
    shown, hidden = largest([float(benefit.max()) for benefit, _, _ in curves])
    short = style.shortened(names, LEGEND_LENGTH)
    for place, i in enumerate(shown):
        benefit, low, high = curves[i]
        colour, stroke = style.series_style(place)
        if len(shown) == 1:
            ax.fill_between(thresholds, low, high, color=colour, alpha=style.BAND, linewidth=0)
        handles += ax.plot(thresholds, benefit, color=colour, linestyle=stroke, linewidth=1.9)
    labels = [short[i] for i in shown]
    handles += ax.plot(thresholds, treat_all, color=ink, alpha=0.75, linewidth=1.2, dashes=(4, 3), zorder=1)
    handles.append(ax.axhline(0, color=ink, alpha=0.6, linewidth=1.2, zorder=1))
    labels += ["treat all", "treat none"]
    if len(shown) == 1:
        handles.append(ax.fill_between([], [], color=ink, alpha=style.BAND, linewidth=0))
        labels.append(f"{100 * level:g}% band")
    if hidden:
        handles += ax.plot([], [], linestyle="none")
        labels.append(f"{len(hidden)} others not drawn")
    style.style_axes(ax, grid="both", xlabel="threshold on the probability", ylabel="net benefit")
    top = max(float(benefit.max()) for benefit, _, _ in curves)
    top = max(top, float(treat_all.max()), 0.01)
    ax.set(xlim=(0, 1), ylim=(-0.25 * top, 1.1 * top))
    style.format_ticks(ax.xaxis, "%")
    style.legend(ax, handles, labels, inside="upper right")
    return ax


def confusion(matrix: npt.ArrayLike, labels: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Draw counts or summed weights: true classes down, predicted across, shaded by the share of the true class.

    Cells of more than 16 classes have no numbers. Their shade then goes with the square root of the share, so that
    rare errors are visible.
    """
    counts = np.asarray(matrix, dtype=np.float64)
    k = len(labels)
    rows = np.nansum(counts, axis=1, keepdims=True)
    shares = np.divide(counts, rows, out=np.full_like(counts, np.nan), where=rows > 0)
    texts = [[_count(value) for value in row] for row in counts]
    longest = max(len(text) for row in texts for text in row)
    short = shortened(labels, LABEL_LENGTH)
    beside = MARGIN + LETTER * max(map(len, short))
    cell = min(max(CELL, LETTER * (longest + 2)), (WIDTH - beside) / k)
    ax = canvas(width=beside + cell * k, height=min(1.0 + 0.38 * k, 6.0)) if ax is None else ax
    if k <= NUMBERED:
        _shade(ax, SHADE * np.nan_to_num(shares))
        _write(ax, texts, FONT * min(1.0, cell / (LETTER * longest)))
    else:
        _paint(ax, 0.95 * np.sqrt(np.nan_to_num(shares)))
    _frame(ax, short)
    return ax


def _count(value: float) -> str:
    if np.isnan(value):
        return MISSING
    return f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"


def _shade(ax: Axes, opacities: Floats) -> None:
    from matplotlib.patches import Rectangle

    for (row, column), opacity in np.ndenumerate(opacities):
        if opacity > 0:
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=(DATA, float(opacity)), linewidth=0))


def _paint(ax: Axes, opacities: Floats) -> None:
    """Shade many cells at once, as a picture: as shapes they would take megabytes."""
    from matplotlib.colors import to_rgb

    colours = np.empty((*opacities.shape, 4))
    colours[..., :3], colours[..., 3] = to_rgb(DATA), opacities
    edges = np.arange(len(opacities) + 1) - 0.5
    ax.pcolormesh(edges, edges, colours, rasterized=True)


def _write(ax: Axes, texts: Sequence[Sequence[str]], size: float) -> None:
    for row, line in enumerate(texts):
        for column, text in enumerate(line):
            ax.text(
                column,
                row,
                text,
                horizontalalignment="center",
                verticalalignment="center_baseline",
                fontsize=size,
                fontweight="bold" if row == column else "normal",
                color=text_colour(ax),
            )


def _frame(ax: Axes, short: Sequence[str]) -> None:
    k = len(short)
    edges = np.arange(k + 1) - 0.5
    if k <= NAMED:
        for lines in (ax.hlines, ax.vlines):
            lines(edges, -0.5, k - 0.5, color=text_colour(ax), alpha=FAINT, linewidth=0.8)
    named = range(0, k, -(-k // NAMED))
    crowded = max(map(len, short)) * k > 44
    ax.set_xticks(named, [short[i] for i in named], rotation=90 if crowded else 0, parse_math=False)
    ax.set_yticks(named, [short[i] for i in named], parse_math=False)
    ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5), xlabel="predicted", ylabel="true")
    ax.tick_params(axis="both", length=0, pad=5)
    ax.spines[:].set_visible(False)
