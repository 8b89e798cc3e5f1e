"""NumpyColumns: columns of pandas' types that preprocessing does not take, as numpy's types."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin


class NumpyColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns dates, times and durations that Arrow holds into numpy's, and sparse columns into dense ones.

    skrub's preprocessing takes all other columns as they are. Frames of other libraries are handed on.

    Examples
    --------
    >>> import pandas as pd
    >>> days = pd.Series(["2020-01-01", None]).astype("timestamp[s][pyarrow]")
    >>> NumpyColumns().fit_transform(pd.DataFrame({"day": days})).dtypes.tolist()
    [dtype('<M8[s]')]
    """

    def fit(self, X: Any, y: Any = None) -> NumpyColumns:
        """Learn nothing: every column is turned by its own type."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the frame with the columns turned."""
        places = columns_to_turn(X)
        if not places:
            return X
        turned = {j: _turned(X.iloc[:, j]) for j in places}
        columns = [turned.get(j, X.iloc[:, j]) for j in range(X.shape[1])]
        import pandas as pd

        return pd.concat(columns, axis=1).set_axis(X.columns, axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def columns_to_turn(X: Any) -> list[int]:
    """Return the positions of the columns that preprocessing does not take as they are."""
    if not hasattr(X, "iloc") or len(X.shape) != 2:
        return []
    import pandas as pd

    return [
        j
        for j, dtype in enumerate(X.dtypes)
        if isinstance(dtype, pd.SparseDtype) or (isinstance(dtype, pd.ArrowDtype) and dtype.kind in "mM")
        or (isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("date"))
    ]  # fmt: skip


def _turned(column: Any) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    values = column.array.__arrow_array__().to_pandas(date_as_object=False)
    return values.set_axis(column.index).rename(column.name)
