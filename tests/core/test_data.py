import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from truefit._core import data as data_module
from truefit._core.data import Data, LabelledRows, checked_time
from truefit._core.errors import InvalidInput
from truefit._core.rows import Rows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
y = rng.integers(0, 3, size=30)


def frame() -> pd.DataFrame:
    table = pd.DataFrame(X, columns=list("abcd"))
    table["city"] = rng.choice(["Ulm", "Jena", None], size=30)
    table["kind"] = pd.Categorical(rng.choice(["p", "q"], size=30))
    table["when"] = pd.date_range("2020-01-01", periods=30)
    return table


TABLES = {
    "array": X,
    "fortran": np.asfortranarray(X),
    "images": X.reshape(30, 2, 2),
    "float32": X.astype(np.float32),
    "sparse": sparse.csr_array(np.where(X > 0, X, 0)),
    "csc": sparse.csc_matrix(np.where(X > 0, X, 0)),
    "pandas": frame(),
    "polars": pl.from_pandas(frame()),
    "texts": np.array([f"row {i}" for i in range(30)], dtype=object),
}


def part(table, n):
    return table.tocsr()[:n] if sparse.issparse(table) else table[:n]


@pytest.mark.parametrize("kind", TABLES)
def test_a_growing_table_keeps_its_tokens(kind):
    table = TABLES[kind]
    whole = Data(table, y, task="classification")
    before = Data(part(table, 20), y[:20], task="classification")
    assert np.array_equal(whole.tokens[:20], before.tokens)
    assert len(np.unique(whole.tokens, axis=0)) == 30


@pytest.mark.parametrize("kind", TABLES)
def test_take_gives_rows_of_the_same_kind(kind):
    data = Data(TABLES[kind], y, task="classification")
    taken = data.take(np.array([3, 5]))
    assert taken.shape[0] == 2
    assert isinstance(taken, type(data.X))


def test_tokens_follow_the_row_and_not_its_place():
    order = rng.permutation(30)
    assert np.array_equal(
        Data(X[order], y[order], task="classification").tokens, Data(X, y, task="classification").tokens[order]
    )


def test_the_container_and_the_memory_order_are_not_the_rows_content():
    plain = Data(X, y, task="classification")
    assert np.array_equal(plain.tokens, Data(pd.DataFrame(X), y, task="classification").tokens)
    assert np.array_equal(plain.tokens, Data(np.asfortranarray(X), y, task="classification").tokens)
    assert plain.schema != Data(pd.DataFrame(X), y, task="classification").schema


@pytest.mark.parametrize("change", ["X", "y", "weight"])
def test_every_part_of_a_row_counts(change):
    weight = np.ones(30)
    base = Data(X, y, task="classification", weight=weight)
    other = {"X": X.copy(), "y": y.copy(), "weight": weight.copy()}
    other[change][7] += 1
    changed = Data(other["X"], other["y"], task="classification", weight=other["weight"])
    assert (base.tokens != changed.tokens).any(axis=1).tolist() == [i == 7 for i in range(30)]


def test_equal_rows_are_told_apart_by_their_occurrence():
    doubled = Data(np.repeat(X, 3, axis=0), np.repeat(y, 3), task="classification")
    assert len(np.unique(doubled.tokens, axis=0)) == 90
    assert np.array_equal(doubled.tokens[::3], Data(X, y, task="classification").tokens)


def test_missing_cells_of_other_kinds_are_other_content():
    column = np.array([None, float("nan"), "nan", "None", 1, True, 1.0, "1"], dtype=object).reshape(-1, 1)
    tokens = Data(column, [0, 1] * 4, task="classification").tokens
    assert len(np.unique(tokens, axis=0)) == 8


def test_digest_is_additive_and_lazy_rows_agree_with_listed_ones():
    data = Data(X, y, task="classification")
    listed = Rows.of(np.arange(1, 30))
    assert data.digest(Rows.without(30, 0)) == data.digest(listed)
    assert data.digest(Rows.all(30)) != data.digest(listed)
    twice = Rows.of([4, 4, 9])
    assert data.digest(twice) != data.digest(Rows.of([4, 9]))


def test_a_gather_in_stretches_equals_a_plain_one(monkeypatch):
    monkeypatch.setattr("truefit._core.data.STRETCH_BYTES", 5 * X.itemsize * X.shape[1])
    data = Data(X, y, task="classification")
    calls = []
    data.release = lambda: calls.append(1)
    index = np.array([0, 4, 5, 5, 17, 29])
    assert np.array_equal(data.take(index), X[index])
    assert len(calls) == 4


BAD = {
    "lengths": ((X, y[:20]), {}, "X has 30 rows, so y must have 30"),
    "groups": ((X, y), {"groups": [1, 2]}, "groups must have 30"),
    "weight": ((X, y), {"weight": np.full(30, -1.0)}, "not negative"),
    "nan": ((X, np.where(np.arange(30) < 2, np.nan, 1.0)), {}, "2 of 30 rows"),
    "none": ((X, np.array([None] + ["a", "b"] * 14 + ["a"], dtype=object)), {}, "1 of 30 rows"),
    "one class": ((X, np.full(30, "a")), {}, "at least 2 classes in y. Got 1 class: 'a'"),
    "continuous": ((X, np.full(30, 0.5)), {}, "Unknown label type: .* Got values such as 0.5"),
    "empty": ((X[:0], y[:0]), {}, "0 sample"),
    "no target": ((X, None), {}, "y to be passed"),
    "lazy frame": ((pl.DataFrame(X).lazy(), y), {}, "collect"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_clear_sentence(case):
    arguments, options, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        Data(*arguments, task="classification", **options)


def test_text_is_no_target_for_a_regression():
    with pytest.raises(InvalidInput, match="Got text such as 'a'"):
        Data(X, np.array(["a"] * 30), task="regression")


def test_a_series_of_texts_is_a_table_of_texts():
    texts = pd.Series([f"row {i}" for i in range(30)])
    assert Data(texts, y, task="classification").take(np.array([2])).tolist() == ["row 2"]


def test_labels_of_rows_count_where_they_are_more_than_numbers():
    frame = pd.DataFrame(X)
    dated = frame.set_index(pd.date_range("2020-01-01", periods=30))
    shifted = frame.set_index(pd.date_range("2021-01-01", periods=30))
    tokens = [Data(table, y, task="classification").tokens for table in (frame, dated, shifted)]
    assert not np.array_equal(tokens[0], tokens[1])
    assert not np.array_equal(tokens[1], tokens[2])
    assert np.array_equal(tokens[0], Data(frame.set_index(np.arange(30) + 7), y, task="classification").tokens)


def test_pandas_and_polars_rows_have_the_same_tokens():
    table = pd.DataFrame({"a": X[:, 0], "n": np.arange(30), "city": ["Ulm", "Jena", "Bonn"] * 10})
    tokens = [Data(kind, y, task="classification").tokens for kind in (table, pl.from_pandas(table))]
    assert np.array_equal(*tokens)


def test_what_the_user_does_to_y_later_does_not_reach_the_data():
    target = y.copy()
    data = Data(X, target, task="classification")
    target[:] = 0
    assert np.array_equal(data.y, y)


def test_missing_texts_are_counted():
    labels = pd.Series(["a", "b", None] * 10, dtype="string")
    with pytest.raises(InvalidInput, match="10 of 30 rows"):
        Data(X, labels, task="classification")


@pytest.mark.parametrize("kind", [np.int64, np.uint8, bool])
def test_whole_numbers_to_be_predicted_are_the_rows_that_they_are_as_floats(kind):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 1, 0])
    whole, others = Data(X, y.astype(kind), task="regression"), Data(X, y.astype(float), task="regression")
    assert np.array_equal(whole.tokens, others.tokens)
    assert whole.schema == others.schema
    assert whole.y.dtype == np.float64
    labels = Data(X, y.astype(kind), task="classification")
    assert labels.y.dtype == kind
    assert not np.array_equal(labels.tokens, others.tokens)


def test_weights_must_leave_some_weight():
    X, y = np.arange(6.0).reshape(-1, 1), [0, 1] * 3
    with pytest.raises(InvalidInput, match="Got 0 for every row"):
        Data(X, y, task="classification", weight=np.zeros(6))
    data = Data(X, y, task="classification", weight=[0, 0, 1, 1, 1, 1])
    assert data.weights_of(np.array([1, 2])).tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="Got 0 at all 2 rows of a test set"):
        data.weights_of(np.array([0, 1]))


def test_an_arrow_table_is_taken_as_a_frame():
    pa = pytest.importorskip("pyarrow")
    data = Data(pa.table({"size": [1.0, 2.0], "kind": ["x", None]}), [0, 1], task="classification")
    assert data.X.columns.tolist() == ["size", "kind"]


RNG = np.random.default_rng(0)
DATA = Data(RNG.normal(size=(60, 2)), np.arange(60) % 2, task="classification")


@pytest.mark.parametrize(
    "lists",
    [
        [RNG.integers(0, 2, 60) for _ in range(4)],
        [RNG.integers(0, 5, 60).astype(np.uint8), RNG.integers(0, 5, 60)],
        [RNG.choice(["a", "bb", "c"], 60), RNG.choice(["a", "bb"], 60), np.full(60, "a")],
        [RNG.random(60) < 0.5],
        [RNG.normal(size=60)],  # of these no two are alike
        [np.arange(60)],
        [RNG.choice(np.array(["x", "y"], dtype=object), 60)],
    ],
    ids=["two", "widths", "words", "flags", "numbers", "many", "objects"],
)
def test_digests_are_those_of_the_table(lists):
    labelled = LabelledRows(DATA)
    for labels in (*lists, *lists):
        for rows in (Rows.all(60), Rows.of(range(0, 60, 3)), Rows.without(60, [1])):
            assert labelled.digest(rows, labels) == DATA.label_digest(rows, labels)


def test_where_there_is_no_room_nothing_is_held(monkeypatch):
    labels = RNG.integers(0, 3, 60)
    for room, held in ((DATA.tokens.nbytes * 3, 3), (DATA.tokens.nbytes * 2, 0), (0, 0)):
        monkeypatch.setattr(data_module, "HELD_BYTES", room)
        labelled = LabelledRows(DATA)
        assert labelled.digest(Rows.all(60), labels) == DATA.label_digest(Rows.all(60), labels)
        assert len(labelled._tokens) == held


def test_labels_that_come_and_go_do_not_add_up(monkeypatch):
    monkeypatch.setattr(data_module, "HELD_BYTES", DATA.tokens.nbytes * 4)
    labelled = LabelledRows(DATA)
    for start in range(10):
        labels = start + RNG.integers(0, 3, 60)
        assert labelled.digest(Rows.all(60), labels) == DATA.label_digest(Rows.all(60), labels)
        assert len(labelled._tokens) <= 4


DAYS = pd.date_range("2024-03-30", periods=4, freq="D")[[2, 0, 3, 1]]
TIMED = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "day": DAYS})
Y = [0.1, 0.2, 0.3, 0.4]


@pytest.mark.parametrize(
    "given",
    [
        DAYS,
        pd.Series(DAYS),
        pd.Series(DAYS, dtype="datetime64[s]"),
        pd.Series(DAYS).dt.tz_localize("Europe/Berlin"),  # a day begins an hour or two before that of UTC
        pd.Series(DAYS).dt.to_period("D"),
        DAYS.to_period("D"),
        DAYS.to_numpy(),
        pl.Series(DAYS),
        pl.Series(DAYS).cast(pl.Date),
        [day.to_pydatetime() for day in DAYS],
        [datetime.date(day.year, day.month, day.day) for day in DAYS],
        [str(day.date()) for day in DAYS],
        pl.Series([str(day.date()) for day in DAYS]),
        [2, 0, 3, 1],
        np.array([2.5, 0.5, 3.5, 1.5]),
        pd.Series([2, 0, 3, 1], dtype="Int64"),
        pd.to_timedelta([2, 0, 3, 1], unit="h"),
    ],
)
def test_any_kind_of_time_puts_the_rows_in_the_same_order(given):
    values = checked_time(given, 4)
    assert values.dtype.kind in "iufM"
    assert np.argsort(values).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1.0, np.nan, 3.0, 4.0], "time must have a value for every row. Got 1 missing of 4"),
        (DAYS.where([True, False, True, False]), "time must have a value for every row. Got 2 missing of 4"),
        (["2024-01-31", None, "2024-01-30", "2024-01-29"], "Got 1 missing of 4"),
        (["31.01.2024"] * 4, "Got '31.01.2024', which is no date in ISO format, such as 2024-01-31"),
        (["2024-01-31", "soon", "later", "never"], "time must be numbers or dates. Got 'soon', which is no date"),
        ([datetime.time(1), datetime.time(2)] * 2, "time must be numbers or dates"),
        ([1, 2, 3], "X has 4 rows, so time must have 4 values. Got 3"),
        ([1.0, np.inf, 3.0, 4.0], "time must be finite"),
        ([7, 7, 7, 7], "time must have different values, which put the rows in order. All 4 are 7"),
        (np.zeros((4, 2)), "time must be one value per row. Got shape"),
        ("dya", "X has no column 'dya'. Did you mean 'day'?"),
    ],
)
def test_bad_times_are_refused_in_one_sentence(given, said):
    with pytest.raises(InvalidInput) as error:
        Data(TIMED, Y, task="regression", time=given)
    assert said in str(error.value)


def test_names_need_columns_and_groups_exclude_time():
    with pytest.raises(InvalidInput, match="X is a ndarray without column names"):
        Data(np.ones((4, 1)), Y, task="regression", time="day")
    with pytest.raises(InvalidInput, match="X has 2 columns 'day'"):
        Data(TIMED.set_axis(["day", "day"], axis=1), Y, task="regression", time="day")
    with pytest.raises(InvalidInput, match="groups and time cannot be given together"):
        Data(TIMED, Y, task="regression", time="day", groups=[1, 1, 2, 2])


@pytest.mark.parametrize("table", [TIMED, pl.from_pandas(TIMED), pl.from_pandas(TIMED).to_arrow()])
def test_a_named_column_is_no_feature_and_time_is_no_content(table):
    data = Data(table, Y, task="regression", time="day")
    plain = Data(TIMED[["a"]], Y, task="regression")
    assert data.X.shape == (4, 1)
    assert data.time_name == "day"
    assert (data.tokens == plain.tokens).all()
    assert plain.time is None
    assert data.without_time().time is None
    assert data.subset(np.array([1, 3])).time.tolist() == data.time[[1, 3]].tolist()
