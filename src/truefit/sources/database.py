"""Databases: SQLite and PostgreSQL behind one small surface, through their ADBC drivers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple
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


def is_database(data: str) -> bool:
    """Whether this is the address or the path of a database.

    >>> is_database("postgresql://localhost/shop"), is_database("people.sqlite"), is_database("https://a.org/b.csv")
    (True, True, False)
    """
    if "://" in data:
        return data.partition("://")[0].lower() not in _WEB
    return data.lower().endswith(SQLITE_ENDINGS) or data.partition("#")[0].lower().endswith(SQLITE_ENDINGS)


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
