"""Databases: SQLite and PostgreSQL behind one small surface, through their ADBC drivers; reading of their tables."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import numpy as np

from truefit._core.credentials import Address, redacted, split_address
from truefit._core.errors import InvalidInput, MissingDependency
from truefit.sources.files import check_text
from truefit.sources.readers import KeyKind, Keys
from truefit.sources.table import find_column, nearest

if TYPE_CHECKING:
    import pandas as pd


_TEXTS: Final = ("text", "character varying", "character", "uuid")


class Column(NamedTuple):
    """A column as the database declares it."""

    name: str
    type: str
    nullable: bool
    in_key: bool

    @property
    def is_integer(self) -> bool:
        """Whether it holds whole numbers; yes and no are 1 and 0."""
        return ("int" in self.type and self.type not in ("interval", "point")) or self.type.startswith("bool")

    @property
    def is_text(self) -> bool:
        """Whether it holds text, or what is as good as text for a key."""
        return self.type in _TEXTS or "char" in self.type

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers with fractions."""
        return self.type.startswith(("real", "double", "float", "numeric", "decimal"))


class Database(ABC):
    """A database that rows are read from."""

    place: str
    #: What messages call it, and the name of its ADBC driver.
    name: str
    driver: str
    #: Selects the names of its tables and views.
    tables_query: str

    def tables(self) -> list[str]:
        """Names of its tables and views."""
        return [row["name"] for row in self._rows(self.tables_query)]

    @abstractmethod
    def columns(self, table: str) -> list[Column]:
        """Columns of a table, in their order; none where there is no such table."""

    def row_number(self, table: str) -> Column | None:
        """An undeclared column that identifies rows; None where there is none that stays the same."""
        return None

    def selected(self, column: Column) -> str:
        """How a column is written in a query, so that it comes as numbers, dates or text."""
        return quoted_column(column.name)

    @abstractmethod
    def among(self, column: Column) -> str:
        """A condition that a column is one of the values in a JSON list, the query's only parameter."""

    @abstractmethod
    def _uri(self) -> str:
        """Address for the driver, which may hold a password."""

    def _reason(self, error: Exception) -> str:
        """The message of the driver, in one line."""
        return " ".join(str(error).split())

    def batches(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """Rows of a query as Arrow record batches."""
        failure = None
        try:
            driver = import_module(f"adbc_driver_{self.driver}.dbapi")
            with driver.connect(self._uri(), autocommit=True) as connection, connection.cursor() as cursor:
                if self.driver == "sqlite":
                    # SQLite types its values one by one; the driver types a column by the rows of its first batch.
                    cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": 1 << 16})
                cursor.execute(query, list(parameters) or None)
                yield from cursor.fetch_record_batch()
        except ImportError as error:
            raise MissingDependency(
                f"Reading {self.name!r} needs adbc-driver-{self.driver} and pyarrow, which are not installed. Install "
                "them with `pip install truefit[sql]`."
            ) from error
        except Exception as error:
            if not type(error).__module__.startswith("adbc_driver_manager"):
                raise
            failure = f"The database {self.name!r} must answer. It reports: {self._reason(error)}. Check its address."
        if failure is not None:
            # Not chained to the driver's error: a traceback would show the password that the driver quotes.
            raise InvalidInput(failure)

    def _rows(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        return [row for batch in self.batches(query, parameters) for row in batch.to_pylist()]


def quoted(name: str) -> str:
    """Write a name as SQL does, whatever is in it; a dot stands between a schema and its table.

    >>> quoted("sales.people")
    '"sales"."people"'
    """
    return ".".join(map(quoted_column, name.split(".")))


def open_database(data: str) -> tuple[Database, str | None]:
    """Open a database for reading only; the name of a table may follow ``#``."""
    scheme = redacted(data).partition("://")[0].lower() if "://" in data else "sqlite"
    if scheme == "sqlite":
        place, _, table = (data, "", "") if Path(data).is_file() else data.partition("#")
        return Sqlite(place), table or None
    if scheme not in ("postgresql", "postgres"):
        raise InvalidInput(
            f"A database must be sqlite:///FILE or postgresql://USER@HOST/NAME. Got {scheme}:// instead. Copy the "
            "table into one of these, or into a Parquet file."
        )
    address = split_address(data)
    if address is None:
        raise InvalidInput(
            f"An address such as {scheme}://USER:PASSWORD@HOST:PORT/NAME must have one reading, and this one has none "
            "or several (it is not shown, because it may hold a password). Write @ as %40, / as %2F, : as %3A, # as "
            "%23, ? as %3F and % as %25 in the user, the password and the parameters; a port is a number."
        )
    return Postgres(address), address.table


class Sqlite(Database):
    """A SQLite file, opened so that nothing can be written to it."""

    driver = "sqlite"
    tables_query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"

    def __init__(self, data: str) -> None:
        scheme, _, rest = data.rpartition("://")
        if scheme and not rest.startswith("/"):
            raise InvalidInput(
                f"A SQLite database must be sqlite:///FILE, without a user, a password or a host. Got {redacted(data)}."
            )
        path = Path(rest.removeprefix("/") if scheme else data).expanduser()
        if not path.is_file():
            raise InvalidInput(f"There is no database {redacted(str(path)).partition('?')[0]!r}. Check the path.")
        self.place = f"sqlite:///{path.resolve()}"
        self.name = path.name
        self._address = f"file:{quote(str(path.resolve()))}?mode=ro"

    def columns(self, table: str) -> list[Column]:
        """Columns of a table, in their order; none where there is no such table."""
        query = 'SELECT name, type, "notnull" AS full, pk FROM pragma_table_info(?)'
        rows = self._rows(query, table)
        # An integer that is the only primary key is the row's number, and so never missing.
        return [Column(row["name"], row["type"].lower(), not (row["full"] or row["pk"]), row["pk"] > 0) for row in rows]

    def row_number(self, table: str) -> Column | None:
        """Return the number that SQLite gives every row of a table; views and some tables have none."""
        query = "SELECT type, wr FROM pragma_table_list(?)"
        rows = self._rows(query, table)
        has = any(row["type"] == "table" and not row["wr"] for row in rows)
        return Column("rowid", "integer", nullable=False, in_key=True) if has else None

    def among(self, column: Column) -> str:
        """A condition that a column is one of the values in a JSON list."""
        return f"{quoted_column(column.name)} IN (SELECT value FROM json_each(?))"

    def _uri(self) -> str:
        return self._address


class Postgres(Database):
    """A PostgreSQL database."""

    driver = "postgresql"
    tables_query = (
        "SELECT table_name::text AS name FROM information_schema.tables "
        "WHERE table_schema = ANY(current_schemas(false)) ORDER BY 1"
    )

    def __init__(self, address: Address) -> None:
        # Messages and stores hold no password.
        self.place = self.name = address.shown.replace("postgres://", "postgresql://", 1)
        self._address = address

    def columns(self, table: str) -> list[Column]:
        """Columns of a table, in their order; none where there is no such table."""
        query = """
            SELECT a.attname::text AS name, format_type(a.atttypid, NULL) AS type, NOT a.attnotnull AS nullable,
                COALESCE(a.attnum = ANY(i.indkey::int2[]), false) AS in_key
            FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
            WHERE a.attrelid = to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
        """
        rows = self._rows(query, quoted(table))
        return [Column(row["name"], row["type"], row["nullable"], row["in_key"]) for row in rows]

    def selected(self, column: Column) -> str:
        """How a column is written in a query; what Arrow has no type for comes as text."""
        name = quoted_column(column.name)
        plain = ("real", "double precision", "boolean", "date", "text")
        if column.is_integer or column.type in plain or column.type.startswith("timestamp"):
            return name
        return f"CAST({name} AS {'double precision' if column.is_number else 'text'}) AS {name}"

    def among(self, column: Column) -> str:
        """A condition that a column is one of the values in a JSON list."""
        values = "json_array_elements_text(CAST($1 AS json))"
        return f"{quoted_column(column.name)} IN (SELECT CAST(value AS {column.type}) FROM {values})"

    def _uri(self) -> str:
        return self._address.whole.reveal()

    def _reason(self, error: Exception) -> str:
        return self._address.cleaned(super()._reason(error))


def quoted_column(name: str) -> str:
    """Write the name of a column as SQL does; a dot in it is only a dot."""
    return f'"{name.replace(chr(34), 2 * chr(34))}"'


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
