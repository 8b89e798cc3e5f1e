"""Layout: what stands between the columns of delimited text, and in its numbers."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from truefit._core.errors import InvalidInput

#: Separators that programs write, with the name to call them by.
SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

#: Columns that a file may have. The widest genomic tables that are worth a study have some hundred thousand; a line of
#: a million names is a table on its side or no table, and takes minutes to read only to be refused.
MOST_COLUMNS: Final = 250_000

_LINES: Final = 50
_DECIMAL_COMMA: Final = re.compile(r"\s*[-+]?\d+,\d+\s*")
_DECIMAL_POINT: Final = re.compile(r"\s*[-+]?\d*\.\d+\s*")


class Layout(NamedTuple):
    """How delimited text is written.

    Attributes
    ----------
    separator, decimal : str
    note : str or None
        What is not as the file's ending says, in words.
    """

    separator: str
    decimal: str = "."
    note: str | None = None


def layout_of(path: Path, expected: str) -> Layout:
    """Find out how a file is written from its first lines.

    The separator that its ending promises is kept wherever it gives more than one column.

    Parameters
    ----------
    path : Path
    expected : str
        The separator that the file's ending promises.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shells.csv")
    ...     _ = path.write_text("size;kind\\n1,5;a\\n2,5;b\\n")
    ...     layout_of(path, ",").note
    "'shells.csv' has semicolons between its columns, and commas in its numbers; it was read so."
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
    return Layout(separator, decimal, _note(path, expected, separator, decimal))


def check_width(columns: int, path: Path) -> None:
    """Refuse a table of more columns than can be worked with, before it is read."""
    if columns > MOST_COLUMNS:
        raise InvalidInput(
            f"{path.name!r} must have at most {MOST_COLUMNS:,} columns. Got about {columns:,}. Choose columns of it "
            "first, or turn it round where its rows are columns."
        )


def header_of(path: Path, separator: str) -> list[str]:
    """Return the names in the first line of a file, as they are written."""
    return next(_records(_first_lines(path, _LINES), separator), [])


def _first_lines(path: Path, count: int) -> list[str]:
    import pandas as pd

    # A separator that no text has gives whole lines, unpacked and decoded as the reading itself will.
    read = pd.read_csv(
        path, sep="\x1f", header=None, nrows=count, dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE
    )
    return [str(line) for line in read.iloc[:, 0]]


def _columns(lines: list[str], separator: str) -> int:
    """Into how many columns a separator cuts the header, 1 where the other lines do not agree."""
    records = list(_records(lines, separator))
    if len(lines) == _LINES:
        records = records[:-1]  # it may go on in lines that were not read
    widths = {len(record) for record in records[:1]} | {
        # An empty value at the end of a line is no column of its own.
        len(record) - (len(record) == len(records[0]) + 1 and not record[-1])
        for record in records[1:]
    }
    return widths.pop() if len(widths) == 1 else 1


def _records(lines: list[str], separator: str) -> Iterator[list[str]]:
    with _fields_of_any_length():
        records = [record for record in csv.reader(lines, delimiter=separator) if record]
    return iter(records)


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    """Lift the limit of the standard library's reader, 131,072 characters, which the reading itself does not have."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _has_decimal_commas(lines: list[str], separator: str) -> bool:
    values = [value for record in list(_records(lines, separator))[1:] for value in record]
    return any(map(_DECIMAL_COMMA.fullmatch, values)) and not any(map(_DECIMAL_POINT.fullmatch, values))


def _note(path: Path, expected: str, separator: str, decimal: str) -> str | None:
    found = [f"{SEPARATORS[separator]} between its columns"] if separator != expected else []
    found += ["commas in its numbers"] if decimal == "," else []
    return f"{path.name!r} has {', and '.join(found)}; it was read so." if found else None
