"""Decision curves: net benefit over the threshold, beside treating all and treating none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from truefit._core.typing import Floats
from truefit._plots.canvas import BAND, canvas, format_ticks, legend, series_style, shortened, style_axes, text_colour
from truefit._plots.roc import LEGEND_LENGTH, largest

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


def decision_curves(
    names: Sequence[str],
    thresholds: Floats,
    curves: Sequence[tuple[Floats, Floats, Floats]],
    treat_all: Floats,
    *,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the net benefit of each model over the thresholds, each with its band where there is one model.

    The axis ends a little below 0, since treating all has a large harm at high thresholds.
    """
    ax = canvas(height=3.4) if ax is None else ax
    ink = text_colour(ax)
    handles: list[Artist] = []
    shown, hidden = largest([float(benefit.max()) for benefit, _, _ in curves])
    short = shortened(names, LEGEND_LENGTH)
    for place, i in enumerate(shown):
        benefit, low, high = curves[i]
        colour, stroke = series_style(place)
        if len(shown) == 1:
            ax.fill_between(thresholds, low, high, color=colour, alpha=BAND, linewidth=0)
        handles += ax.plot(thresholds, benefit, color=colour, linestyle=stroke, linewidth=1.9)
    labels = [short[i] for i in shown]
    handles += ax.plot(thresholds, treat_all, color=ink, alpha=0.75, linewidth=1.2, dashes=(4, 3), zorder=1)
    handles.append(ax.axhline(0, color=ink, alpha=0.6, linewidth=1.2, zorder=1))
    labels += ["treat all", "treat none"]
    if len(shown) == 1:
        handles.append(ax.fill_between([], [], color=ink, alpha=BAND, linewidth=0))
        labels.append(f"{100 * level:g}% band")
    if hidden:
        handles += ax.plot([], [], linestyle="none")
        labels.append(f"{len(hidden)} others not drawn")
    style_axes(ax, grid="both", xlabel="threshold on the probability", ylabel="net benefit")
    top = max(float(benefit.max()) for benefit, _, _ in curves)
    top = max(top, float(treat_all.max()), 0.01)
    ax.set(xlim=(0, 1), ylim=(-0.25 * top, 1.1 * top))
    format_ticks(ax.xaxis, "%")
    legend(ax, handles, labels, inside="upper right")
    return ax
