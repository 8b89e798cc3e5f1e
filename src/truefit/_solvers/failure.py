"""Failure: why a fit failed, and what can be done about it where that is plain to see."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from truefit._core.data import Data
from truefit._core.outcome import Failure
from truefit._core.validation import LARGEST_FLOAT32, find_infinities, infinities_text

_LARGEST_SQUARED = float(np.sqrt(np.finfo(np.float64).max))


def failure_of(error: BaseException, estimator: Any, data: Data) -> Failure:
    """Record what a fit raised; values that the estimator cannot take are named before it, with their columns.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> data = Data([[1.0, np.nan], [2.0, 3.0]], [0.5, 1.5], task="regression")
    >>> print(failure_of(ValueError("Input X contains NaN."), Ridge(), data).message)
    X has missing values in column 1, and Ridge does not take them: put an imputer before it, as in
    make_pipeline(SimpleImputer(), Ridge()). ValueError: Input X contains NaN.
    """
    failure, said = Failure.of(error), str(error)
    hint = None
    if re.search("infinity|too large|overflow", said, re.IGNORECASE):
        hint = _infinities(data.X, LARGEST_FLOAT32 if re.search("float32|overflow", said) else np.inf)
    elif re.search("nan|missing", said, re.IGNORECASE):
        # Where none is missing, a NaN comes of numbers whose squares are infinite.
        hint = _missing_values(estimator, data.X) or _infinities(data.X, _LARGEST_SQUARED)
    if hint is None:
        return failure
    # The cause is known: where in the library it came to light is of no use.
    return replace(failure, message=f"{hint} {failure.message}", traceback="")


def _infinities(X: Any, largest: float) -> str | None:
    found = find_infinities(X, largest=largest)
    return infinities_text(found) if found else None


def _missing_values(estimator: Any, X: Any) -> str | None:
    column, name = _first_with_missing(X), type(estimator).__name__
    if column is None or _takes_missing(estimator):
        return None
    return (
        f"X has missing values in column {column!r}, and {name} does not take them: put an imputer before it, as in "
        f"make_pipeline(SimpleImputer(), {name}())."
    )


def _takes_missing(estimator: Any) -> bool:
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except (AttributeError, TypeError):  # not an estimator of scikit-learn's making
        return True


def _first_with_missing(X: Any) -> Any:
    if hasattr(X, "iloc"):
        found = np.flatnonzero(X.isna().any(axis=0))
        return X.columns[found[0]] if len(found) else None
    if type(X).__module__.startswith("polars"):
        return next((column.name for column in X.get_columns() if column.null_count() or _has_nan(column)), None)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        found = np.flatnonzero(np.isnan(X).any(axis=0))
        return int(found[0]) if len(found) else None
    return None


def _has_nan(column: Any) -> bool:
    return bool(column.dtype.is_float() and column.is_nan().any())
