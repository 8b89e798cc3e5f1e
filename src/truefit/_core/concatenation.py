"""Concatenation of two tables of a kind: the rows of the first keep their types, and so the identity of their fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.typing import Array
from truefit._core.validation import Task


def stacked_data(
    X: Any, y: Any, X_test: Any, y_test: Any, *, task: Task, groups: Any = None, weight: Any = None
) -> tuple[Data, int]:
    """Return training rows and, below them, test rows of equal weight as one table, and how many the former are."""
    if X_test is None or y_test is None:
        raise InvalidInput("A test set must have both X_test and y_test. Got one of them alone; pass the other too.")
    trained, tested = _rows_of(X), _rows_of(X_test)
    given = (("y", y), ("y_test", y_test), ("groups", groups), ("sample_weight", weight))
    for name, values in given:
        table, rows = ("X_test", tested) if name == "y_test" else ("X", trained)
        if values is not None and _rows_of(values) != rows:
            s = "" if rows == 1 else "s"
            raise InvalidInput(
                f"Found input variables with inconsistent numbers of samples: {table} has {rows} row{s}, so {name} "
                f"must have {rows} value{s}. Got {_rows_of(values)}. Check that both come from the same table."
            )
    if groups is not None:
        column = _as_array(groups)
        groups = np.concatenate([column, np.repeat(column[:1], tested)])  # of rows that are never trained on
    if weight is not None:
        weight = np.concatenate([_as_array(weight), np.ones(tested)])
    X, y = stacked(X, X_test), stacked_target(y, y_test)
    return Data(X, y, task=task, groups=groups, weight=weight), trained


def _rows_of(table: Any) -> int:
    return int(table.shape[0]) if hasattr(table, "shape") and len(table.shape) else len(np.atleast_1d(table))


def stacked(above: Any, below: Any) -> Any:
    """Return a table with the rows of both; values below get the types above, and are refused where they would change.

    Messages call the table below ``X_test``.
    """
    if sparse.issparse(above):
        return _stacked_sparse(above, below)
    if type(above).__module__.startswith("polars") and len(above.shape) == 2:
        return _stacked_polars(above, below)
    if hasattr(above, "iloc") and len(above.shape) == 2:
        return _stacked_pandas(above, below)
    return _stacked_arrays(_as_array(above), _as_array(below))


def stacked_target(above: Any, below: Any) -> Array:
    """Return the values of two targets, one after the other; whole numbers and others become numbers of one type."""
    first, second = _as_array(above), _as_array(below)
    if {first.dtype.kind in "biuf", second.dtype.kind in "biuf"} == {True, False}:
        raise InvalidInput(
            f"y_test must have values of the same kind as y. Got {second.dtype} and {first.dtype}. Convert one of them."
        )
    if first.shape[1:] != second.shape[1:]:
        raise InvalidInput(
            f"y_test must have the shape of y, except for the number of rows. Got {second.shape} and {first.shape}."
        )
    if first.dtype.kind in "biuf" and second.dtype != first.dtype:
        cast = _astype(second, first.dtype)
        second = cast if _survives(second, cast) else second
    return np.concatenate([first, second])


def _as_array(values: Any) -> Array:
    if sparse.issparse(values):
        values = values.toarray()
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.ndim == 0:
        raise InvalidInput(f"A table must have one row per sample. Got {array.item()!r} instead.")
    return array.astype(object) if array.dtype.kind in "SU" else array


def _stacked_arrays(above: Array, below: Array) -> Array:
    if above.shape[1:] != below.shape[1:]:
        raise InvalidInput(f"X_test must have the columns of X: shape (rows, {above.shape[1:]}). Got {below.shape}.")
    if below.dtype != above.dtype:
        below = _cast_array(below, above.dtype)
    return np.concatenate([above, below])


def _cast_array(below: Array, dtype: np.dtype[Any]) -> Array:
    try:
        cast = _astype(below, dtype)
    except (TypeError, ValueError) as error:
        raise _unlike(below.dtype, dtype) from error
    # A float is rounded as the table above is; any other loss would change what is predicted on.
    if not (dtype.kind == "f" and below.dtype.kind in "biuf") and not _survives(below, cast):
        raise _unlike(below.dtype, dtype)
    return cast


def _astype(values: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):  # what does not survive is looked at afterwards
        return values.astype(dtype)


def _survives(values: Array, cast: Array) -> bool:
    same = (cast == values) | ((cast != cast) & (values != values))  # NaN stays NaN
    return bool(np.all(same))


def _unlike(got: object, wanted: object, column: object = None) -> InvalidInput:
    where = "" if column is None else f" in column {column!r}"
    return InvalidInput(
        f"X_test must have values that fit the types of X. Got {got} instead of {wanted}{where}. Give both "
        "tables the same types."
    )


def _stacked_sparse(above: Any, below: Any) -> Any:
    if not sparse.issparse(below):
        below = sparse.csr_array(_as_array(below))
    if above.shape[1] != below.shape[1]:
        raise InvalidInput(f"X_test must have the {above.shape[1]} columns of X. Got {below.shape[1]}.")
    below = below.tocsr()
    if below.dtype != above.dtype:
        below.data = _cast_array(below.data, above.dtype)
    both = sparse.vstack([above, below], format="csr")
    return both if isinstance(above, sparse.sparray) else sparse.csr_matrix(both)


def _stacked_pandas(above: Any, below: Any) -> Any:
    import pandas as pd

    if not isinstance(below, pd.DataFrame) or list(below.columns) != list(above.columns):
        raise _other_columns("pandas", above, below)
    columns = [_cast_series(below.iloc[:, j], dtype) for j, dtype in enumerate(above.dtypes)]
    below = pd.concat(columns, axis=1) if columns else below
    if above.index.dtype.kind in "iu":
        below = below.set_axis(range(len(above), len(above) + len(below)))
    elif above.index.dtype != below.index.dtype:
        raise InvalidInput(
            f"X_test must have an index like that of X, which has labels. Got {below.index.dtype} instead of "
            f"{above.index.dtype}. Use reset_index on both."
        )
    return pd.concat([above, below])


def _cast_series(values: Any, dtype: Any) -> Any:
    declared = getattr(dtype, "categories", None)
    if values.dtype != dtype and declared is not None and not values.dropna().isin(declared).all():
        raise _unlike(values.dtype, dtype, values.name)
    numbers = dtype.kind == "f" and values.dtype.kind in "biuf"
    return _cast_column(values, dtype, values.astype, rounded=numbers)


def _stacked_polars(above: Any, below: Any) -> Any:
    import polars as pl

    if not isinstance(below, pl.DataFrame) or below.columns != above.columns:
        raise _other_columns("polars", above, below)
    columns = [
        _cast_column(values, dtype, values.cast, rounded=dtype.is_float() and values.dtype.is_numeric())
        for values, dtype in zip(below.get_columns(), above.dtypes, strict=True)
    ]
    return pl.concat([above, pl.DataFrame(columns)])


def _cast_column(values: Any, dtype: Any, cast: Callable[[Any], Any], *, rounded: bool) -> Any:
    """Return a column of another type, refused where a value would change; floats are rounded as those above are."""
    if values.dtype == dtype:
        return values
    try:
        column = cast(dtype)
    except Exception as error:  # each library of frames has errors of its own
        raise _unlike(values.dtype, dtype, values.name) from error
    if not rounded and not _survives_in_cells(list(values), list(column)):
        raise _unlike(values.dtype, dtype, values.name)
    return column


def _survives_in_cells(values: list[Any], cast: list[Any]) -> bool:
    import pandas as pd

    return all(pd.isna(b) if pd.isna(a) else a == b for a, b in zip(values, cast, strict=True))


def _other_columns(kind: str, above: Any, below: Any) -> InvalidInput:
    got = list(below.columns) if hasattr(below, "columns") else f"a {type(below).__name__}"
    return InvalidInput(
        f"X_test must be a {kind} frame with the columns of X, in their order: {list(above.columns)}. Got {got}."
    )
