"""Columns and targets that are ordinary in Parquet files and frames: a result, or one clear sentence."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, HonestSearchCV, assess, compare, learning_curve, perturb, study
from truefit._core.data import Data
from truefit._core.errors import FitError, InvalidInput
from truefit._core.validation import find_infinities
from truefit._executors.dataset_file import DatasetWriter
from truefit._methods.selection.default_candidates import default_candidates

N = 60
RNG = np.random.default_rng(0)
X1 = RNG.normal(size=N)
Y = (X1 + RNG.normal(size=N) > 0).astype(int)
FIVE = RNG.integers(0, 5, N)
GAPS = np.arange(N) % 7 == 3


def gappy(values):
    return [None if gap else value for gap, value in zip(GAPS, values, strict=True)]


TEXT = gappy("abcde"[i] for i in FIVE)
NUMBERS = gappy(FIVE.tolist())
FLOATS = gappy(X1.tolist())
TRUTH = gappy((FIVE > 2).tolist())
DAYS = gappy(dt.date(2020, 1, 1) + dt.timedelta(int(i)) for i in FIVE)
TIMES = gappy(dt.datetime(2020, 1, 1) + dt.timedelta(int(i)) for i in FIVE)

COLUMNS = {
    "Int64": pd.Series(NUMBERS, dtype="Int64"),
    "UInt8": pd.Series(NUMBERS, dtype="UInt8"),
    "Float64": pd.Series(FLOATS, dtype="Float64"),
    "boolean": pd.Series(TRUTH, dtype="boolean"),
    "string": pd.Series(TEXT, dtype="string"),
    "category of Int64": pd.Series(NUMBERS, dtype="Int64").astype("category"),
    "category of string": pd.Series(TEXT, dtype="string").astype("category"),
    "objects with NA": pd.Series([pd.NA if value is None else value for value in TEXT], dtype=object),
    "Arrow integers": pd.Series(NUMBERS, dtype="int64[pyarrow]"),
    "Arrow floats": pd.Series(FLOATS, dtype="double[pyarrow]"),
    "Arrow truth": pd.Series(TRUTH, dtype="bool[pyarrow]"),
    "Arrow text": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "Arrow decimals": pd.Series(
        [None if v is None else Decimal(v) for v in NUMBERS], dtype=pd.ArrowDtype(pa.decimal128(9, 2))
    ),
    "Arrow moments": pd.Series(TIMES, dtype=pd.ArrowDtype(pa.timestamp("us"))),
    "Arrow days": pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
    "Arrow nulls": pd.Series([None] * N, dtype=pd.ArrowDtype(pa.null())),
    "sparse": pd.Series(pd.arrays.SparseArray(np.where(GAPS, 1.0, 0.0))),
    "all empty": pd.Series([None] * N, dtype=object),
    "all NA": pd.Series([pd.NA] * N, dtype="Int64"),
    "lists": pd.Series([[1, int(i)] for i in FIVE], dtype=object),
    "NULs": pd.Series(np.where(GAPS, "a", "a\0").tolist(), dtype=object),
    "long doubles": pd.Series(X1.astype(np.longdouble)),
    "polars integers": pl.Series(NUMBERS),
    "polars truth": pl.Series(TRUTH),
    "polars category": pl.Series(TEXT, dtype=pl.Categorical),
    "polars moments": pl.Series(TIMES),
    "polars nulls": pl.Series([None] * N),
}


def table(name):
    column = COLUMNS[name]
    return (pl if isinstance(column, pl.Series) else pd).DataFrame({"x1": X1, "c": column})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COLUMNS)
def test_every_kind_of_column_goes_through_the_default_preprocessing(name):
    X = table(name)
    tree = default_candidates(X, "classification")["tree"]
    assert 0 <= assess(tree, X, Y, cv=2).estimate <= 1


def test_every_method_takes_nullable_columns():
    X = pd.DataFrame({name: COLUMNS[name] for name in ("Int64", "boolean", "Float64", "Arrow floats")})
    y = pd.Series(np.where(Y, "yes", "no"), dtype="string")
    tree = DecisionTreeClassifier(max_depth=2)
    with Engine() as engine:
        assert compare([tree, DecisionTreeClassifier(max_depth=1)], X, y, cv=3, engine=engine).names
        assert perturb(tree, X, y, random_state=0, engine=engine).names
        assert len(learning_curve(tree, X, y, cv=3, random_state=0, engine=engine).sizes)
        search = HonestSearchCV(tree, {"max_depth": [1, 2]}, cv=3, engine=engine).fit(X, y)
        assert set(search.predict(X)) <= {"yes", "no"}
        assert len(study(X, y, {"tree": tree}, cv=3, random_state=0, engine=engine).answers) == 4


@pytest.mark.filterwarnings("ignore")
def test_workers_get_the_same_table():
    names = [name for name, column in COLUMNS.items() if isinstance(column, pd.Series)]
    X = pd.DataFrame({name: COLUMNS[name] for name in names})
    for table_, y in ((X, Y), (pl.DataFrame({n: c for n, c in COLUMNS.items() if isinstance(c, pl.Series)}), Y)):
        data = Data(table_, y, task="classification")
        writer = DatasetWriter()
        sent = writer.write(data).read(writer.content(data))
        writer.close()
        again = Data(sent.X, sent.y, task="classification")
        assert again.schema == data.schema
        assert np.array_equal(again.tokens, data.tokens)


@pytest.mark.filterwarnings("ignore")
def test_two_workers_say_what_one_does():
    X = pd.DataFrame({name: COLUMNS[name] for name in ("Int64", "boolean", "Float64", "Arrow floats")})
    model = DecisionTreeClassifier(max_depth=2)
    with Engine(workers=2) as two:
        assert assess(model, X, Y, cv=3, engine=two).estimate == assess(model, X, Y, cv=3).estimate


TARGETS = {
    "Int64": pd.Series(Y, dtype="Int64"),
    "boolean": pd.Series(Y == 1, dtype="boolean"),
    "string": pd.Series(np.where(Y, "a", "b"), dtype="string"),
    "category of Int64": pd.Series(Y, dtype="Int64").astype("category"),
    "Arrow integers": pd.Series(Y, dtype="int64[pyarrow]"),
    "decimals": pd.Series([Decimal(int(v)) for v in Y], dtype=object),
    "objects": pd.Series(Y, dtype=object),
    "polars truth": pl.Series(Y == 1),
    "polars category": pl.Series(np.where(Y, "a", "b").tolist(), dtype=pl.Categorical),
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_nullable_target_without_missing_values_works(name):
    data = Data(X1.reshape(-1, 1), TARGETS[name], task="classification")
    codes = data.codes if "a" not in data.classes.tolist() else 1 - data.codes
    assert np.array_equal(codes, Y)
    assert 0 <= assess(LogisticRegression(), X1.reshape(-1, 1), TARGETS[name], cv=3).estimate <= 1


BAD_TARGETS = {
    "Int64 with gaps": (pd.Series(NUMBERS, dtype="Int64"), "9 of 60"),
    "Arrow text with gaps": (pd.Series(TEXT, dtype="string[pyarrow]"), "9 of 60"),
    "dates with gaps": (pd.Series(TIMES), "9 of 60"),
    "a list of text with NaN": ([np.nan if value is None else value for value in TEXT], "9 of 60"),
    "lists": ([[1, int(i)] for i in FIVE], "shape"),
    "objects that are lists": (pd.Series([[1, int(i)] for i in FIVE], dtype=object), "Unknown label type"),
    "ragged lists": ([[1] * (1 + int(i)) for i in FIVE], "cannot be converted to an array"),
    "text and numbers": (["a" if v else 1 for v in Y], "of one type"),
    "labels that end in NUL": (["a" if v else "a\0" for v in Y], "NUL"),
    "bytes": ([b"a" if v else b"b" for v in Y], "Unknown label type"),
    "one label": (["a"] * N, "at least 2 classes"),
    "infinities": (np.where(GAPS, np.inf, X1), "9 of 60"),
    "structs": (pl.Series([{"a": int(v)} for v in Y]), "several fields"),
}


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_a_target_that_is_no_labels_gets_one_sentence(name):
    y, said = BAD_TARGETS[name]
    with pytest.raises(InvalidInput) as caught:
        assess(LogisticRegression(), X1.reshape(-1, 1), y, cv=3)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(InvalidInput):
        study(X1.reshape(-1, 1), y, cv=3)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (pd.Series(TIMES).ffill(), "dates or durations"),
        (np.full(N, 1e200), "another unit"),
        (np.array([np.longdouble("1e4000"), *X1[1:]]), "beyond float64"),
        ([b"1"] * N, "must be numbers"),
    ],
)
def test_a_target_that_is_no_quantity_gets_one_sentence(y, said):
    with pytest.raises(InvalidInput, match=said):
        assess(Ridge(), X1.reshape(-1, 1), y, cv=3)


def test_groups_must_be_there_and_of_one_type():
    for groups in (gappy(FIVE.tolist()), ["a" if v else 1 for v in Y], ["a" if v else "a\0" for v in Y]):
        with pytest.raises(InvalidInput, match="groups"):
            assess(LogisticRegression(), X1.reshape(-1, 1), Y, groups=groups, cv=3)


INFINITE = np.where(GAPS, np.inf, X1)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"x1": X1, "x2": INFINITE}),
        pd.DataFrame({"x1": X1, "x2": pd.Series(INFINITE, dtype="Float64")}),
        pd.DataFrame({"x1": X1, "x2": pd.Series(INFINITE, dtype="double[pyarrow]")}),
        pd.DataFrame({"x1": X1, "x2": pd.Series(INFINITE.tolist(), dtype=object)}),
        pl.DataFrame({"x1": X1, "x2": INFINITE}),
    ],
)
def test_infinities_are_named_with_their_column(X):
    with pytest.raises(InvalidInput, match=r"'x2' has 9 infinite values \(first in row 3\)"):
        study(X, Y)
    with pytest.raises(FitError, match=r"'x2' has 9 infinite values \(first in row 3\)") as caught:
        assess(LogisticRegression(), X, Y, cv=3)
    assert "Traceback" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_numbers_beyond_single_precision_are_named_where_they_end_a_fit():
    X = pd.DataFrame({"x1": X1, "x2": np.where(GAPS, 1e300, X1)})
    with pytest.raises(InvalidInput, match=r"'x2' has 9 too large values .*float32"):
        study(X, Y)
    with pytest.raises(FitError, match=r"'x2' has 9 too large values"):
        assess(DecisionTreeClassifier(), X, Y, cv=3)
    assert find_infinities(X) == []


def test_estimators_that_take_infinities_are_given_them():
    X = np.column_stack([X1, INFINITE])
    finite = make_pipeline(FunctionTransformer(np.nan_to_num, kw_args={"posinf": 0.0}), LogisticRegression())
    for model in (finite, HistGradientBoostingClassifier(max_iter=2)):
        assert 0 <= assess(model, X, Y, cv=3).estimate <= 1


@pytest.mark.parametrize("n", [60, 75, 100, 150])
def test_curves_of_neighbours_begin_with_rows_enough(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + rng.normal(size=n)
    for model in (default_candidates(X, "regression")["knn"], KNeighborsRegressor(20)):
        curve = learning_curve(model, X, y, random_state=0)
        assert curve.sizes[0] <= n / 2


def test_a_curve_with_more_neighbours_than_rows_gets_one_sentence():
    X = X1.reshape(-1, 1)
    with pytest.raises(InvalidInput, match="n_neighbors=60"):
        learning_curve(KNeighborsRegressor(60), X, X1)
    with pytest.raises(InvalidInput, match="n_neighbors"):
        learning_curve(KNeighborsRegressor(20), X, X1, schedule=[10, 50])


def test_a_study_of_a_constant_target_has_four_answers():
    result = study(X1.reshape(-1, 1), np.full(N, 1.5), {"ridge": Ridge()}, cv=3, random_state=0)
    assert len(result.answers) == 4
    assert "0" in str(result)
