"""RowsOnDemand: samples that contain each other, from a table that is read no further than they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.hashing import row_tokens, table_blocks
from truefit._core.rows import add_tokens
from truefit.sources.reader import KeyKind, Reader
from truefit.sources.sequence import Keys, first_keys
from truefit.sources.table import Table

if TYPE_CHECKING:
    import pandas as pd

#: Rows that are fetched at least: finding them costs a look through the table, whatever their number.
AHEAD = 10_000


class RowsOnDemand:
    """The rows of a table in one fixed random sequence: a sample of n rows is the first n of it.

    Rows are fetched when they are asked for, at least twice as many as before, and held.

    Parameters
    ----------
    reader : Reader
        Where the rows are.
    target : str
        The column to predict.
    seed : int
        Another seed is another sequence.
    first : sequence of keys
        Rows that come first, in this order: those of an earlier sample, so that it is contained in every later one
        although the table has grown.
    unlabelled : int
        How many rows were left out, since they have no target yet.

    Attributes
    ----------
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
        self._reader = reader
        self._target = target
        self._seed = seed
        self.unlabelled = unlabelled
        self._first, self.missing = _still_there(reader, first)
        self._keys: Keys = self._first[:0]
        self._frame: pd.DataFrame | None = None
        self._table: Table | None = None

    def beginning_with(self, first: Sequence[Any] | Keys) -> RowsOnDemand:
        """Return the same rows in a sequence that begins with those of these keys, as far as they are there."""
        return RowsOnDemand(self._reader, self._target, seed=self._seed, first=first, unlabelled=self.unlabelled)

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._reader.name

    @property
    def place(self) -> str:
        """Where the rows are: the same for the same table on every call."""
        return self._reader.place

    @property
    def kind(self) -> KeyKind:
        """What a row is told apart by."""
        return self._reader.kind

    @property
    def total(self) -> int:
        """How many rows there are."""
        return self._reader.total

    def take(self, n: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
        """Return X and y of the first n rows, or of all where there are fewer."""
        table = self.table(n)
        return table.X, table.y

    def table(self, n: int) -> Table:
        """Return the first n rows, or all where there are fewer, with what their target looks like."""
        held = self._held(n)
        return held if len(held.y) <= n else replace(held, X=held.X.iloc[:n], y=held.y.iloc[:n])

    def keys(self, n: int) -> Keys:
        """Return the keys of the first n rows."""
        self._held(n)
        return self._keys[:n]

    def digest(self, n: int) -> str:
        """Return what the first n rows hold together, whatever their order: it changes when one of them does."""
        self._held(n)
        assert self._frame is not None
        lanes = add_tokens(row_tokens(table_blocks(self._frame.iloc[:n])[0]))
        return f"{lanes[0]:016x}{lanes[1]:016x}"

    @property
    def schema(self) -> str:
        """Names and types of the columns."""
        self._held(1)
        assert self._frame is not None
        return table_blocks(self._frame.iloc[:1])[1]

    def _held(self, n: int) -> Table:
        if self._table is None or (n > len(self._keys) and len(self._keys) < self.total):
            self._fetch(min(max(n, AHEAD, 2 * len(self._keys), len(self._first)), self.total))
        assert self._table is not None
        return self._table

    def _fetch(self, n: int) -> None:
        import pandas as pd

        keys = self._sequence(n)
        new = keys[len(self._keys) :]
        frame = self._reader.read(new)
        if len(frame) != len(new):
            raise InvalidInput(
                f"{self.name!r} must keep its rows while they are read. Got {len(frame):,} of {len(new):,} rows that "
                "were there before. Run it again when nobody changes the table."
            )
        frame = frame.reset_index(drop=True)
        if self._frame is not None:
            frame = pd.concat([self._frame, frame], ignore_index=True)
        at = keys.tolist() if self.kind == "position" else None
        table = Table.of(frame, name=self.name, target=self._target, positions=at)
        self._table = replace(table, notes=(*self._reader.notes, *table.notes))
        self._frame, self._keys = frame, keys

    def _sequence(self, n: int) -> Keys:
        first = self._first[:n]
        if len(first) == n:
            return first
        known = self._first
        others = (
            (keys[~np.isin(keys, known)] for keys in self._reader.all_keys()) if len(known) else self._reader.all_keys()
        )
        rest = first_keys(others, n - len(first), seed=self._seed)
        return np.concatenate([first, rest]) if len(first) else rest


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
