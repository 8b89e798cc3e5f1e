"""Load a table by the name of a built-in set, the path of a file, or the address of a database."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from truefit._core.credentials import redacted
from truefit._core.errors import InvalidInput
from truefit.sources.database import is_database, open_database
from truefit.sources.datasets import BUILTIN, OPENML_PREFIX, load_builtin, load_openml
from truefit.sources.files import notes_of, read_frame, stem
from truefit.sources.sql_table import read_table
from truefit.sources.table import Table, nearest

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)


def load(name_or_path: str | os.PathLike[str], target: str | None = None) -> Table:
    """Load a built-in set, a file, a table of a database, or one of OpenML.

    Parameters
    ----------
    name_or_path : str or path
        ``breast_cancer``, ``california_housing``, ``diabetes``, ``digits``, ``iris`` or ``wine``; or a CSV,
        TSV, Parquet, Feather, Arrow or JSON lines file. CSV, TSV and JSON lines may be compressed (``.gz``,
        ...), and other separators than the ending implies are recognised and noted. Or ``sqlite:///FILE#TABLE``,
        ``postgresql://USER@HOST/NAME#TABLE``, where the table may be left out if there is only one; or
        ``openml:NAME``, ``openml:NAME@VERSION`` or ``openml:NUMBER``.
    target : str, optional
        The column to predict. Needed for a file or a database; the others have one of their own.

    Returns
    -------
    Table

    Raises
    ------
    InvalidInput
        Where the source cannot be read or its target cannot be learned; the message says what to do.
    MissingDependency
        Where a format needs a package that is not installed.

    Examples
    --------
    >>> table = load("iris")
    >>> table.X.shape, table.task_hint.reason
    ((150, 4), 'the target has 3 distinct whole numbers, each at least 50 times')
    >>> load("irsi")
    Traceback (most recent call last):
        ...
    truefit._core.errors.InvalidInput: There is no file 'irsi', and no built-in set of that name. Did you mean
    'iris'? Built-in sets: breast_cancer, california_housing, diabetes, digits, iris, wine.
    """
    name = os.fspath(name_or_path)
    if name in BUILTIN:
        table = load_builtin(name, target)
    elif name.startswith(OPENML_PREFIX):
        table = load_openml(name, target)
    else:
        frame, called, notes = _read(name, target)
        table = Table.of(frame, name=called, target=target)
        table = replace(table, notes=(*notes, *table.notes))
    logger.info("Read %s: %s rows, %s features, target %r.", table.name, *table.X.shape, table.target)
    return table


def load_rows(name_or_path: str | os.PathLike[str]) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Load rows without a target, such as those to be predicted: all columns, the source's name, and notes."""
    name = os.fspath(name_or_path)
    if name in BUILTIN or name.startswith(OPENML_PREFIX):
        table = load(name)
        return table.X.assign(**{table.target: table.y}), table.name, table.notes
    frame, called, notes = _read(name, None)
    logger.info("Read %s: %s rows, %s columns.", called, *frame.shape)
    return frame, called, notes


def _read(name: str, target: str | None) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    if is_database(name):
        database, table = open_database(name)
        return read_table(database, table, target)
    path = existing_file(name)
    frame = read_frame(path, target)
    return frame, stem(path), notes_of(path)


def existing_file(name: str) -> Path:
    """Return the path of a file that exists, or suggest similar names."""
    path, shown = Path(name).expanduser(), redacted(name)
    if "://" in name:
        raise InvalidInput(f"Files are read from this computer. Got {shown!r}: download it first, then pass its path.")
    if not path.exists():
        neighbours = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
        meant = [hint for hint in (nearest(path.name, neighbours), nearest(path.stem, list(BUILTIN))) if hint]
        question = f" Did you mean {' or '.join(meant)}?" if meant else ""
        raise InvalidInput(
            f"There is no file {shown!r}, and no built-in set of that name.{question} Built-in sets: "
            f"{', '.join(BUILTIN)}."
        )
    if path.is_dir():
        raise InvalidInput(f"{name!r} is a folder. Pass the path of a file in it.")
    return path
