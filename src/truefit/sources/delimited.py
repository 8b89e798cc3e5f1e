"""Delimited text: CSV and its kin, whole or in stretches, with errors that say what is wrong with it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from truefit.core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

#: Separators that other programs write, with the name to call them by.
_SEPARATORS: Final = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas"}
_ROWS_AT_ONCE: Final = 20_000


def read_delimited(path: Path, target: str | None, *, separator: str) -> pd.DataFrame:
    """Read a whole file."""
    import pandas as pd

    with _errors(path, separator):
        check_header(path, target, separator=separator)
        # Without index_col=False the first value of a line longer than the header would become its label,
        # and every column be one off; with it, values that have no name are a warning, here an error.
        # In chunks a column could be numbers here and text there; read whole, its type is settled once.
        return pd.read_csv(path, sep=separator, index_col=False, low_memory=False)


def stretches(path: Path, *, separator: str, types: Mapping[str, Any] | None = None) -> Generator[pd.DataFrame]:
    """Read a file stretch by stretch; without types each stretch settles its own."""
    import pandas as pd

    with (
        _errors(path, separator),
        pd.read_csv(
            path, sep=separator, index_col=False, low_memory=False, dtype=types, chunksize=_ROWS_AT_ONCE
        ) as chunks,
    ):  # fmt: skip
        yield from chunks


@contextlib.contextmanager
def _errors(path: Path, separator: str) -> Iterator[None]:
    """Say what an error of the parser means for whoever wrote the file."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except pd.errors.EmptyDataError as error:
        raise InvalidInput(f"{path.name!r} is empty. Pass a file with a header and rows.") from error
    except pd.errors.ParserWarning as error:
        raise InvalidInput(
            f"{path.name!r} must have a name in its header for every value of a line. Got lines with more values "
            "than there are names. Add the missing names, or remove the values."
        ) from error
    except pd.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise InvalidInput(
            f"{path.name!r} must have as many values in each line as its header has names, separated by "
            f"{_SEPARATORS[separator]}. The reader says: {reason}. Mend these lines, or the header."
        ) from error


def check_header(path: Path, target: str | None, *, separator: str) -> None:
    """Refuse a header that has another separator, or the target twice."""
    import pandas as pd

    with _errors(path, separator):
        first = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False)
    names: list[str] = first.iloc[0].tolist()
    other = next((mark for mark in _SEPARATORS if mark != separator and mark in names[0]), None)
    if len(names) == 1 and other is not None:
        expected = _SEPARATORS[separator]
        renamed = ", or give it the ending .tsv" if other == "\t" else ""
        raise InvalidInput(
            f"{path.name!r} must have {expected} between its columns. Got one column only, whose name "
            f"contains {_SEPARATORS[other]}: {names[0]!r}. Save it with {expected}{renamed}."
        )
    if target is not None and names.count(target) > 1:
        # pandas would rename the second one and leave it among the inputs.
        raise InvalidInput(
            f"{path.name!r} must have one column {target!r}. Got {names.count(target)}: all but the first would be "
            "inputs that give the target away. Rename or remove them."
        )
