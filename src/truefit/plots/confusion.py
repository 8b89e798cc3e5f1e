"""The confusion matrix as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.plots.canvas import FONT, canvas, ink, shortened
from truefit.plots.palette import DATA, FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Past so many classes the cells are too small for numbers.
NUMBERED = 16
#: The strongest shade that letters in the ink of a light or a dark page still stand out from.
SHADE = 0.55


def confusion(matrix: npt.ArrayLike, labels: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Draw a confusion matrix: true classes down, predicted across, shaded by the share of the true class.

    Parameters
    ----------
    matrix : array-like of shape (len(labels), len(labels))
        Counts, or summed weights; rows are true classes.
    labels : sequence of str
    ax : matplotlib Axes, optional
        Where to draw. A new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = confusion([[48, 2], [5, 45]], ["no", "yes"])
    >>> [text.get_text() for text in ax.texts]
    ['48', '2', '5', '45']
    """
    counts = np.asarray(matrix, dtype=np.float64)
    k = len(labels)
    if counts.shape != (k, k) or not k:
        raise InvalidInput(f"The 'matrix' parameter must be one row and column per label, {k}. Got {counts.shape}.")
    ax = canvas(width=min(1.7 + 0.5 * k, 6.4), height=min(1.0 + 0.38 * k, 6.0)) if ax is None else ax
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    _cells(ax, shares)
    if k <= NUMBERED:
        for (row, column), count in np.ndenumerate(counts):
            ax.text(
                column,
                row,
                f"{count:,.4g}" if count < 1e4 else f"{count:,.0f}",
                horizontalalignment="center",
                verticalalignment="center_baseline",
                fontsize=FONT,
                fontweight="bold" if row == column else "normal",
                color=ink(ax),
            )
    short = shortened([str(label) for label in labels], length=16)
    crowded = max(map(len, short)) * k > 44
    ax.set_xticks(range(k), short, rotation=90 if crowded else 0, parse_math=False)
    ax.set_yticks(range(k), short, parse_math=False)
    ax.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5))
    ax.tick_params(axis="both", length=0, pad=5)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    return ax


def _cells(ax: Axes, shares: npt.NDArray[np.float64]) -> None:
    from matplotlib.patches import Rectangle

    for (row, column), share in np.ndenumerate(shares):
        if share > 0:
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, facecolor=(DATA, SHADE * float(share)), linewidth=0))
    for edge in np.arange(len(shares) + 1) - 0.5:
        for line in (ax.axhline, ax.axvline):
            line(edge, color=ink(ax), alpha=FAINT, linewidth=0.8)
