"""Stores that version 0.2 wrote are refused in one sentence, and not a byte of them changes."""

import zipfile
from pathlib import Path

import pytest
from tests.cli.command import truefit

from truefit import Engine
from truefit._core.errors import StoreUnusable
from truefit._core.packages import IDENTITY_VERSION
from truefit._stores.sqlite import SqliteStore
from truefit._stores.sqlite_file import SCHEMA_VERSION

ARCHIVE = Path(__file__).with_name("data") / "truefit-0.2.zip"
SENTENCE = (
    "A store must have schema version 3, but {path} has version 2, that of truefit 0.2 or earlier, whose fits this one "
    "cannot use: the file was left as it is, so name another one, which the next run fills, or read this one with "
    "truefit 0.2."
)


@pytest.fixture
def folder(tmp_path):
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def snapshot(folder):
    """Every byte of every file, and when it was last written."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["engine.db", "command.db", "killed.db"])
@pytest.mark.parametrize("open_store", [Engine, SqliteStore, lambda path: SqliteStore(path, read_only=True)])
def test_it_is_refused_from_python(folder, name, open_store):
    before = snapshot(folder)
    with pytest.raises(StoreUnusable) as caught:
        open_store(folder / name)
    assert str(caught.value) == SENTENCE.format(path=folder / name)
    assert snapshot(folder) == before


@pytest.mark.parametrize("name", ["engine.db", "command.db", "killed.db"])
@pytest.mark.parametrize(
    "words",
    [
        "assess iris --store {name}",
        "study iris --store {name}",
        "curve iris --store {name}",
        "runs {name}",
        "runs {name} --json",
        "show {name}",
    ],
)
def test_it_is_refused_by_the_command(folder, name, words):
    before = snapshot(folder)
    done = truefit(*words.format(name=name).split(), cwd=folder)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Task: classification")]
    assert lines == [f"Error: {SENTENCE.format(path=folder / name)}"]
    assert snapshot(folder) == before


def test_a_store_in_a_folder_that_cannot_be_written_is_refused_too(folder):
    before = snapshot(folder)
    folder.chmod(0o555)
    try:
        with pytest.raises(StoreUnusable, match=r"that of truefit 0\.2"):
            SqliteStore(folder / "killed.db", read_only=True)
    finally:
        folder.chmod(0o755)
    assert snapshot(folder) == before


def test_the_format_changes_with_the_identities():
    # Fits of other identities are never found again: raise SCHEMA_VERSION when IDENTITY_VERSION is raised, and this.
    assert (SCHEMA_VERSION, IDENTITY_VERSION) == (3, 3)
