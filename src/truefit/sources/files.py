"""Files: what pandas reads, with errors that say what is wrong with the file."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from gzip import BadGzipFile
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from zipfile import BadZipFile

from truefit._core.errors import InvalidInput, MissingDependency
from truefit.sources.arrow_columns import checked_columns
from truefit.sources.delimited import read_delimited
from truefit.sources.json_lines import check_json_lines
from truefit.sources.layout import check_width, layout_of
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
LONGEST_REASON: Final = 300


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
    note = None if separator is None else layout_of(path, separator).note
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
        reason = str(error)[:LONGEST_REASON]
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

    check_json_lines(path)
    try:
        # JSON says itself what is text and what is a number: "007" is text.
        return pd.read_json(path, lines=True, dtype=False, encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise
    except (ValueError, TypeError, AttributeError) as error:  # the last two where values stand between objects
        raise InvalidInput(
            f'{path.name!r} must have one JSON object per line, such as {{"size": 1.5, "kind": "a"}}. '
            f"The reader says: {str(error)[:LONGEST_REASON]}."
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
        if not isinstance(error, _DAMAGE) and not is_arrow_error(error):
            raise
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{path.name!r} does not read as {format_name}: {reason[:LONGEST_REASON]}") from error


def is_arrow_error(error: BaseException) -> bool:
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
