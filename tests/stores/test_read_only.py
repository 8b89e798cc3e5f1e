"""Stores that cannot be written are read nevertheless, and nothing is left beside them."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest
from tests.cli.command import truefit

from truefit._core.errors import StoreUnusable
from truefit._stores.sqlite import SqliteStore
from truefit.testing.store_contract import assert_same_outcome, some_outcome, some_report

#: Leaves a log that was not merged into the file, as a kill does.
KILLED = """
import os, sys
from truefit._stores.sqlite import SqliteStore
from truefit.testing.store_contract import some_outcome, some_report
store = SqliteStore(sys.argv[1])
store.put([some_outcome()])
store.put_report(some_report(title="t", headline="h", summary="s", result={}))
os._exit(9)
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)


def fill(path):
    with contextlib.closing(SqliteStore(path)) as store:
        store.put([some_outcome()])
        store.put_report(some_report(title="t", headline="h", summary="s", result={}))


def kill(path):
    assert subprocess.run([sys.executable, "-c", KILLED, path], timeout=60).returncode == 9
    assert path.with_name("fits.db-wal").stat().st_size > 0


def assert_read(path):
    before = sorted(os.listdir(path.parent))
    with contextlib.closing(SqliteStore(path, read_only=True)) as store:
        assert store.count_fits() == 1
        assert_same_outcome(store.get(["a fit"])["a fit"], some_outcome())
        assert [report.id for report in store.reports()] == ["a1"]
        with pytest.raises(StoreUnusable, match="must be a file that can be read and written"):
            store.put([some_outcome("another")])
    with pytest.raises(StoreUnusable):
        SqliteStore(path)
    for words in (("runs", path), ("runs", path, "--json"), ("show", path), ("show", path, "--json")):
        done = truefit(*words)
        assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(path.parent)) == before


@pytest.mark.parametrize("make", [fill, kill])
@pytest.mark.parametrize("closed", ["file", "folder", "both"])
def test_a_store_of_which_the_mode_says_read_only(folder, make, closed):
    make(folder / "fits.db")
    if closed != "folder":
        (folder / "fits.db").chmod(0o444)
    if closed != "file":
        folder.chmod(0o555)
    assert_read(folder / "fits.db")


def test_a_log_without_its_index_is_read_from_a_copy(folder, tmp_path, monkeypatch):
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    kill(folder / "fits.db")
    (folder / "fits.db-shm").unlink()
    folder.chmod(0o555)
    assert_read(folder / "fits.db")
    assert not list(copies.iterdir())


@pytest.mark.parametrize("make", [fill, kill])
def test_a_store_on_a_disk_that_is_mounted_read_only(folder, tmp_path, make):
    if os.getuid() or shutil.which("mount") is None:
        pytest.skip("only root may mount a disk")
    make(folder / "fits.db")
    place = tmp_path / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "--bind", folder, place], capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        assert_read(place / "fits.db")
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_store_that_can_be_written_is_read_as_before(folder):
    fill(folder / "fits.db")
    with contextlib.closing(SqliteStore(folder / "fits.db", read_only=True)) as store:
        assert store.count_fits() == 1
    assert os.listdir(folder) == ["fits.db"]


@pytest.mark.parametrize("mask", [0, 0o022, 0o777])
def test_a_new_store_and_its_log_are_for_their_owner(folder, mask):
    before = os.umask(mask)
    try:
        with contextlib.closing(SqliteStore(folder / "fits.db")) as store:
            store.put([some_outcome()])
            modes = {name: (folder / name).stat().st_mode & 0o7777 for name in os.listdir(folder)}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("fits.db", "fits.db-wal", "fits.db-shm"), 0o600)


def test_a_store_that_is_there_keeps_its_mode(folder):
    (folder / "fits.db").touch()
    (folder / "fits.db").chmod(0o640)
    fill(folder / "fits.db")
    assert (folder / "fits.db").stat().st_mode & 0o7777 == 0o640
