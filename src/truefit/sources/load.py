"""Load a table by the name of a built-in set or by the path of a file."""

from __future__ import annotations

import os
from pathlib import Path

from truefit.core.errors import InvalidInput
from truefit.sources.builtin import BUILTIN, load_builtin
from truefit.sources.files import read_frame, stem
from truefit.sources.table import Table, nearest


def load(name_or_path: str | os.PathLike[str], target: str | None = None) -> Table:
    """Load a built-in set or a file.

    Parameters
    ----------
    name_or_path : str or path
        ``breast_cancer``, ``california_housing``, ``diabetes``, ``digits``, ``iris`` or ``wine``; or a CSV,
        TSV, Parquet, Feather, Arrow or JSON lines file. CSV, TSV and JSON lines may be compressed (``.gz``,
        ...).
    target : str, optional
        The column to predict. Needed for a file; the built-in sets have one of their own.

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
    truefit.core.errors.InvalidInput: There is no file 'irsi', and no built-in set of that name. Did you mean
    'iris'? Built-in sets: breast_cancer, california_housing, diabetes, digits, iris, wine.
    """
    name = os.fspath(name_or_path)
    if name in BUILTIN:
        return load_builtin(name, target)
    path = existing_file(name)
    return Table.of(read_frame(path, target), name=stem(path), target=target)


def existing_file(name: str) -> Path:
    """Return the path of a file that is there, or say which one may have been meant."""
    path = Path(name).expanduser()
    if "://" in name:
        raise InvalidInput(f"Files are read from this computer. Got {name!r}: download it first, then pass its path.")
    if not path.exists():
        raise InvalidInput(_missing(path, name))
    if path.is_dir():
        raise InvalidInput(f"{name!r} is a folder. Pass the path of a file in it.")
    return path


def _missing(path: Path, name: str) -> str:
    """Say that there is no such file, with the files and the built-in sets that may have been meant."""
    neighbours = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
    meant = [hint for hint in (nearest(path.name, neighbours), nearest(path.stem, list(BUILTIN))) if hint]
    question = f" Did you mean {' or '.join(meant)}?" if meant else ""
    known = f"Built-in sets: {', '.join(BUILTIN)}."
    return f"There is no file {name!r}, and no built-in set of that name.{question} {known}"
