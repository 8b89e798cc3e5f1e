"""Aggregation: what several models say together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Aggregate = Literal["mean", "soft", "vote"]


def mean_of(values: Sequence[Array]) -> Array:
    """Return the mean of what each model says.

    Examples
    --------
    >>> mean_of([np.array([1.0, 2.0]), np.array([3.0, 2.0])])
    array([2., 2.])
    """
    mean: Array = np.mean(np.stack([np.asarray(each) for each in values]), axis=0)
    return mean


def aligned(probabilities: Array, own: Array, classes: Array) -> Array:
    """Return probabilities with a column for each of ``classes``, 0 for those that a model has not seen.

    Examples
    --------
    >>> aligned(np.array([[0.3, 0.7]]), np.array(["a", "c"]), np.array(["a", "b", "c"]))
    array([[0.3, 0. , 0.7]])
    """
    if np.array_equal(own, classes):
        return np.asarray(probabilities)
    wide = np.zeros((len(probabilities), len(classes)), dtype=np.asarray(probabilities).dtype)
    wide[:, np.searchsorted(classes, own)] = probabilities
    return wide


def vote_of(labels: Sequence[Array], classes: Array) -> Array:
    """Return the label that most models give; of equally many the smallest class.

    Examples
    --------
    >>> vote_of([np.array(["b", "c"]), np.array(["a", "c"]), np.array(["b", "a"])], np.array(["a", "b", "c"]))
    array(['b', 'c'], dtype='<U1')
    >>> vote_of([np.array([2]), np.array([1])], np.array([1, 2]))
    array([1])
    """
    codes = np.stack([np.searchsorted(classes, each) for each in labels])
    counts = np.stack([(codes == code).sum(axis=0) for code in range(len(classes))])
    chosen: Array = classes[counts.argmax(axis=0)]
    return chosen
