"""SqliteStore: outcomes in one file, for the next run and for whoever else runs now."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np

from truefit._core.errors import StoreDamaged, StoreUnusable
from truefit._core.hashing import Tokens
from truefit._core.outcome import Outcome
from truefit._core.protocols import StoredReport
from truefit._core.task import Response, is_private
from truefit._core.typing import Array
from truefit._stores.codec import ArrayCache, decode, encodable, encode
from truefit._stores.record import StoredAnswer
from truefit._stores.sqlite_file import StoreFile, transaction

_KEYS_AT_ONCE = 900  # SQLite before 3.32 takes 999 parameters
_INTERNED_CLASSES = 256
#: Packed arrays begin with another byte.
_SEALED: Final = b"\x01"
_SEAL_BYTES: Final = 5
#: In place of an answer's response, rows and whether it is coded, where the classes of a fit are sealed.
_OF_CLASSES: Final = ("classes", b"", 0)
_RESPONSES: Final = frozenset(get_args(Response))
#: What SQLite gives back for columns that may be empty.
_SECONDS: Final = (float, type(None))
_PACKED: Final = (bytes, type(None))
#: Names of notes begin so: they are in the table that says what the file is.
_NOTE = "note: "

_GET = """
    SELECT outcomes.key, solver, fit_seconds, classes, response, rowset, coded
    FROM outcomes LEFT JOIN answers ON answers.key = outcomes.key WHERE outcomes.key IN ({marks})
"""

#: Connections that a fork has inherited, held so that they are never closed.
_of_parents: list[sqlite3.Connection] = []


@dataclass(slots=True)
class _Record:
    """One outcome as it goes into the tables."""

    key: str
    solver: str
    fit_seconds: float
    classes: bytes | None
    answers: list[tuple[Response, bytes, bool, bytes]]


class SqliteStore:
    """Keeps outcomes in an SQLite file; several processes and threads may use it at once.

    Each ``put`` is one transaction, so whatever ends the process, what was put is there and nothing is
    half there. The file is made with the first ``put``. A path where no store can be is refused at once,
    and what is there is left as it is. Answers are read when they are looked at, as read-only arrays.

    Parameters
    ----------
    path : str or path-like
        A store, or a file that is not there yet, in a folder that is. A new file may be read and written by its
        owner only; one that is there keeps its mode.
    read_only : bool, default=False
        Whether it will only be read. Then it may lie where nothing can be written.

    Raises
    ------
    StoreUnusable, StoreDamaged, StoreTooNew
        If there can be no store at the path.

    Examples
    --------
    >>> import tempfile
    >>> from truefit._core.outcome import Predictions
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = SqliteStore(os.path.join(folder.name, "fits.db"))
    >>> tokens = np.arange(6, dtype=np.uint64).reshape(3, 2)
    >>> store.put([Outcome("a fit", (Predictions("predict", tokens, np.array([0.5, 1.0, 2.0])),))])
    >>> store.close()
    >>> again = SqliteStore(os.path.join(folder.name, "fits.db"))
    >>> again.get(["a fit"])["a fit"].answers[0].values
    array([0.5, 1. , 2. ])
    >>> again.close()
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self._file = StoreFile(path, read_only=read_only)
        self._read_only = read_only
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._owner = os.getpid()
        self._cache = ArrayCache()
        self._classes: dict[bytes, Array] = {}

    @property
    def path(self) -> Path:
        """Where the store is."""
        return self._file.path

    def get(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Outcomes of those keys that are in the store, their answers read when looked at."""
        with self._lock, self._file.errors("reading"):
            connection = self._existing()
            if connection is None:
                return {}
            found: dict[str, Outcome] = {}
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = keys[start : start + _KEYS_AT_ONCE]
                rows = connection.execute(_GET.format(marks=",".join("?" * len(some))), tuple(some))
                found.update((outcome.key, outcome) for outcome in self._outcomes(rows))
            return found

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Keep these outcomes in one transaction, merged with what is there.

        Failures, what only a pickle could hold, and fits that are not known by their content are passed over.
        """
        # Packing is most of the work, and the others need not wait for it.
        tokens: dict[bytes, Tokens] = {}
        records = [record for outcome in outcomes if (record := _record(outcome, tokens)) is not None]
        if not records:
            return
        with self._lock, self._file.errors("writing"):
            self._leave_fork()
            connection = self._connect()
            self._file.check_same()
            rowsets = [
                (rowset, encode(of_rows)) for rowset, of_rows in tokens.items() if not _has_rowset(connection, rowset)
            ]
            with transaction(connection):
                connection.executemany("INSERT OR IGNORE INTO rowsets VALUES (?, ?)", rowsets)
                for record in records:
                    self._merge(connection, record)

    def note(self, name: str) -> str | None:
        """Return what was written down under a name; None where nothing was."""
        with self._lock, self._file.errors("reading"):
            connection = self._existing()
            if connection is None:
                return None
            row = connection.execute("SELECT value FROM meta WHERE name = ?", (_NOTE + name,)).fetchone()
            if row is not None and not isinstance(row[0], str):
                raise self.damaged("a note in it is no text")
            return None if row is None else row[0]

    def write_note(self, name: str, text: str) -> None:
        """Write something down for later runs, in place of what was there under that name."""
        with self._lock, self._file.errors("writing"):
            self._leave_fork()
            connection = self._connect()
            self._file.check_same()
            with transaction(connection):
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_NOTE + name, text))

    def put_report(self, report: StoredReport) -> None:
        """Keep a report, in place of one of the same id."""
        made, content = json.dumps(dict(report.made)), zlib.compress(json.dumps(dict(report.content)).encode())
        with self._lock, self._file.errors("writing"):
            self._leave_fork()
            connection = self._connect()
            self._file.check_same()
            with transaction(connection):
                connection.execute(
                    "INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?)", (report.id, report.made_at, made, content)
                )

    def reports(self) -> list[StoredReport]:
        """Return all reports, the one made last first."""
        with self._lock, self._file.errors("reading"):
            connection = self._existing()
            if connection is None:
                return []
            rows = connection.execute("SELECT id, made_at, made, content FROM reports ORDER BY made_at DESC, id")
            return [self._report(*row) for row in rows]

    def count_fits(self) -> int:
        """How many fits are kept."""
        with self._lock, self._file.errors("reading"):
            connection = self._existing()
            return 0 if connection is None else int(connection.execute("SELECT count(*) FROM outcomes").fetchone()[0])

    def close(self) -> None:
        """Let go of the file; what was put stays in it, and a later use opens it again."""
        with self._lock:
            self._cache.clear()
            self._classes.clear()
            finalizer, self._finalizer, self._connection = self._finalizer, None, None
            if finalizer is not None:
                finalizer()

    def read_tokens(self, rowset: bytes) -> Tokens:
        """Tokens of a list of rows, for a stored answer."""
        return self._read(rowset, "SELECT tokens, NULL FROM rowsets WHERE id = ?", (rowset,))

    def read_values(self, key: str, response: Response, rowset: bytes) -> Array:
        """Values of one answer of a fit, for a stored answer."""
        name = (key, response, rowset)
        query = 'SELECT "values", coded FROM answers WHERE key = ? AND response = ? AND rowset = ?'
        return self._read(name, query, name)

    def __reduce__(self) -> tuple[Any, ...]:
        # A store is known by its path: a copy, also in another process, is one more user of the file.
        return partial(type(self), read_only=self._read_only), (str(self.path),)

    def _leave_fork(self) -> None:
        if self._owner != os.getpid():
            if self._finalizer is not None:
                self._finalizer()
            self._connection, self._finalizer, self._owner = None, None, os.getpid()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._file.connect()
            self._finalizer = weakref.finalize(self, _disconnect, self._file, self._connection, os.getpid())
        return self._connection

    def _existing(self) -> sqlite3.Connection | None:
        """Return the connection, None where nothing was ever put."""
        self._leave_fork()
        return self._connect() if self._connection is not None or self._file.exists() else None

    def _outcomes(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[Outcome]:
        answers: dict[str, list[StoredAnswer]] = {}
        heads: dict[str, tuple[str, float | None, bytes | None]] = {}
        for key, solver, fit_seconds, classes, response, rowset, coded in rows:
            # SQLite holds any type in any column: a damaged file may have another than was written.
            if not (
                type(key) is str
                and type(solver) is str
                and type(fit_seconds) in _SECONDS
                and type(classes) in _PACKED
                and (response is None or (response in _RESPONSES and type(rowset) is bytes and coded in (0, 1)))
                and not (coded and classes is None)
            ):
                raise self.damaged("a fit in it has values of another type than were written")
            heads[key] = (solver, fit_seconds, classes)
            there = answers.setdefault(key, [])
            if response is not None:
                there.append(StoredAnswer.of(self, key, response, rowset, bool(coded)))
        for key, (solver, fit_seconds, classes) in heads.items():
            known = None if classes is None else self._classes_in(classes, key)
            seconds = math.nan if fit_seconds is None else fit_seconds  # SQLite has no NaN
            yield Outcome(key, tuple(answers[key]), seconds, solver, known)

    def _classes_in(self, sealed: bytes, key: str) -> Array:
        packed = self._unsealed(sealed, key, *_OF_CLASSES)
        classes = self._classes.get(packed)
        if classes is None:
            if len(self._classes) >= _INTERNED_CLASSES:
                self._classes.clear()  # only the sharing is lost
            classes = self._classes[packed] = decode(packed, self.path)
        return classes

    def _merge(self, connection: sqlite3.Connection, record: _Record) -> None:
        key, classes = record.key, record.classes
        row = connection.execute("SELECT classes FROM outcomes WHERE key = ?", (key,)).fetchone()
        if row is not None and row[0] != classes and classes is not None:
            if row[0] is None:
                connection.execute("UPDATE outcomes SET classes = ? WHERE key = ?", (classes, key))
            elif not np.array_equal(self._classes_in(row[0], key), self._classes_in(classes, key)):
                # Codes mean nothing under other classes: the outcome takes the place of what is there.
                connection.execute("DELETE FROM answers WHERE key = ?", (key,))
                connection.execute("DELETE FROM outcomes WHERE key = ?", (key,))
                self._cache.clear()
                row = None
        if row is None:  # else the first fit's seconds stay: a budget must decide alike on replay
            connection.execute(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?)", (key, record.solver, record.fit_seconds, classes)
            )
        connection.executemany(
            "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)",
            [(key, *answer) for answer in record.answers],
        )

    def _unsealed(self, sealed: Any, *name: Any) -> bytes:
        """Return packed values, checked to be of this fit, response and rows, and coded as it says."""
        packed = sealed[_SEAL_BYTES:] if isinstance(sealed, bytes) else b""
        if not packed or sealed[:_SEAL_BYTES] != _seal(packed, *name):
            raise self.damaged("values in it are not what their checksum says")
        return packed

    def damaged(self, reason: str) -> StoreDamaged:
        """Return the error that says that the store no longer reads."""
        return self._file.damaged(reason)

    def _report(self, name: Any, made_at: Any, made: Any, content: Any) -> StoredReport:
        try:
            unpacked = json.loads(made), json.loads(zlib.decompress(content))
        except (TypeError, ValueError, RecursionError, zlib.error) as error:
            raise self.damaged(f"a report does not unpack ({error})") from error
        if not (
            isinstance(name, str) and isinstance(made_at, str) and all(isinstance(each, dict) for each in unpacked)
        ):
            raise self.damaged("a report in it has values of another type than were written")
        return StoredReport(name, made_at, *unpacked)

    def _read(self, name: object, query: str, parameters: tuple[Any, ...]) -> Array:
        with self._lock, self._file.errors("reading"):
            array = self._cache.get(name)
            if array is None:
                connection = self._existing()
                row = None if connection is None else connection.execute(query, parameters).fetchone()
                if row is None:
                    raise StoreUnusable(
                        f"An answer must still be in its store when it is looked at. In {self.path} it was "
                        "replaced or deleted; ask the store again."
                    )
                packed, coded = row
                array = decode(packed if coded is None else self._unsealed(packed, *parameters, coded), self.path)
                self._cache.add(name, array)
            return array


def _disconnect(file: StoreFile, connection: sqlite3.Connection, owner: int) -> None:
    if os.getpid() == owner:
        file.disconnect(connection)
    else:
        # A connection does not survive a fork: the parent goes on with it, and nobody may close it here.
        _of_parents.append(connection)


def _seal(packed: bytes, key: str, response: str, rowset: bytes, coded: Any) -> bytes:
    """Return a checksum over an answer and over what it is the answer to: SQLite itself has none."""
    name = f"{key} {response} {int(coded)} ".encode() + rowset
    return _SEALED + zlib.crc32(packed, zlib.crc32(name)).to_bytes(4, "big")


def _has_rowset(connection: sqlite3.Connection, rowset: bytes) -> bool:
    return connection.execute("SELECT 1 FROM rowsets WHERE id = ?", (rowset,)).fetchone() is not None


def _record(outcome: Outcome, tokens: dict[bytes, Tokens]) -> _Record | None:
    """Return an outcome packed, or None if it may not be kept; its tokens are put into ``tokens``."""
    classes = outcome.classes
    if outcome.error is not None or is_private(outcome.key) or (classes is not None and not encodable(classes)):
        return None
    answers = []
    for answer in outcome.answers:
        values = np.asarray(answer.values)
        if not encodable(values):
            return None
        rowset = answer.rowset
        if rowset not in tokens:
            tokens[rowset] = answer.tokens
        values_bytes = encode(values)
        seal = _seal(values_bytes, outcome.key, answer.response, rowset, answer.coded)
        answers.append((answer.response, rowset, bool(answer.coded), seal + values_bytes))
    packed = None if classes is None else encode(classes)
    packed = None if packed is None else _seal(packed, outcome.key, *_OF_CLASSES) + packed
    return _Record(outcome.key, outcome.solver, float(outcome.fit_seconds), packed, answers)
