"""Failure: why a fit failed, and what can be done about it where that is plain to see."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from truefit.core.data import Data
from truefit.core.outcome import Failure


def failure_of(error: BaseException, estimator: Any, data: Data) -> Failure:
    """Record what a fit raised; missing values that the estimator cannot take are named before it.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> data = Data([[1.0, np.nan], [2.0, 3.0]], [0.5, 1.5], task="regression")
    >>> print(failure_of(ValueError("Input X contains NaN."), Ridge(), data).message)
    X has missing values in column 1, and Ridge does not take them: put an imputer before it, as in
    make_pipeline(SimpleImputer(), Ridge()). ValueError: Input X contains NaN.
    """
    failure = Failure.of(error)
    if not re.search("nan|missing", str(error), re.IGNORECASE) or _takes_missing(estimator):
        return failure
    column, name = _first_with_missing(data.X), type(estimator).__name__
    if column is None:
        return failure
    hint = (
        f"X has missing values in column {column!r}, and {name} does not take them: put an imputer before it, as in "
        f"make_pipeline(SimpleImputer(), {name}())."
    )
    return replace(failure, message=f"{hint} {failure.message}")


def _takes_missing(estimator: Any) -> bool:
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except (AttributeError, TypeError):  # not an estimator of scikit-learn's making
        return True


def _first_with_missing(X: Any) -> Any:
    if hasattr(X, "iloc"):
        found = np.flatnonzero(X.isna().any(axis=0))
        return X.columns[found[0]] if len(found) else None
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        found = np.flatnonzero(np.isnan(X).any(axis=0))
        return int(found[0]) if len(found) else None
    return None
