"""Paths where no store can be, and stores that something happened to."""

import contextlib
import errno
import os
import shutil
import sqlite3

import pytest

from truefit._core.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnusable
from truefit._stores.sqlite import SqliteStore
from truefit._stores.sqlite_file import APPLICATION_ID, _open_here
from truefit.testing.store_contract import assert_same_outcome, some_outcome


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fits.db"


@pytest.fixture
def made(path):
    """A store with some content."""
    with contextlib.closing(SqliteStore(path)) as store:
        store.put([some_outcome(f"{i}", n=200, seed=i) for i in range(40)])
    return path


def change(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def snapshot(folder):
    """Every byte of every file, and when it was last written."""
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir() if p.is_file()}


def assert_refused(path, error, match):
    """Refused with the path in the message, and not a byte is changed, nor a file added."""
    before = snapshot(path.parent) if path.parent.is_dir() else None
    with pytest.raises(error, match=match) as caught:
        SqliteStore(path)
    assert str(path) in str(caught.value)
    assert type(caught.value) is error
    if before is not None:
        assert snapshot(path.parent) == before


def test_a_directory_is_refused(tmp_path):
    assert_refused(tmp_path, StoreUnusable, r"must be a file.*is a directory.*fits\.db")


def test_a_missing_folder_is_refused(tmp_path):
    assert_refused(tmp_path / "missing" / "fits.db", StoreUnusable, "no folder .*missing. Make the folder")
    (tmp_path / "file").touch()
    assert_refused(tmp_path / "file" / "fits.db", StoreUnusable, "folder of a store must exist")


def test_what_is_no_ordinary_file_is_refused(path):
    os.mkfifo(path)
    with pytest.raises(StoreUnusable, match="no ordinary file"):
        SqliteStore(path)


@pytest.mark.parametrize("content", [b"x", b"a,b\n1,2\n" * 100, b"SQLite format 2" + bytes(200), bytes(5_000)])
def test_what_is_not_sqlite_is_refused(path, content):
    path.write_bytes(content)
    assert_refused(path, StoreUnusable, "is no SQLite database.*left as it is")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_the_database_of_something_else_is_refused(path, mode):
    change(path, f"PRAGMA journal_mode = {mode}", "CREATE TABLE meta (name, value)")
    assert_refused(path, StoreUnusable, "another SQLite database.*left as it is")


def test_an_empty_file_is_a_new_store(path):
    path.touch()
    with contextlib.closing(SqliteStore(path)) as store:
        assert store.get(["a fit"]) == {}
        assert path.stat().st_size == 0
        store.put([some_outcome()])
    with contextlib.closing(SqliteStore(path)) as store:
        assert "a fit" in store.get(["a fit"])


def test_a_read_only_file_is_refused(made):
    made.chmod(0o444)
    assert_refused(made, StoreUnusable, "must be writable.*is read-only")


def test_a_read_only_empty_file_is_refused(path):
    path.touch(mode=0o400)
    assert_refused(path, StoreUnusable, "must be writable.*is read-only")


def test_a_read_only_folder_is_refused(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    try:
        assert_refused(folder / "fits.db", StoreUnusable, "lies in .*folder, which is read-only")
    finally:
        folder.chmod(0o755)


def test_a_file_that_the_system_will_not_open_is_refused(made, monkeypatch):
    def denied(*args):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("truefit._stores.sqlite_file.StoreFile._check_header", denied)
    assert_refused(made, StoreUnusable, "Got when opening .*Permission denied")


def test_a_later_version_is_refused(made):
    change(made, "UPDATE meta SET value = '4' WHERE name = 'schema_version'")
    assert_refused(made, StoreTooNew, "must have schema version 3.*has version 4.*update truefit")


def test_a_later_version_is_refused_whatever_else_it_holds(path):
    change(
        path,
        f"PRAGMA application_id = {APPLICATION_ID}",
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE meta (name, value)",
        "INSERT INTO meta VALUES ('schema_version', '17')",
    )
    assert_refused(path, StoreTooNew, "has version 17")


def test_an_earlier_version_is_refused(made):
    change(made, "UPDATE meta SET value = '0' WHERE name = 'schema_version'")
    assert_refused(made, StoreUnusable, "has version 0, that of truefit 0.2 or earlier")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = 'one' WHERE name = 'schema_version'",
        "UPDATE meta SET value = '' WHERE name = 'schema_version'",
        "UPDATE meta SET value = '-1' WHERE name = 'schema_version'",
        "DELETE FROM meta",
        "DROP TABLE meta",
    ],
)
def test_a_version_that_cannot_be_read_is_damage(made, statement):
    change(made, statement)
    assert_refused(made, StoreDamaged, "is damaged")


def test_a_later_version_with_a_live_log_is_refused(made):
    """The version may stand in the log only; neither the file nor the log may change."""
    writer = sqlite3.connect(made, isolation_level=None)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("UPDATE meta SET value = '4' WHERE name = 'schema_version'")
    log = made.with_name("fits.db-wal")
    before = made.read_bytes(), log.read_bytes()
    assert before[1]
    with pytest.raises(StoreTooNew):
        SqliteStore(made)
    assert (made.read_bytes(), log.read_bytes()) == before
    writer.close()


def garbage(path, start, length):
    with path.open("r+b") as file:
        file.seek(start)
        file.write(os.urandom(length))


def test_pages_of_garbage_are_damage(made):
    garbage(made, 4096, made.stat().st_size - 4096)
    assert_refused(made, StoreDamaged, "is damaged.*left as it is")


def test_a_garbled_schema_is_damage(made):
    garbage(made, 100, 3_900)
    assert_refused(made, StoreDamaged, "is damaged")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_cut_short_is_damage(made, share):
    content = made.read_bytes()
    made.write_bytes(content[: max(50, int(share * len(content)))])
    assert_refused(made, StoreDamaged, "is damaged")


def test_damage_that_opening_did_not_see_is_noticed_later(made, monkeypatch):
    monkeypatch.setattr("truefit._stores.sqlite_file.QUICK_CHECK_BYTES", 0)
    size = made.stat().st_size
    garbage(made, 5 * 4096, size - 5 * 4096)
    with contextlib.closing(SqliteStore(made)) as store, pytest.raises(StoreDamaged, match=r"fits\.db"):
        [(a.values, a.tokens) for o in store.get([f"{i}" for i in range(40)]).values() for a in o.answers]


def test_a_store_left_by_a_crash_while_it_was_made_is_a_new_one(path, tmp_path):
    """The file has its first pages, and the journal says that they do not count."""
    other = tmp_path / "other"
    other.mkdir()
    connection = sqlite3.connect(other / "fits.db", isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("BEGIN IMMEDIATE")
    for i in range(50):
        connection.execute(f"CREATE TABLE t{i} (x)")
    for suffix in ("", "-journal"):
        shutil.copy(other / f"fits.db{suffix}", f"{path}{suffix}")
    connection.close()
    assert path.stat().st_size > 4096
    assert path.with_name("fits.db-journal").stat().st_size > 0
    with contextlib.closing(SqliteStore(path)) as store:
        assert store.get(["a fit"]) == {}
        store.put([some_outcome()])
        assert_same_outcome(store.get(["a fit"])["a fit"], some_outcome())


def test_a_store_that_is_deleted_in_use_is_missed(path):
    store = SqliteStore(path)
    store.put([some_outcome()])
    path.unlink()
    with pytest.raises(StoreUnusable, match="was deleted or replaced"):
        store.put([some_outcome("another")])
    store.close()


def test_a_foreign_file_that_appears_before_the_first_put_is_refused(path):
    store = SqliteStore(path)
    path.write_text("somebody else was faster")
    for use in (lambda: store.get(["a fit"]), lambda: store.put([some_outcome()])):
        with pytest.raises(StoreUnusable, match="no SQLite database"):
            use()
    assert path.read_text() == "somebody else was faster"
    store.close()


def test_a_full_disk_keeps_what_was_finished(made):
    store = SqliteStore(made)
    assert store.get(["0"])
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnusable, match="finished fits are kept"):
        store.put([some_outcome(f"new {i}", n=2_000) for i in range(5)])
    assert not store._connection.in_transaction
    assert store.get([f"new {i}" for i in range(5)]) == {}
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.put([some_outcome("new 0", n=2_000)])
    store.close()
    with contextlib.closing(SqliteStore(made)) as store:
        for i in range(40):
            assert_same_outcome(store.get([f"{i}"])[f"{i}"], some_outcome(f"{i}", n=200, seed=i))


@pytest.mark.parametrize(
    ("number", "match"),
    [(errno.ENOSPC, "finished fits are kept"), (errno.EIO, "what was stored before is still there")],
)
def test_errors_of_the_system_are_explained(made, number, match):
    store = SqliteStore(made)
    with pytest.raises(StoreUnusable, match=match), store._file.errors("writing"):
        raise OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("code", "error", "match"),
    [
        (sqlite3.SQLITE_CORRUPT, StoreDamaged, "is damaged"),
        (sqlite3.SQLITE_NOTADB, StoreDamaged, "is damaged"),
        (sqlite3.SQLITE_BUSY, StoreUnusable, "held by another process"),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnusable, "Got when writing"),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreUnusable, "Got when writing"),
        (sqlite3.SQLITE_FULL, StoreUnusable, "space to grow"),
    ],
)
def test_errors_of_sqlite_are_explained(made, code, error, match):
    fault = sqlite3.OperationalError("as SQLite says it")
    fault.sqlite_errorcode = code
    store = SqliteStore(made)
    with pytest.raises(error, match=match) as caught, store._file.errors("writing"):
        raise fault
    assert isinstance(caught.value, StoreError)
    assert caught.value.__cause__ is fault


def test_wrong_use_is_not_called_damage(path):
    store = SqliteStore(path)
    with pytest.raises(sqlite3.ProgrammingError), store._file.errors("reading"):
        raise sqlite3.ProgrammingError("a bug of ours")


def test_a_store_that_is_held_is_waited_for_and_then_said(made, monkeypatch):
    monkeypatch.setattr("truefit._stores.sqlite_file.BUSY_SECONDS", 0.05)
    writer = sqlite3.connect(made, isolation_level=None)
    store = SqliteStore(made)
    store.get(["0"])
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnusable, match="held by another process"):
        store.put([some_outcome("new")])
    assert store.get(["0"])
    writer.execute("ROLLBACK")
    store.put([some_outcome("new")])
    assert store.get(["new"])
    writer.close()
    store.close()


def test_an_interrupt_in_the_middle_of_a_put_keeps_nothing_of_it(made, monkeypatch):
    store = SqliteStore(made)
    merge, calls = SqliteStore._merge, []

    def interrupted(self, connection, *record):
        calls.append(record)
        if len(calls) == 3:
            raise KeyboardInterrupt
        merge(self, connection, *record)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "_merge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.put([some_outcome(f"new {i}") for i in range(4)])
    assert store.get([f"new {i}" for i in range(4)]) == {}
    store.put([some_outcome("new 0")])
    assert list(store.get([f"new {i}" for i in range(4)])) == ["new 0"]
    store.close()


def test_files_that_are_closed_are_not_remembered(tmp_path):
    before = dict(_open_here)
    for name in "abc":
        stores = [SqliteStore(tmp_path / f"{name}.db") for _ in range(2)]
        for store in stores:
            store.put([some_outcome()])
        assert len(_open_here) == len(before) + 1
        for store in stores:
            store.close()
    assert dict(_open_here) == before
