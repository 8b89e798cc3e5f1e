"""Stacked: one table on top of another of its kind, the rows of the first unchanged.

The rows above keep their types, and with them what they are known by: a fit on them is the same fit whether or not
there are rows below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from truefit._core.data import Data, Task
from truefit._core.errors import InvalidInput
from truefit._core.typing import Array


def stacked_data(
    X: Any, y: Any, X_test: Any, y_test: Any, *, task: Task, groups: Any = None, weight: Any = None
) -> tuple[Data, int]:
    """Return training rows and test rows as one table, and how many the training rows are: they come first.

    Groups and weights are those of the training rows. The test rows count alike.

    Examples
    --------
    >>> data, trained = stacked_data([[1.0], [2.0]], [1.0, 2.0], [[3.0]], [3.5], task="regression")
    >>> data.n, trained, data.y.tolist()
    (3, 2, [1.0, 2.0, 3.5])
    """
    if X_test is None or y_test is None:
        raise InvalidInput("A test set must have both X_test and y_test. Got one of them alone; pass the other too.")
    trained, tested = _rows_of(X), _rows_of(X_test)
    columns = {"y": (y, trained), "y_test": (y_test, tested), "groups": (groups, trained)}
    for name, (values, rows) in {**columns, "sample_weight": (weight, trained)}.items():
        if values is not None and _rows_of(values) != rows:
            table = "X_test" if name == "y_test" else "X"
            raise InvalidInput(
                f"Found input variables with inconsistent numbers of samples: {table} has {rows} rows, so {name} must "
                f"have {rows} values. Got {_rows_of(values)}. Check that both come from the same table."
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


def stacked(above: Any, below: Any, *, name: str = "X_test") -> Any:
    """Return a table with the rows of both.

    Parameters
    ----------
    above : ndarray, sparse matrix, pandas or polars frame, or list
    below : a table of the same kind and columns
        Its values are given the types of the table above; where one would not survive that, it is refused.
    name : str
        What messages call the table below.

    Examples
    --------
    >>> stacked(np.array([[1.5, 2.0]]), [[3, 4], [5, 6]])
    array([[1.5, 2. ],
           [3. , 4. ],
           [5. , 6. ]])
    """
    if sparse.issparse(above):
        return _stacked_sparse(above, below, name)
    if type(above).__module__.startswith("polars") and len(above.shape) == 2:
        return _stacked_polars(above, below, name)
    if hasattr(above, "iloc") and len(above.shape) == 2:
        return _stacked_pandas(above, below, name)
    return _stacked_arrays(_as_array(above), _as_array(below), name)


def stacked_target(above: Any, below: Any, *, name: str = "y_test") -> Array:
    """Return the values of two targets, one after the other; whole numbers and others become numbers of one type."""
    first, second = _as_array(above), _as_array(below)
    if {first.dtype.kind in "biuf", second.dtype.kind in "biuf"} == {True, False}:
        raise InvalidInput(
            f"{name} must have values of the same kind as y. Got {second.dtype} and {first.dtype}. Convert one of them."
        )
    if first.shape[1:] != second.shape[1:]:
        raise InvalidInput(f"{name} must have the shape of y but for the rows. Got {second.shape} and {first.shape}.")
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


def _stacked_arrays(above: Array, below: Array, name: str) -> Array:
    if above.shape[1:] != below.shape[1:]:
        raise InvalidInput(f"{name} must have the columns of X: shape (rows, {above.shape[1:]}). Got {below.shape}.")
    if below.dtype != above.dtype:
        below = _cast_array(below, above.dtype, name)
    return np.concatenate([above, below])


def _cast_array(below: Array, dtype: np.dtype[Any], name: str) -> Array:
    try:
        cast = _astype(below, dtype)
    except (TypeError, ValueError) as error:
        raise _unlike(name, below.dtype, dtype) from error
    # A float is rounded as the table above is; any other loss would change what is predicted on.
    if not (dtype.kind == "f" and below.dtype.kind in "biuf") and not _survives(below, cast):
        raise _unlike(name, below.dtype, dtype)
    return cast


def _astype(values: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):  # what does not survive is looked at afterwards
        return values.astype(dtype)


def _survives(values: Array, cast: Array) -> bool:
    same = (cast == values) | ((cast != cast) & (values != values))  # NaN stays NaN
    return bool(np.all(same))


def _unlike(name: str, got: object, wanted: object, column: object = None) -> InvalidInput:
    where = "" if column is None else f" in column {column!r}"
    return InvalidInput(
        f"{name} must have values that fit the types of X. Got {got} in the place of {wanted}{where}. Give both "
        "tables the same types."
    )


def _stacked_sparse(above: Any, below: Any, name: str) -> Any:
    if not sparse.issparse(below):
        below = sparse.csr_array(_as_array(below))
    if above.shape[1] != below.shape[1]:
        raise InvalidInput(f"{name} must have the {above.shape[1]} columns of X. Got {below.shape[1]}.")
    below = below.tocsr()
    if below.dtype != above.dtype:
        below.data = _cast_array(below.data, above.dtype, name)
    both = sparse.vstack([above, below], format="csr")
    return both if isinstance(above, sparse.sparray) else sparse.csr_matrix(both)


def _stacked_pandas(above: Any, below: Any, name: str) -> Any:
    import pandas as pd

    if not isinstance(below, pd.DataFrame) or list(below.columns) != list(above.columns):
        raise _other_columns(name, "pandas", above, below)
    columns = [_cast_series(below.iloc[:, j], dtype, name) for j, dtype in enumerate(above.dtypes)]
    below = pd.concat(columns, axis=1) if columns else below
    if above.index.dtype.kind in "iu":
        below = below.set_axis(range(len(above), len(above) + len(below)))
    elif above.index.dtype != below.index.dtype:
        raise InvalidInput(
            f"{name} must have an index like that of X, which has labels. Got {below.index.dtype} in the place of "
            f"{above.index.dtype}. Use reset_index on both."
        )
    return pd.concat([above, below])


def _cast_series(values: Any, dtype: Any, name: str) -> Any:
    if values.dtype == dtype:
        return values
    declared = getattr(dtype, "categories", None)
    if declared is not None and not values.dropna().isin(declared).all():
        raise _unlike(name, values.dtype, dtype, values.name)
    try:
        cast = values.astype(dtype)
    except (TypeError, ValueError) as error:
        raise _unlike(name, values.dtype, dtype, values.name) from error
    numbers = dtype.kind == "f" and values.dtype.kind in "biuf"
    if not numbers and not _survives_in_cells(values.tolist(), cast.tolist()):
        raise _unlike(name, values.dtype, dtype, values.name)
    return cast


def _stacked_polars(above: Any, below: Any, name: str) -> Any:
    import polars as pl

    if not isinstance(below, pl.DataFrame) or below.columns != above.columns:
        raise _other_columns(name, "polars", above, below)
    cast = []
    for column, dtype in above.schema.items():
        values = below.get_column(column)
        if values.dtype == dtype:
            cast.append(values)
            continue
        try:
            cast.append(values.cast(dtype))
        except pl.exceptions.PolarsError as error:
            raise _unlike(name, values.dtype, dtype, column) from error
        numbers = dtype.is_float() and values.dtype.is_numeric()
        if not numbers and not _survives_in_cells(values.to_list(), cast[-1].to_list()):
            raise _unlike(name, values.dtype, dtype, column)
    return pl.concat([above, pl.DataFrame(cast)])


def _survives_in_cells(values: list[Any], cast: list[Any]) -> bool:
    import pandas as pd

    return all(
        a == b if not (pd.isna(a) or pd.isna(b)) else pd.isna(a) and pd.isna(b)
        for a, b in zip(values, cast, strict=True)
    )


def _other_columns(name: str, kind: str, above: Any, below: Any) -> InvalidInput:
    got = list(below.columns) if hasattr(below, "columns") else f"a {type(below).__name__}"
    return InvalidInput(
        f"{name} must be a {kind} frame with the columns of X, in their order: {list(above.columns)}. Got {got}."
    )
