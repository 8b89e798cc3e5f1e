"""Files: what pandas reads, with errors that say what is wrong with the file."""

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
from typing import TYPE_CHECKING, Any, Final, TypeVar
from zipfile import BadZipFile

import numpy as np

from truefit._core.errors import InvalidInput, MissingDependency
from truefit.sources.delimited import MOST_COLUMNS, check_width, read_delimited, text_format_of
from truefit.sources.table import check_names

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

_COMPRESSED: Final = frozenset({".gz", ".bz2", ".xz", ".zip"})
#: Endings of text with a separator between its columns, and that separator.
DELIMITED: Final = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
PARQUET: Final = (".parquet", ".pq")
#: What pandas raises for damaged or odd metadata in a file of Arrow's, besides what pyarrow raises.
_DAMAGE: Final = (ValueError, TypeError, LookupError, AttributeError, OverflowError, OSError)
#: Characters of what another library says about a file; it may list every column.
_LONGEST_REASON: Final = 300
_LINES_AT_ONCE: Final = 10_000
#: What a line of JSON lines is, by the character that it begins with.
_JSON_KINDS: Final = {"[": "a list", '"': "text", "n": "null", "t": "true or false", "f": "true or false"}


def read_frame(path: Path, target: str | None = None) -> pd.DataFrame:
    """Read a file into a frame, by its ending.

    Parameters
    ----------
    path : Path
        An existing file.
    target : str, optional
        Checked not to be there twice.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shells.csv")
    ...     _ = path.write_text("size,kind\\n1.5,a\\n2.5,b\\n")
    ...     read_frame(path).shape
    (2, 2)
    """
    reader = _READERS[ending_of(path)]
    with file_errors(path):
        return reader(path, target)


def notes_of(path: Path) -> tuple[str, ...]:
    """Return what is not in a file as its ending says, in words; usually nothing."""
    separator = DELIMITED.get(ending_of(path))
    note = None if separator is None else text_format_of(path, separator).note
    return () if note is None else (note,)


def ending_of(path: Path) -> str:
    """Return the ending that says what a file is, refused if it is none of a table or the file is empty.

    Examples
    --------
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
    """Say what an error of the system or of a decoder means for whoever reads the file."""
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
        raise InvalidInput(f"{path.name!r} must be an archive of one file. The reader says: {reason}") from error


def stem(path: Path) -> str:
    """Return a file's name without its endings.

    Examples
    --------
    >>> stem(Path("data/shells.csv.gz")), stem(Path("shells.v2.parquet"))
    ('shells', 'shells.v2')
    """
    return Path(path.stem).stem if path.suffix.lower() in _COMPRESSED else path.stem


def _read_json_lines(path: Path, target: str | None) -> pd.DataFrame:
    import pandas as pd

    _check_json_lines(path)
    try:
        # JSON says itself what is text and what is a number: "007" is text.
        return pd.read_json(path, lines=True, dtype=False, encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise
    except (ValueError, TypeError, AttributeError) as error:  # the last two where values stand between objects
        raise InvalidInput(
            f'{path.name!r} must have one JSON object per line, such as {{"size": 1.5, "kind": "a"}}. '
            f"The reader says: {str(error)[:_LONGEST_REASON]}."
        ) from error


def _read_parquet(path: Path, target: str | None) -> pd.DataFrame:
    import pandas as pd

    def read() -> pd.DataFrame:
        from pyarrow import parquet

        metadata = parquet.read_metadata(path)
        check_width(metadata.num_columns, path)
        check_names(metadata.schema.to_arrow_schema().names, stem(path))
        return checked_columns(pd.read_parquet(path), path)

    return with_arrow(read, path, "Parquet")


def _read_arrow(path: Path, target: str | None) -> pd.DataFrame:
    def read() -> pd.DataFrame:
        import pandas as pd
        import pyarrow as pa

        try:
            return checked_columns(pd.read_feather(path), path)
        except pa.ArrowInvalid:
            # The other of Arrow's two layouts: a stream, which has no magic number at its start.
            with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
                return checked_columns(stream.read_pandas(), path)

    return with_arrow(read, path, "Arrow")


def with_arrow(read: Callable[[], T], path: Path, format_name: str) -> T:
    """Return what is read with pyarrow, or say what is missing or wrong."""
    try:
        return read()
    except ImportError as error:
        raise MissingDependency(
            f"Reading {path.name!r} needs pyarrow, which is not installed. Install it with "
            "`pip install truefit[parquet]`, or save the table as CSV."
        ) from error
    except (PermissionError, InvalidInput):
        raise
    except Exception as error:
        if not isinstance(error, _DAMAGE) and not _is_arrow_error(error):
            raise
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{path.name!r} does not read as {format_name}: {reason[:_LONGEST_REASON]}") from error


def _is_arrow_error(error: BaseException) -> bool:
    """Whether pyarrow raised it: for some damage it has no better name than its general exception."""
    return type(error).__module__.partition(".")[0] == "pyarrow"


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
    """Refuse a file that has a line which is no object; blank lines do not count.

    pandas takes lists and numbers for rows of columns without names, and mixed with objects it falls over them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shells.jsonl")
    ...     _ = path.write_text('{"size": 1.5}\\n[2.5]\\n')
    ...     _check_json_lines(path)
    Traceback (most recent call last):
        ...
    truefit._core.errors.InvalidInput: 'shells.jsonl' must have one JSON object per line, such as {"size": 1.5, "kind":
    "a"}. Got a list in line 2. Write each row as an object with the names of its columns.
    """
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
        raise InvalidInput(f"{path.name!r} must be lines of text. The reader says: {reason}.") from error


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
