"""Delimited text such as CSV: the format of a file, and its rows, whole or in chunks."""

from __future__ import annotations

import contextlib
import csv
import re
import sys
import warnings
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

#: Separators that programs write, with the name to call them by.
SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

#: Columns that a file may have. The widest genomic tables have some hundred thousand; a line of a million names is a
#: transposed table or no table, and takes minutes to read only to be refused.
MOST_COLUMNS: Final = 250_000

_LINES: Final = 50
_ROWS_AT_ONCE: Final = 20_000
_DECIMAL_COMMA: Final = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DECIMAL_POINT: Final = re.compile(r"\s*[-+]?\d*\.\d+\s*")


class TextFormat(NamedTuple):
    """Format of delimited text; the notes say where it differs from the file's ending."""

    separator: str
    decimal: str = "."
    notes: tuple[str, ...] = ()


def text_format_of(path: Path, expected: str) -> TextFormat:
    """Find the format of a file from its first lines; the expected separator is preferred.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shells.csv")
    ...     _ = path.write_text("size;kind\\n1,5;a\\n2,5;b\\n")
    ...     print(*text_format_of(path, ",").notes)
    'shells.csv' has semicolons between its columns, and commas in its numbers; it was read accordingly.
    """
    header = _first_lines(path, 1)
    check_width(max(len(line) - len(line.replace(mark, "")) + 1 for line in header for mark in SEPARATORS), path)
    lines = _first_lines(path, _LINES)
    separator = expected
    if _columns(lines, expected) < 2:
        # Of those that cut every line into the same number of columns, the one that makes the most of them.
        separator = max(SEPARATORS, key=lambda mark: (_columns(lines, mark), mark == expected))
        separator = separator if _columns(lines, separator) > 1 else expected
    decimal = "," if separator != "," and _has_decimal_commas(lines, separator) else "."
    found = [f"{SEPARATORS[separator]} between its columns"] if separator != expected else []
    found += ["commas in its numbers"] if decimal == "," else []
    notes = (f"{path.name!r} has {', and '.join(found)}; it was read accordingly.",) if found else ()
    return TextFormat(separator, decimal, notes)


def check_width(columns: int, path: Path) -> None:
    """Refuse a table of more columns than can be worked with, before it is read."""
    if columns > MOST_COLUMNS:
        raise InvalidInput(
            f"{path.name!r} must have at most {MOST_COLUMNS:,} columns. Got about {columns:,}. Select columns, or "
            "transpose it where its rows are columns."
        )


def _first_lines(path: Path, count: int) -> list[str]:
    import pandas as pd

    # A separator that no text has gives whole lines, unpacked and decoded as the reading itself will.
    read = pd.read_csv(
        path, sep="\x1f", header=None, nrows=count, dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE
    )
    return [str(line) for line in read.iloc[:, 0]]


def _columns(lines: list[str], separator: str) -> int:
    """Into how many columns a separator cuts the header, 1 where the other lines do not agree."""
    records = _records(lines, separator)
    if len(lines) == _LINES:
        records = records[:-1]  # it may go on in lines that were not read
    widths = {len(record) for record in records[:1]} | {
        # An empty value at the end of a line is no column of its own.
        len(record) - (len(record) == len(records[0]) + 1 and not record[-1])
        for record in records[1:]
    }
    return widths.pop() if len(widths) == 1 else 1


def _records(lines: list[str], separator: str) -> list[list[str]]:
    # The standard library's reader has a limit of 131,072 characters, which pandas does not have.
    before = csv.field_size_limit(sys.maxsize)
    try:
        return [record for record in csv.reader(lines, delimiter=separator) if record]
    finally:
        csv.field_size_limit(before)


def _has_decimal_commas(lines: list[str], separator: str) -> bool:
    values = [value for record in _records(lines, separator)[1:] for value in record]
    return any(map(_DECIMAL_COMMA.fullmatch, values)) and not any(map(_DECIMAL_POINT.fullmatch, values))


def read_delimited(path: Path, target: str | None, *, separator: str) -> pd.DataFrame:
    """Read a whole file, whose ending implies a separator."""
    import pandas as pd

    text_format = checked_format(path, target, separator=separator)
    with _errors(path, text_format):
        # Without index_col=False the first value of a line longer than the header would become its label,
        # and every column be one off; with it, values that have no name are a warning, here an error.
        # In chunks a column could be numbers here and text there; read whole, it has one type.
        return pd.read_csv(
            path, sep=text_format.separator, decimal=text_format.decimal, index_col=False, low_memory=False
        )  # fmt: skip


def read_chunks(
    path: Path, *, text_format: TextFormat, types: Mapping[str, Any] | None = None
) -> Generator[pd.DataFrame]:
    """Read a file in chunks; without types each chunk infers its own."""
    import pandas as pd

    with (
        _errors(path, text_format),
        pd.read_csv(
            path, sep=text_format.separator, decimal=text_format.decimal, index_col=False, low_memory=False,
            dtype=types, chunksize=_ROWS_AT_ONCE,
        ) as chunks,
    ):  # fmt: skip
        yield from chunks


@contextlib.contextmanager
def _errors(path: Path, text_format: TextFormat) -> Iterator[None]:
    """Turn errors of the parser into InvalidInput."""
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
            f"{SEPARATORS[text_format.separator]}. The reader reports: {reason}. Fix these lines, or the header."
        ) from error


def checked_format(path: Path, target: str | None, *, separator: str) -> TextFormat:
    """Find the format of a file, and refuse a header that has one name only or the target twice."""
    with _errors(path, TextFormat(separator)):
        text_format = text_format_of(path, separator)
        names = next(iter(_records(_first_lines(path, _LINES), text_format.separator)), [])
    if target is not None and len(names) == 1 and target != names[0]:
        *others, last = SEPARATORS.values()
        raise InvalidInput(
            f"{path.name!r} must have {', '.join(others)} or {last} between its columns, in every line as many as in "
            f"its header. Got one column only, named {names[0]!r}. Save it with commas, or fix lines that have more."
        )
    if target is not None and names.count(target) > 1:
        # pandas would rename the second one and leave it among the inputs.
        raise InvalidInput(
            f"{path.name!r} must have one column {target!r}. Got {names.count(target)}: all but the first would be "
            "inputs that give the target away. Rename or remove them."
        )
    return text_format
