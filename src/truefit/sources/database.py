"""Databases: SQLite and PostgreSQL behind one small surface, through their ADBC drivers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote

from truefit._core.credentials import Address, redacted, split_address
from truefit._core.errors import InvalidInput, MissingDependency

#: Endings of a SQLite database that is given as a path.
SQLITE_ENDINGS: Final = (".db", ".sqlite", ".sqlite3")

#: Addresses of files that are elsewhere.
_WEB: Final = ("http", "https", "ftp", "s3", "gs", "file")
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


class Database(Protocol):
    """What rows on demand need to know of a database."""

    place: str

    def tables(self) -> list[str]:
        """Names of its tables and views."""
        ...

    def columns(self, table: str) -> list[Column]:
        """Columns of a table, in their order; none where there is no such table."""
        ...

    def row_number(self, table: str) -> Column | None:
        """A column that identifies rows although nobody declared one; None where there is none that stays."""
        ...

    def selected(self, column: Column) -> str:
        """How a column is written in a query, so that it comes as numbers, dates or text."""
        ...

    def among(self, column: Column) -> str:
        """A condition that a column is one of the values in a JSON list, the query's only parameter."""
        ...

    def batches(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """Rows of a query as Arrow record batches."""
        ...


def quoted(name: str) -> str:
    """Write a name as SQL does, whatever is in it; a dot stands between a schema and its table.

    Examples
    --------
    >>> quoted("sales.people")
    '"sales"."people"'
    """
    return ".".join(map(quoted_column, name.split(".")))


def is_database(data: str) -> bool:
    """Whether this is the address of a database, or the path of one.

    Examples
    --------
    >>> is_database("postgresql://localhost/shop"), is_database("people.sqlite"), is_database("https://a.org/b.csv")
    (True, True, False)
    """
    if "://" in data:
        return data.partition("://")[0].lower() not in _WEB
    return data.lower().endswith(SQLITE_ENDINGS) or data.partition("#")[0].lower().endswith(SQLITE_ENDINGS)


def open_database(data: str) -> tuple[Database, str | None]:
    """Open what ``is_database`` says is one, for reading only; the table is what stands behind ``#``."""
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


class Sqlite:
    """A SQLite file, opened so that nothing can be written to it."""

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
        self._name = path.name
        self._address = f"file:{quote(str(path.resolve()))}?mode=ro"

    def tables(self) -> list[str]:
        """Names of its tables and views."""
        query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        return [row["name"] for batch in self.batches(query) for row in batch.to_pylist()]

    def columns(self, table: str) -> list[Column]:
        """Columns of a table, in their order; none where there is no such table."""
        query = 'SELECT name, type, "notnull" AS full, pk FROM pragma_table_info(?)'
        rows = [row for batch in self.batches(query, [table]) for row in batch.to_pylist()]
        # An integer that is the only primary key is the row's number, and so never missing.
        return [Column(row["name"], row["type"].lower(), not (row["full"] or row["pk"]), row["pk"] > 0) for row in rows]

    def row_number(self, table: str) -> Column | None:
        """Return the number that SQLite gives every row of a table; views and some tables have none."""
        query = "SELECT type, wr FROM pragma_table_list(?)"
        rows = [row for batch in self.batches(query, [table]) for row in batch.to_pylist()]
        has = any(row["type"] == "table" and not row["wr"] for row in rows)
        return Column("rowid", "integer", nullable=False, in_key=True) if has else None

    def selected(self, column: Column) -> str:
        """How a column is written in a query."""
        return quoted_column(column.name)

    def among(self, column: Column) -> str:
        """A condition that a column is one of the values in a JSON list."""
        return f"{quoted_column(column.name)} IN (SELECT value FROM json_each(?))"

    def batches(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """Rows of a query as Arrow record batches."""
        failure = None
        try:
            import adbc_driver_sqlite.dbapi as driver

            with driver.connect(self._address, autocommit=True) as connection, connection.cursor() as cursor:
                # SQLite types its values one by one; the driver types a column by the rows of its first batch.
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": 1 << 16})
                cursor.execute(query, list(parameters) or None)
                yield from cursor.fetch_record_batch()
        except Exception as error:
            failure = _explained(error, self._name, "sqlite")
        if failure is not None:
            raise failure


class Postgres:
    """A PostgreSQL database."""

    def __init__(self, address: Address) -> None:
        # What is written down, in messages and in a store, has no password in it.
        self.place = address.shown.replace("postgres://", "postgresql://", 1)
        self._address = address

    def tables(self) -> list[str]:
        """Names of its tables and views."""
        query = (
            "SELECT table_name::text AS name FROM information_schema.tables "
            "WHERE table_schema = ANY(current_schemas(false)) ORDER BY 1"
        )
        return [row["name"] for batch in self.batches(query) for row in batch.to_pylist()]

    def columns(self, table: str) -> list[Column]:
        """Columns of a table, in their order; none where there is no such table."""
        query = """
            SELECT a.attname::text AS name, format_type(a.atttypid, NULL) AS type, NOT a.attnotnull AS nullable,
                COALESCE(a.attnum = ANY(i.indkey::int2[]), false) AS in_key
            FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
            WHERE a.attrelid = to_regclass($1)::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
        """
        rows = [row for batch in self.batches(query, [quoted(table)]) for row in batch.to_pylist()]
        return [Column(row["name"], row["type"], row["nullable"], row["in_key"]) for row in rows]

    def row_number(self, table: str) -> Column | None:
        """Return None: where PostgreSQL has put a row changes whenever the row does."""
        return None

    def selected(self, column: Column) -> str:
        """How a column is written in a query; what Arrow has no type for comes as text."""
        name = quoted_column(column.name)
        if column.is_integer or column.type in ("real", "double precision", "boolean", "date", "text"):
            return name
        if column.type.startswith("timestamp"):
            return name
        return f"CAST({name} AS {'double precision' if column.is_number else 'text'}) AS {name}"

    def among(self, column: Column) -> str:
        """A condition that a column is one of the values in a JSON list."""
        values = "json_array_elements_text(CAST($1 AS json))"
        return f"{quoted_column(column.name)} IN (SELECT CAST(value AS {column.type}) FROM {values})"

    def batches(self, query: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """Rows of a query as Arrow record batches."""
        failure = None
        try:
            import adbc_driver_postgresql.dbapi as driver

            with (
                driver.connect(self._address.whole.reveal(), autocommit=True) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute(query, list(parameters) or None)
                yield from cursor.fetch_record_batch()
        except Exception as error:
            failure = _explained(error, self.place, "postgresql", self._address)
        if failure is not None:
            raise failure


def quoted_column(name: str) -> str:
    """Write the name of a column as SQL does; a dot in it is only a dot.

    Examples
    --------
    >>> quoted_column("a.b")
    '"a.b"'
    """
    return f'"{name.replace(chr(34), 2 * chr(34))}"'


def json_list(values: Sequence[Any]) -> str:
    """Values as one parameter of a query, however many they are."""
    return json.dumps(list(values))


def _explained(error: Exception, name: str, driver: str, address: Address | None = None) -> InvalidInput:
    """Return what to raise once the error is handled: chained to it, a traceback would show what the driver quotes."""
    if isinstance(error, ImportError):
        raise MissingDependency(
            f"Reading {name!r} needs adbc-driver-{driver} and pyarrow, which are not installed. Install them with "
            "`pip install truefit[sql]`."
        ) from error
    if not type(error).__module__.startswith("adbc_driver_manager"):
        raise error
    reason = " ".join(str(error).split())
    reason = reason if address is None else address.cleaned(reason)
    return InvalidInput(f"The database {name!r} must answer. It says: {reason}. Check its address.")
