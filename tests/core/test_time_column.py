"""The time of each row: what it may be, and one sentence for what it may not be."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.time_column import checked_time

DAYS = pd.date_range("2024-03-30", periods=4, freq="D")[[2, 0, 3, 1]]
X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "day": DAYS})
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
        Data(X, Y, task="regression", time=given)
    assert said in str(error.value)


def test_names_need_columns_and_groups_exclude_time():
    with pytest.raises(InvalidInput, match="X is a ndarray without column names"):
        Data(np.ones((4, 1)), Y, task="regression", time="day")
    with pytest.raises(InvalidInput, match="X has 2 columns 'day'"):
        Data(X.set_axis(["day", "day"], axis=1), Y, task="regression", time="day")
    with pytest.raises(InvalidInput, match="groups and time cannot be given together"):
        Data(X, Y, task="regression", time="day", groups=[1, 1, 2, 2])


@pytest.mark.parametrize("table", [X, pl.from_pandas(X), pl.from_pandas(X).to_arrow()])
def test_a_named_column_is_no_feature_and_time_is_no_content(table):
    data = Data(table, Y, task="regression", time="day")
    plain = Data(X[["a"]], Y, task="regression")
    assert data.X.shape == (4, 1)
    assert data.time_name == "day"
    assert (data.tokens == plain.tokens).all()
    assert plain.time is None
    assert data.without_time().time is None
    assert data.subset(np.array([1, 3])).time.tolist() == data.time[[1, 3]].tolist()
