"""Counts of a confusion matrix of two classes, and the rates that scikit-learn has no function for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Counts(NamedTuple):
    """True and false positives and negatives, or the sums of their weights."""

    tp: float
    fp: float
    fn: float
    tn: float


def confusion_counts(
    y: npt.ArrayLike, predicted: npt.ArrayLike, pos_label: Any = 1, weight: npt.ArrayLike | None = None
) -> Counts:
    """Count the rows by whether they are, and are predicted to be, of the positive class.

    Examples
    --------
    >>> confusion_counts(["a", "a", "b", "b", "b"], ["a", "b", "b", "b", "a"], pos_label="a")
    Counts(tp=1, fp=1, fn=1, tn=2)
    """
    actual, said = np.asarray(y) == pos_label, np.asarray(predicted) == pos_label
    weights = np.ones(len(actual), dtype=np.int64) if weight is None else np.asarray(weight, dtype=np.float64)
    tp, fp, fn, tn = (
        weights[rows].sum().item() for rows in (actual & said, ~actual & said, actual & ~said, ~actual & ~said)
    )
    return Counts(tp, fp, fn, tn)


def specificity(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, pos_label: Any = 1, sample_weight: npt.ArrayLike | None = None
) -> float:
    """TN / (FP + TN), the true negative rate; 0 without negative rows.

    Examples
    --------
    >>> specificity([1, 1, 0, 0, 0], [1, 0, 0, 0, 1])
    0.666...
    """
    _, fp, _, tn = confusion_counts(y_true, y_pred, pos_label, sample_weight)
    return tn / (fp + tn) if fp + tn > 0 else 0.0


def false_positive_rate(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, pos_label: Any = 1, sample_weight: npt.ArrayLike | None = None
) -> float:
    """FP / (FP + TN), which is 1 - specificity; so 1 without negative rows.

    Examples
    --------
    >>> false_positive_rate([1, 1, 0, 0, 0], [1, 0, 0, 0, 1])
    0.333...
    """
    _, fp, _, tn = confusion_counts(y_true, y_pred, pos_label, sample_weight)
    return fp / (fp + tn) if fp + tn > 0 else 1.0
