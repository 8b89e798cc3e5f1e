import numpy as np
import pytest

from truefit._core.data import Data
from truefit._core.hashing import rowset_id
from truefit._core.outcome import Outcome, Placements, Predictions
from truefit._core.rows import Rows


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
