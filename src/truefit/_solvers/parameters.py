"""Parameters: whether a value is one that scikit-learn would take. Where it is not, plain fitting is to say so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def is_switch(value: Any) -> bool:
    """Whether a value is a boolean."""
    return isinstance(value, bool | np.bool_)


def is_size(value: Any) -> bool:
    """Whether a value is a finite number, not negative.

    Examples
    --------
    >>> is_size(0), is_size(np.float64(2.5)), is_size(-1), is_size(math.inf), is_size(True), is_size("1")
    (True, True, False, False, False, False)
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not is_switch(value)
    return number and bool(0 <= value < math.inf)


def is_seed(value: Any) -> bool:
    """Whether a value can stand as ``random_state``, and is no stream that gives other numbers each time."""
    return value is None or (type(value) is int and 0 <= value < 2**32)


def are_priors(value: Any, classes: int) -> bool:
    """Whether a value has a share above 0 for each class, with a sum of 1.

    Examples
    --------
    >>> are_priors([0.25, 0.75], 2), are_priors([0.25, 0.75], 3), are_priors([0.0, 1.0], 2), are_priors([1, 1], 2)
    (True, False, False, False)
    """
    try:
        shares = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return shares.shape == (classes,) and bool((shares > 0).all()) and abs(float(shares.sum()) - 1) < 1e-8
