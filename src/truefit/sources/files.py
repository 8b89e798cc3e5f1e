"""Files that pandas reads, with errors that explain what is wrong with the file."""

from __future__ import annotations

import contextlib
import csv
import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from gzip import BadGzipFile
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zipfile import BadZipFile

import numpy as np

from truefit._core.errors import InvalidInput, MissingDependency
from truefit.sources.delimited import MOST_COLUMNS, check_width, read_delimited, text_format_of
from truefit.sources.table import check_names

if TYPE_CHECKING:
    import pandas as pd


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
