"""StoreFile: the file of a SqliteStore, checked before it is touched, and what its errors mean."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from truefit._core.credentials import redacted
from truefit._core.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnusable

#: The file's format. Raised with IDENTITY_VERSION too: fits of other identities are never found, and would only take
#: space. Versions 1 and 2 were of truefit 0.1 and 0.2.
SCHEMA_VERSION = 3
#: Stands in the file's header, so that somebody else's database is recognised without opening it.
APPLICATION_ID = int.from_bytes(b"tfit", "big")
BUSY_SECONDS = 60.0
#: Larger files are not read through when they are opened; what is damaged in them shows when it is read.
QUICK_CHECK_BYTES = 256 << 20

_MAGIC = b"SQLite format 3\x00"
_SCHEMA = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE rowsets (id BLOB PRIMARY KEY, tokens BLOB NOT NULL)",
    """CREATE TABLE outcomes (
        key TEXT PRIMARY KEY, solver TEXT NOT NULL, fit_seconds REAL, classes BLOB
    ) WITHOUT ROWID""",
    # "values" stands last: what is before it is read without touching its pages.
    """CREATE TABLE answers (
        key TEXT NOT NULL, response TEXT NOT NULL, rowset BLOB NOT NULL, coded INTEGER NOT NULL,
        "values" BLOB NOT NULL, PRIMARY KEY (key, response, rowset)
    )""",
    """CREATE TABLE reports (
        id TEXT PRIMARY KEY, made_at TEXT NOT NULL, made TEXT NOT NULL, content BLOB NOT NULL
    )""",
    "INSERT INTO meta VALUES ('application', 'truefit')",
    f"INSERT INTO meta VALUES ('schema_version', '{SCHEMA_VERSION}')",
)
#: Not the file's fault, but that of its disk, its permissions or what was to be written.
_CIRCUMSTANCES = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_TOOBIG,
)

# Closing any descriptor of a file drops all locks that the process has on it, also those of another
# connection. So a file that a store of this process has open is not opened by hand again.
_guard = threading.RLock()
_open_here: Counter[tuple[int, int]] = Counter()


class StoreFile:
    """A path that holds a store, or where one can be made; anything else is refused and left as it is.

    A ``read_only`` one may lie where nothing can be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path).resolve()
        shown = redacted(os.fspath(path))
        if shown != os.fspath(path) and not self.path.parent.is_dir():
            raise StoreUnusable(f"A store must be a file. Got the address {shown!r}. Name a file, such as fits.db.")
        self.read_only = read_only
        self._writable = True
        self._copy: tuple[Path, weakref.finalize[..., Any]] | None = None
        self._identity: tuple[int, int] | None = None
        self._checked: tuple[int, int] | None = None
        with self.errors("opening"):
            self._check()

    def exists(self) -> bool:
        """Whether something was ever kept here."""
        with contextlib.suppress(FileNotFoundError):
            return self.path.stat().st_size > 0
        return False

    def connect(self) -> sqlite3.Connection:
        """Open the store for reading and writing, made if it is not there; for reading where it cannot be written."""
        with _guard, self.errors("opening"):
            self._check()
            if self._writable:
                self._make_file()
            connection = self._open(self.path, "mode=rw") if self._writable else self._open(*self._way_to_look())
            try:
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
                if self._writable:
                    connection.execute("PRAGMA synchronous = NORMAL")
                    self._make(connection)
                else:
                    connection.execute("PRAGMA query_only = 1")  # what went into a copy would be lost
                self._check_version(connection)
            except BaseException:
                connection.close()
                raise
            found = self.path.stat()
            self._identity = (found.st_dev, found.st_ino)
            _open_here[self._identity] += 1
            return connection

    def disconnect(self, connection: sqlite3.Connection) -> None:
        """Close a connection that ``connect`` gave."""
        with _guard:
            connection.close()
            if self._copy is not None:
                self._copy[1]()
                self._copy = None
            if self._identity is not None:
                _open_here[self._identity] -= 1
                if not _open_here[self._identity]:
                    del _open_here[self._identity]
                self._identity = None

    def check_same(self) -> None:
        """Refuse to write into a file that nobody will find again, because it was deleted or replaced."""
        with contextlib.suppress(OSError):
            found = self.path.stat()
            if (found.st_dev, found.st_ino) == self._identity:
                return
        raise StoreUnusable(
            f"A store must stay in its place while it is used. {self.path} was deleted or replaced. Open it again, and "
            "what is missing is fitted again."
        )

    @contextlib.contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Say what an error of SQLite or of the system means for whoever uses the store."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is None:  # wrong use of the module, no verdict on the file
                raise
            raise self._explained(error, code & 0xFF, doing) from error
        except UnicodeDecodeError as error:
            raise self.damaged(f"a text in it is not UTF-8 ({error.reason})") from error
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise self._full() from error
            raise self._no_access(error.strerror or str(error), doing) from error

    def _explained(self, error: sqlite3.Error, code: int, doing: str) -> StoreError:
        if code == sqlite3.SQLITE_FULL:
            return self._full()
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreUnusable(
                f"A store must be free to write to within {BUSY_SECONDS:.0f} seconds. {self.path} is held by "
                "another process. End that process, or use another store."
            )
        if code in _CIRCUMSTANCES:
            return self._no_access(str(error), doing)
        return self.damaged(str(error))

    def _no_access(self, reason: str, doing: str) -> StoreUnusable:
        return StoreUnusable(
            f"A store must be a file that can be read and written. Got when {doing} {self.path}: {reason}. Check "
            "its permissions and its disk; what was stored before is still there."
        )

    def _full(self) -> StoreUnusable:
        return StoreUnusable(
            f"A store must have space to grow. There is none left on the disk of {self.path}; the finished fits are "
            "kept. Free some space and rerun to resume."
        )

    def damaged(self, reason: str) -> StoreDamaged:
        """Return the error that says that this file no longer reads."""
        return StoreDamaged(
            f"A store must read back as it was written. {self.path} is damaged: {reason}. It was left as it "
            "is; move it away, or put a copy of it back. What is missing is fitted again."
        )

    def _check(self) -> None:
        """Refuse what cannot be a store. Not a byte is written, and a refused file gets no neighbours."""
        with _guard:
            found = self._check_place()
            if found is None or found.st_size == 0:
                return
            identity = (found.st_dev, found.st_ino)
            if identity != self._checked and not _open_here[identity]:
                self._check_header()
                if self._size_of("-wal"):
                    self._check_age()
                self._check_content(found)
            self._checked = identity

    def _check_place(self) -> os.stat_result | None:
        parent = self.path.parent
        if not parent.is_dir():
            raise StoreUnusable(
                f"The folder of a store must exist. Got {self.path}, but there is no folder {parent}. Make "
                "the folder, or name another path."
            )
        found = self.path.stat() if self.path.exists() else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            kind, folder = ("a directory", self.path) if self.path.is_dir() else ("no ordinary file", parent)
            raise StoreUnusable(
                f"A store must be a file. Got {self.path}, which is {kind}. Name a file, such as {folder / 'fits.db'}."
            )
        self._writable = True
        # The mode bits are checked too, since nothing is read-only to root.
        for place in (parent, self.path) if found is not None else (parent,):
            if not place.stat().st_mode & 0o222 or not os.access(place, os.W_OK):
                self._writable = False
                if self.read_only:
                    break
                what = "is read-only" if place is self.path else f"lies in {parent}, which is read-only"
                raise StoreUnusable(
                    f"A store must be writable, and its folder too. {self.path} {what}. Change the "
                    "permissions, or name another path."
                )
        return found

    def _check_header(self) -> None:
        with self.path.open("rb") as file:
            header = file.read(100)
        ours = int.from_bytes(header[68:72], "big") == APPLICATION_ID
        if header.startswith(_MAGIC) and len(header) < 100:
            raise self.damaged("it ends in the middle of its header")
        if not header.startswith(_MAGIC) or not ours:
            kind = "another SQLite database" if header.startswith(_MAGIC) else "no SQLite database"
            raise StoreUnusable(
                f"A store must be a file that truefit made, or a new one. Got {self.path}, which is {kind}. It was "
                "left as it is; name another path."
            )

    def _check_age(self) -> None:
        """Refuse an old store by its file alone: reading the log beside it may leave an index of the log there."""
        # Without its log the file may be incomplete, so whatever else is wrong is judged together with the log.
        judged_later = contextlib.suppress(sqlite3.Error, UnicodeDecodeError, StoreDamaged, StoreTooNew)
        with judged_later, contextlib.closing(self._open(self.path, "immutable=1")) as connection:
            if _has_tables(connection):
                self._check_version(connection)

    def _check_content(self, found: os.stat_result) -> None:
        way = self._way_to_look()
        try:
            self._look(way, found.st_size)
        except (sqlite3.Error, StoreError):
            now = self.path.stat()
            same = (now.st_size, now.st_mtime_ns) == (found.st_size, found.st_mtime_ns)
            if way[1] != "immutable=1" or (same and self._way_to_look() == way):
                raise
            # Another process has begun to write meanwhile: look again, with locks.
            self._look((self.path, "mode=ro"), now.st_size)

    def _way_to_look(self) -> tuple[Path, str]:
        """Which file SQLite may open, and how, so that looking changes nothing, yet sees all that was committed."""
        journal, log = self._size_of("-journal"), self._size_of("-wal")
        # A reader needs an index of the log beside it. Where none can be made, nobody is writing either.
        if not self._writable and (journal or (log and not self._size_of("-shm"))):
            return self._copied(), "mode=rw"
        if journal:
            return self.path, "mode=rw"  # a crash while the store was made: only a writer may take that back
        # A reader of a live log leaves files beside it; where there is no log nothing but the file counts.
        return self.path, "mode=ro" if log else "immutable=1"

    def _copied(self) -> Path:
        """Return a copy in a folder of our own, with the log that the store was left with."""
        if self._copy is None:
            folder = Path(tempfile.mkdtemp(prefix="truefit-store-"))
            self._copy = folder / "store.db", weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            for suffix in ("", "-wal", "-journal"):
                if self._size_of(suffix):
                    shutil.copyfile(f"{self.path}{suffix}", folder / f"store.db{suffix}")
        return self._copy[0]

    def _size_of(self, suffix: str) -> int:
        with contextlib.suppress(FileNotFoundError):
            return os.stat(f"{self.path}{suffix}").st_size
        return 0

    def _open(self, path: Path, way: str) -> sqlite3.Connection:
        uri = f"file:{quote(str(path))}?{way}"
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )  # fmt: skip
        # Python's own way has an error of its own for text that is no text; this one says what it is.
        connection.text_factory = partial(str, encoding="utf-8")
        return connection

    def _look(self, way: tuple[Path, str], size: int) -> None:
        with contextlib.closing(self._open(*way)) as connection:
            if not _has_tables(connection):
                return  # nothing was ever kept
            self._check_version(connection)
            if size < QUICK_CHECK_BYTES:
                (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    raise self.damaged(verdict)

    def _check_version(self, connection: sqlite3.Connection) -> None:
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
        text = None if row is None else str(row[0])
        if text is None or not text.isdecimal() or len(text) > 9:
            raise self.damaged(f"its schema_version must be a number, and is {text if text is None else text[:20]!r}")
        version = int(text)
        if version > SCHEMA_VERSION:
            raise StoreTooNew(
                f"A store must have schema version {SCHEMA_VERSION}. {self.path} has version {version}: a "
                "later truefit made it. It was left as it is; update truefit, or name another path."
            )
        if version < SCHEMA_VERSION:
            raise StoreUnusable(
                f"A store must have schema version {SCHEMA_VERSION}, but {self.path} has version {version}, that of "
                "truefit 0.2 or earlier, whose fits this one cannot use: the file was left as it is, so name another "
                "one, which the next run fills, or read this one with truefit 0.2."
            )

    def _make_file(self) -> None:
        """Make an empty file that its owner only may read and write; the log beside it gets the same mode."""
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            os.chmod(self.path, 0o600)  # whatever the umask leaves of it

    def _make(self, connection: sqlite3.Connection) -> None:
        if not _has_tables(connection):
            with transaction(connection):
                if not _has_tables(connection):  # another process may have been first
                    # In one transaction and before the log is on: a file that is not empty says whose it is.
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    _make_tables(connection)
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            # Two processes that make a store together cannot both switch; one is enough.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise


class TemporaryFile(StoreFile):
    """A file without a name in the temporary folder, for this process only: what a MemoryStore does not hold."""

    def __init__(self) -> None:
        self.path = Path(tempfile.gettempdir())
        self.read_only = False
        self._owner = os.getpid()
        self._left: str | None = None  # the name of the file, where it could not be removed at once

    def exists(self) -> bool:
        """Whether something was ever kept here: then there is a connection."""
        return False

    def connect(self) -> sqlite3.Connection:
        """Make the file."""
        if os.getpid() != self._owner:
            raise StoreUnusable(
                "A MemoryStore must be used by the process that made it. Got a fork of that process. Make a store "
                "there, or share a SqliteStore."
            )
        with self.errors("opening"):
            descriptor, name = tempfile.mkstemp(prefix="truefit-")
            os.close(descriptor)
            try:
                connection = self._open(Path(name), "mode=rw")
                for setting in ("locking_mode = EXCLUSIVE", "journal_mode = MEMORY", "synchronous = OFF"):
                    connection.execute(f"PRAGMA {setting}").fetchone()
                with transaction(connection):
                    _make_tables(connection)
            finally:
                try:
                    os.unlink(name)
                except PermissionError:  # Windows: not while it is open
                    self._left = name
        return connection

    def disconnect(self, connection: sqlite3.Connection) -> None:
        """Give the file back to the system."""
        connection.close()
        if self._left is not None:
            os.unlink(self._left)
            self._left = None

    def check_same(self) -> None:
        """Do nothing: nobody else can reach the file."""

    def _no_access(self, reason: str, doing: str) -> StoreUnusable:
        return StoreUnusable(
            "A run too large to be held in memory must be able to write to the temporary folder. Got when "
            f"{doing} in {self.path}: {reason}. What is finished is kept in memory; free space there, set TMPDIR to a "
            "folder with more, or give a MemoryStore a larger limit_bytes."
        )

    def _full(self) -> StoreUnusable:
        return self._no_access("No space left on device", "writing")


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything or nothing, alone from the first statement on."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite may have rolled back by itself
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        raise
