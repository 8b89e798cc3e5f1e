"""Infinities: columns with values that most learners do not take, and a sentence that names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truefit.core.errors import InvalidInput

#: The largest number that trees and skrub's preprocessing take: they work in single precision.
LARGEST_FLOAT32: Final = float(np.finfo(np.float32).max)
#: So many columns are named.
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class InfiniteColumn:
    """A column with infinities, or else with numbers beyond the largest allowed.

    Attributes
    ----------
    name : object
        The column's name; its position in an array.
    count, first : int
        How many there are, and the position of the first row that has one.
    infinite : bool
        Whether they are infinities.
    """

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
    """Return the columns with infinities, or with numbers beyond the largest.

    Examples
    --------
    >>> find_infinities(np.array([[1.0, 2.0], [3.0, np.inf]]))
    [InfiniteColumn(name=1, count=1, first=1, infinite=True)]
    """
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


def _float_columns(X: Any) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
    if sparse.issparse(X):
        if X.dtype.kind == "f":
            cells = X.tocoo()
            suspects = np.unique(cells.col[np.abs(cells.data) > LARGEST_FLOAT32])
            yield from ((int(j), X[:, [j]].toarray()[:, 0]) for j in suspects)
    elif isinstance(X, np.ndarray):
        if X.ndim == 2 and X.dtype.kind in "fO":
            yield from ((j, _floats_among(X[:, j])) for j in range(X.shape[1]))
    elif hasattr(X, "iloc"):
        if len(X.shape) == 2:
            yield from _pandas_floats(X)
    elif type(X).__module__.startswith("polars") and len(X.shape) == 2:
        yield from ((each.name, each.to_numpy()) for each in X.get_columns() if each.dtype.is_float())


def _pandas_floats(X: Any) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
    for j, name in enumerate(X.columns):
        column = X.iloc[:, j]
        kind = getattr(column.dtype, "kind", "O")
        if kind == "f" and isinstance(column.dtype, np.dtype):
            yield name, column.to_numpy()
        elif kind == "f":
            yield name, np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        elif isinstance(column.dtype, np.dtype) and kind == "O":
            yield name, _floats_among(column.to_numpy())


def _floats_among(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the values, of objects those that are numbers, and zeros in the place of others."""
    if values.dtype.kind == "f":
        return values
    return np.array([_as_float(value) for value in values], dtype=np.float64)


def _as_float(value: Any) -> Any:
    if isinstance(value, float | np.floating):
        return value
    if not isinstance(value, int):
        return 0.0
    try:
        return float(value)
    except OverflowError:  # Python's whole numbers have any length
        return np.inf
