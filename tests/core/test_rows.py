import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truefit._core.rows import Rows


@given(st.integers(1, 60), st.data())
def test_lazy_and_listed_rows_are_the_same_rows(n, draw):
    left_out = draw.draw(st.lists(st.integers(0, n - 1), max_size=n))
    lazy = Rows.without(n, left_out)
    listed = Rows.of(sorted(set(range(n)) - set(left_out)))
    assert len(lazy) == len(listed)
    assert np.array_equal(lazy.index, listed.index)
    assert lazy == listed
    tokens = np.random.default_rng(0).integers(0, 2**64, size=(n, 2), dtype=np.uint64)
    total = Rows.of(range(n)).digest(tokens, (0, 0))
    assert lazy.digest(tokens, total) == listed.digest(tokens, total)


def test_rows_are_a_sorted_multiset():
    assert Rows.of([3, 1, 3]).index.tolist() == [1, 3, 3]
    assert Rows.of(np.array([False, True, True])).index.tolist() == [1, 2]


def test_a_training_set_is_kept_in_the_shorter_form():
    assert Rows.train_of(10, np.arange(8)).total is not None
    assert Rows.train_of(10, np.arange(4)).total is None
    assert Rows.train_of(4, np.array([0, 0, 1, 2])).total is None  # a multiset has no complement


def test_positions_take_little_room():
    assert Rows.of(np.arange(200)).nbytes == 200
    assert Rows.without(100_000, 7).nbytes == 4


def test_pickling_keeps_rows():
    assert pickle.loads(pickle.dumps(Rows.without(9, [2]))) == Rows.without(9, [2])


@pytest.mark.parametrize("bad", [[-1], [0.5], ["a"]])
def test_positions_must_be_whole_and_not_negative(bad):
    with pytest.raises((TypeError, ValueError)):
        Rows.of(bad)
    with pytest.raises(ValueError):
        Rows.without(3, [3])
