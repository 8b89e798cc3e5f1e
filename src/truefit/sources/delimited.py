"""Delimited text: CSV and its kin, whole or in stretches, with errors that say what is wrong with it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from truefit._core.errors import InvalidInput
from truefit.sources.layout import SEPARATORS, Layout, header_of, layout_of

if TYPE_CHECKING:
    import pandas as pd

_ROWS_AT_ONCE: Final = 20_000


def read_delimited(path: Path, target: str | None, *, separator: str) -> pd.DataFrame:
    """Read a whole file, whose ending promises a separator."""
    import pandas as pd

    layout = checked_layout(path, target, separator=separator)
    with _errors(path, layout):
        # Without index_col=False the first value of a line longer than the header would become its label,
        # and every column be one off; with it, values that have no name are a warning, here an error.
        # In chunks a column could be numbers here and text there; read whole, its type is settled once.
        return pd.read_csv(
            path, sep=layout.separator, decimal=layout.decimal, index_col=False, low_memory=False
        )  # fmt: skip


def stretches(path: Path, *, layout: Layout, types: Mapping[str, Any] | None = None) -> Generator[pd.DataFrame]:
    """Read a file stretch by stretch; without types each stretch settles its own."""
    import pandas as pd

    with (
        _errors(path, layout),
        pd.read_csv(
            path, sep=layout.separator, decimal=layout.decimal, index_col=False, low_memory=False, dtype=types,
            chunksize=_ROWS_AT_ONCE,
        ) as chunks,
    ):  # fmt: skip
        yield from chunks


@contextlib.contextmanager
def _errors(path: Path, layout: Layout) -> Iterator[None]:
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
            f"{SEPARATORS[layout.separator]}. The reader says: {reason}. Mend these lines, or the header."
        ) from error


def checked_layout(path: Path, target: str | None, *, separator: str) -> Layout:
    """Find out how a file is written, and refuse a header that is one name only or has the target twice.

    Parameters
    ----------
    path : Path
    target : str, optional
    separator : str
        The one that the file's ending promises.
    """
    with _errors(path, Layout(separator)):
        layout = layout_of(path, separator)
        names = header_of(path, layout.separator)
    if target is not None and len(names) == 1 and target != names[0]:
        *others, last = SEPARATORS.values()
        raise InvalidInput(
            f"{path.name!r} must have {', '.join(others)} or {last} between its columns, in every line as many as in "
            f"its header. Got one column only, named {names[0]!r}. Save it with commas, or mend lines that have more."
        )
    if target is not None and names.count(target) > 1:
        # pandas would rename the second one and leave it among the inputs.
        raise InvalidInput(
            f"{path.name!r} must have one column {target!r}. Got {names.count(target)}: all but the first would be "
            "inputs that give the target away. Rename or remove them."
        )
    return layout
