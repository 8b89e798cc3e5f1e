"""Values as text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truefit._report.tables import MARGIN, TableCells, bars, column

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.123456, 0.05], ["0.1235", "0.0500"]),
        ([0.0334, 0.042], ["0.0334", "0.0420"]),
        ([0.00123], ["0.00123"]),
        ([10.4412, 9.3], ["10.44", "9.30"]),
        ([1234.567], ["1,235"]),
        ([-0.5, 0.5], ["−0.5000", "0.5000"]),
        ([1e-9, 2e-9], ["1e−09", "2e−09"]),
        ([3e20], ["3e+20"]),
        ([0.9, 1e-7, -1e-7, 0.0], ["0.9000", "< 0.0001", "> −0.0001", "0.0000"]),
        ([3, 12_000, -4], ["3", "12,000", "−4"]),
        ([3, 0.5], ["3.000", "0.500"]),
        ([np.int64(3), np.float64(0.5)], ["3.000", "0.500"]),
        ([None, NAN, (NAN, None)], ["–", "–", "–"]),
        ([INF, -INF, 1.0], ["∞", "−∞", "1.000"]),
        ([[0.1, 0.2], (0.15, 0.3)], ["0.1000 to 0.2000", "0.1500 to 0.3000"]),
        ([True, False, "text", ["a", "b"]], ["yes", "no", "text", "['a', 'b']"]),
        ([0.0, 0.0], ["0.000", "0.000"]),
        ([], []),
    ],
)
def test_texts(values: list[Any], texts: list[str]) -> None:
    assert [cell.text for cell in column(values)] == texts


def test_numbers_are_sorted_by_their_value_and_missing_ones_are_marked() -> None:
    cells = column([0.5, [0.25, 0.75], None, "text"])
    assert [cell.sort for cell in cells] == [0.5, 0.25, None, None]
    assert [cell.missing for cell in cells] == [False, False, True, False]


def test_a_column_is_numeric_if_all_that_is_there_is() -> None:
    grid = TableCells.of({"columns": ["a", "b", "c", "d"], "rows": [[1, "x", None, True], [None, 2, None, False]]})
    assert grid.numeric == (True, False, False, False)


def test_a_table_without_rows() -> None:
    assert TableCells.of({"columns": ["a"], "rows": []}).rows == ()


def test_no_more_places_than_asked_for() -> None:
    assert [cell.text for cell in column([0.00006, 0.00001], 4)] == ["0.0001", "< 0.0001"]
    assert [cell.text for cell in column([0.5, 1e-9], 4)] == ["0.5000", "< 0.0001"]


def test_all_on_one_scale():
    first, second = bars([1.0, 3.0], [[0.0, 2.0], [2.0, 4.0]])
    assert (first.low, first.value, first.high) == (MARGIN, 27.0, 50.0)
    assert (second.low, second.value, second.high) == (50.0, 73.0, 100 - MARGIN)


def test_one_that_is_far_off_is_pointed_at():
    drawn = bars([0.02, 0.03, 0.4], [[0.01, 0.04], [0.02, 0.05], [0.35, 0.45]])
    assert [bar.beyond for bar in drawn] == [False, False, True]
    assert drawn[1].high == 100 - MARGIN


def test_given_ends():
    (bar,) = bars([0.5], [[0.25, 0.75]], [0, 1])
    assert (bar.low, bar.value, bar.high) == (27.0, 50.0, 73.0)


def test_what_cannot_be_drawn_is_blank():
    drawn = bars([0.1, None, 0.2, 0.3], [None, [0, 1], [float("nan"), 1.0], [0.3, 0.3]])
    assert [bar.low for bar in drawn] == [None] * 4
    assert bars([], []) == []
