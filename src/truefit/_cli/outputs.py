"""Outputs: files that a command writes, checked before the work and replaced only when they are whole."""

from __future__ import annotations

import contextlib
import csv
import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from truefit._cli.messages import ResultStream, echo, results
from truefit._core.credentials import redacted
from truefit._core.errors import InvalidInput, TruefitError, WriteFailed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Kinds of pictures, by the end of the file's name.
PICTURES = (".svg", ".png", ".pdf")

#: Files that SQLite keeps beside a database.
_BESIDE: Final = ("-wal", "-shm", "-journal")
#: Not a wrong name, but no room or a failing disk.
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def check_output(place: Path | None, read: Sequence[str | Path | None]) -> None:
    """Refuse a place to write to that would fail after all the work, or destroy what the run reads.

    Parameters
    ----------
    place : Path or None
    read : sequence of str, path or None
        What the run reads, as it was given: tables, databases, stores, ``FILE.py:NAME``.
    """
    if place is None:
        return
    shown = redacted(str(place))
    parent = _real(place).parent
    if not parent.is_dir():
        name = place.name if shown == str(place) else shown
        raise InvalidInput(f"The folder of {name} must exist. There is no {redacted(str(parent))}. Make it first.")
    if place.is_dir():
        raise InvalidInput(f"A file is to be written, but {shown} is a folder. Name a file in it.")
    if any(_same_file(place, file) for other in read if other is not None for file in _files_of(other)):
        raise InvalidInput(f"This would overwrite {shown}, which the run reads. Name another file.")
    if _is_special(place):
        return
    # The mode bits are asked too, since nothing is read-only to root.
    for each in (parent, place) if place.exists() else (parent,):
        if not each.stat().st_mode & 0o222 or not os.access(each, os.W_OK):
            raise InvalidInput(f"{shown} must be writable, and its folder too. {each} is read-only. Name another file.")


def check_distinct(*places: Path | None) -> None:
    """Refuse two outputs in one file."""
    given = [place for place in places if place is not None]
    for i, place in enumerate(given):
        if any(_same_file(place, other) for other in given[:i]):
            raise InvalidInput(f"Every output needs a file of its own. Got {place} twice. Name another file.")


def check_picture(place: Path | None, read: Sequence[str | Path | None]) -> None:
    """Refuse a place for a picture, also by the end of its name."""
    check_output(place, read)
    if place is not None and place.suffix not in PICTURES:
        raise InvalidInput(f"The name of a picture must end in {', '.join(PICTURES)}. Got {place.name!r} instead.")


def check_report(place: Path, read: Sequence[str | Path | None]) -> None:
    """Refuse a place for a page, also one that holds something else than a page."""
    check_output(place, read)
    if place.is_file() and not _is_special(place) and "<html" not in place.read_text("utf-8", "replace")[:2000].lower():
        raise InvalidInput(f"This would overwrite {place}, which is no report. Name another file, or remove it first.")


@contextlib.contextmanager
def replace_whole(place: Path) -> Iterator[Path]:
    """Give a temporary file to write to; it takes the place of the old one once it is whole.

    Whatever goes wrong, the old file is as it was and the temporary one is gone. A new file can be read and written by
    its owner only; one that was there keeps its mode. A link is followed.

    Parameters
    ----------
    place : Path
        ``check_output`` has looked at it.
    """
    real, special = _real(place), _is_special(place)
    try:
        handle, name = tempfile.mkstemp(prefix=".truefit-", dir=None if special else real.parent)
        os.close(handle)
    except OSError as error:
        raise _not_written(place, error) from error
    new = Path(name)
    try:
        yield new
        if special:
            _copy(new, place)
        else:
            _copy_mode(new, real)
            os.replace(new, real)
    except OSError as error:
        raise _not_written(place, error) from error
    finally:
        new.unlink(missing_ok=True)


def write_text(place: Path, text: str) -> None:
    """Write a file whole, or say in a sentence why it cannot be and leave what was there."""
    with replace_whole(place) as new:
        new.write_text(text, encoding="utf-8")


def write_report(place: Path, page: str, *, quiet: bool) -> None:
    """Write a page, and say where it is."""
    write_text(place, page)
    echo(f"The report is in {place}.", err=quiet)


def write_picture(place: Path, draw: Callable[[], Axes], *, title: str, quiet: bool) -> None:
    """Draw into a file whose name ends in .svg, .png or .pdf."""
    from truefit._plots.svg import to_svg

    axes = draw()
    if place.suffix == ".svg":
        write_text(place, to_svg(axes, title=title, description=title))
    else:
        figure: Any = axes.get_figure()
        with replace_whole(place) as new:
            figure.savefig(new, dpi=150, bbox_inches="tight", format=place.suffix[1:])
    echo(f"The picture is in {place}.", err=quiet)


def _files_of(given: str | Path) -> Iterator[Path]:
    """Every file that is read where this is given: a table, a database with its table, a store, FILE.py:NAME."""
    text = os.fspath(given)
    if "://" in text:
        scheme, _, rest = text.partition("://")
        text = rest.removeprefix("/") if scheme.lower() == "sqlite" else ""
    for name in {text, text.partition("#")[0], text.rpartition(":")[0]} - {""}:
        path = Path(name).expanduser()
        yield path
        yield from (Path(f"{path}{ending}") for ending in _BESIDE)


def _same_file(place: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by whatever links, or would once it is made."""
    if place.exists() and other.exists():
        return os.path.samefile(place, other)
    return _real(place) == _real(other)


def _real(place: Path) -> Path:
    return Path(os.path.realpath(place))


def _is_special(place: Path) -> bool:
    """Whether it is a device or a pipe, which no file can take the place of."""
    return _is_standard_output(place) or (place.exists() and not stat.S_ISREG(place.stat().st_mode))


def _is_standard_output(place: Path) -> bool:
    """Whether results are meant: while a command runs, descriptor 1 is standard error."""
    return os.path.abspath(place) in ("/dev/stdout", "/dev/fd/1")


def _copy_mode(new: Path, real: Path) -> None:
    """Give a new file the mode of the one that it replaces, and have its bytes on the disk."""
    old = real.stat() if real.exists() else None
    with new.open("rb+") as file:
        if old is not None and hasattr(os, "fchown"):
            with contextlib.suppress(PermissionError):  # another's file that we may write stays readable as it was
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
        new.chmod(0o600 if old is None else stat.S_IMODE(old.st_mode))
        os.fsync(file.fileno())


def _copy(new: Path, place: Path) -> None:
    with new.open("rb") as content:
        if _is_standard_output(place):
            cast("ResultStream", results()).write_bytes(content)
        else:
            with place.open("wb") as device:
                shutil.copyfileobj(content, device)


def _not_written(place: Path, error: OSError) -> TruefitError:
    if error.errno in _NO_ROOM:
        return WriteFailed(
            f"{place} could not be written: {error.strerror}. What was there before is unchanged. Free some space, or "
            "name a file on another disk."
        )
    return InvalidInput(f"{place} could not be written: {error.strerror}. Name another file.")


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

    safe, returns = frame.rename(columns=escape_formula), False
    for place, dtype in enumerate(frame.dtypes):
        if not (is_numeric_dtype(dtype) or is_bool_dtype(dtype)):
            cells = frame.iloc[:, place].astype(object).map(escape_formula, na_action="ignore").to_list()
            returns = returns or any(isinstance(cell, str) and "\r" in cell for cell in cells)
            safe.isetitem(place, cells)
    # A carriage return would end the line, and what follows it begin a cell: pandas puts no quotes around it.
    return safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)


def escape_formula(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; what is not text stays as it is.

    Examples
    --------
    >>> escape_formula("@SUM(A1)"), escape_formula("+1e3"), escape_formula(-2)
    ("'@SUM(A1)", '+1e3', -2)
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
