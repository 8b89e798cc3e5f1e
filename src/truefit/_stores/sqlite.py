"""SqliteStore: outcomes in one file, for the next run and for whoever else runs now."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from truefit._core.errors import StoreDamaged, StoreUnusable
from truefit._core.outcome import Outcome
from truefit._core.protocols import RESPONSES, Response, StoredReport, is_private
from truefit._core.rows import Tokens
from truefit._core.typing import Array
from truefit._stores.codec import ArrayCache, StoredAnswer, decode, encodable, encode
from truefit._stores.sqlite_file import StoreFile, TemporaryFile, transaction

_KEYS_AT_ONCE = 900  # SQLite before 3.32 takes 999 parameters
_INTERNED_CLASSES = 256
#: Packed arrays begin with another byte.
_SEALED: Final = b"\x01"
_SEAL_BYTES: Final = 5
#: In place of an answer's response, rows and whether it is coded, where the classes of a fit are sealed.
_OF_CLASSES: Final = ("classes", b"", 0)
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


class SqliteStore:
    """Keeps outcomes in an SQLite file; several processes and threads may use it at once.

    Each ``put`` is one transaction, so whatever ends the process, what was put is there and nothing is half there. The
    file is made with the first ``put``, for its owner only; one that is there keeps its mode. A path where no store can
    be is refused at once with a ``StoreError``, and what is there is left as it is. Answers are read when they are
    used, as read-only arrays. A ``read_only`` store may lie where nothing can be written.

    Examples
    --------
    >>> import tempfile
    >>> from truefit._core.outcome import Predictions
    >>> tokens = np.arange(6, dtype=np.uint64).reshape(3, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SqliteStore(os.path.join(folder, "fits.db"))
    ...     store.put([Outcome("a fit", (Predictions("predict", tokens, np.array([0.5, 1.0, 2.0])),))])
    ...     store.get(["a fit"])["a fit"].answers[0].values
    ...     store.close()
    array([0.5, 1. , 2. ])
    """

    #: Whether it ends with this process.
    _temporary = False

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self._set_up(StoreFile(path, read_only=read_only))

    def _set_up(self, file: StoreFile) -> None:
        self._file = file
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
        found: dict[str, Outcome] = {}
        with self._lock:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = keys[start : start + _KEYS_AT_ONCE]
                rows = self._rows(_GET.format(marks=",".join("?" * len(some))), *some)
                found.update((outcome.key, outcome) for outcome in self._outcomes(rows))
        return found

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Keep these outcomes in one transaction, merged with what is there.

        Failures, what only a pickle could hold, and fits that are not known by their content are passed over.
        """
        # Packing is most of the work, and the others need not wait for it.
        tokens: dict[bytes, Tokens] = {}
        records = [
            record
            for outcome in outcomes
            if (self._temporary or not is_private(outcome.key))
            and (record := _record(outcome, tokens, compress=not self._temporary)) is not None
        ]
        if not records:
            return
        with self._writing() as connection:
            for rowset, of_rows in tokens.items():
                if connection.execute("SELECT 1 FROM rowsets WHERE id = ?", (rowset,)).fetchone() is None:
                    packed = encode(of_rows, compress=not self._temporary)
                    connection.execute("INSERT INTO rowsets VALUES (?, ?)", (rowset, packed))
            for head, answers in records:
                self._merge(connection, *head)
                connection.executemany("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", answers)

    def note(self, name: str) -> str | None:
        """Return what was written down under a name; None where nothing was."""
        rows = self._rows("SELECT value FROM meta WHERE name = ?", _NOTE + name)
        if rows and not isinstance(rows[0][0], str):
            raise self.damaged("a note in it is no text")
        return rows[0][0] if rows else None

    def write_note(self, name: str, text: str) -> None:
        """Write something down for later runs, in place of what was there under that name."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_NOTE + name, text))

    def put_report(self, report: StoredReport) -> None:
        """Keep a report, in place of one of the same id."""
        made, content = json.dumps(dict(report.made)), zlib.compress(json.dumps(dict(report.content)).encode())
        row = (report.id, report.made_at, made, content)
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?)", row)

    def reports(self) -> list[StoredReport]:
        """Return all reports, the one made last first."""
        rows = self._rows("SELECT id, made_at, made, content FROM reports ORDER BY made_at DESC, id")
        return [self._report(*row) for row in rows]

    def count_fits(self) -> int:
        """How many fits are kept."""
        rows = self._rows("SELECT count(*) FROM outcomes")
        return int(rows[0][0]) if rows else 0

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
        return partial(type(self), read_only=self._file.read_only), (str(self.path),)

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

    def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return what a query finds; nothing where nothing was ever put."""
        with self._lock, self._file.errors("reading"):
            self._leave_fork()
            if self._connection is None and not self._file.exists():
                return []
            return self._connect().execute(query, parameters).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open the store for one transaction."""
        with self._lock, self._file.errors("writing"):
            self._leave_fork()
            connection = self._connect()
            self._file.check_same()
            with transaction(connection):
                yield connection

    def _outcomes(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Outcome]:
        answers: dict[tuple[str, str, float | None, bytes | None], list[StoredAnswer]] = {}
        for key, solver, fit_seconds, classes, response, rowset, coded in rows:
            # SQLite holds any type in any column: a damaged file may have another than was written.
            if not (
                type(key) is str
                and type(solver) is str
                and type(fit_seconds) in _SECONDS
                and type(classes) in _PACKED
                and (response is None or (response in RESPONSES and type(rowset) is bytes and coded in (0, 1)))
                and not (coded and classes is None)
            ):
                raise self.damaged("a fit in it has values of another type than were written")
            of_fit = answers.setdefault((key, solver, fit_seconds, classes), [])
            if response is not None:
                of_fit.append(StoredAnswer.of(self, key, response, rowset, bool(coded)))
        for (key, solver, fit_seconds, classes), of_fit in answers.items():
            known = None if classes is None else self._classes_in(classes, key)
            seconds = math.nan if fit_seconds is None else fit_seconds  # SQLite has no NaN
            yield Outcome(key, tuple(of_fit), seconds, solver, known)

    def _classes_in(self, sealed: bytes, key: str) -> Array:
        packed = self._unsealed(sealed, key, *_OF_CLASSES)
        if packed not in self._classes:
            if len(self._classes) >= _INTERNED_CLASSES:
                self._classes.clear()  # only the sharing is lost
            self._classes[packed] = decode(packed, self.path)
        return self._classes[packed]

    def _merge(
        self, connection: sqlite3.Connection, key: str, solver: str, fit_seconds: float, classes: bytes | None
    ) -> None:
        """Write the row of an outcome, or make one that is there ready for further answers."""
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
            connection.execute("INSERT INTO outcomes VALUES (?, ?, ?, ?)", (key, solver, fit_seconds, classes))

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
        if [*map(type, (name, made_at, *unpacked))] != [str, str, dict, dict]:
            raise self.damaged("a report in it has values of another type than were written")
        return StoredReport(name, made_at, *unpacked)

    def _read(self, name: object, query: str, parameters: tuple[Any, ...]) -> Array:
        with self._lock:
            array = self._cache.get(name)
            if array is None:
                rows = self._rows(query, *parameters)
                if not rows:
                    raise StoreUnusable(
                        f"An answer must still be in its store when it is read. In {self.path} it was replaced or "
                        "deleted; get it from the store again."
                    )
                packed, coded = rows[0]
                array = decode(packed if coded is None else self._unsealed(packed, *parameters, coded), self.path)
                self._cache.add(name, array)
            return array


class TemporaryStore(SqliteStore):
    """What a MemoryStore does not hold in memory: uncompressed, in a file without a name; private fits too."""

    _temporary = True

    def __init__(self) -> None:
        self._set_up(TemporaryFile())

    def has(self, key: str) -> bool:
        """Whether a fit is kept here."""
        return bool(self._rows("SELECT 1 FROM outcomes WHERE key = ?", key))


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


def _record(
    outcome: Outcome, tokens: dict[bytes, Tokens], *, compress: bool
) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]] | None:
    """Return the row of an outcome and those of its answers, or None if it may not be kept; tokens go to ``tokens``."""
    classes = outcome.classes
    if outcome.error is not None or (classes is not None and not encodable(classes)):
        return None
    answers = []
    for answer in outcome.answers:
        values = np.asarray(answer.values)
        if not encodable(values):
            return None
        rowset = answer.rowset
        if rowset not in tokens:
            tokens[rowset] = answer.tokens
        packed = encode(values, compress=compress)
        seal = _seal(packed, outcome.key, answer.response, rowset, answer.coded)
        answers.append((outcome.key, answer.response, rowset, bool(answer.coded), seal + packed))
    sealed = None
    if classes is not None:
        packed = encode(classes)
        sealed = _seal(packed, outcome.key, *_OF_CLASSES) + packed
    return (outcome.key, outcome.solver, float(outcome.fit_seconds), sealed), answers
