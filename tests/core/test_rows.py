import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truefit._core.rows import Rows, add_tokens, row_tokens, value_tokens

MANY = np.arange(200)


@pytest.mark.parametrize(
    "values",
    [
        np.array([2, 0, 1, 2, 2]),
        np.array([True, False, True]),
        np.array(["bee", "a", "", "bee"]),
        np.array([0.5, -0.0, 0.0, np.nan, 0.5]),
        np.array([1.5, 2.5], dtype=np.float32),
        np.array(["a", 1, None, 2.5, "a"], dtype=object),
        MANY % 33,
        MANY * 0.25,
        MANY.astype(str),
        np.column_stack([MANY % 2, MANY % 3]),
    ],
)
def test_a_value_has_the_same_token_in_any_company(values):
    tokens = value_tokens(values)
    assert tokens.shape == (len(values), 2)
    for i in range(len(values)):
        assert tokens[i].tolist() == value_tokens(values[i : i + 1])[0].tolist()


def test_equal_values_and_no_others_have_the_same_token():
    for values in (MANY % 7, MANY % 50, (MANY % 50).astype(str), np.where(MANY % 2, 0.0, -0.0)):
        tokens = value_tokens(values)
        bits = values.view(np.uint64) if values.dtype.kind == "f" else values
        assert len(np.unique(tokens[:, 0])) == len(np.unique(tokens, axis=0)) == len(np.unique(bits))
    assert value_tokens(np.array([1]))[0, 0] != value_tokens(np.array([1], dtype=np.int8))[0, 0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, np.int64])
def test_rows_of_few_values_are_told_apart_by_each_half_of_a_lane(dtype):
    # Small whole numbers as floats differ in a few high bits only.
    grid = np.array(np.meshgrid(*[[0, 1, 2, 3]] * 7)).reshape(7, -1).T.astype(dtype)
    tokens = row_tokens([np.ascontiguousarray(grid)])
    halves = np.ascontiguousarray(tokens).view(np.uint32)
    for half in halves.T:
        # Of 16,384 random numbers of 32 bits three pairs or more are the same once in 200,000 times.
        assert len(np.unique(half)) > len(grid) - 3


@pytest.mark.parametrize(("dtype", "apart"), [(np.float64, 1), (np.float32, 1), (np.float16, 2), (np.uint8, 4)])
def test_neighbours_that_change_alike_do_not_undo_one_another(dtype, apart):
    """Each column comes twice, half a word apart: the sums of words must not be left with few bits."""
    signs = np.random.default_rng(0).integers(0, 2, size=(20_000, 32))
    values = (128 * signs if dtype is np.uint8 else 2 * signs - 1).astype(dtype)
    twice = np.repeat(values.reshape(len(values), -1, apart), 2, axis=1).reshape(len(values), -1)
    halves = row_tokens([np.ascontiguousarray(twice)]).view(np.uint32)
    for half in halves.T:
        assert len(np.unique(half)) > len(values) - 4


def test_a_set_of_rows_is_told_from_one_whose_rows_swapped_a_value():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, size=(50, 6)).astype(float)
    whole = add_tokens(row_tokens([rows]))
    for _ in range(200):
        a, b = rng.choice(50, 2, replace=False)
        column = rng.integers(6)
        if rows[a, column] == rows[b, column] or (np.delete(rows[a], column) == np.delete(rows[b], column)).all():
            continue
        swapped = rows.copy()
        swapped[[a, b], column] = swapped[[b, a], column]
        assert add_tokens(row_tokens([swapped])) != whole
    assert add_tokens(row_tokens([rows[rng.permutation(50)]])) == whole


def test_a_row_has_the_same_token_in_any_company_and_however_its_columns_are_held():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9_000, 7))
    labels = np.arange(9_000, dtype=np.int8).reshape(-1, 1)
    tokens = row_tokens([rows, labels])
    assert (row_tokens([rows[5_000:5_010], labels[5_000:5_010]]) == tokens[5_000:5_010]).all()
    assert (row_tokens([np.asfortranarray(rows), labels]) == tokens).all()
    assert (row_tokens([*np.split(rows, 7, axis=1), labels]) == tokens).all()
    assert (row_tokens([rows[:, :6], rows[:, 6:], labels]) == tokens).all()


def test_tokens_stay_as_stores_have_them():
    rows = row_tokens([np.array([[0.5, -1.0], [0.5, -1.0], [2.0, 0.0]]), np.array([[1], [1], [0]], dtype=np.int8)])
    assert [[hex(lane) for lane in row] for row in rows] == [
        ["0xc1696fc50470fb26", "0x20d6ea0579a00d60"],
        ["0xfe2242f2d0ff802b", "0xbecc6614c731e83e"],
        ["0x190fa3da11c95d65", "0xa4bc0fc4888ef8d2"],
    ]
    assert [hex(token) for token in value_tokens(np.array([0, 1]))[:, 0]] == [
        "0xd58fa5541d1f7cec",
        "0xc2254ec87a6195c3",
    ]
    assert [hex(token) for token in value_tokens(np.array(["a", "bee"]))[:, 0]] == [
        "0x93f105f939dfdd9b",
        "0x72ff9f988ca8e15c",
    ]
    assert [hex(token) for token in value_tokens(np.array([0.5]))[:, 0]] == ["0x34e5955a28a30e0"]


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
