"""A table of a database: read whole, or row by row by its keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from truefit._core.errors import InvalidInput
from truefit.sources.database import Column, Database, quoted, quoted_column
from truefit.sources.files import check_text
from truefit.sources.readers import KeyKind, Keys
from truefit.sources.table import find_column, nearest

if TYPE_CHECKING:
    import pandas as pd

_KEYS_AT_ONCE: Final = 20_000


def read_table(database: Database, table: str | None, target: str | None) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Read all rows of a table, or of the only one, without its primary key; return them with its name and notes."""
    import pandas as pd
    import pyarrow as pa

    name = _chosen_table(database, table)
    columns = _columns_of(database, name)
    keys = [column for column in columns if column.in_key]
    key = keys[0] if len(keys) == 1 else None
    kept = [column for column in columns if column != key]
    order = f" ORDER BY {', '.join(quoted_column(column.name) for column in keys)}" if keys else ""
    query = f"SELECT {', '.join(map(database.selected, kept))} FROM {quoted(name)}{order}"
    batches = list(database.batches(query))
    if not batches:
        return pd.DataFrame(columns=[column.name for column in kept]), name, ()
    # A batch in which a column has no value has no type for it either.
    whole = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive")
    return _frame(whole.columns, kept, name, target), name, _note(key)


class SqlReader:
    """Rows of a table, or of the only table: all keys are read, and the other columns of the requested rows alone.

    The key is the primary key by default, or SQLite's row number. It is not among the inputs.
    """

    kind: KeyKind = "key"

    def __init__(self, database: Database, table: str | None, *, key: str | None = None, target: str | None) -> None:
        self._database = database
        self.name = _chosen_table(database, table)
        self.place = f"{database.place} {self.name}"
        columns = _columns_of(database, self.name)
        self._key = _key_column(columns, key, self.name, database.row_number(self.name))
        self._columns = [column for column in columns if column != self._key]
        names = [column.name for column in self._columns]
        self._target = find_column(names, target, self.name)
        self.notes = _note(self._key if self._key in columns else None)
        (counted,) = self._database.batches(f"SELECT count(*) AS total FROM {quoted(self.name)}")
        self.total = int(counted.column(0)[0].as_py())

    def all_keys(self) -> Iterator[Keys]:
        """Every row's key."""
        for batch in self._database.batches(f"SELECT {self._key_text} FROM {quoted(self.name)}"):
            keys = batch.column(0)
            if keys.null_count:
                raise InvalidInput(
                    f"The key {self._key.name!r} of {self.name!r} must have a value in every row. Got rows without "
                    "one. Name another column as the key."
                )
            values = keys.to_numpy(zero_copy_only=False)
            yield values.astype(np.int64) if self._key.is_integer else values.astype(object)

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows of these keys, in this order."""
        import pandas as pd

        parts = [self._read(keys[start : start + _KEYS_AT_ONCE]) for start in range(0, len(keys), _KEYS_AT_ONCE)]
        if not parts:
            return pd.DataFrame(columns=[column.name for column in self._columns])
        return pd.concat(parts, ignore_index=True)

    @property
    def _key_text(self) -> str:
        column = quoted_column(self._key.name)
        return column if self._key.is_integer else f"CAST({column} AS text)"

    def _read(self, keys: Keys) -> pd.DataFrame:
        import pyarrow as pa

        selected = ", ".join([self._key_text, *map(self._database.selected, self._columns)])
        query = f"SELECT {selected} FROM {quoted(self.name)} WHERE {self._database.among(self._key)}"
        batches = list(self._database.batches(query, [json.dumps(keys.tolist())]))
        table = pa.Table.from_batches(batches)
        found = table.column(0).to_pandas()
        if found.duplicated().any():
            raise InvalidInput(
                f"The key {self._key.name!r} of {self.name!r} must identify rows. Got the same one in several rows. "
                "Name another column as the key."
            )
        frame = _frame(table.columns[1:], self._columns, self.name, self._target).set_axis(found.array)
        return frame.loc[[key for key in keys.tolist() if key in frame.index]]


def _note(key: Column | None) -> tuple[str, ...]:
    return () if key is None else (f"The column {key.name!r} identifies the rows; it is not among the inputs.",)


def _frame(values: Sequence[Any], columns: Sequence[Column], table: str, target: str | None) -> pd.DataFrame:
    import pandas as pd

    pairs = enumerate(zip(values, columns, strict=True))
    typed = {i: _typed(each, column, table, is_target=column.name == target) for i, (each, column) in pairs}
    frame = pd.DataFrame(typed, copy=False)
    frame.columns = pd.Index([column.name for column in columns])
    return frame


def _typed(values: Any, column: Column, table: str, *, is_target: bool) -> Any:
    """Give a column the type that it is declared with, whatever the rows at hand have in it."""
    import pyarrow as pa

    series = (values.cast(pa.string()) if pa.types.is_null(values.type) else values).to_pandas()
    check_text(series.array, f"The column {column.name!r} of {table!r}")
    # A whole number that may be missing is a float, also in a sample where none is; a target never is missing.
    whole = column.is_integer and (not column.nullable or (is_target and not values.null_count))
    try:
        if whole:
            return series.astype("int64").array
        if column.is_integer or column.is_number:
            return series.astype("float64").array
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The column {column.name!r} of {table!r} must hold numbers, as it is declared. {error}."
        ) from error
    return series.array


def _columns_of(database: Database, table: str) -> list[Column]:
    """Return the columns of a table, or say which tables there are."""
    columns = database.columns(table)
    if not columns:
        known = database.tables()
        near = nearest(table, known)
        meant = f" Did you mean {near}?" if near else ""
        raise InvalidInput(f"The database has no table {table!r}.{meant} Tables: {', '.join(known)}.")
    return columns


def _chosen_table(database: Database, table: str | None) -> str:
    """Return the table that is named, or the only one."""
    if table is not None:
        return table
    known = database.tables()
    if len(known) != 1:
        listed = f"Tables: {', '.join(known)}." if known else "It has no tables."
        raise InvalidInput(f"The database must come with the name of one table, as in FILE#TABLE. {listed}")
    return known[0]


def _key_column(columns: list[Column], key: str | None, name: str, row_number: Column | None) -> Column:
    if key is not None:
        wanted = find_column([column.name for column in columns], key, name)
        chosen = [column for column in columns if column.name == wanted]
    else:
        chosen = [column for column in columns if column.in_key]
        if len(chosen) != 1 and row_number is not None:
            return row_number
        if len(chosen) != 1:
            got = "none" if not chosen else f"one of {len(chosen)} columns"
            raise InvalidInput(
                f"{name!r} must have a primary key of one column. Got {got}. Name a column that identifies its rows "
                "as the key."
            )
    if not (chosen[0].is_integer or chosen[0].is_text):
        raise InvalidInput(
            f"The key {chosen[0].name!r} of {name!r} must be whole numbers or text. Got {chosen[0].type or 'no type'}. "
            "Name another column as the key."
        )
    return chosen[0]
