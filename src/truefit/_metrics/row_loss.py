"""RowLoss: the value of a metric for a single row, where the metric is the mean of such values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.protocols import Response
from truefit._core.typing import Array


@dataclass(frozen=True)
class RowLoss:
    """Value of each row by its prediction.

    ``of`` takes the rows' labels or numbers and their predictions; with ``response="predict_proba"`` the codes of their
    classes and a probability for every class of the data.
    """

    of: Callable[[Array, Array], Array]
    response: Response = "predict"
    sign: int = 1

    def __call__(self, data: Data, index: Array, predicted: Array) -> Array:
        """Return the values of the rows at ``index``."""
        truth = data.y if self.response == "predict" else data.codes
        assert truth is not None
        each = self.of(truth[index], predicted)
        return each if self.sign == 1 else -each


def wrong(y: Array, predicted: Array) -> Array:
    """Return 1 for a wrong label, 0 for the right one."""
    each: Array = (y != predicted).astype(np.float64)
    return each


def right(y: Array, predicted: Array) -> Array:
    """Return 1 for the right label, 0 for a wrong one."""
    each: Array = (y == predicted).astype(np.float64)
    return each


def squared(y: Array, predicted: Array) -> Array:
    """Return the squared residual; of several outputs the mean of theirs."""
    each: Array = (y - predicted) ** 2
    return each if each.ndim == 1 else each.mean(axis=1)


def summed_squares(y: Array, predicted: Array) -> Array:
    """Return the squared residual; of several outputs the sum of theirs."""
    each: Array = (y - predicted) ** 2
    return each if each.ndim == 1 else each.sum(axis=1)


def absolute(y: Array, predicted: Array) -> Array:
    """Return the size of the residual; of several outputs the mean of theirs."""
    each: Array = np.abs(y - predicted)
    return each if each.ndim == 1 else each.mean(axis=1)


def log_loss(codes: Array, proba: Array) -> Array:
    """Return minus the logarithm of the probability of the true class, kept off 0 as scikit-learn does.

    Examples
    --------
    >>> log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.2, 0.8]])).round(4).tolist()
    [0.6931, 0.2231]
    """
    proba = _checked(proba)
    eps = np.finfo(proba.dtype).eps
    each: Array = -np.log(np.clip(proba[np.arange(len(codes)), codes], eps, 1 - eps))
    return each


def brier(codes: Array, proba: Array) -> Array:
    """Return the squared distance of the probabilities from the true class; for two classes half of it.

    Examples
    --------
    >>> brier(np.array([0, 1]), np.array([[0.5, 0.5], [0.2, 0.8]])).round(4).tolist()
    [0.25, 0.04]
    """
    proba = _checked(proba)
    # |1_c - p|² = |p|² - 2 p_c + 1 would lose the digits of a small loss.
    truth = np.zeros_like(proba)
    truth[np.arange(len(codes)), codes] = 1
    each: Array = ((truth - proba) ** 2).sum(axis=1)
    return each / 2 if proba.shape[1] == 2 else each


def _checked(proba: Array) -> Array:
    proba = proba if proba.dtype.kind == "f" else proba.astype(np.float64)
    if not (proba.min() >= 0 and proba.max() <= 1):
        raise InvalidInput(
            f"Probabilities must lie within 0 and 1. Got {proba.min()} to {proba.max()} from predict_proba. Choose a "
            "metric of the labels, such as 'error'."
        )
    if proba.shape[1] == 2:
        # As scikit-learn's scorers do: the second column decides.
        return np.stack([1 - proba[:, 1], proba[:, 1]], axis=1)
    if not np.allclose(proba.sum(axis=1), 1, rtol=np.sqrt(np.finfo(proba.dtype).eps), atol=0):
        warnings.warn("The probabilities from predict_proba do not add up to 1 in every row.", stacklevel=2)
    return proba


#: Shares of rows; scikit-learn has recall and precision as averages over the classes too.
_SHARES = {
    *("error", "accuracy", "balanced_accuracy", "top_k_accuracy"),
    *("recall", "sensitivity", "tpr", "specificity", "tnr", "fpr", "precision"),
    *(f"{name}_{mean}" for name in ("recall", "precision") for mean in ("macro", "micro", "weighted")),
}


def is_share(name: str) -> bool:
    """Whether a metric of that name is a share of rows, which texts and plots show in percent."""
    return name in _SHARES
