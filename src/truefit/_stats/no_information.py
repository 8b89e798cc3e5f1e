"""The no-information error: what predictions would lose if they had nothing to do with the truth.

Each prediction is set against each row's truth, not only against its own: the mean loss over all n² pairs. It is the
γ of the .632+ bootstrap (Efron and Tibshirani 1997, section 3).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array

RowLoss = Callable[[Array, Array], npt.ArrayLike]

#: How many pairs the general form holds at once.
_BLOCK = 1 << 20


def no_information_zero_one(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    r"""No-information error of 0-1 loss: :math:`\sum_l \hat p_l (1 - \hat q_l)`.

    :math:`\hat p_l` is the share of class l in the truth, :math:`\hat q_l` its share in the predictions.

    Examples
    --------
    Shares .75 and .25 in the truth, one half each in the predictions: .75 · .5 + .25 · .5.

    >>> no_information_zero_one(["a", "a", "a", "b"], ["a", "b", "a", "b"])
    0.5
    """
    y, f = _columns(truth, predicted)
    classes, code = np.unique(np.concatenate([y, f]), return_inverse=True)
    p = np.bincount(code[: len(y)], minlength=len(classes)) / len(y)
    q = np.bincount(code[len(y) :], minlength=len(classes)) / len(f)
    return float(p @ (1 - q))


def no_information_squared(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    r"""No-information error of squared loss: :math:`\frac1{n^2}\sum_{i,j} (y_i - f_j)^2`.

    Equal to the two variances plus the squared difference of the means, so that no pair is formed.

    Examples
    --------
    >>> no_information_squared([0.0, 2.0], [1.0, 3.0])
    3.0
    """
    y, f = (each.astype(np.float64) for each in _columns(truth, predicted))
    return float(y.var() + f.var() + (y.mean() - f.mean()) ** 2)


def no_information_absolute(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    r"""No-information error of absolute loss: :math:`\frac1{n^2}\sum_{i,j} |y_i - f_j|`, by sorting.

    Examples
    --------
    >>> no_information_absolute([0.0, 2.0], [1.0, 3.0])
    1.5
    """
    y, f = (np.sort(each.astype(np.float64)) for each in _columns(truth, predicted))
    # Around a common middle, so that the running sums do not cancel where the values are large.
    middle = (y.mean() + f.mean()) / 2
    y, f = y - middle, f - middle
    below = np.searchsorted(y, f, side="right")
    sums = np.concatenate([[0.0], np.cumsum(y)])
    of_each = f * below - sums[below] + (sums[-1] - sums[below]) - f * (len(y) - below)
    return float(of_each.sum() / (len(y) * len(f)))


def no_information(truth: npt.ArrayLike, predicted: npt.ArrayLike, loss: RowLoss) -> float:
    """No-information error of any loss of single rows: the mean over all pairs, a block of pairs at a time.

    Parameters
    ----------
    truth : array-like of shape (n, ...)
    predicted : array-like of shape (n, ...)
        One prediction per row: labels, numbers, or a line of probabilities.
    loss : callable
        ``loss(truth, predicted)`` gives one loss per row of two arrays of the same length.

    Notes
    -----
    Takes n² losses of time, and memory for about a million of them.

    Examples
    --------
    >>> no_information([0.0, 2.0], [1.0, 3.0], lambda y, f: abs(y - f))
    1.5
    """
    y, f = np.asarray(truth), np.asarray(predicted)
    if y.ndim == 0 or f.ndim == 0 or len(y) != len(f) or not len(y):
        raise InvalidInput(_same_length(y, f))
    step = max(1, _BLOCK // len(y))
    total = 0.0
    for start in range(0, len(f), step):
        block = f[start : start + step]
        found = loss(np.tile(y, (len(block), *[1] * (y.ndim - 1))), np.repeat(block, len(y), axis=0))
        total += float(np.sum(found, dtype=np.float64))
    return total / (len(y) * len(f))


def _columns(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Array, Array]:
    y, f = np.asarray(truth), np.asarray(predicted)
    if y.ndim != 1 or y.shape != f.shape or not y.size:
        raise InvalidInput(_same_length(y, f))
    return y, f


def _same_length(y: Array, f: Array) -> str:
    return (
        "The no-information error needs one truth and one prediction per row. "
        f"Got truth of shape {y.shape} and predictions of shape {f.shape}."
    )
