"""What in a table may flatter a model: found where it is, and not found where it is not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from truefit._core.data import Data
from truefit._study.checks import find_suspects

N = 400
rng = np.random.default_rng(7)
Y = rng.integers(0, 3, N)
NOISE = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["x", "y", "z"], N)})


def found(X, y=Y, task="classification"):
    return {(suspect.kind, suspect.column) for suspect in find_suspects(Data(X, y, task=task))}


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine, load_digits])
def test_honest_tables_are_not_suspected(load):
    X, y = load(return_X_y=True, as_frame=True)
    kinds = {kind for kind, _ in found(X, y)}
    assert not kinds & {"predicts", "id"}


def test_an_honest_regression_is_not_suspected():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    assert found(X, y, "regression") == set()


@pytest.mark.parametrize(
    "leak",
    [
        np.array(["ham", "egg", "oak"])[Y],
        pd.Categorical(np.array(["ham", "egg", "oak"])[Y]),
        10.0 * (2 - Y),
        Y + rng.uniform(-0.4, 0.4, N),
        pd.to_datetime("2024-01-01") + pd.to_timedelta(Y * 30 + rng.integers(0, 9, N), unit="D"),
    ],
    ids=["text", "category", "numbers", "a range each", "dates"],
)
def test_a_column_that_alone_tells_the_class(leak):
    suspects = find_suspects(Data(NOISE.assign(after=leak), Y, task="classification"))
    assert [(suspect.kind, suspect.column) for suspect in suspects] == [("predicts", "after")]
    assert "'after' alone tells the target without an error" in suspects[0].text


def test_a_column_that_is_missing_where_the_class_is_rare():
    y = np.where(np.arange(N) % 8 == 0, "ill", "well")
    dose = np.where(y == "ill", rng.normal(size=N), np.nan)
    assert found(NOISE.assign(dose=dose), y) == {("predicts", "dose")}


def test_a_column_that_a_quantity_is_a_function_of():
    cents = rng.gamma(2.0, 1000.0, N)
    X = NOISE.assign(euros=np.log(cents), tax=cents * rng.normal(0.2, 0.02, N))
    assert found(X, cents, "regression") == {("predicts", "euros")}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a number", np.arange(N)),
        ("gaps", 3 * np.arange(N)[::-1] + 7.0),
        ("customer_id", rng.permutation(10**6)[:N]),
        ("code", [f"u-{i * 7919 % 99991:05d}" for i in range(N)]),
    ],
)
def test_ids_are_named(name, values):
    assert found(NOISE.assign(**{name: values})) == {("id", name)}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("salary", rng.permutation(10**6)[:N]),
        ("weight", np.sort(rng.normal(size=N))),
        ("remark", [f"the {i}th thing that was said of it" for i in range(N)]),
        ("when", pd.date_range("2024-01-01", periods=N)),
        ("age", rng.integers(18, 90, N)),
    ],
)
def test_measurements_texts_and_dates_are_no_ids(name, values):
    assert found(NOISE.assign(**{name: values})) == set()


def test_few_rows_are_no_evidence():
    few = NOISE.iloc[:20].assign(number=range(20))
    assert found(few, np.arange(20) % 2) == set()


def test_copies_of_rows_are_counted():
    X = pd.concat([NOISE, NOISE.iloc[:30]], ignore_index=True)
    (suspect,) = find_suspects(Data(X, np.r_[Y, Y[:25], (Y[25:30] + 1) % 3], task="classification"))
    assert suspect.kind == "duplicates"
    assert suspect.text.startswith("25 of the 430 rows are copies of others")


def test_constant_columns_are_a_note():
    assert found(NOISE.assign(unit="kg")) == {("constant", "unit")}
    (suspect,) = find_suspects(Data(NOISE.assign(**{f"c{i}": 1 for i in range(7)}), Y, task="classification"))
    assert suspect.column is None
    assert "'c4' and 2 more have the same value" in suspect.text


def test_arrays_and_polars_frames():
    X = np.column_stack([rng.normal(size=N), Y])
    assert found(X) == {("predicts", "column 1")}
    assert found(pl.DataFrame({"a": X[:, 0], "leak": X[:, 1]})) == {("predicts", "leak")}
    assert found(sparse.csr_matrix(X)) == set()


def test_thousands_of_columns_and_equal_names():
    wide = pd.DataFrame(rng.normal(size=(300, 3000)), columns=["same"] * 3000)
    wide.insert(17, "leak", Y[:300])
    assert found(wide, Y[:300]) == {("predicts", "leak")}


@pytest.mark.parametrize("cells", [["\ud800", "x", None], [[1], [2], None], [{"a": 1}, "x", 2]])
def test_cells_that_pandas_takes_for_no_text_are_no_trouble(cells):
    odd = pd.Series([cells[i % 3] for i in range(N)], dtype=object)
    assert found(NOISE.assign(odd=odd)) == set()


def test_long_doubles_are_no_trouble():
    assert found(rng.normal(size=(N, 2)).astype(np.longdouble)) == set()
