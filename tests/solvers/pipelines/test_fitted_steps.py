import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from truefit._core.data import Data
from truefit._core.rows import Rows
from truefit._solvers.pipelines.fitted_steps import FittedSteps, TransformedData

X = np.arange(20.0).reshape(10, 2)
TRAIN = np.array([0, 0, 3, 5])
ASKED = [Rows.of([5, 6, 7]), Rows.of([0, 9])]


def transformed(**options):
    data = Data(X, np.arange(10) % 2, task="classification", **options)
    step = MinMaxScaler()
    fitted = step.fit_transform(X[TRAIN]) + 100  # so that it can be told from what transform does
    return TransformedData(data, TRAIN, FittedSteps([step], fitted), ASKED), step


def test_training_rows_come_first_then_those_asked_about():
    table, step = transformed(weight=np.arange(10.0), groups=np.arange(10))
    assert table.n == 9
    assert table.train == Rows.of(range(4))
    first, second = table.asked(ASKED)
    assert (first, second) == (Rows.of(range(4, 7)), Rows.of(range(7, 9)))
    np.testing.assert_array_equal(table.take(table.train.index), step.transform(X[TRAIN]) + 100)
    np.testing.assert_array_equal(table.take(first.index), step.transform(X[[5, 6, 7]]))
    np.testing.assert_array_equal(table.take(second.index), step.transform(X[[0, 9]]))
    where = [0, 0, 3, 5, 5, 6, 7, 0, 9]
    np.testing.assert_array_equal(table.tokens, table.source.tokens[where])
    assert table.y.tolist() == [i % 2 for i in where] == table.codes.tolist()
    assert table.weight.tolist() == table.groups.tolist() == where
    assert table.digest(table.train) == table.source.digest(Rows.of(TRAIN))


def test_what_is_taken_is_a_copy():
    table, _ = transformed()
    for index in (table.train.index, np.arange(4, 7)):
        before = table.take(index)
        table.take(index)[:] = -1
        np.testing.assert_array_equal(table.take(index), before)


def test_the_layout_stays():
    data = Data(X, np.arange(10) % 2, task="classification")
    fitted = np.asfortranarray(X[TRAIN])
    table = TransformedData(data, TRAIN, FittedSteps([], fitted), ASKED)
    assert table.take(table.train.index).flags.f_contiguous


def test_rows_are_kept_while_there_is_room(monkeypatch):
    table, step = transformed()
    calls = []
    transform = step.transform
    step.transform = lambda rows: calls.append(len(rows)) or transform(rows)
    for room, expected in ((1000, [3, 2]), (50, [3, 2, 3, 2])):
        monkeypatch.setattr("truefit._solvers.pipelines.fitted_steps.KEPT_BYTES", room)
        table.steps._kept.clear()
        table.steps._kept_bytes = 0
        calls.clear()
        for _ in range(2):
            table.take(np.arange(4, 7))
            table.take(np.arange(7, 9))
        assert calls == expected


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse.csr_array, pl.DataFrame, np.asarray])
def test_tables_of_all_kinds(kind):
    data = Data(kind(X), np.arange(10) % 2, task="classification")
    table = TransformedData(data, TRAIN, FittedSteps([], data.take(TRAIN)), ASKED)
    for index in (table.train.index, np.arange(4, 7)):
        for _ in range(2):
            got, expected = table.take(index), data.take(table.origin[index])
            assert type(got) is type(expected)
            assert got.shape == expected.shape
    assert table.steps.nbytes >= 3 * 2 * 8
