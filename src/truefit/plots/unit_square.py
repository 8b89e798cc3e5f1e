"""Mean curves in the unit square: rates against rates, averaged over folds, with the area below each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.canvas import canvas, ink, shortened, tidy
from truefit.plots.legend import legend
from truefit.plots.numerals import numeral
from truefit.plots.palette import BAND, SERIES, series_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
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
        """Return what is said beside the name where folds had to be left out."""
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
    said = [short + note for short, note in zip(shortened(names, LEGEND_LENGTH), notes, strict=True)]
    if ax is None:
        # The square keeps its size: it is the figure that grows with the names beside it.
        ax = canvas(width=5.0 + 0.08 * max(map(len, [*said, "±1 sd over 10"])), height=3.6, square=True)
    handles: list[Artist] = []
    labels: list[str] = []
    front, back = _ranked(areas)
    for i in back:
        _faint(ax, means[i])
    for place, i in enumerate(front):
        handles.append(_coloured(ax, means[i], place))
        labels.append(f"{numeral(areas[i], 3)}  {said[i]}")
    if back:
        handles.append(_faint(ax, None))
        labels.append(_range([areas[i] for i in back]))
    folds = {curve.folds for i in front if (curve := means[i]) is not None and curve.folds > 1}
    if folds:
        handles.append(ax.fill_between([], [], color=ink(ax), alpha=BAND, linewidth=0))
        labels.append(f"±1 sd over {folds.pop() if len(folds) == 1 else 'the'} folds")
    if reference is not None:
        xs, ys, label = reference
        handles += ax.plot(xs, ys, color=ink(ax), alpha=0.55, linewidth=1.2, dashes=(4, 3), zorder=1)
        labels.append(label)
    tidy(ax, grid="both")
    # A little more than the square, so that lines on its border are drawn whole.
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_yticks(np.linspace(0, 1, 6))
    legend(ax, handles, labels, title=area_name, inside="lower right")
    return ax


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
    return ax.plot(x, y, color=ink(ax), alpha=0.25, linewidth=0.8, zorder=1.5)[0]


def _range(areas: Sequence[float]) -> str:
    known = [area for area in areas if not np.isnan(area)]
    others = "1 other" if len(areas) == 1 else f"{len(areas)} others"
    return f"{numeral(min(known), 3)} to {numeral(max(known), 3)}  {others}" if known else others
