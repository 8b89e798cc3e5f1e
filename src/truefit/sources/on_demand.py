"""Rows on demand: nested samples of a table, of which no more rows are read than are needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from truefit._core.credentials import redacted
from truefit._core.errors import InvalidInput
from truefit._core.rows import add_tokens, mix, row_tokens, table_blocks, value_tokens
from truefit.sources.database import SqlReader, open_database
from truefit.sources.files import DELIMITED, PARQUET, ending_of, notes_of, read_frame, stem
from truefit.sources.load import BUILTIN, existing_file, is_database, load_builtin
from truefit.sources.readers import DelimitedReader, FrameReader, Keys, ParquetReader, Reader
from truefit.sources.table import Table, find_column

if TYPE_CHECKING:
    import pandas as pd

#: Files up to this size are read whole: their rows are then identified by content, not by position.
WHOLE_BYTES: Final = 16 << 20
#: Rows that are fetched at least: finding them takes a pass over the table, whatever their number.
AHEAD = 10_000


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
    """Open a table of which no more rows are read than are requested.

    Parameters
    ----------
    data : str, path or pandas DataFrame
        A built-in name; a file, as for ``load``; ``sqlite:///FILE`` or the path of a SQLite database; or
        ``postgresql://USER@HOST/NAME``. ``#TABLE`` may follow a database.
    target : str, optional
        The column to predict; the built-in sets have one of their own.
    table : str, optional
        The table of a database that has several.
    key : str, optional
        Column of a database's table that identifies its rows; its primary key by default.
    seed : int
        Seed of the random sequence of the rows.
    first : sequence of keys
        Rows that come first: ``keys(n)`` of an earlier sample.
    whole : bool, optional
        Whether a file is read whole. By default a large one is not, if it is Parquet, CSV or TSV.

    Returns
    -------
    RowsOnDemand
        The rows. Those without a target in a file that is read whole are dropped, and counted in ``unlabelled``.

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
    """Drop the rows that have no target yet, and count them."""
    names = [str(column) for column in frame.columns]
    place = names.index(find_column(names, target, name))
    y = frame.iloc[:, place]
    missing = int(y.isna().sum())
    if not missing or missing == len(y):
        return frame, 0
    known = y.notna().to_numpy()
    # Among missing values truth values and numbers are objects; without them they have a type of their own.
    values = y[known].infer_objects()
    if isinstance(y.dtype, np.dtype) and y.dtype.kind == "f" and ((values % 1 == 0) & (values.abs() < 2**53)).all():
        # Whole numbers with gaps are read as floats; they must not become others when the last gap is filled.
        values = values.astype("int64")
    frame = frame[known]
    frame.isetitem(place, values.array)
    return frame, missing


class RowsOnDemand:
    """The rows of a table in one fixed random sequence: a sample of n rows is the first n of it.

    Rows are fetched when they are requested, at least twice as many as before, and held in memory.

    Parameters
    ----------
    reader : Reader
        The reader of the table.
    target : str
        The column to predict.
    seed : int
        Seed of the sequence.
    first : sequence of keys
        Rows that come first, in this order: those of an earlier sample, so that it is contained in every later one
        although the table has grown.
    unlabelled : int
        How many rows were dropped, since they have no target yet.

    Attributes
    ----------
    name : str
        Name of the table, for messages.
    place : str
        Where the rows are: the same for the same table on every call.
    kind : {"content", "position", "key"}
        What identifies a row.
    total : int
        Number of rows.
    missing : int
        How many rows of ``first`` are no longer there.
    """

    def __init__(
        self,
        reader: Reader,
        target: str | None,
        *,
        seed: int = 0,
        first: Sequence[Any] | Keys = (),
        unlabelled: int = 0,
    ) -> None:
        self._reader, self._target, self._seed = reader, target, seed
        self.name, self.place, self.kind, self.total = reader.name, reader.place, reader.kind, reader.total
        self.unlabelled = unlabelled
        self._first, self.missing = _still_there(reader, first)
        self._keys: Keys = self._first[:0]
        self._rows: tuple[pd.DataFrame, Table] | None = None

    def beginning_with(self, first: Sequence[Any] | Keys) -> RowsOnDemand:
        """Return the same rows in a sequence that begins with those of these keys, as far as they are there."""
        return RowsOnDemand(self._reader, self._target, seed=self._seed, first=first, unlabelled=self.unlabelled)

    def take(self, n: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
        """Return X and y of the first n rows, or of all where there are fewer."""
        table = self.table(n)
        return table.X, table.y

    def table(self, n: int) -> Table:
        """Return the first n rows, or all where there are fewer, with what their target looks like."""
        _, held = self._held(n)
        return held if len(held.y) <= n else replace(held, X=held.X.iloc[:n], y=held.y.iloc[:n])

    def keys(self, n: int) -> Keys:
        """Return the keys of the first n rows."""
        self._held(n)
        return self._keys[:n]

    def digest(self, n: int) -> str:
        """Return a hash of the content of the first n rows, in any order: it changes when one of them does."""
        lanes = add_tokens(row_tokens(table_blocks(self._held(n)[0].iloc[:n])[0]))
        return f"{lanes[0]:016x}{lanes[1]:016x}"

    @property
    def schema(self) -> str:
        """Names and types of the columns."""
        return table_blocks(self._held(1)[0].iloc[:1])[1]

    def _held(self, n: int) -> tuple[pd.DataFrame, Table]:
        """Return at least the first n rows, as they were read and as a table."""
        if self._rows is None or (n > len(self._keys) and len(self._keys) < self.total):
            self._rows = self._fetch(min(max(n, AHEAD, 2 * len(self._keys), len(self._first)), self.total))
        return self._rows

    def _fetch(self, n: int) -> tuple[pd.DataFrame, Table]:
        import pandas as pd

        keys = self._sequence(n)
        new = keys[len(self._keys) :]
        frame = self._reader.read(new)
        if len(frame) != len(new):
            raise InvalidInput(
                f"{self.name!r} must keep its rows while they are read. Got {len(frame):,} of {len(new):,} rows that "
                "were there before. Rerun it when the table does not change."
            )
        frame = frame.reset_index(drop=True)
        if self._rows is not None:
            frame = pd.concat([self._rows[0], frame], ignore_index=True)
        at = keys.tolist() if self.kind == "position" else None
        table = Table.of(frame, name=self.name, target=self._target, positions=at)
        self._keys = keys
        return frame, replace(table, notes=(*self._reader.notes, *table.notes))

    def _sequence(self, n: int) -> Keys:
        first = self._first[:n]
        if len(first) == n:
            return first
        others = self._reader.all_keys()
        if not len(first):
            return first_keys(others, n, seed=self._seed)
        others = (keys[~np.isin(keys, self._first)] for keys in others)
        return np.concatenate([first, first_keys(others, n - len(first), seed=self._seed)])


def _still_there(reader: Reader, first: Sequence[Any] | Keys) -> tuple[Keys, int]:
    wanted = np.asarray(first if len(first) else np.empty(0, dtype=np.int64))
    if wanted.dtype.kind not in "iu":
        wanted = wanted.astype(object)
    if not len(wanted):
        return wanted, 0
    there = np.zeros(len(wanted), dtype=bool)
    for keys in reader.all_keys():
        there |= np.isin(wanted, keys)
    return wanted[there], int((~there).sum())


def first_keys(keys: Iterable[Keys], n: int, *, seed: int = 0) -> Keys:
    """Return the n keys with the smallest hashes, in the order of the hashes; no more than about 3 n keys are held.

    >>> chunks = [np.arange(0, 60), np.arange(60, 100)]
    >>> first_keys(chunks, 4).tolist()
    [48, 7, 81, 87]
    >>> first_keys(chunks, 6).tolist()
    [48, 7, 81, 87, 2, 5]
    """
    held: list[tuple[Keys, npt.NDArray[np.uint64]]] = []
    for chunk in keys:
        held.append((chunk, hash_of(chunk, seed)))
        if sum(len(part) for part, _ in held) > 2 * max(n, 1):
            held = [_smallest(held, n)]
    if not held:
        return np.empty(0, dtype=np.int64)
    chosen, hashes = _smallest(held, n)
    return chosen[np.argsort(hashes, kind="stable")]


def hash_of(keys: Keys, seed: int = 0) -> npt.NDArray[np.uint64]:
    """Hash of each key; the same on every machine."""
    if keys.dtype.kind in "iu":
        lanes = np.repeat(keys.astype(np.uint64, copy=False)[:, None], 2, axis=1)
    else:
        lanes = value_tokens(keys)
    # A seed may be any whole number; two lanes take 128 bits of it.
    salt = np.array([seed & 0xFFFFFFFFFFFFFFFF, (seed >> 64) & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    hashes: npt.NDArray[np.uint64] = mix(lanes, np.broadcast_to(salt, lanes.shape))[:, 0]
    return hashes


def _smallest(held: list[tuple[Keys, npt.NDArray[np.uint64]]], n: int) -> tuple[Keys, npt.NDArray[np.uint64]]:
    keys, hashes = (np.concatenate(parts) for parts in zip(*held, strict=True))
    if len(keys) <= n:
        return keys, hashes
    chosen = np.argpartition(hashes, n - 1)[:n] if n else np.empty(0, dtype=np.intp)
    return keys[chosen], hashes[chosen]
