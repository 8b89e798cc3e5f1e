"""Calibration: whether what is called 30% probable happens in 30% of the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from truefit._core.typing import Floats
from truefit._plots.canvas import BAND, NumberFormat, legend, series_style, shortened, style_axes, text_colour
from truefit._plots.classification import AREA, LEGEND_LENGTH, largest, square_canvas, style_square

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: Height of the histogram below the square, and of the gap between them, in heights of the square.
STRIP, GAP = 0.2, 0.07
#: Bars of the histogram.
BARS = 25


@dataclass(frozen=True, slots=True)
class Reliability:
    """What the picture shows of one estimator: its predictions, bins of them with intervals, a curve with a band."""

    predictions: Floats
    #: Mean prediction of each bin, mean truth, and the ends of its interval.
    bins: tuple[Floats, Floats, Floats, Floats]
    #: Predictions, what is observed there, and the ends of the band.
    curve: tuple[Floats, Floats, Floats, Floats] | None
    score: float


def calibration(
    names: Sequence[str],
    curves: Sequence[Reliability],
    *,
    level: float = 0.95,
    probabilities: bool = True,
    title: str = "Brier score",
    ax: Axes | None = None,
) -> Axes:
    """Draw what is observed over what is predicted: a smooth curve with a band, bins with intervals, and a histogram.

    Probabilities of all folds are drawn together: unlike scores, those of two models are on one scale. Beside each name
    is its score. Of more estimators than colours those with the smallest scores are drawn; bands and intervals of a
    single one.
    """
    shown, hidden = largest([-curve.score for curve in curves])
    short = shortened(names, LEGEND_LENGTH)
    ax = square_canvas(short, height=4.2) if ax is None else ax
    ink, (low, high) = text_colour(ax), _limits([curves[i] for i in shown], probabilities)
    handles: list[Artist] = [_draw(ax, curves[i], place, len(shown), (low, high)) for place, i in enumerate(shown)]
    scores = AREA if probabilities else NumberFormat.of([curves[i].score for i in shown])
    labels = [f"{scores(curves[i].score)}  {short[i]}" for i in shown]
    if hidden:
        handles += ax.plot([], [], linestyle="none")
        labels.append(f"{len(hidden)} others not drawn")
    handles += ax.plot([], [], color=ink, alpha=0.7, linewidth=1.5, linestyle="none", marker="|", markersize=12)
    labels.append(f"{100 * level:g}% interval per bin")
    if len(shown) == 1 and curves[shown[0]].curve is not None:
        handles.append(ax.fill_between([], [], color=ink, alpha=BAND, linewidth=0))
        labels.append(f"{100 * level:g}% band of the curve")
    handles += ax.plot([low, high], [low, high], color=ink, alpha=0.55, linewidth=1.2, dashes=(4, 3), zorder=1)
    labels.append("perfect")
    if probabilities:
        style_square(ax, "predicted probability", "observed share", bottom=-GAP - STRIP)
    else:
        style_axes(ax, grid="both", xlabel="predicted", ylabel="mean of the true values")
        ax.set(xlim=(low, high), ylim=(low - (GAP + STRIP) * (high - low), high), aspect="equal")
    legend(ax, handles, labels, title=title, inside="upper left")
    return ax


def _limits(curves: Sequence[Reliability], probabilities: bool) -> tuple[float, float]:
    if probabilities:
        return 0.0, 1.0
    numbers = np.concatenate([np.concatenate([each.predictions, *each.bins, *(each.curve or ())]) for each in curves])
    low, high = float(numbers.min()), float(numbers.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _draw(ax: Axes, curve: Reliability, place: int, count: int, limits: tuple[float, float]) -> Artist:
    colour, stroke = series_style(place)
    predicted, observed, below, above = curve.bins
    ax.vlines(predicted, below, above, color=colour, alpha=0.7, linewidth=1.5)
    if curve.predictions.size:
        width = limits[1] - limits[0]
        heights, edges = np.histogram(curve.predictions, bins=BARS, range=limits)
        base = limits[0] - (GAP + STRIP) * width
        tops = base + STRIP * width * heights / heights.max()
        # One histogram is filled; several are outlines, which do not hide each other.
        ax.stairs(tops, edges, baseline=base, color=colour, fill=count == 1, alpha=0.65, linewidth=1.3)
    if curve.curve is None:
        return ax.plot(predicted, observed, color=colour, linestyle=stroke, marker="o", markersize=4.5)[0]
    ax.plot(predicted, observed, color=colour, linestyle="none", marker="o", markersize=4.5)
    at, centre, low, high = curve.curve
    if count == 1:
        ax.fill_between(at, low, high, color=colour, alpha=BAND, linewidth=0)
    return ax.plot(at, centre, color=colour, linestyle=stroke, linewidth=1.7)[0]
