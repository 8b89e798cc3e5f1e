"""Class or quantity."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from truefit._core.errors import InvalidInput
from truefit.sources import infer_task


@pytest.mark.parametrize(
    ("y", "task", "reason"),
    [
        (["a", "b", "a"], "classification", "text with 2 distinct"),
        (np.array(["a", "b"], dtype=object), "classification", "text"),
        (pl.Series(["a", "b", None]), "classification", "text with 2 distinct"),
        ([True, False], "classification", "true or false"),
        (pd.Series([1, 2, 3]).astype("category"), "classification", "a category with 3"),
        (["a", 1, "b"], "classification", "labels with 3"),
        ([0.5, 1.0, 2.0], "regression", "fractions at 1 of 3 rows"),
        ([0.5, np.nan, 2.0], "regression", "fractions at 1 of 2 rows"),
        ([Decimal("1.5"), Decimal("2.0")], "regression", "fractions"),
        ([0, 1], "classification", "2 distinct whole numbers"),
        ([0.0, 1.0, 1.0], "classification", "2 distinct whole numbers"),
        (np.repeat(np.arange(10), 5), "classification", "10 distinct whole numbers, each at least 5 times"),
        (np.repeat(np.arange(21), 50), "regression", "21 distinct whole numbers, more than 20"),
        ([1, 2, 3], "regression", "3 distinct whole numbers, but 1 occurs only once in 3 rows"),
        (np.repeat([3, 4, 9], [5000, 1900, 5]), "regression", "but 9 occurs only 5 times in 6,905 rows"),
        (pd.Series([1, 2, None, 1, 2], dtype="Int64"), "classification", "2 distinct whole numbers"),
    ],
)
def test_task_and_reason(y: object, task: str, reason: str) -> None:
    hint = infer_task(y)
    assert hint.task == task
    assert reason in hint.reason


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([], "must have values"),
        ([None, None], "must have values"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "dates or durations"),
        (np.zeros((3, 2)), r"one column. Got shape \(3, 2\)"),
    ],
)
def test_what_is_no_target_is_said(y: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        infer_task(y)
