"""The time of each row: numbers or dates, given as values or as the name of a column of X."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array
from truefit._core.validation import called, checked_column, count_missing, kind_of


def take_time(X: Any, time: Any) -> tuple[Any, Any, str]:
    """Return X without the column that ``time`` names, the values of the time, and its name; X itself for values.

    >>> import pandas as pd
    >>> X, values, name = take_time(pd.DataFrame({"day": [1, 2], "x": [0.5, 0.7]}), "day")
    >>> list(X.columns), values.tolist(), name
    (['x'], [1, 2], 'day')
    """
    if not isinstance(time, str):
        name = getattr(time, "name", None)
        return X, time, "time" if name is None else str(name)
    if type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not hasattr(X, "columns"):
        raise InvalidInput(
            f"time must be one value per row, or the name of a column of X. Got {time!r}, and X is a "
            f"{type(X).__name__} without column names. Pass the values, or a data frame."
        )
    columns = list(X.columns)
    if columns.count(time) != 1:
        near = difflib.get_close_matches(time, list(map(str, columns)), n=1)
        what = "no column" if time not in columns else f"{columns.count(time)} columns"
        raise InvalidInput(
            f"time must be one value per row, or the name of a column of X. X has {what} {time!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
        )
    return (X.drop(columns=time) if hasattr(X, "iloc") else X.drop(time)), X[time], time


def checked_time(time: Any, n: int) -> Array:
    """Return the time of each row as finite numbers or as datetime64, so that rows can be sorted by it.

    >>> checked_time(["2024-03-01", "2024-02-01"], 2)
    array(['2024-03-01', '2024-02-01'], dtype='datetime64[D]')
    """
    name = called(time, "time")
    values = checked_column(_timestamps(time), n, name)
    missing = count_missing(values)
    if missing:
        raise InvalidInput(
            f"{name} must have a value for every row. Got {missing} missing of {n}. Drop these rows, or fill in their "
            "time."
        )
    if values.ndim != 1:
        raise InvalidInput(f"{name} must be one value per row. Got shape {values.shape}; pass one column.")
    if values.dtype.kind not in "biufmM":
        values = _dates(values, name)
    if values.dtype.kind == "M" and (values == values.astype("datetime64[D]")).all():
        values = values.astype("datetime64[D]")  # messages and pictures show days without hours
    if values.dtype.kind in "bm":
        values = values.astype(np.int64)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InvalidInput(f"{name} must be finite. Got infinite values; drop or correct these rows.")
    if (values == values[0]).all():
        raise InvalidInput(
            f"{name} must have different values, which put the rows in order. All {n} are {values[0]}. Leave it out if "
            "the rows have no order."
        )
    return values


def _timestamps(time: Any) -> Any:
    """Return pandas periods as the time at which they begin; other values as they are."""
    import pandas as pd

    if isinstance(time, pd.Series) and isinstance(time.dtype, pd.PeriodDtype):
        return time.dt.to_timestamp()
    return time.to_timestamp() if isinstance(time, pd.PeriodIndex) else time


def _dates(values: Array, name: str) -> Array:
    """Return dates and times of Python or pandas, or text in ISO format, as datetime64 in UTC."""
    import pandas as pd

    kind, example = kind_of(values[0]), values[0]
    try:
        if kind not in ("text", "date"):
            raise TypeError
        index = pd.to_datetime(values, utc=True, format="ISO8601" if kind == "text" else None, errors="coerce")
        if index.isna().any():
            example = values[index.isna().argmax()]
            raise ValueError
    except (TypeError, ValueError, OverflowError) as error:
        form = ", which is no date in ISO format, such as 2024-01-31." if kind == "text" else "."
        raise InvalidInput(
            f"{name} must be numbers or dates. Got {str(example)!r}{form} Convert the values first, for example with "
            "pandas.to_datetime(values, format=...)."
        ) from error
    return np.asarray(index.tz_localize(None).to_numpy())
