"""Columns of a table of any kind: their names, which of them are correlated, and copies with some of them permuted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats, Positions

Permutations = npt.NDArray[np.intp]
#: Says whether work should be stopped: the time is up.
Stop = Callable[[], bool]

#: Associations are measured on at most this many rows.
SAMPLE_ROWS: Final = 2_000
#: Text with more distinct values than this is not a category, and more columns than these are left alone.
MOST_LEVELS: Final = 50
MOST_CATEGORIES: Final = 100
MOST_NUMBERS: Final = 2_000


def never() -> bool:
    """Tell work that may be stopped to go on."""
    return False


def column_names(X: Any) -> list[str]:
    """Return the names of the columns; those of an array are "column 0", "column 1" and so on."""
    if sparse.issparse(X):
        raise InvalidInput(
            "importance permutes one column at a time, so X must be a dense table. Got a sparse matrix; pass "
            "X.toarray(), or the table before it was encoded with a pipeline that encodes it."
        )
    if len(X.shape) == 1:
        return ["column 0"]
    if len(X.shape) > 2:
        raise InvalidInput(f"importance needs a table of rows and columns. Got an array of {len(X.shape)} dimensions.")
    if isinstance(X, np.ndarray):
        return [f"column {place}" for place in range(X.shape[1])]
    return [str(name) for name in X.columns]


class Permuter:
    """Several copies of a table, one below the other, in which some columns are permuted within each copy."""

    def __init__(self, X: Any, permutations: Permutations) -> None:
        copies, rows = permutations.shape
        self._X = X
        self._plain = np.tile(np.arange(rows), copies)
        self._places = permutations.reshape(-1)
        self._stack = _rows_of(X, self._plain)
        self._changed: Sequence[int] = ()

    def permuted(self, columns: Sequence[int]) -> Any:
        """Return the copies with these columns permuted together. The next call changes the same table."""
        if self._changed:
            self._set(self._changed, self._plain)
        self._set(columns, self._places)
        self._changed = columns
        return self._stack

    def _set(self, columns: Sequence[int], places: Permutations) -> None:
        X, stack = self._X, self._stack
        if isinstance(X, np.ndarray):
            if X.ndim == 1:
                stack[:] = X[places]
                return
            for column in columns:
                stack[:, column] = X[:, column][places]
        elif hasattr(X, "iloc"):
            for column in columns:
                stack.isetitem(column, X.iloc[:, column].array[places])
        else:
            self._stack = stack.with_columns([X.to_series(column)[places] for column in columns])


def _rows_of(X: Any, index: Positions) -> Any:
    return X.iloc[index].reset_index(drop=True) if hasattr(X, "iloc") else X[index]


def correlated_sets(X: Any, threshold: float) -> list[list[int]]:
    """Return sets of columns in which each two have an association of at least ``threshold``.

    The association of two columns of numbers is the size of Spearman's rank correlation, of two categories Cramér's V,
    of a number and a category the correlation ratio of the ranks; the latter two corrected for the number of categories
    (Bergsma 2013; Kelley 1935). Sets are those of complete linkage. Text with many distinct values has no association.

    Examples
    --------
    >>> X = np.column_stack([np.arange(9), np.arange(9) ** 2, [0, 5, 1, 7, 2, 8, 3, 6, 4]])
    >>> correlated_sets(X, 0.8)
    [[0, 1]]
    """
    numbers, categories = _readable(X)
    places = [*numbers, *categories]
    if len(places) < 2:
        return []
    found = _associations(list(numbers.values()), list(categories.values()))
    distance = squareform(np.clip(1 - found, 0, 1), checks=False)
    labels = fcluster(linkage(distance, "complete"), 1 - threshold + 1e-9, "distance")
    sets = [sorted(place for place, label in zip(places, labels, strict=True) if label == each) for each in set(labels)]
    return sorted(each for each in sets if len(each) > 1)


def is_constant(X: Any, place: int) -> bool:
    """Whether a column has the same value in every row, as text, so that no model can use it.

    Examples
    --------
    >>> is_constant(np.array([[1, 2], [1, 3]]), 0), is_constant(np.array([[1, 2], [1, 3]]), 1)
    (True, False)
    """
    column = (
        X[:, place] if isinstance(X, np.ndarray) else X.iloc[:, place] if hasattr(X, "iloc") else X.to_series(place)
    )
    return len(set(map(str, column))) < 2


def _readable(X: Any) -> tuple[dict[int, Floats], dict[int, Positions]]:
    """Return the ranks of columns of numbers, and the codes of columns of categories, on a sample of the rows."""
    import pandas as pd

    index = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:SAMPLE_ROWS])
    sample = _rows_of(X, index)
    table = sample if hasattr(sample, "iloc") else pd.DataFrame(_plain(sample))
    numbers: dict[int, Floats] = {}
    categories: dict[int, Positions] = {}
    for place in range(table.shape[1]):
        column = table.iloc[:, place]
        values = _numbers(column)
        if values is not None:
            if len(numbers) < MOST_NUMBERS and np.ptp(values) > 0:
                numbers[place] = rankdata(values)
        elif len(categories) < MOST_CATEGORIES:
            codes, levels = pd.factorize(column.astype(str))
            if 2 <= len(levels) <= min(MOST_LEVELS, len(index) // 4):
                categories[place] = codes
    return numbers, categories


def _plain(X: Any) -> Any:
    """Return an array as it is, and a frame of polars as a dict of arrays."""
    return X if isinstance(X, np.ndarray) else {place: each.to_numpy() for place, each in enumerate(X.get_columns())}


def _numbers(column: Any) -> Floats | None:
    """Return a column of numbers or dates with its median in the place of missing values; None for other columns."""
    import pandas as pd

    if column.dtype == object:
        column = column.infer_objects()
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        values = np.where(column.isna(), np.nan, column.astype("int64").to_numpy(dtype=np.float64))
    elif pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        return None
    missing = ~np.isfinite(values)
    if missing.all():
        return np.zeros(len(values))
    return np.where(missing, np.median(values[~missing]), values)


def _associations(ranks: Sequence[Floats], codes: Sequence[Positions]) -> Floats:
    p, q = len(ranks), len(codes)
    found = np.eye(p + q)
    if p:
        found[:p, :p] = np.abs(np.atleast_2d(np.corrcoef(np.array(ranks))))
    for i, code in enumerate(codes):
        for j, rank in enumerate(ranks):
            found[p + i, j] = found[j, p + i] = _correlation_ratio(code, rank)
        for j in range(i):
            found[p + i, p + j] = found[p + j, p + i] = _cramer(code, codes[j])
    return found


def _correlation_ratio(codes: Positions, values: Floats) -> float:
    """Return the square root of epsilon², the share of the variance that the categories explain."""
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=values) / counts
    total = float(np.square(values - values.mean()).sum())
    within = float(np.square(values - means[codes]).sum())
    n, k = len(values), len(counts)
    return float(np.sqrt(max(0.0, 1 - within / total * (n - 1) / (n - k))))


def _cramer(first: Positions, second: Positions) -> float:
    """Return Cramér's V with Bergsma's correction."""
    n, r, k = len(first), int(first.max()) + 1, int(second.max()) + 1
    table = np.bincount(first * k + second, minlength=r * k).reshape(r, k)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
    phi2 = float((np.square(table - expected) / expected).sum()) / n
    phi2 = max(0.0, phi2 - (k - 1) * (r - 1) / (n - 1))
    least = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return float(np.sqrt(phi2 / least)) if least > 0 else 0.0
