"""CSV text: predictions as they are written, in which no cell is a formula for a spreadsheet."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd

#: A spreadsheet takes a cell that begins so for a formula; some take the wide forms of these characters too.
_FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as CSV. Text that a spreadsheet would run as a formula gets an apostrophe in front.

    Numbers stay numbers, also those that are text, such as the class ``-1``.

    Parameters
    ----------
    frame : pandas DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> print(csv_text(pd.DataFrame({"prediction": ["=cmd()", "-1", "yes"], "share": [-0.5, 1, 2]})).strip())
    prediction,share
    '=cmd(),-0.5
    -1,1.0
    yes,2.0
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    safe, returns = frame.rename(columns=defused), False
    for place, dtype in enumerate(frame.dtypes):
        if not (is_numeric_dtype(dtype) or is_bool_dtype(dtype)):
            cells = frame.iloc[:, place].astype(object).map(defused, na_action="ignore").to_list()
            returns = returns or any(isinstance(cell, str) and "\r" in cell for cell in cells)
            safe.isetitem(place, cells)
    # A carriage return would end the line, and what follows it begin a cell: pandas puts no quotes around it.
    return safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)


def defused(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; what is not text stays as it is.

    Examples
    --------
    >>> defused("@SUM(A1)"), defused("+1e3"), defused(-2)
    ("'@SUM(A1)", '+1e3', -2)
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
