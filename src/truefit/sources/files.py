"""Files that pandas reads, with errors that explain what is wrong with the file.

Of delimited text such as CSV the format is found first: separator, decimal sign. It is read whole or in chunks.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from gzip import BadGzipFile
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zipfile import BadZipFile

import numpy as np

from truefit._core.errors import InvalidInput, MissingDependency
from truefit.sources.table import check_names

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
    with _parser_errors(path, text_format):
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
        _parser_errors(path, text_format),
        pd.read_csv(
            path, sep=text_format.separator, decimal=text_format.decimal, index_col=False, low_memory=False,
            dtype=types, chunksize=_ROWS_AT_ONCE,
        ) as chunks,
    ):  # fmt: skip
        yield from chunks


@contextlib.contextmanager
def _parser_errors(path: Path, text_format: TextFormat) -> Iterator[None]:
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
    with _parser_errors(path, TextFormat(separator)):
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


_COMPRESSED: Final = frozenset({".gz", ".bz2", ".xz", ".zip"})
#: Endings of text with a separator between its columns, and that separator.
DELIMITED: Final = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET: Final = (".parquet", ".pq")
#: What pandas raises for damaged metadata in an Arrow file, besides pyarrow's errors.
_DAMAGE: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, OSError)
#: Characters of another library's message; it may list every column.
_LONGEST_REASON: Final = 300
_LINES_AT_ONCE: Final = 10_000
#: What a line of JSON lines is, by the character that it begins with.
_JSON_KINDS: Final = {"[": "a list", '"': "text", "n": "null", "t": "true or false", "f": "true or false"}


def read_frame(path: Path, target: str | None = None) -> pd.DataFrame:
    """Read an existing file into a frame, by its ending; a delimited file must not have the target twice."""
    reader = _READERS[ending_of(path)]
    with file_errors(path):
        return reader(path, target)


def notes_of(path: Path) -> tuple[str, ...]:
    """Return a note where the format of a file differs from its ending; usually nothing."""
    separator = DELIMITED.get(ending_of(path))
    return () if separator is None else text_format_of(path, separator).notes


def ending_of(path: Path) -> str:
    """Return the ending that gives the format; refuse an unknown ending and an empty file.

    >>> ending_of(Path("shells.xls"))
    Traceback (most recent call last):
        ...
    truefit._core.errors.InvalidInput: 'shells.xls' must end in one of .arrow, .csv, .feather, .jsonl, .ndjson,
    .parquet, .pq, .tab, .tsv. Got '.xls'. Save the table in one of these formats.
    """
    plain = Path(path.stem) if path.suffix.lower() in _COMPRESSED else path
    ending = plain.suffix.lower()
    if ending not in _READERS:
        raise InvalidInput(
            f"{path.name!r} must end in one of {', '.join(sorted(_READERS))}. Got {ending or 'no ending'!r}. "
            "Save the table in one of these formats."
        )
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path.name!r} is empty: it has 0 bytes. Pass a file with a header and rows.")
    return ending


@contextlib.contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn errors of the system or of a decoder into InvalidInput."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InvalidInput(_encoding(path, error)) from error
    except (EOFError, BadZipFile, LZMAError, BadGzipFile, zlib.error) as error:
        raise InvalidInput(f"{path.name!r} does not unpack as {path.suffix}: {error}") from error
    except PermissionError as error:
        raise InvalidInput(f"{path.name!r} may not be read: {error.strerror}. Check its permissions.") from error
    except OSError as error:  # of the disk, or of bz2, which has no error of its own
        raise InvalidInput(f"{path.name!r} could not be read: {error.strerror or error}. Check the file.") from error
    except (ValueError, RuntimeError) as error:
        # A zip archive of none or several files, or with a password; pandas and zipfile have no error of their own.
        if isinstance(error, InvalidInput) or path.suffix.lower() != ".zip":
            raise
        reason = str(error)[:_LONGEST_REASON]
        raise InvalidInput(f"{path.name!r} must be an archive of one file. The reader reports: {reason}") from error


def stem(path: Path) -> str:
    """Return a file's name without its endings: 'shells' for data/shells.csv.gz."""
    return Path(path.stem).stem if path.suffix.lower() in _COMPRESSED else path.stem


def _read_json_lines(path: Path, target: str | None) -> pd.DataFrame:
    import pandas as pd

    _check_json_lines(path)
    try:
        # JSON distinguishes text and numbers: "007" is text.
        return pd.read_json(path, lines=True, dtype=False, encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise
    except (ValueError, TypeError, AttributeError) as error:  # the last two where values stand between objects
        raise InvalidInput(
            f'{path.name!r} must have one JSON object per line, such as {{"size": 1.5, "kind": "a"}}. '
            f"The reader reports: {str(error)[:_LONGEST_REASON]}."
        ) from error


def _read_parquet(path: Path, target: str | None) -> pd.DataFrame:
    import pandas as pd

    with arrow_errors(path, "Parquet"):
        from pyarrow import parquet

        metadata = parquet.read_metadata(path)
        check_width(metadata.num_columns, path)
        check_names(metadata.schema.to_arrow_schema().names, stem(path))
        return checked_columns(pd.read_parquet(path), path)


def _read_arrow(path: Path, target: str | None) -> pd.DataFrame:
    import pandas as pd

    with arrow_errors(path, "Arrow"):
        import pyarrow as pa

        try:
            return checked_columns(pd.read_feather(path), path)
        except pa.ArrowInvalid:
            # The other of Arrow's two layouts: a stream, which has no magic number at its start.
            with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
                return checked_columns(stream.read_pandas(), path)


@contextlib.contextmanager
def arrow_errors(path: Path, format_name: str) -> Iterator[None]:
    """Turn errors of pyarrow, or its absence, into ours."""
    try:
        yield
    except ImportError as error:
        raise MissingDependency(
            f"Reading {path.name!r} needs pyarrow, which is not installed. Install it with "
            "`pip install truefit[parquet]`, or save the table as CSV."
        ) from error
    except (PermissionError, InvalidInput):
        raise
    except Exception as error:
        # For some damage pyarrow raises nothing better than its general exception.
        if not isinstance(error, _DAMAGE) and type(error).__module__.partition(".")[0] != "pyarrow":
            raise
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{path.name!r} does not read as {format_name}: {reason[:_LONGEST_REASON]}") from error


_READERS: Final[dict[str, Callable[[Path, str | None], pd.DataFrame]]] = {
    **{ending: partial(read_delimited, separator=separator) for ending, separator in DELIMITED.items()},
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    **dict.fromkeys(PARQUET, _read_parquet),
    ".feather": _read_arrow,
    ".arrow": _read_arrow,
}


def _encoding(path: Path, error: UnicodeDecodeError) -> str:
    with path.open("rb") as file:
        start = file.read(2)
    found = "UTF-16" if start in (b"\xff\xfe", b"\xfe\xff") else f"byte 0x{error.object[error.start]:02x}"
    source = "UTF-16" if found == "UTF-16" else "LATIN1"
    return (
        f"{path.name!r} must be UTF-8 text. Got {found}, which is not. Convert it, for example with "
        f'`iconv -f {source} -t UTF-8`; a spreadsheet has "CSV UTF-8" among the formats to save in.'
    )


def _check_json_lines(path: Path) -> None:
    """Refuse a file with a line that is no object, which pandas would read as a row of unnamed columns."""
    import pandas as pd

    try:
        # A separator that no text has gives whole lines, unpacked and decoded as the reading itself will.
        chunks = pd.read_csv(
            path, sep="\x1f", header=None, names=["line"], dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE,
            skip_blank_lines=False, chunksize=_LINES_AT_ONCE, index_col=False,
        )  # fmt: skip
        with chunks:
            for chunk in chunks:
                lines = chunk["line"].str.strip("\ufeff \t\r")
                others = lines.index[~((lines.str[:1] == "{") & (lines.str[-1:] == "}")) & (lines != "")]
                if len(others):
                    _refuse_line(path, int(others[0]), lines[others[0]])
                if lines.index[0] == 0 and lines[0].count(":") > MOST_COLUMNS:
                    check_width(len(json.loads(lines[0])), path)
    except pd.errors.ParserError as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{path.name!r} must be lines of text. The reader reports: {reason}.") from error


def _refuse_line(path: Path, line: int, text: str) -> None:
    start = text[0]
    kind = _JSON_KINDS.get(start, "a number" if start.isdecimal() or start == "-" else f"what begins with {start!r}")
    if start == "{":
        kind = "an object that does not end with the line"
    raise InvalidInput(
        f'{path.name!r} must have one JSON object per line, such as {{"size": 1.5, "kind": "a"}}. '
        f"Got {kind} in line {line + 1:,}. Write each row as an object with the names of its columns."
    )


def checked_columns(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the frame with lists where cells were arrays; refused where a text holds bytes that are not UTF-8.

    Arrow does not enforce UTF-8: other bytes are passed on, and fail when a value is first used. Arrays in cells
    have no single truth value, which preprocessing needs; lists, as JSON has them, are fine.
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
