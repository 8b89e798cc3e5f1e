"""Bias and variance: the parts of an expected loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._plots import canvas as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What a negative variance takes from the loss.
OFFSET = "bias offset by variance"


def bias_variance(
    names: Sequence[str],
    bias: npt.ArrayLike,
    variance: npt.ArrayLike,
    *,
    noise: npt.ArrayLike | None = None,
    xlabel: str,
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw bias, variance and noise of each name as a stacked bar.

    The parts add up: for squared loss they are the *squared* bias, for 0-1 loss the *net* variance. The latter may be
    negative, where varying predictions offset some of the bias: that part of the bias is then crossed out.
    """
    below, spread = np.asarray(bias, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    both = below + spread
    ends = {
        "bias": (np.zeros_like(below), np.minimum(below, both)),
        OFFSET: (np.minimum(below, both), below),
        "variance": (below, np.maximum(below, both)),
    }
    if not (spread < 0).any():
        del ends[OFFSET]
    total = both if noise is None else both + np.asarray(noise, dtype=np.float64)
    if noise is not None:
        ends["noise"] = (both, total)
    ax = style.canvas(height=1.0 + 0.4 * len(names)) if ax is None else ax
    handles = [
        ax.barh(range(len(names)), np.nan_to_num(high - low), height=0.56, left=np.nan_to_num(low), **_fill(ax, part))
        for part, (low, high) in ends.items()
    ]
    unit: style.Unit = "%" if percent else ""
    number_format = style.NumberFormat.of(total, unit=unit)
    for row, loss in enumerate(total.tolist()):
        ax.plot(
            [loss, loss], [row - 0.36, row + 0.36], color=style.text_colour(ax), linewidth=2.2, solid_capstyle="butt"
        )
        style.number_at_right(ax, row, number_format(loss), bold=False)
    style.name_rows(ax, names)
    ax.locator_params(axis="x", nbins=6)
    style.format_ticks(ax.xaxis, unit)
    style.legend(ax, handles, list(ends), above=True)
    style.style_axes(ax, xlabel=xlabel)
    return ax


def _fill(ax: Axes, part: str) -> dict[str, Any]:
    """How a part is filled: hatching distinguishes the parts in grey print as well."""
    return {
        "bias": {"facecolor": (style.DATA, 0.85), "linewidth": 0.0},
        # Without a fill of their own: in SVG it would hide the hatching.
        OFFSET: {"facecolor": "none", "edgecolor": style.DATA, "hatch": "xxxx", "linewidth": 0.0},
        "variance": {"facecolor": "none", "edgecolor": style.MARK, "hatch": "//////", "linewidth": 0.0},
        "noise": {"facecolor": (style.text_colour(ax), style.FAINT), "linewidth": 0.0},
    }[part]
