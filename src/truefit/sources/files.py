"""Files: what pandas reads, with errors that say what is wrong with the file."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from gzip import BadGzipFile
from lzma import LZMAError
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zipfile import BadZipFile

from truefit.core.errors import InvalidInput, MissingDependency

if TYPE_CHECKING:
    import pandas as pd

_COMPRESSED: Final = frozenset({".gz", ".bz2", ".xz", ".zip"})
#: Separators that other programs write, with the name to call them by.
_SEPARATORS: Final = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas"}


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
    ending = _ending(path)
    if ending not in _READERS:
        raise InvalidInput(
            f"{path.name!r} must end in one of {', '.join(sorted(_READERS))}. Got {ending or 'no ending'!r}. "
            "Save the table in one of these formats."
        )
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path.name!r} is empty: it has 0 bytes. Pass a file with a header and rows.")
    try:
        return _READERS[ending](path, target)
    except UnicodeDecodeError as error:
        raise InvalidInput(_encoding(path, error)) from error
    except (EOFError, BadZipFile, LZMAError, BadGzipFile) as error:
        raise InvalidInput(f"{path.name!r} does not unpack as {path.suffix}: {error}") from error
    except PermissionError as error:
        raise InvalidInput(f"{path.name!r} may not be read: {error.strerror}. Check its permissions.") from error


def stem(path: Path) -> str:
    """Return a file's name without its endings.

    Examples
    --------
    >>> stem(Path("data/shells.csv.gz")), stem(Path("shells.v2.parquet"))
    ('shells', 'shells.v2')
    """
    return Path(path.stem).stem if path.suffix.lower() in _COMPRESSED else path.stem


def _ending(path: Path) -> str:
    plain = Path(path.stem) if path.suffix.lower() in _COMPRESSED else path
    return plain.suffix.lower()


def _read_csv(path: Path, target: str | None) -> pd.DataFrame:
    return _read_delimited(path, ",", target)


def _read_tsv(path: Path, target: str | None) -> pd.DataFrame:
    return _read_delimited(path, "\t", target)


def _read_delimited(path: Path, separator: str, target: str | None) -> pd.DataFrame:
    import pandas as pd

    try:
        first = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False)
        _check_header(first.iloc[0].tolist(), path, separator, target)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Without index_col=False the first value of a line longer than the header would become its label,
            # and every column be one off; with it, values that have no name are a warning, here an error.
            # In chunks a column could be numbers here and text there; read whole, its type is settled once.
            return pd.read_csv(path, sep=separator, index_col=False, low_memory=False)
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


def _check_header(names: list[str], path: Path, separator: str, target: str | None) -> None:
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


def _read_json_lines(path: Path, target: str | None) -> pd.DataFrame:
    import pandas as pd

    try:
        # JSON says itself what is text and what is a number: "007" is text.
        return pd.read_json(path, lines=True, dtype=False)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise InvalidInput(
            f'{path.name!r} must have one JSON object per line, such as {{"size": 1.5, "kind": "a"}}. '
            f"The reader says: {error}."
        ) from error


def _read_parquet(path: Path, target: str | None) -> pd.DataFrame:
    import pandas as pd

    return _with_arrow(lambda: pd.read_parquet(path), path, "Parquet")


def _read_arrow(path: Path, target: str | None) -> pd.DataFrame:
    def read() -> pd.DataFrame:
        import pandas as pd
        import pyarrow as pa

        try:
            return pd.read_feather(path)
        except pa.ArrowInvalid:
            # The other of Arrow's two layouts: a stream, which has no magic number at its start.
            with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
                frame: pd.DataFrame = stream.read_pandas()
                return frame

    return _with_arrow(read, path, "Arrow")


def _with_arrow(read: Callable[[], pd.DataFrame], path: Path, format_name: str) -> pd.DataFrame:
    try:
        return read()
    except ImportError as error:
        raise MissingDependency(
            f"Reading {path.name!r} needs pyarrow, which is not installed. Install it with "
            "`pip install truefit[parquet]`, or save the table as CSV."
        ) from error
    except PermissionError:
        raise
    except (ValueError, OSError) as error:
        raise InvalidInput(f"{path.name!r} does not read as {format_name}: {error}") from error


_READERS: Final[dict[str, Callable[[Path, str | None], pd.DataFrame]]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".tab": _read_tsv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
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
