"""A learning curve: errors on test and training rows against the number of rows, and where they go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit.plots.canvas import FONT, ink
from truefit.plots.extrapolation import extrapolation
from truefit.plots.palette import BAND, series_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def learning_curve(
    sizes: npt.ArrayLike,
    errors: npt.ArrayLike,
    stderr: npt.ArrayLike | None = None,
    *,
    curve: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike] | None = None,
    train: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    target: float | None = None,
    xlabel: str = "rows",
    ylabel: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw what was measured on test rows and on training rows, and where the former goes.

    Parameters
    ----------
    sizes, errors, stderr, curve, target, xlabel, ylabel, ax
        As for :func:`truefit.plots.extrapolation`.
    train : (mean, sd), optional
        Errors on the training rows and their spread over the folds, each array-like of shape (n,).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> train = [0.02, 0.05, 0.08], [0.01, 0.01, 0.01]
    >>> ax = learning_curve([100, 200, 400], [0.3, 0.25, 0.22], train=train, ylabel="error")
    >>> [text.get_text() for text in ax.texts]
    ['train']
    """
    ax = extrapolation(sizes, errors, stderr, curve=curve, target=target, xlabel=xlabel, ylabel=ylabel, ax=ax)
    if train is not None:
        n = np.asarray(sizes, dtype=np.float64)
        mean, sd = (np.asarray(column, dtype=np.float64) for column in train)
        colour, stroke = series_style(2)  # the second is too near to that of targets
        ax.fill_between(n, mean - sd, mean + sd, color=colour, alpha=BAND, linewidth=0)
        ax.plot(n, mean, color=colour, linestyle=stroke, linewidth=1.9, marker="o", markersize=3.2)
        ax.annotate(
            "train",
            (n[-1], mean[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=FONT,
            color=ink(ax),
        )
    return ax
