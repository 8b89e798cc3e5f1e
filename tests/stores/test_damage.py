"""Damaged stores: whatever is changed in the file, what is read from it is right or is said to be damaged."""

import contextlib
import hashlib
import sqlite3

import numpy as np
import pytest
from tests.cli.command import truefit

from truefit import Engine
from truefit._core.errors import StoreDamaged, StoreError
from truefit._core.provenance import store_report
from truefit._stores.sqlite import SqliteStore
from truefit.testing.store_contract import assert_same_bits, some_outcome, some_report

FITS = {key: some_outcome(key, n=20, seed=i) for i in range(60) if (key := hashlib.md5(str(i).encode()).hexdigest())}
DAMAGED = 400


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a store with fits, a report and a note."""
    path = tmp_path_factory.mktemp("damage") / "fits.db"
    with contextlib.closing(SqliteStore(path)) as store:
        store.put(list(FITS.values()))
        store.put_report(some_report())
        store.write_note("rows", "{}")
    return path.read_bytes()


def assert_right(store):
    """Read everything: each answer that is there is the one that was put."""
    store.reports(), store.note("rows"), store.count_fits()
    for key, got in store.get(list(FITS)).items():
        there = {answer.response: answer for answer in FITS[key].answers}
        for answer in got.answers:
            assert_same_bits(answer.values, there[answer.response].values)
            assert_same_bits(answer.tokens, there[answer.response].tokens)
            assert answer.coded is there[answer.response].coded
        if any(answer.coded for answer in got.answers):
            assert_same_bits(got.classes, FITS[key].classes)


@pytest.mark.parametrize("part", range(4))
def test_no_wrong_value_comes_from_a_damaged_store(tmp_path, content, part):
    refused = 0
    for seed in range(part * DAMAGED // 4, (part + 1) * DAMAGED // 4):
        rng, changed = np.random.default_rng(seed), bytearray(content)
        for place in rng.integers(100, len(content), rng.integers(1, 4)):
            # One bit, a byte, or a stretch of noise.
            if seed % 3 == 0:
                changed[place] ^= 1 << int(rng.integers(8))
            else:
                noise = rng.bytes(1 if seed % 3 == 1 else 64)
                changed[place : place + len(noise)] = noise[: len(content) - place]
        path = tmp_path / f"{seed}.db"
        path.write_bytes(changed)
        try:
            with contextlib.closing(SqliteStore(path)) as store:
                assert_right(store)
        except StoreError:
            refused += 1
    assert refused > DAMAGED // 10


#: Statements that leave in a column what was never written there; SQLite takes any type in any column.
COLUMNS = {
    "solver is no UTF-8": "UPDATE outcomes SET solver = CAST(x'ff61' AS TEXT)",
    "solver is bytes": "UPDATE outcomes SET solver = x'00'",
    "seconds are text": "UPDATE outcomes SET fit_seconds = 'long'",
    "classes are text": "UPDATE outcomes SET classes = 'no yes'",
    "classes are gone": "UPDATE outcomes SET classes = NULL",
    "classes are of others": "UPDATE outcomes SET classes = (SELECT classes FROM outcomes LIMIT 1)",
    "response is unknown": "UPDATE OR REPLACE answers SET response = 'predikt'",
    "response is no UTF-8": "UPDATE OR REPLACE answers SET response = CAST(x'80' AS TEXT)",
    "response is another": "UPDATE OR REPLACE answers SET response = 'decision_function'",
    "rows are text": "UPDATE answers SET rowset = 'rows'",
    "coded is text": "UPDATE answers SET coded = 'yes'",
    "coded is turned": "UPDATE answers SET coded = NOT coded",
    "values are text": "UPDATE answers SET \"values\" = 'text'",
    "values are a number": 'UPDATE answers SET "values" = 7',
    "values are of others": """UPDATE answers SET "values" = (SELECT "values" FROM answers LIMIT 1)""",
    "tokens are text": "UPDATE rowsets SET tokens = 'text'",
    "made is no JSON": "UPDATE reports SET made = '{\"command\": '",
    "made is no UTF-8": "UPDATE reports SET made = CAST(x'7bff7d' AS TEXT)",
    "made is a list": "UPDATE reports SET made = '[1]'",
    "made is deep": f"UPDATE reports SET made = '{'[' * 100_000}'",
    "made is a number": "UPDATE reports SET made = 3",
    "made at is bytes": "UPDATE reports SET made_at = x'00'",
    "id is no UTF-8": "UPDATE reports SET id = CAST(x'ff' AS TEXT)",
    "content is text": "UPDATE reports SET content = 'text'",
    "content is no UTF-8": "UPDATE reports SET content = x'789c6bf8cfc0000003fe01ff'",
    "a note is bytes": "UPDATE meta SET value = x'00' WHERE name = 'note: rows'",
    "a note is no UTF-8": "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE name = 'note: rows'",
    "the version is bytes": "UPDATE meta SET value = x'32' WHERE name = 'schema_version'",
    "the version is no UTF-8": "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE name = 'schema_version'",
    "the version is endless": f"UPDATE meta SET value = '{'9' * 5000}' WHERE name = 'schema_version'",
}


def read_everything(path):
    with contextlib.closing(SqliteStore(path)) as store:
        assert_right(store)


@pytest.mark.parametrize("case", COLUMNS)
def test_what_was_never_written_in_a_column_is_damage(tmp_path, content, case):
    path = tmp_path / "fits.db"
    path.write_bytes(content)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(COLUMNS[case])
    with pytest.raises(StoreDamaged, match=r"fits\.db"):
        read_everything(path)


def test_answers_without_a_checksum_are_damage(tmp_path, content):
    path = tmp_path / "fits.db"
    path.write_bytes(content)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute('UPDATE answers SET "values" = substr("values", 6)')
        connection.execute("UPDATE outcomes SET classes = substr(classes, 6)")
    with pytest.raises(StoreDamaged, match="not what their checksum says"):
        read_everything(path)


REPORT = {"kind": "assessment", "title": "t", "headline": "h", "summary": "s", "result": {}}
TABLE = {"table": {"columns": ["a"], "rows": [[1]]}}
REPORTS = {
    "no kind": TABLE | {name: part for name, part in REPORT.items() if name != "kind"},
    "a headline that is a list": REPORT | TABLE | {"headline": ["h"]},
    "a result that is text": REPORT | TABLE | {"result": "r"},
}


@pytest.mark.parametrize("case", REPORTS)
def test_a_report_that_lacks_a_part_is_damage(tmp_path, case):
    with contextlib.closing(SqliteStore(tmp_path / "runs.db")) as store:
        store.put_report(some_report(**{"kind": None, **REPORTS[case]}))
    for words in ("runs runs.db", "runs runs.db --json", "show runs.db"):
        done = truefit(*words.split(), cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "runs.db is damaged" in done.stderr


@pytest.mark.parametrize("content", [REPORT, REPORT | {"table": 3}, REPORT | {"kind": "study"}])
def test_a_report_of_which_no_page_can_be_made_is_a_sentence(tmp_path, content):
    with Engine(tmp_path / "runs.db") as engine:
        store_report(engine.store, content, {"command": "truefit"})
    done = truefit("show", "runs.db", "--out", "r.html", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "in the store is damaged" in done.stderr
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize("note", ["{", "[]", '{"kind": 1}', '"text"'])
def test_a_note_about_rows_that_does_not_read_is_damage(tmp_path, note):
    words = "curve iris --schedule 20,40,60 --cv 2 --store runs.db"
    done = truefit(*words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE name LIKE 'note: %'", (note,))
    done = truefit(*words.split(), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "runs.db is damaged" in done.stderr
