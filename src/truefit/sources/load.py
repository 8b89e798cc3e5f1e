"""Load a table by the name of a built-in set or of one of OpenML, the path of a file, or the address of a database."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from truefit._core.credentials import redacted
from truefit._core.errors import InvalidInput
from truefit.sources.database import open_database, read_table
from truefit.sources.files import notes_of, read_frame, stem
from truefit.sources.table import Table, find_column, nearest

if TYPE_CHECKING:
    import pandas as pd


logger = logging.getLogger(__name__)

#: Name of the set, and of the function of ``sklearn.datasets`` that has it.
BUILTIN: Final = {
    "breast_cancer": "load_breast_cancer",
    "california_housing": "fetch_california_housing",
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}
#: Prefix of the name of an OpenML table.
OPENML_PREFIX: Final = "openml:"
#: Endings of a SQLite database that is given as a path.
SQLITE_ENDINGS: Final = (".db", ".sqlite", ".sqlite3")
#: Addresses of files that are elsewhere.
_WEB: Final = ("http", "https", "ftp", "s3", "gs", "file")


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


def is_database(data: str) -> bool:
    """Whether this is the address or the path of a database.

    >>> is_database("postgresql://localhost/shop"), is_database("people.sqlite"), is_database("https://a.org/b.csv")
    (True, True, False)
    """
    if "://" in data:
        return data.partition("://")[0].lower() not in _WEB
    return data.lower().endswith(SQLITE_ENDINGS) or data.partition("#")[0].lower().endswith(SQLITE_ENDINGS)


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


def load_builtin(name: str, target: str | None = None) -> Table:
    """Return one of scikit-learn's sets; ``target`` is another column than the usual one."""
    from sklearn import datasets

    function = getattr(datasets, BUILTIN[name])
    bunch = function(as_frame=True) if BUILTIN[name].startswith("load_") else _fetch(function, name)
    return Table.of(bunch.frame, name=name, target=target or bunch.target.name)


def _fetch(function: Any, name: str) -> Any:
    from sklearn.datasets import get_data_home

    try:
        return _download(function)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{name} is downloaded the first time it is used, and this failed ({error}). Connect to the "
            f"internet, or copy scikit-learn's data folder from a machine that has it to {get_data_home()}."
        ) from error


def load_openml(address: str, target: str | None = None) -> Table:
    """Return a table of OpenML, downloaded the first time and then read from scikit-learn's data folder."""
    from sklearn.datasets import fetch_openml

    which = _openml_table(address)
    try:
        bunch = _download(fetch_openml, **which)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{address!r} must be a table of OpenML that can be downloaded, or was before. Got: {error}. Check the "
            "name on openml.org, connect to the internet, or pass a file."
        ) from error
    usual = bunch.target_names[0] if len(bunch.target_names or ()) == 1 else None
    if target is not None:
        find_column([str(column) for column in bunch.frame.columns], target, address)
    return Table.of(bunch.frame, name=address.removeprefix(OPENML_PREFIX), target=target or usual)


def _openml_table(address: str) -> dict[str, Any]:
    """Return the arguments of ``fetch_openml`` that name the table.

    >>> _openml_table("openml:adult"), _openml_table("openml:adult@2"), _openml_table("openml:1590")
    ({'name': 'adult', 'version': 'active'}, {'name': 'adult', 'version': 2}, {'data_id': 1590})
    """
    name, _, version = address.removeprefix(OPENML_PREFIX).partition("@")
    if not name or (version and not version.isdecimal()):
        raise InvalidInput(
            f"A table of OpenML must be openml:NAME, openml:NAME@VERSION or openml:NUMBER. Got {address!r} instead."
        )
    if name.isdecimal():
        return {"data_id": int(name)}
    return {"name": name, "version": int(version) if version else "active"}


def _download(function: Callable[..., Any], **which: Any) -> Any:
    with warnings.catch_warnings():
        # Several versions of a table, or a second try at the download: nothing that a reader can act on.
        warnings.simplefilter("ignore", UserWarning)
        return function(**which, as_frame=True, n_retries=1, delay=0.5)
