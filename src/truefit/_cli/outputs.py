"""Output files: checked before the run, and replaced only when they are complete."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from truefit._cli.messages import ResultStream, note, results
from truefit._core.credentials import redacted
from truefit._core.errors import InvalidInput
from truefit._report.page import check_page_name, not_written, replaced_file

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PICTURES: Final = (".svg", ".png", ".pdf")

#: Files that SQLite keeps beside a database.
_BESIDE: Final = ("-wal", "-shm", "-journal")


def check_output(place: Path | None, read: Sequence[str | Path | None]) -> None:
    """Refuse a file that could not be written after the run, or that the run reads, before any work is done."""
    if place is None:
        return
    shown = redacted(str(place))
    parent = _real(place).parent
    if not parent.is_dir():
        name = place.name if shown == str(place) else shown
        raise InvalidInput(f"The folder of {name} must exist. There is no {redacted(str(parent))}. Create it first.")
    if place.is_dir():
        raise InvalidInput(f"The output must be a file. {shown} is a folder. Name a file in it.")
    if any(_same_file(place, file) for other in read if other is not None for file in _files_of(other)):
        raise InvalidInput(f"This would overwrite {shown}, which the run reads. Name another file.")
    if _is_special(place):
        return
    # The mode bits are checked too, since root can write to read-only files.
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
    """Refuse a file for a plot that has another format."""
    check_output(place, read)
    if place is not None and place.suffix not in PICTURES:
        raise InvalidInput(f"The name of a plot must end in {', '.join(PICTURES)}. Got {place.name!r} instead.")


def check_report(place: Path | None, read: Sequence[str | Path | None]) -> None:
    """Refuse a file for a report that is not HTML, or that holds something else."""
    check_output(place, read)
    if place is None or _is_special(place):
        return
    check_page_name(place)
    if place.is_file() and "<html" not in place.read_text("utf-8", "replace")[:2000].lower():
        raise InvalidInput(f"This would overwrite {place}, which is not a report. Name another file, or delete it.")


@contextlib.contextmanager
def replace_whole(place: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces the old one when it is complete; see ``replaced_file``."""
    if not _is_special(place):
        with replaced_file(place) as new:
            yield new
        return
    with tempfile.TemporaryDirectory(prefix="truefit-") as folder:
        new = Path(folder) / "output"
        try:
            yield new
            with new.open("rb") as content:
                if _is_standard_output(place):
                    cast("ResultStream", results()).write_bytes(content)
                else:
                    with place.open("wb") as device:
                        shutil.copyfileobj(content, device)
        except OSError as error:
            raise not_written(place, error) from error


def write_text(place: Path, text: str) -> None:
    """Write a complete file, or raise and leave the old one unchanged."""
    with replace_whole(place) as new:
        new.write_text(text, encoding="utf-8")


def write_report(place: Path, page: str) -> None:
    """Write a page."""
    write_text(place, page)
    note(f"Report written to {place}.")


def write_picture(place: Path, draw: Callable[[], Axes], *, title: str) -> None:
    """Save a plot."""
    from truefit._plots.svg import to_svg

    axes = draw()
    if place.suffix == ".svg":
        write_text(place, to_svg(axes, title=title, description=title))
    else:
        figure: Any = axes.get_figure()
        with replace_whole(place) as new:
            figure.savefig(new, dpi=150, bbox_inches="tight", format=place.suffix[1:])
    note(f"Plot written to {place}.")


def _files_of(given: str | Path) -> Iterator[Path]:
    """Yield every file that this input may stand for: a table, a database with its table, a store, FILE.py:NAME."""
    text = os.fspath(given)
    if "://" in text:
        scheme, _, rest = text.partition("://")
        text = rest.removeprefix("/") if scheme.lower() == "sqlite" else ""
    for name in {text, text.partition("#")[0], text.rpartition(":")[0]} - {""}:
        path = Path(name).expanduser()
        yield path
        yield from (Path(f"{path}{ending}") for ending in _BESIDE)


def _same_file(place: Path, other: Path) -> bool:
    """Whether two paths are one file, or will be once it exists."""
    if place.exists() and other.exists():
        return os.path.samefile(place, other)
    return _real(place) == _real(other)


def _real(place: Path) -> Path:
    return Path(os.path.realpath(place))


def _is_special(place: Path) -> bool:
    """Whether it is a device or a pipe, which cannot be replaced by a file."""
    return _is_standard_output(place) or (place.exists() and not stat.S_ISREG(place.stat().st_mode))


def _is_standard_output(place: Path) -> bool:
    """Whether it stands for the results: while a command runs, descriptor 1 is standard error."""
    return os.path.abspath(place) in ("/dev/stdout", "/dev/fd/1")


#: Spreadsheets read a cell that begins with one of these as a formula.
_FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as CSV. Text that a spreadsheet would run as a formula gets an apostrophe in front.

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
    # pandas does not quote a carriage return, which would end the line.
    return safe.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL)


def escape_formula(cell: Any) -> Any:
    """Return a cell that no spreadsheet reads as a formula.

    Examples
    --------
    >>> escape_formula("@SUM(A1)"), escape_formula("+1e3"), escape_formula(-2)
    ("'@SUM(A1)", '+1e3', -2)
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
