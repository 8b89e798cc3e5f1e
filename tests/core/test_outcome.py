import gc
import pickle
import tracemalloc

import numpy as np
import pytest

from truefit._core.data import Data
from truefit._core.errors import Failure
from truefit._core.outcome import Outcome, Outcomes, Placements, Predictions, StoredPredictions
from truefit._core.rows import Rows, rowset_id
from truefit._stores.memory import MemoryStore


def tokens(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**63, size=(n, 2), dtype=np.uint64)


def never():
    raise AssertionError("the tokens were looked at again")


def test_rows_are_found_in_several_lists_and_only_once_looked_for():
    known = tokens(20)
    first, second = known[:12], known[12:]
    wanted = known[[15, 3, 19, 0]]
    names = [rowset_id(first), rowset_id(second)]
    placements = Placements()
    found = placements.find(rowset_id(wanted), lambda: wanted, names, lambda: [first, second])
    np.testing.assert_array_equal(known[found], wanted)
    again = placements.find(rowset_id(wanted), never, names, never)
    assert again is found


def test_a_row_that_is_nowhere_is_remembered_too():
    known, other = tokens(5), tokens(5, seed=1)
    placements = Placements()
    for look in (lambda: other, never):
        assert placements.find(b"others", look, [b"known"], lambda: [known]) is None


def test_lists_in_another_order_are_other_lists():
    known = tokens(10)
    parts = {b"a": known[:5], b"b": known[5:]}
    placements = Placements()
    for names in ([b"a", b"b"], [b"b", b"a"]):
        lists = [parts[name] for name in names]
        found = placements.find(b"wanted", lambda: known[[1, 7]], names, lambda lists=lists: lists)
        np.testing.assert_array_equal(np.concatenate(lists)[found], known[[1, 7]])


def test_what_is_held_stays_within_its_limit():
    known = tokens(1000)
    placements = Placements(limit_bytes=20_000)
    for start in range(10):
        placements.find(b"%d" % start, lambda start=start: known[start : start + 500], [b"known"], lambda: [known])
    assert placements._bytes <= 20_000
    assert list(placements._held)[-1] == (b"9", b"known")
    found = placements.find(b"0", lambda: known[:500], [b"known"], lambda: [known])
    np.testing.assert_array_equal(found, np.arange(500))


@pytest.mark.parametrize("whole", [False, True])
def test_outcomes_on_the_same_rows_each_give_their_own_values(whole):
    data = Data(np.arange(40.0).reshape(20, 2), np.arange(20.0), task="regression")
    held = Rows.of([1, 4, 9, 16])
    rows = Rows.of([4, 16])
    order = np.array([3, 1, 0, 2])
    for number in (1.0, 2.0):
        values = number * held.index
        answer = Predictions("predict", data.tokens[held.index][order], values[order])
        outcome = Outcome(str(number), (answer,))
        np.testing.assert_array_equal(outcome.answer(data, rows), number * rows.index)
        assert outcome.has(data, rows, "predict")
        assert not outcome.has(data, Rows.all(20) if whole else Rows.of([5]), "predict")


TOKENS = np.arange(8, dtype=np.uint64).reshape(4, 2)
CLASSES = np.array(["no", "yes"])
ANSWERS = (Predictions("predict", TOKENS, np.array([0, 1, 1, 0], np.uint8), coded=True),)
store = MemoryStore()
store.put([Outcome(f"{i:032x}", ANSWERS, i / 7, "plain", CLASSES) for i in range(5)])


def handle(i, solver="plain", classes=CLASSES):
    key = f"{i:032x}"
    return Outcome(key, StoredPredictions(store, key), i / 7, solver, None if classes is None else classes.copy())


def test_outcomes_come_back_as_they_went_in():
    failed = Outcome("private-3", error=Failure("raised", "no luck"))
    with_model = Outcome("private-4", model="a model")
    held = Outcomes([handle(0), None, failed, handle(1, "closed", None), with_model])
    first, none, third, fourth, fifth = held
    assert (first.key, first.fit_seconds, first.solver, fourth.solver) == (f"{0:032x}", 0.0, "plain", "closed")
    assert np.array_equal(first.classes, CLASSES)
    assert np.array_equal(first.answers[0].values, [0, 1, 1, 0])
    assert none is None
    assert third is failed
    assert fourth.classes is None
    assert fourth.fit_seconds == 1 / 7
    assert fifth is with_model
    assert (len(held), held.ready) == (5, 4)


def test_places_are_filled_in_any_order_and_filled_again():
    held = Outcomes([None] * 3)
    failed = Outcome("x" * 40, error=Failure("raised", "no luck"))
    held[2] = handle(2)
    held[-3] = failed
    assert [outcome and outcome.key for outcome in held] == ["x" * 40, None, f"{2:032x}"]
    held[0], held[2] = handle(4), failed
    assert [outcome and outcome.key for outcome in held] == [f"{4:032x}", None, "x" * 40]
    assert held.ready == 2
    with pytest.raises(IndexError):
        held[3] = failed


def test_slices_are_lists_of_outcomes():
    held = Outcomes([handle(i) for i in range(5)])
    part = held[1::2]
    assert isinstance(part, Outcomes)
    assert [outcome.fit_seconds * 7 for outcome in part] == [1, 3]
    assert [outcome.fit_seconds * 7 for outcome in held[::-1][:2]] == [4, 3]
    assert part[1:][0].key == part[-1].key == f"{3:032x}"


@pytest.mark.parametrize("cut", [slice(None), slice(1, None, 2)])
def test_a_pickle_takes_the_answers_along(cut):
    held = Outcomes([handle(0), handle(1), None])[cut]
    back = pickle.loads(pickle.dumps(held))
    assert [outcome and outcome.key for outcome in back] == [outcome and outcome.key for outcome in held]
    assert isinstance(back[0].answers, tuple)
    assert np.array_equal(back[0].answers[0].values, [0, 1, 1, 0])


def test_a_stored_outcome_takes_few_bytes():
    gc.collect()
    tracemalloc.start()
    held = Outcomes(handle(i) for i in range(5_000))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(held) == 5_000
    assert size < 5_000 * 60
