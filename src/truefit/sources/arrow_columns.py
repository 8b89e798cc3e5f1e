"""Columns of Arrow's formats: text is checked to be UTF-8, and arrays in cells become lists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd


def checked_columns(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the frame with lists where cells were arrays; refused where a text holds bytes that are not UTF-8.

    Arrow promises UTF-8 and does not enforce it: such bytes are handed on unread, and whoever first looks at a value
    fails. Arrays in cells have no single truth value, which preprocessing needs; lists, as JSON has them, are fine.
    """
    for place, name in enumerate(frame.columns):
        values = frame.iloc[:, place]
        check_text(values.array, f"The column {str(name)!r} of {path.name!r}")
        if values.dtype == object and any(isinstance(value, np.ndarray | dict | list) for value in values):
            frame.isetitem(place, values.map(_with_lists, na_action="ignore").array)
    return frame


def check_text(values: Any, what: str) -> None:
    """Refuse values of a column of text that are not UTF-8."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.categories.array
    if not isinstance(values.dtype, pd.StringDtype | pd.ArrowDtype):
        return
    try:
        pa.array(values).validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"{what} must be UTF-8 text. Got bytes that are not. Write the file again with this column decoded, or "
            "leave the column out."
        ) from error


def _with_lists(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [_with_lists(each) for each in value]
    return {name: _with_lists(each) for name, each in value.items()} if isinstance(value, dict) else value
