import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from truefit._core.concatenation import stacked, stacked_data, stacked_target
from truefit._core.data import Data
from truefit._core.errors import InvalidInput

rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(6, 2))
FRAME = pd.DataFrame(
    {
        "size": [1, 2, 3, 4],
        "price": [0.5, np.nan, 1.5, 2.0],
        "kind": pd.Categorical(["a", "b", "a", "c"], categories=["a", "b", "c"]),
        "word": ["x", "y", None, "z"],
        "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]),
    }
)


TABLES = {
    "array": (NUMBERS, 4),
    "float32": (NUMBERS.astype(np.float32), 4),
    "sparse matrix": (sparse.csr_matrix(NUMBERS), 4),
    "sparse array": (sparse.csr_array(NUMBERS), 4),
    "pandas": (FRAME, 3),
    "labelled pandas": (FRAME.set_axis(list("pqrs")), 3),
    "polars": (pl.from_pandas(FRAME), 3),
    "images": (rng.normal(size=(5, 3, 3)), 3),
    "texts": (np.array(["a b", "c", "d e"], dtype=object), 2),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_rows_above_are_known_by_what_they_were_known_by_alone(kind):
    table, n = TABLES[kind]
    rows = table.iloc if hasattr(table, "iloc") else table
    y = np.arange(table.shape[0]) % 2
    alone = Data(rows[:n], y[:n], task="classification")
    data, trained = stacked_data(rows[:n], y[:n], rows[n:], y[n:], task="classification")
    assert (data.n, trained) == (len(y), n)
    assert data.schema == alone.schema
    assert np.array_equal(data.tokens[:n], alone.tokens)
    whole = Data(table, y, task="classification")
    assert type(data.X) is type(whole.X)
    assert np.array_equal(data.tokens, whole.tokens)


def test_values_below_take_the_types_above():
    both = stacked(np.array([[1.5], [2.5]], dtype=np.float32), [[3], [4]])
    assert both.dtype == np.float32
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2]}), pd.DataFrame({"a": [3, 4], "b": [5.0, 6.0]})
    both = stacked(*frame)
    assert both.dtypes.tolist() == frame[0].dtypes.tolist()
    assert both.index.tolist() == [0, 1, 2, 3]
    both = stacked(*map(pl.from_pandas, frame))
    assert both.dtypes == [pl.Float64, pl.Int64]
    assert stacked(sparse.csr_array(np.eye(2)), np.ones((1, 2))).toarray().tolist() == [[1, 0], [0, 1], [1, 1]]


def test_a_category_that_the_table_above_does_not_declare_is_refused():
    below = FRAME[:1].assign(kind=pd.Categorical(["d"]))
    with pytest.raises(InvalidInput, match="in column 'kind'"):
        stacked(FRAME, below)
    declared = FRAME[:1].assign(kind=pd.Categorical(["b"], categories=["b"]))
    assert stacked(FRAME, declared)["kind"].tolist()[-1] == "b"


@pytest.mark.parametrize(
    ("above", "below", "message"),
    [
        (np.array([[1], [2]]), [[1.5]], "same types"),
        (np.array([[1], [2]]), [[np.nan]], "same types"),
        (np.ones((2, 2)), np.ones((2, 3)), "columns of X"),
        (np.ones((2, 2)), [["a", "b"]], "same types"),
        (sparse.csr_array(np.ones((2, 2))), np.ones((1, 3)), "2 columns"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), "pandas frame with the columns of X"),
        (pd.DataFrame({"a": [1], "b": [1]}), pd.DataFrame({"b": [1], "a": [1]}), "in their order"),
        (pd.DataFrame({"a": [1]}), np.ones((1, 1)), "Got a ndarray"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.5]}), "in column 'a'"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": ["x"]}), "in column 'a'"),
        (pd.DataFrame({"a": [1]}, index=["p"]), pd.DataFrame({"a": [1]}), "reset_index"),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1.5]}), "in column 'a'"),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": ["x"]}), "in column 'a'"),
        (pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), "polars frame"),
        (np.ones((2, 2)), 3.0, "one row per sample"),
    ],
)
def test_what_does_not_go_together_is_refused(above, below, message):
    with pytest.raises(InvalidInput, match=message):
        stacked(above, below)


def test_targets_of_numbers_take_a_common_type_only_where_they_must():
    assert stacked_target([1, 2], [3.0]).dtype.kind == "i"
    assert stacked_target([1, 2], [3.5]).tolist() == [1.0, 2.0, 3.5]
    assert stacked_target(pd.Series(["a", "b"]), ["longer"]).tolist() == ["a", "b", "longer"]
    with pytest.raises(InvalidInput, match="same kind as y"):
        stacked_target([1, 2], ["a"])
    with pytest.raises(InvalidInput, match="shape of y"):
        stacked_target(np.ones((2, 2)), [1.0])


def test_lengths_are_checked_table_by_table():
    with pytest.raises(InvalidInput, match="X has 3 rows, so y must have 3 values"):
        stacked_data(np.ones((3, 1)), [1.0, 2.0], np.ones((2, 1)), [1.0, 2.0, 3.0], task="regression")
    with pytest.raises(InvalidInput, match="X_test has 1 row, so y_test must have 1 value\\."):
        stacked_data(np.ones((2, 1)), [1.0, 2.0], np.ones((1, 1)), [1.0, 2.0], task="regression")
    with pytest.raises(InvalidInput, match="so sample_weight must have 2"):
        stacked_data(np.ones((2, 1)), [1.0, 2.0], np.ones((1, 1)), [1.0], task="regression", weight=[1.0] * 3)
    with pytest.raises(InvalidInput, match="both X_test and y_test"):
        stacked_data(np.ones((2, 1)), [1.0, 2.0], np.ones((1, 1)), None, task="regression")
