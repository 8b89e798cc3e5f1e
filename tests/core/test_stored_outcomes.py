import gc
import pickle
import tracemalloc

import numpy as np
import pytest

from truefit._core.outcome import Failure, Outcome, Predictions
from truefit._core.stored_outcomes import Outcomes, StoredPredictions
from truefit._stores.memory import MemoryStore

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


def test_slices_look_into_the_list():
    held = Outcomes([handle(i) for i in range(5)])
    part = held[1::2]
    assert [outcome.fit_seconds * 7 for outcome in part] == [1, 3]
    assert [outcome.fit_seconds * 7 for outcome in held[::-1][:2]] == [4, 3]
    assert part[1:][0].key == part[-1].key == f"{3:032x}"
    held[3] = handle(0)
    assert part[1].key == f"{0:032x}"


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
