"""Calibration: whether what is called 30% probable happens in 30% of the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._plots.canvas import legend, series_style, shortened, text_colour
from truefit._plots.roc import AREA, LEGEND_LENGTH, Pair, largest, square_canvas, style_square

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: Bins of equally many rows, at most, and rows per bin, at least: an interval from fewer is too wide.
BINS, ROWS = 10, 10
#: Height of the histogram below the square, and of the gap between them.
STRIP, GAP = 0.2, 0.07
#: Bars of the histogram.
BARS = 25


def calibration(names: Sequence[str], pairs: Sequence[Pair], *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draw observed shares over predicted probabilities, with Wilson's intervals, and a histogram below.

    A pair is the classes, 0 or 1, and the predicted probabilities of class 1, of all folds together: unlike scores,
    probabilities of two models are on one scale. Beside each name is its Brier score. Of more estimators than colours
    those with the smallest scores are drawn.
    """
    curves = [_Reliability.of(pair, level) for pair in pairs]
    shown, hidden = largest([-curve.brier for curve in curves])
    short = shortened(names, LEGEND_LENGTH)
    ax = square_canvas(short, height=4.2) if ax is None else ax
    ink = text_colour(ax)
    handles: list[Artist] = [_draw(ax, curves[i], place, len(shown)) for place, i in enumerate(shown)]
    labels = [f"{AREA(curves[i].brier)}  {short[i]}" for i in shown]
    if hidden:
        handles += ax.plot([], [], linestyle="none")
        labels.append(f"{len(hidden)} others not drawn")
    handles += ax.plot([], [], color=ink, alpha=0.7, linewidth=1.5, linestyle="none", marker="|", markersize=12)
    labels.append(f"{100 * level:g}% interval per bin")
    handles += ax.plot([0, 1], [0, 1], color=ink, alpha=0.55, linewidth=1.2, dashes=(4, 3), zorder=1)
    labels.append("perfect")
    style_square(ax, "predicted probability", "observed share", bottom=-GAP - STRIP)
    legend(ax, handles, labels, title="Brier score", inside="upper left")
    return ax


@dataclass(frozen=True)
class _Reliability:
    """Predicted probabilities and observed shares of one estimator, bin by bin."""

    probabilities: Floats
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    brier: float

    @classmethod
    def of(cls, pair: Pair, level: float) -> _Reliability:
        from scipy.stats import binomtest

        y, p = _known_rows(pair)
        brier = float(np.mean((y - p) ** 2)) if y.size else np.nan
        which = quantile_bins(p, min(BINS, y.size // ROWS))
        rows = np.bincount(which)
        positives = np.bincount(which, weights=y)
        tests = [binomtest(int(k), int(n)) for k, n in zip(positives, rows, strict=True)]
        ends = [test.proportion_ci(level, method="wilson") for test in tests]
        low, high = np.array([(end.low, end.high) for end in ends]).reshape(-1, 2).T
        return cls(p, np.bincount(which, weights=p) / rows, positives / rows, low, high, brier)


def quantile_bins(values: Floats, count: int) -> npt.NDArray[np.intp]:
    """Return in which of about ``count`` equally full bins each value is, from 0 up; equal values are in one."""
    ordered = np.sort(values)
    # Each bin is named by the place of its first row; those that begin with the same value are one.
    firsts = ordered[np.arange(1, max(count, 1)) * values.size // max(count, 1)]
    which = np.searchsorted(firsts, values, side="right")
    return np.unique(which, return_inverse=True)[1]


def _known_rows(pair: Pair) -> tuple[Floats, Floats]:
    y, p = (np.asarray(values, dtype=np.float64) for values in pair)
    known = ~(np.isnan(y) | np.isnan(p))
    y, p = y[known], p[known]
    if p.size and (p.min() < 0 or p.max() > 1):
        raise InvalidInput(
            f"Probabilities must lie within 0 and 1. Got {p.min():g} to {p.max():g} from predict_proba. Use an "
            "estimator that predicts probabilities."
        )
    return y, p


def _draw(ax: Axes, curve: _Reliability, place: int, count: int) -> Artist:
    colour, stroke = series_style(place)
    ax.vlines(curve.predicted, curve.low, curve.high, color=colour, alpha=0.7, linewidth=1.5)
    if curve.probabilities.size:
        heights, edges = np.histogram(curve.probabilities, bins=BARS, range=(0, 1))
        tops = STRIP * heights / heights.max() - GAP - STRIP
        # One histogram is filled; several are outlines, which do not hide each other.
        ax.stairs(tops, edges, baseline=-GAP - STRIP, color=colour, fill=count == 1, alpha=0.65, linewidth=1.3)
    points = curve.predicted, curve.observed
    return ax.plot(*points, color=colour, linestyle=stroke, linewidth=1.7, marker="o", markersize=4.5)[0]
