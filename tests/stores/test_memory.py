import gc
import os
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truefit._core.errors import InvalidInput, StoreUnusable
from truefit._core.outcome import Outcome, Predictions
from truefit._stores.memory import MemoryStore
from truefit._stores.sqlite_file import TemporaryFile
from truefit.testing.store_contract import (
    SAMPLES,
    ReportContract,
    StoreContract,
    assert_same_bits,
    assert_same_outcome,
    some_outcome,
    some_tokens,
)


class TestMemoryStore(StoreContract, ReportContract):
    persistent = False

    def make_store(self, tmp_path):
        return MemoryStore()


class TestSpillingMemoryStore(StoreContract, ReportContract):
    """With no memory at all every record goes to the file as soon as the next one comes."""

    persistent = False

    def make_store(self, tmp_path):
        return MemoryStore(limit_bytes=0)


@pytest.fixture(params=[0, 20_000, 64 << 20], ids=["spilled", "half spilled", "in memory"])
def store(request):
    store = MemoryStore(limit_bytes=request.param)
    yield store
    store.close()


def pairs(n, rows=50):
    return [some_outcome(f"{i}", n=rows, seed=i % 7) for i in range(n)]


def test_everything_is_found_wherever_it_is(store):
    for outcome in pairs(60):
        store.put([outcome])
    got = store.get([f"{i}" for i in range(60)])
    for outcome in pairs(60):
        assert_same_outcome(got[outcome.key], outcome)


def test_handles_outlive_the_spilling_of_what_they_stand_for():
    store = MemoryStore(limit_bytes=20_000)
    store.put([some_outcome("first", n=50)])
    early = store.get(["first"])["first"]
    for outcome in pairs(60):
        store.put([outcome])
    assert "first" not in store._records
    assert_same_outcome(early, some_outcome("first", n=50))
    store.close()


def test_answers_are_added_over_memory_and_file(store):
    answers = [Predictions("predict", some_tokens(4, seed=i), np.arange(4.0) + i) for i in range(8)]
    for answer in answers:
        store.put([Outcome("a fit", (answer,), 0.5)])
        store.put(pairs(20))
        store.put([Outcome("a fit", (answer,), 0.9)])
    assert_same_outcome(store.get(["a fit"])["a fit"], Outcome("a fit", tuple(answers), 0.5))


def test_putting_the_same_again_takes_no_space():
    store = MemoryStore(limit_bytes=0)
    for outcome in pairs(31):
        store.put([outcome])
    store.put(pairs(30))  # pushes the last one out
    pages = "SELECT page_count FROM pragma_page_count"
    before = store._spilled._rows(pages)
    for _ in range(3):
        store.put(pairs(31))
    assert store._spilled._rows(pages) == before
    assert store._held == 0
    store.close()


def test_rows_are_held_once():
    store = MemoryStore()
    tokens = some_tokens(1_000)
    for i in range(50):
        store.put([Outcome(f"{i}", (Predictions("predict", tokens.copy(), np.zeros(1_000, np.uint8)),))])
    assert len(store._rowsets) == 1
    assert store._held < 50 * 2_500 + tokens.nbytes
    got = store.get(["0", "49"])
    assert got["0"].answers[0].tokens is got["49"].answers[0].tokens
    store.close()


def test_classes_are_held_once():
    store = MemoryStore()
    store.put(pairs(2))
    got = store.get(["0", "1"])
    assert got["0"].classes is got["1"].classes
    for i in range(600):  # many distinct ones are no leak
        store.put([Outcome(f"c{i}", classes=np.array([i, i + 1]))])
    assert len(store._classes) <= 256
    assert_same_bits(store.get(["c3"])["c3"].classes, np.array([3, 4]))
    store.close()


def test_the_books_are_kept_right(store):
    for outcome in pairs(40):
        store.put([outcome])
    store.put([Outcome("5", (Predictions("decision_function", some_tokens(9), np.zeros(9)),), classes=None)])
    store.put([Outcome("6", pairs(7)[6].answers, classes=np.array(["other", "classes"]))])
    store.put([Outcome("39", pairs(40)[39].answers, classes=np.array(["other", "classes"]))])
    uses = [rowset for record in store._records.values() for _, rowset in record.answers]
    assert {rowset: held.uses for rowset, held in store._rowsets.items()} == {r: uses.count(r) for r in set(uses)}
    tokens = sum(held.tokens.nbytes + 300 for held in store._rowsets.values())
    values = [v.nbytes for record in store._records.values() for _, v in record.answers.values()]
    assert store._held >= tokens + sum(values)
    assert store._held == tokens + sum(record.nbytes for record in store._records.values())


def test_a_replaced_answer_is_said_to_be_gone(store):
    store.put([some_outcome()])
    before = store.get(["a fit"])["a fit"]
    other = some_outcome(n=3, seed=3)
    store.put([Outcome("a fit", other.answers, classes=np.array(["other", "classes"]))])
    with pytest.raises(StoreUnusable, match="was replaced"):
        before.answers[0].values


def test_memory_does_not_grow_with_the_number_of_fits():
    def peak(n):
        store = MemoryStore(limit_bytes=200_000)
        gc.collect()
        tracemalloc.start()
        for i in range(n):
            tokens = some_tokens(100, seed=i)  # as in a bootstrap, where no two lists of rows are the same
            store.put([Outcome(f"{i}", (Predictions("predict", tokens, np.full(100, i)),))])
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        store.close()
        return held

    few, many = peak(300), peak(1_300)
    assert few > 100_000
    assert many - few < 1_000 * 50


def test_a_handle_is_small():
    store = MemoryStore(limit_bytes=0)
    for i in range(500):
        store.put([Outcome(f"{i}", (Predictions("predict", some_tokens(100), np.zeros(100)),))])
    gc.collect()
    tracemalloc.start()
    got = store.get([f"{i}" for i in range(500)])
    for outcome in got.values():
        outcome.answers[0].values
    store._spilled._cache.clear()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 500 * 900
    store.close()


def test_a_small_slice_does_not_hold_the_whole():
    whole = np.zeros((1_000, 50))
    store = MemoryStore()
    store.put([Outcome("a fit", (Predictions("predict", some_tokens(1_000), whole[:, 3]),))])
    (answer,) = store.get(["a fit"])["a fit"].answers
    assert answer.values.base is None
    assert not answer.values.flags.writeable
    store.close()


def test_no_file_is_made_as_long_as_there_is_room(monkeypatch):
    monkeypatch.setattr("truefit._stores.sqlite.TemporaryStore", None)
    store = MemoryStore()
    store.put(pairs(100))
    assert len(store.get([f"{i}" for i in range(100)])) == 100
    store.close()


def test_the_file_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = MemoryStore(limit_bytes=0)
    store.put([some_outcome("one")])
    store.put([some_outcome("two")])
    assert store._spilled is not None
    assert list(tmp_path.iterdir()) == []
    store.close()


def test_a_full_disk_loses_nothing():
    store = MemoryStore(limit_bytes=5_000)
    for outcome in pairs(5):
        store.put([outcome])
    store._spilled._rows("PRAGMA max_page_count = 1")
    with pytest.raises(StoreUnusable, match=r"No space left on device.*TMPDIR"):
        store.put([some_outcome("new 0", n=500)])
    assert "0" not in store._records
    assert "new 0" not in store.get(["new 0"])
    store._spilled._rows("PRAGMA max_page_count = 100000")
    store.put([some_outcome("new 0", n=500)])
    for outcome in (*pairs(5), some_outcome("new 0", n=500)):
        assert_same_outcome(store.get([outcome.key])[outcome.key], outcome)
    store.close()


def test_a_fork_does_not_use_its_parents_file():
    store = MemoryStore(limit_bytes=0)
    store.put(pairs(1))
    store.put([some_outcome("next")])
    store._spilled._owner = store._spilled._file._owner = -1
    with pytest.raises(StoreUnusable, match="by the process that made it"):
        store.put([some_outcome("one more")])


def test_a_negative_limit_is_refused():
    with pytest.raises(InvalidInput, match="limit_bytes must not be negative"):
        MemoryStore(limit_bytes=-1)


def test_threads_may_share_it(store):
    failed = []

    def work(number):
        try:
            for i in range(30):
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
    assert len(store.get([f"{n}-{i}" for n in range(4) for i in range(30)])) == 120


puts = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["predict", "predict_proba", "decision_function"]),
        st.integers(0, 3),
        st.sampled_from(sorted(SAMPLES)),
    ),
    max_size=25,
)


@given(puts, st.sampled_from([0, 3_000, 1 << 20]))
@settings(max_examples=30, deadline=None)
def test_any_sequence_of_puts(sequence, limit):
    store = MemoryStore(limit_bytes=limit)
    expected = {}
    for number, response, rows, kind in sequence:
        values = SAMPLES[kind]
        answer = Predictions(response, some_tokens(len(values), seed=rows), values)
        store.put([Outcome(f"{number}", (answer,))])
        expected.setdefault(f"{number}", {}).setdefault((response, answer.rowset), answer)
    got = store.get([f"{number}" for number in range(6)])
    assert set(got) == set(expected)
    for key, answers in expected.items():
        assert_same_outcome(got[key], Outcome(key, tuple(answers.values())))
    store.close()


def test_a_temporary_file_that_cannot_be_removed_while_it_is_open_goes_at_the_end(tmp_path, monkeypatch):  # Windows
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file, unlink = TemporaryFile(), os.unlink
    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", refuse)
        connection = file.connect()
    assert os.unlink is unlink
    assert len(list(tmp_path.iterdir())) == 1
    file.disconnect(connection)
    assert not list(tmp_path.iterdir())


def refuse(path):
    raise PermissionError(13, "The file is in use", path)
