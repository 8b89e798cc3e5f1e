"""Calibration: whether what is called 30% probable happens in 30% of the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._plots.canvas import SERIES, canvas, legend, numeral, series_style, shortened, text_colour
from truefit._plots.roc import LEGEND_LENGTH, Pair, style_square

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: Rows per bin, at least: an interval from fewer says nothing.
ROWS = 10
#: Height of the histogram below the square, and of the gap between them.
STRIP, GAP = 0.2, 0.07
#: Bars of the histogram.
BARS = 25


def calibration(
    names: Sequence[str], pairs: Sequence[Pair], *, bins: int = 10, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw shares observed over probabilities predicted, with Wilson's intervals, and a histogram below.

    Parameters
    ----------
    names : sequence of str
    pairs : sequence of (array-like, array-like)
        For each name the classes, 0 or 1, and the probabilities of class 1 that were predicted for them, of all
        folds together: unlike scores, probabilities of two models are on one scale. Rows with NaN are left out.
    bins : int, default=10
        Bins of equally many rows. They are fewer where one would have less than 10 rows, and equal probabilities
        are never parted.
    level : float, default=0.95
        Of the intervals. They hold for each bin by itself, of rows that are independent.
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Beside each name stands its Brier score, the mean square of class minus probability. Of more estimators than
    there are colours those with the smallest scores are drawn.

    Examples
    --------
    >>> ax = calibration(["ridge"], [([0] * 9 + [1] * 11, [0.2] * 10 + [0.8] * 10)])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0.070  ridge', '95% interval per bin', 'perfect']
    """
    if len(pairs) != len(names) or bins < 1:
        raise InvalidInput(
            f"There must be one pair per name, {len(names)}, and one bin or more. Got {len(pairs)} and {bins}."
        )
    curves = [_Reliability.of(pair, bins, level) for pair in pairs]
    shown = _smallest([curve.brier for curve in curves])
    short = shortened(names, LEGEND_LENGTH)
    ax = (
        canvas(width=5.0 + 0.08 * max(map(len, [*short, "95% interval"])), height=4.2, square=True)
        if ax is None
        else ax
    )
    handles: list[Artist] = [_draw(ax, curves[i], place, len(shown)) for place, i in enumerate(shown)]
    labels = [f"{numeral(curves[i].brier, 3)}  {short[i]}" for i in shown]
    if len(shown) < len(names):
        handles += ax.plot([], [], linestyle="none")
        labels.append(f"{len(names) - len(shown)} others not drawn")
    handles += ax.plot(
        [], [], color=text_colour(ax), alpha=0.7, linewidth=1.5, linestyle="none", marker="|", markersize=12
    )
    labels.append(f"{100 * level:g}% interval per bin")
    handles += ax.plot([0, 1], [0, 1], color=text_colour(ax), alpha=0.55, linewidth=1.2, dashes=(4, 3), zorder=1)
    labels.append("perfect")
    style_square(ax, "predicted probability", "observed share", bottom=-GAP - STRIP)
    legend(ax, handles, labels, title="Brier score", inside="upper left")
    return ax


@dataclass(frozen=True)
class _Reliability:
    """What one estimator promised and what came, bin by bin."""

    probabilities: Floats
    promised: Floats
    observed: Floats
    low: Floats
    high: Floats
    brier: float

    @classmethod
    def of(cls, pair: Pair, bins: int, level: float) -> _Reliability:
        from scipy.stats import binomtest

        y, p = _rows(pair)
        brier = float(np.mean((y - p) ** 2)) if y.size else np.nan
        which = quantile_bins(p, min(bins, y.size // ROWS))
        rows = np.bincount(which)
        positives = np.bincount(which, weights=y)
        ends = [
            binomtest(int(k), int(n)).proportion_ci(level, method="wilson")
            for k, n in zip(positives, rows, strict=True)
        ]
        low, high = np.array([(end.low, end.high) for end in ends]).reshape(-1, 2).T
        return cls(p, np.bincount(which, weights=p) / rows, positives / rows, low, high, brier)


def quantile_bins(values: Floats, count: int) -> npt.NDArray[np.intp]:
    """Return in which of about ``count`` equally full bins each value is, from 0 up; equal values are in one.

    Examples
    --------
    >>> quantile_bins(np.array([0.4, 0.1, 0.2, 0.3]), 2).tolist()
    [1, 0, 0, 1]
    >>> quantile_bins(np.array([0.0, 0.0, 0.0, 0.9]), 4).tolist()
    [0, 0, 0, 1]
    """
    ordered = np.sort(values)
    # Each bin is named by the place of its first row; those that begin with the same value are one.
    firsts = ordered[np.arange(1, max(count, 1)) * values.size // max(count, 1)]
    which = np.searchsorted(firsts, values, side="right")
    return np.unique(which, return_inverse=True)[1]


def _rows(pair: Pair) -> tuple[Floats, Floats]:
    y, p = (np.asarray(values, dtype=np.float64) for values in pair)
    if y.ndim != 1 or y.shape != p.shape:
        raise InvalidInput(f"A pair must be two rows of numbers of one length. Got shapes {y.shape} and {p.shape}.")
    known = ~(np.isnan(y) | np.isnan(p))
    y, p = y[known], p[known]
    if not np.isin(y, (0, 1)).all() or (y.size and (p.min() < 0 or p.max() > 1)):
        raise InvalidInput(
            "A pair must be classes, 0 or 1, and probabilities, within 0 and 1. Got other numbers; scores that are no "
            "probabilities cannot be calibrated."
        )
    return y, p


def _smallest(briers: Sequence[float]) -> list[int]:
    order = sorted(range(len(briers)), key=lambda i: np.inf if np.isnan(briers[i]) else briers[i])
    return order[: len(SERIES)] if len(order) > len(SERIES) else list(range(len(order)))


def _draw(ax: Axes, curve: _Reliability, place: int, count: int) -> Artist:
    colour, stroke = series_style(place)
    ax.vlines(curve.promised, curve.low, curve.high, color=colour, alpha=0.7, linewidth=1.5)
    if curve.probabilities.size:
        heights, edges = np.histogram(curve.probabilities, bins=BARS, range=(0, 1))
        tops = STRIP * heights / heights.max() - GAP - STRIP
        # One histogram is filled; several are outlines, which do not hide each other.
        ax.stairs(tops, edges, baseline=-GAP - STRIP, color=colour, fill=count == 1, alpha=0.65, linewidth=1.3)
    (line,) = ax.plot(
        curve.promised, curve.observed, color=colour, linestyle=stroke, linewidth=1.7, marker="o", markersize=4.5
    )
    return line
