import contextlib
import copy
import gc
import os
import pickle
import sqlite3
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truefit._core.errors import StoreDamaged, StoreUnusable
from truefit._core.outcome import Outcome, Predictions
from truefit._stores.sqlite import SqliteStore
from truefit.testing.store_contract import (
    SAMPLES,
    ReportContract,
    StoreContract,
    assert_same_bits,
    assert_same_outcome,
    some_outcome,
    some_report,
    some_tokens,
)


class TestSqliteStore(StoreContract, ReportContract):
    def make_store(self, tmp_path):
        return SqliteStore(tmp_path / "fits.db")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fits.db"


@pytest.fixture
def store(path):
    store = SqliteStore(path)
    yield store
    store.close()


def rows(path, query):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_nothing_is_made_before_the_first_put(store, path):
    assert store.path == path
    assert store.get(["a fit"]) == {}
    store.put([])
    store.put([Outcome("private-0")])
    assert list(path.parent.iterdir()) == []
    store.put([some_outcome()])
    assert path.exists()


def test_a_closed_store_is_one_file(store, path):
    store.put([some_outcome()])
    store.close()
    assert list(path.parent.iterdir()) == [path]


def test_the_tables(store, path):
    store.put([some_outcome("one"), some_outcome("two")])
    assert rows(path, "SELECT name, value FROM meta ORDER BY name") == [
        ("application", "truefit"),
        ("schema_version", "3"),
    ]
    assert rows(path, "SELECT count(*) FROM rowsets") == [(1,)]
    assert rows(path, "SELECT key, solver, fit_seconds FROM outcomes ORDER BY key") == [
        ("one", "plain", 0.25),
        ("two", "plain", 0.25),
    ]
    assert rows(path, "SELECT key, response, coded FROM answers ORDER BY key, response") == [
        ("one", "predict", 1),
        ("one", "predict_proba", 0),
        ("two", "predict", 1),
        ("two", "predict_proba", 0),
    ]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_the_rows_of_an_answer_are_known_without_reading_them(store, path):
    outcome = some_outcome()
    store.put([outcome])
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE rowsets SET tokens = x'00'")
    got = store.get(["a fit"])["a fit"]
    assert {answer.rowset for answer in got.answers} == {outcome.answers[0].rowset}
    with pytest.raises(StoreDamaged, match=r"fits\.db"):
        got.answers[0].tokens


def test_damage_in_one_answer_is_noticed_when_it_is_read(store, path):
    store.put([some_outcome()])
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("""UPDATE answers SET "values" = substr("values", 1, 20) WHERE coded""")
    codes, proba = sorted(store.get(["a fit"])["a fit"].answers, key=lambda answer: answer.response)
    assert_same_bits(proba.values, some_outcome().answers[1].values)
    with pytest.raises(StoreDamaged, match=r"fits\.db.*fitted again"):
        codes.values


def test_a_missing_table_is_damage(store, path):
    store.put([some_outcome()])
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE answers")
    with pytest.raises(StoreDamaged, match="no such table"):
        store.get(["a fit"])
    with pytest.raises(StoreDamaged, match="no such table"):
        store.put([some_outcome()])


def test_a_deleted_answer_is_said_to_be_gone(store, path):
    store.put([some_outcome()])
    got = store.get(["a fit"])["a fit"]
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM answers")
    with pytest.raises(StoreUnusable, match="replaced or deleted"):
        got.answers[0].values


def test_equal_classes_of_another_width_are_no_other_classes(store):
    outcome = some_outcome()
    first, second = outcome.answers
    store.put([Outcome("a fit", (first,), 0.25, "plain", outcome.classes)])
    store.put([Outcome("a fit", (second,), 0.25, "plain", outcome.classes.astype("<U20"))])
    assert_same_outcome(store.get(["a fit"])["a fit"], outcome)


def test_other_classes_take_the_place_of_what_is_there(store):
    store.put([some_outcome()])
    before = store.get(["a fit"])["a fit"]
    before.answers[0].values
    after = Outcome("a fit", some_outcome(n=3, seed=3).answers, 0.5, "plain", np.array(["other", "ones"]))
    store.put([after])
    assert_same_outcome(store.get(["a fit"])["a fit"], after)
    with pytest.raises(StoreUnusable, match="replaced or deleted"):
        before.answers[0].values


def test_two_stores_of_one_file_in_one_process(path):
    one, two = SqliteStore(path), SqliteStore(path)
    one.put([some_outcome("one")])
    two.put([some_outcome("two", seed=2)])
    three = SqliteStore(path)
    for store in (one, two, three):
        got = store.get(["one", "two"])
        assert_same_outcome(got["one"], some_outcome("one"))
        assert_same_outcome(got["two"], some_outcome("two", seed=2))
    one.close()
    two.put([some_outcome("later")])
    assert "later" in three.get(["later"])
    two.close()
    three.close()


def test_opening_a_store_does_not_drop_the_locks_of_another(path):
    """Closing any descriptor of a file drops the locks that this process has on it."""
    with contextlib.closing(SqliteStore(path)) as one:
        one.put([some_outcome()])
        before = locks_on(path)
        assert before
        with contextlib.closing(SqliteStore(path)):
            pass
        assert locks_on(path) == before


def locks_on(path):
    inode = f":{path.stat().st_ino} "
    with open("/proc/locks") as file:
        return sorted(line.split(":", 1)[1] for line in file if inode in line)


def test_threads_may_share_it(store):
    failed = []

    def work(number):
        try:
            for i in range(15):
                outcome = some_outcome(f"{number}-{i}", n=20, seed=i)
                store.put([outcome, some_outcome(f"shared {i}", n=20, seed=i)])
                assert_same_outcome(store.get([outcome.key])[outcome.key], outcome)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(store.get([f"{n}-{i}" for n in range(4) for i in range(15)])) == 60


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda store: pickle.loads(pickle.dumps(store))])
def test_a_copy_is_another_user_of_the_file(store, copied):
    store.put([some_outcome()])
    with contextlib.closing(copied(store)) as other:
        assert other.path == store.path
        assert_same_outcome(other.get(["a fit"])["a fit"], some_outcome())


def test_a_store_that_is_dropped_closes_its_file(path):
    store = SqliteStore(path)
    store.put([some_outcome()])
    assert len(list(path.parent.iterdir())) == 3
    del store
    gc.collect()
    assert list(path.parent.iterdir()) == [path]


def test_answers_recently_read_are_held_up_to_a_limit(store):
    store.put([some_outcome(f"{i}", n=1_000, seed=i % 2) for i in range(50)])
    store._cache.limit_bytes = 100_000
    for outcome in store.get([f"{i}" for i in range(50)]).values():
        for answer in outcome.answers:
            answer.tokens, answer.values
    assert sum(array.nbytes + 350 for array in store._cache._arrays.values()) == store._cache._bytes <= 100_000


def test_a_path_may_be_odd(tmp_path):
    for name in ("a store.db", "100%?#&=.db", "naïve-日本.db", "no suffix"):
        with contextlib.closing(SqliteStore(str(tmp_path / name))) as store:
            store.put([some_outcome()])
        with contextlib.closing(SqliteStore(tmp_path / name)) as store:
            assert "a fit" in store.get(["a fit"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["a store.db", "100%?#&=.db", "naïve-日本.db", "no suffix"]
    )


def test_the_path_is_kept_when_the_folder_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("fits.db")
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    store.put([some_outcome()])
    store.close()
    assert (tmp_path / "fits.db").exists()


def test_a_link_to_a_store_is_that_store(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "folder" / "fits.db")
    with contextlib.closing(SqliteStore(tmp_path / "link.db")) as store:
        store.put([some_outcome()])
    with contextlib.closing(SqliteStore(tmp_path / "folder" / "fits.db")) as store:
        assert "a fit" in store.get(["a fit"])


puts = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["predict", "predict_proba", "decision_function"]),
        st.integers(0, 3),
        st.sampled_from(sorted(SAMPLES)),
    ),
    max_size=15,
)


@given(puts)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_puts(tmp_path_factory, sequence):
    path = tmp_path_factory.mktemp("puts") / "fits.db"
    expected = {}
    with contextlib.closing(SqliteStore(path)) as store:
        for number, response, of_rows, kind in sequence:
            values = SAMPLES[kind]
            answer = Predictions(response, some_tokens(len(values), seed=of_rows), values)
            store.put([Outcome(f"{number}", (answer,))])
            expected.setdefault(f"{number}", {}).setdefault((response, answer.rowset), answer)
    with contextlib.closing(SqliteStore(path)) as store:
        got = store.get([f"{number}" for number in range(6)])
        assert set(got) == set(expected)
        for key, answers in expected.items():
            assert_same_outcome(got[key], Outcome(key, tuple(answers.values())))


def test_notes_are_kept_and_replaced_beside_the_outcomes(tmp_path):
    path = tmp_path / "fits.db"
    store = SqliteStore(path)
    assert store.note("rows") is None
    assert not path.exists()
    store.write_note("rows", "1, 2")
    store.write_note("rows", "1, 2, 3")
    store.write_note("schema_version", "ü")
    store.close()
    again = SqliteStore(path)
    assert (again.note("rows"), again.note("schema_version"), again.note("row")) == ("1, 2, 3", "ü", None)
    again.close()


def test_a_note_goes_into_a_store_that_has_outcomes(tmp_path):
    store = SqliteStore(tmp_path / "fits.db")
    store.put([some_outcome("a")])
    store.write_note("rows", "x")
    assert set(store.get(["a"])) == {"a"}
    store.close()


def test_a_damaged_report_is_said(store, path):
    store.put_report(some_report())
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE reports SET content = x'00'")
    with pytest.raises(StoreDamaged, match="a report does not unpack"):
        store.reports()
