"""Validation of what users pass: X, y, groups, weights, and columns with infinite values."""

from __future__ import annotations

import datetime
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from scipy import sparse

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats

Task = Literal["classification", "regression"]

#: The squared error of a larger target, summed over the rows, may be beyond float64.
LARGEST_TARGET = 1e150

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "text": (str,),
    "number": (bool, int, float, np.number, np.bool_, Decimal, Fraction),
    "date": (datetime.date, datetime.timedelta, datetime.time, np.datetime64, np.timedelta64),
}


def checked_table(X: Any) -> Any:
    """Return X as a table that rows can be taken from, or say why it is none."""
    if type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "to_pandas"):
        X = _frame_of(X)  # estimators take no other kind of Arrow table
    if sparse.issparse(X):
        X = X.tocsr()
    elif type(X).__name__ == "LazyFrame":
        raise InvalidInput("X must be a table that is in memory. Got a polars LazyFrame; pass X.collect().")
    elif not (hasattr(X, "iloc") or type(X).__module__.startswith("polars")):
        X = _table_of(X)
    elif len(X.shape) == 1:
        X = np.asarray(X.to_numpy(), dtype=object)  # a series of texts, as vectorizers take them
    if len(X.shape) == 0:
        raise InvalidInput(f"X must be a table with one row per sample. Got {X.item()!r} instead.")
    if X.shape[0] == 0:
        raise InvalidInput(
            "Found array with 0 sample(s) in X while a minimum of 1 is required. Pass a table with rows."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise InvalidInput("Complex data not supported: X must be real. Pass its parts as columns.")
    return X


def _frame_of(table: Any) -> Any:
    try:
        return table.to_pandas()
    except (TypeError, ValueError, NotImplementedError) as error:  # types that pandas does not have
        raise InvalidInput(
            f"X must be a table that pandas can read. Got an Arrow table that cannot be converted: {error}. Cast "
            "its columns to other types."
        ) from error


def _table_of(X: Any) -> Array:
    if isinstance(X, np.ndarray):
        return X.astype(object) if X.dtype.kind in "SU" else X
    try:
        array = np.asarray(X)
        # Numbers among text stay numbers, and text keeps a NUL at its end.
        return np.asarray(X, dtype=object) if array.dtype.kind in "SU" else array
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"X must be a table with equally many values in every row. Got a {type(X).__name__}, of which no array can "
            f"be made: {error}"
        ) from error


def checked_column(values: Any, n: int, name: str) -> Array:
    """Return one value per row, as an array of its own."""
    if values is None:
        raise InvalidInput("requires y to be passed, but the target y is None. Pass one target value per row of X.")
    column = as_array(values, name)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim == 0 or len(column) != n:
        got = "a single value" if column.ndim == 0 else f"{len(column)}"
        s = "" if n == 1 else "s"
        raise InvalidInput(
            f"Found input variables with inconsistent numbers of samples: X has {n} row{s}, so {name} must have {n} "
            f"value{s}. Got {got}. Check that both come from the same table."
        )
    return _of_one_type(column, name) if column.dtype.kind == "O" else column


def checked_target(y: Any, n: int, task: Task) -> Array:
    """Return the target of a task."""
    target = checked_column(y, n, "y")
    if getattr(y, "ndim", 1) == 2 and target.ndim == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel(), or the column itself.",
            DataConversionWarning,
            stacklevel=4,
        )
    missing = count_missing(target)
    if missing:
        raise InvalidInput(
            f"The target y must have a value for every row. Input y contains NaN or missing values at {missing} of "
            f"{n} rows. Drop these rows, or fill in their target."
        )
    if target.dtype.kind == "f" and target.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            target = target.astype(np.float64)  # all that estimators and metrics work with
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        raise InvalidInput(
            f"The target y must be finite. Input y contains infinity, or a value beyond float64, at "
            f"{int((~np.isfinite(target)).sum())} of {n} rows. Drop or correct these rows."
        )
    if target.dtype.kind == "c":
        raise InvalidInput("Complex data not supported: y must be real.")
    return _numbers(target) if task == "regression" else _labels(target)


def checked_groups(groups: Any, n: int) -> Array:
    """Return the group of each row."""
    name = called(groups, "groups")
    column = checked_column(groups, n, name)
    missing = count_missing(column)
    if missing:
        raise InvalidInput(
            f"{name} must have a value for every row. Got {missing} missing of {n}. Give these rows groups of their "
            "own, or drop them."
        )
    if column.ndim != 1:
        raise InvalidInput(f"{name} must be one value per row. Got a table of {column.shape[1]} columns; pass one.")
    try:
        names = np.unique(column)
    except TypeError as error:  # objects without an order
        raise InvalidInput(f"{name} must be text, numbers or dates. Got values such as {column[0]!r}.") from error
    if n > 1 and len(names) < 2:
        raise InvalidInput(
            f"{name} must name at least 2 groups. Got {names.tolist()[0]!r} for all {n} rows. Pass the column that "
            "says which rows belong together, or leave groups out."
        )
    return column


def checked_weight(weight: Any, n: int) -> Floats:
    """Return the weight of each row."""
    name = called(weight, "sample_weight")
    values = checked_column(weight, n, name)
    if values.dtype.kind not in "biuf" or values.ndim != 1:
        got = f"values such as {values[0]!s}" if values.ndim == 1 and len(values) else f"shape {values.shape}"
        raise InvalidInput(f"{name} must be one number per row. Got {got}; pass a column of numbers.")
    values = values.astype(np.float64)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        raise InvalidInput(
            f"{name} must be finite and not negative. {bad.sum():,} of {n:,} are not, such as {values[bad][0]:g}. "
            "Correct these weights."
        )
    if not values.any():
        raise InvalidInput(f"{name} must leave some weight. Got 0 for every row; leave them out to count all alike.")
    return values


def called(values: Any, name: str) -> str:
    """Return the name of a parameter for messages, with the name of the Series that was given."""
    column = getattr(values, "name", None)
    return name if column is None else f"{name} ({str(column)!r})"


def as_array(values: Any, name: str) -> Array:
    """Return a copy: results are read later, and must not follow what the user does to y."""
    given = values
    try:
        if type(values).__module__.startswith("pyarrow"):
            values = values.to_pandas()  # its own way to numpy refuses text
        if hasattr(values, "to_numpy"):
            values = values.to_numpy()
        column = np.array(values)
        if column.dtype.kind in "SU" and isinstance(given, list | tuple):
            column = np.array(values, dtype=object)  # as text, a missing value or a number would be a label too
        if len(getattr(given, "shape", (0, 0))) == 1 and column.ndim > 1:
            raise TypeError(f"each value has several fields ({getattr(given, 'dtype', 'object')})")
    except Exception as error:  # whatever a library of frames raises for a type that numpy does not have
        raise InvalidInput(
            f"{name} must be one label or number per row. Got a {type(given).__name__} that cannot be converted to an "
            f"array: {str(error).splitlines()[0]}"
        ) from error
    return column


def _of_one_type(column: Array, name: str) -> Array:
    """Return objects as the type that they all have: text, numbers, or dates."""
    if set(map(type, column.ravel())) == {str}:  # by far the most frequent, and many
        return _text(column, set(column.ravel()), name)
    values = [value for value in column.ravel() if not _is_missing(value)]
    kinds = Counter(map(kind_of, values))
    if len(kinds) > 1:
        examples = {kind_of(value): value for value in reversed(values)}
        listed = " and ".join(
            f"{kind} ({count} rows, such as {examples[kind]!r})" for kind, count in kinds.most_common()
        )
        raise InvalidInput(
            f"The values of {name} must be of one type. Got {listed}. Make them all text or all numbers: with pandas, "
            "y.astype(str) or pd.to_numeric(y)."
        )
    if len(values) < column.size:
        return column  # left as it is, for the caller to count what is missing
    if kinds.keys() == {"text"}:
        return _text(column, values, name)
    if kinds.keys() == {"number"}:
        exact = all(not isinstance(value, Decimal | Fraction) for value in values)
        tight = np.array(column.tolist()) if exact else column.astype(np.float64)
        return tight if tight.dtype.kind in "biuf" else column
    return column


def _text(column: Array, values: Iterable[str], name: str) -> Array:
    ends = next((value for value in values if value.endswith("\0")), None)
    if ends is not None:
        raise InvalidInput(
            f"Text in {name} must not end in a NUL character, which arrays of text leave out. Got {ends!r}. Rename "
            "these labels."
        )
    return column.astype(str)


def kind_of(value: Any) -> str:
    """Return what a value is: text, number, date, or the name of its type."""
    return next((kind for kind, types in _KINDS.items() if isinstance(value, types)), type(value).__name__)


def _is_missing(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value is None
    import pandas as pd

    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def count_missing(target: Array) -> int:
    """Return the number of missing values."""
    if target.dtype.kind == "f":
        return int(np.isnan(target).sum())
    if target.dtype.kind in "mM":
        return int(np.isnat(target).sum())
    if target.dtype.kind == "O":
        return sum(map(_is_missing, target.ravel()))
    return 0


def _numbers(target: Array) -> Array:
    if target.dtype.kind in "mM" or (target.dtype.kind == "O" and kind_of(target.flat[0]) == "date"):
        raise InvalidInput(
            "The target y of a regression must be numbers. Got dates or durations. Turn them into a number, such as "
            "days since a first date."
        )
    if target.dtype.kind not in "biuf":
        try:
            if target.dtype.kind in "SV" or kind_of(target.flat[0]) not in ("text", "number"):
                raise TypeError
            target = target.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            first = target.ravel()[:1].tolist()[0]
            raise InvalidInput(
                f"The target y of a regression must be numbers. Got {kind_of(first)} such as {first!r}. "
                "Pass numbers, or use a classifier."
            ) from error
    if target.dtype.kind == "f" and target.size and float(np.abs(target).max()) > LARGEST_TARGET:
        raise InvalidInput(
            f"The target y of a regression must not exceed {LARGEST_TARGET:g}, or its squared errors are infinite. Got "
            f"{target.flat[np.abs(target).argmax()]:g}. Use another unit, or check these rows."
        )
    # Whole numbers are the same targets whichever way they are written, so they are the same rows.
    return target.astype(np.float64) if target.dtype.kind in "biu" else target


def _labels(target: Array) -> Array:
    if target.ndim != 1:
        raise InvalidInput(f"The target y of a classification must be one column of labels. Got shape {target.shape}.")
    # Here, since a command that only names this module must not wait for scikit-learn to be loaded.
    from sklearn.utils.multiclass import type_of_target

    try:
        kind = "unknown" if target.dtype.kind == "V" else type_of_target(target, input_name="y")
    except (TypeError, ValueError):  # bytes, lists
        kind = "unknown"
    if kind not in ("binary", "multiclass"):
        advice = "Use a regressor, or make classes of the values." if kind == "continuous" else "Pass text or integers."
        raise InvalidInput(
            f"Unknown label type: {kind}. The target y of a classification must be class labels. Got values such as "
            f"{target.flat[0]!r}. {advice}"
        )
    return target


#: The largest number that trees and skrub's preprocessing take: they work in single precision.
LARGEST_FLOAT32: Final = float(np.finfo(np.float32).max)
#: So many columns are named.
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class InfiniteColumn:
    """A column with infinities, or else with numbers beyond the largest allowed, the first of them in row ``first``."""

    name: Any
    count: int
    first: int
    infinite: bool

    def __str__(self) -> str:
        what = "infinite" if self.infinite else "too large"
        limit = "" if self.infinite else ", beyond float32's largest, 3.4e38"
        values = "value" if self.count == 1 else "values"
        return f"column {self.name!r} has {self.count:,} {what} {values} (first in row {self.first:,}{limit})"


def check_no_infinities(X: Any) -> None:
    """Refuse a table with infinities, or with numbers beyond single precision: for truefit's own candidates."""
    found = find_infinities(X, largest=LARGEST_FLOAT32)
    if found:
        raise InvalidInput(infinities_text(found))


def find_infinities(X: Any, *, largest: float = np.inf) -> list[InfiniteColumn]:
    """Return the columns with infinities, or with numbers beyond the largest."""
    found = []
    for name, values in _float_columns(X):
        with np.errstate(invalid="ignore"):
            rows = np.flatnonzero(np.abs(values) == np.inf)
            infinite = len(rows) > 0
            if not infinite and largest < float(np.finfo(values.dtype).max):  # a smaller type has no such numbers
                rows = np.flatnonzero(np.abs(values) > largest)
        if len(rows):
            found.append(InfiniteColumn(name, len(rows), int(rows[0]), infinite))
    return found


def infinities_text(found: list[InfiniteColumn]) -> str:
    """Return what was found, and what to do."""
    named = "; ".join(map(str, found[:_NAMED]))
    more = f"; so have {len(found) - _NAMED:,} more columns" if len(found) > _NAMED else ""
    return (
        f"The numbers of a table must be finite: {named}{more}. Rows are counted from 0. Replace these values, for "
        "example by missing ones, or leave out the rows or the column."
    )


def _float_columns(X: Any) -> Iterator[tuple[Any, Array]]:
    """Yield name and values of the columns that may hold floats, 0 in the place of what is no number."""
    if sparse.issparse(X):
        if X.dtype.kind == "f":
            cells = X.tocoo()
            suspects = np.unique(cells.col[np.abs(cells.data) > LARGEST_FLOAT32])
            yield from ((int(j), X[:, [j]].toarray()[:, 0]) for j in suspects)
    elif len(X.shape) != 2:
        return
    elif isinstance(X, np.ndarray):
        if X.dtype.kind in "fO":
            yield from ((j, _as_floats(X[:, j])) for j in range(X.shape[1]))
    elif hasattr(X, "iloc"):
        for j, name in enumerate(X.columns):
            column = X.iloc[:, j]
            if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fO":
                yield name, _as_floats(column.to_numpy())
            elif getattr(column.dtype, "kind", "O") == "f":
                yield name, np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    elif type(X).__module__.startswith("polars"):
        yield from ((each.name, each.to_numpy()) for each in X.get_columns() if each.dtype.is_float())


def _as_floats(values: Array) -> Array:
    return values if values.dtype.kind == "f" else np.array([_as_float(value) for value in values], dtype=np.float64)


def _as_float(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, int | float | np.floating) else 0.0
    except OverflowError:  # Python's whole numbers have any length
        return np.inf


def check_level(level: Any) -> None:
    """Refuse a confidence level that is not a share."""
    if not isinstance(level, float) or not 0 < level < 1:
        raise InvalidInput(
            f"The 'level' parameter must be a share between 0 and 1, such as 0.95. Got {level!r} instead."
        )
