"""Open a table for rows on demand: a built-in set, a file, or a table in a database."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from truefit._core.credentials import redacted
from truefit._core.errors import InvalidInput
from truefit.sources.builtin import BUILTIN, load_builtin
from truefit.sources.database import is_database, open_database
from truefit.sources.delimited_reader import DelimitedReader
from truefit.sources.files import DELIMITED, PARQUET, ending_of, notes_of, read_frame, stem
from truefit.sources.frame_reader import FrameReader
from truefit.sources.load import existing_file
from truefit.sources.on_demand import RowsOnDemand
from truefit.sources.parquet_reader import ParquetReader
from truefit.sources.reader import Reader
from truefit.sources.sequence import Keys
from truefit.sources.sql_reader import SqlReader
from truefit.sources.table import find_column

if TYPE_CHECKING:
    import pandas as pd

#: Files up to this size are read whole: their rows are then known by content, wherever they stand.
WHOLE_BYTES: Final = 16 << 20


def open_rows(
    data: str | os.PathLike[str] | pd.DataFrame,
    target: str | None = None,
    *,
    table: str | None = None,
    key: str | None = None,
    seed: int = 0,
    first: Sequence[Any] | Keys = (),
    whole: bool | None = None,
) -> RowsOnDemand:
    """Open a table of which no more rows are read than are asked for.

    Parameters
    ----------
    data : str, path or pandas DataFrame
        A built-in name; a file, as for ``load``; ``sqlite:///FILE`` or the path of a SQLite database; or
        ``postgresql://USER@HOST/NAME``. ``#TABLE`` may stand behind a database.
    target : str, optional
        The column to predict; the built-in sets have one of their own.
    table : str, optional
        Of a database that has several.
    key : str, optional
        Column of a database's table that tells its rows apart; its primary key by default.
    seed : int
        Another seed is another sequence of the rows.
    first : sequence of keys
        Rows that come first: ``keys(n)`` of an earlier sample.
    whole : bool, optional
        Whether a file is read whole. By default a large one is not, if it is Parquet, CSV or TSV.

    Returns
    -------
    RowsOnDemand
        Rows of a file that is read whole and have no target are left out, and counted in ``unlabelled``.

    Examples
    --------
    >>> rows = open_rows("iris")
    >>> small, large = rows.take(20)[0], rows.take(50)[0]
    >>> rows.total, len(large), large[:20].equals(small)
    (150, 50, True)
    """
    if not isinstance(data, str | os.PathLike):
        frame, unlabelled = _labelled(data, target, "the frame")
        return RowsOnDemand(FrameReader(frame, name="the frame"), target, seed=seed, first=first, unlabelled=unlabelled)
    name = os.fspath(data)
    if name in BUILTIN:
        built_in = load_builtin(name, target)
        frame = built_in.X.assign(**{built_in.target: built_in.y})
        return RowsOnDemand(FrameReader(frame, name=name, place=name), built_in.target, seed=seed, first=first)
    if is_database(name):
        database, named = open_database(name)
        in_database = SqlReader(database, table or named, key=key, target=target)
        return RowsOnDemand(in_database, target, seed=seed, first=first)
    if table is not None or key is not None:
        raise InvalidInput(
            f"A table and a key are for databases. Got {redacted(name)!r}, which is a file. Leave them out."
        )
    path = existing_file(name)
    ending = ending_of(path)
    in_parts = ending in DELIMITED or ending in PARQUET
    if whole is False and not in_parts:
        raise InvalidInput(f"Only Parquet, CSV and TSV files are read in parts. Got {path.name!r}. Read it whole.")
    if whole or not in_parts or (whole is None and path.stat().st_size <= WHOLE_BYTES):
        frame, unlabelled = _labelled(read_frame(path, target), target, stem(path))
        in_memory = FrameReader(frame, name=stem(path), place=str(path.resolve()), notes=notes_of(path))
        return RowsOnDemand(in_memory, target, seed=seed, first=first, unlabelled=unlabelled)
    reader: Reader = DelimitedReader(path, target) if ending in DELIMITED else ParquetReader(path)
    return RowsOnDemand(reader, target, seed=seed, first=first)


def _labelled(frame: pd.DataFrame, target: str | None, name: str) -> tuple[pd.DataFrame, int]:
    """Leave out the rows that have no target yet, and count them."""
    names = [str(column) for column in frame.columns]
    place = names.index(find_column(names, target, name))
    y = frame.iloc[:, place]
    missing = int(y.isna().sum())
    if not missing or missing == len(y):
        return frame, 0
    known = y.notna().to_numpy()
    # With gaps among them, truth values and numbers are objects: without, they are what they were.
    values = y[known].infer_objects()
    if isinstance(y.dtype, np.dtype) and y.dtype.kind == "f" and _are_whole(values):
        # Whole numbers with gaps are read as floats; they must not become others when the last gap is filled.
        values = values.astype("int64")
    frame = frame[known]
    frame.isetitem(place, values.array)
    return frame, missing


def _are_whole(values: pd.Series[Any]) -> bool:
    """Whether all values are whole numbers that an integer of 64 bits holds exactly."""
    return bool(((values % 1 == 0) & (values.abs() < 2**53)).all())
