"""The forest plot of paired differences."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from truefit._plots.canvas import DATA, MARK
from truefit._plots.forest import differences

NAMES = ["knn − ridge", "svm − ridge", "tree − ridge"]
VALUES, LOWS, HIGHS = [-0.04, 0.002, 0.05], [-0.06, -0.003, 0.02], [-0.02, 0.007, 0.08]


def drawn(**options):
    options = {"significant": [True, False, True], "xlabel": "difference of error"} | options
    return differences(NAMES, VALUES, LOWS, HIGHS, **options)


def intervals(ax):
    return [line.get_xdata() for line in ax.lines if len(set(line.get_ydata())) == 1 and len(line.get_xdata()) == 2]


def points(ax):
    return [line for line in ax.lines if line.get_marker() in ("o", "D")]


def test_every_difference_and_interval_is_where_it_should_be() -> None:
    ax = drawn()
    np.testing.assert_allclose(intervals(ax), np.column_stack([LOWS, HIGHS]))
    np.testing.assert_allclose([point.get_xdata()[0] for point in points(ax)], VALUES)
    assert [label.get_text() for label in ax.get_yticklabels()] == NAMES
    assert ax.texts[0].get_text() == "−0.040 (−0.060 to −0.020)"
    assert ax.get_xlabel() == "difference of error"


def test_the_axis_shows_0() -> None:
    ax = differences(["a − b"], [5.0], [4.0], [6.0], significant=[True])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0, 0])
    low, high = ax.get_xlim()
    assert low < 0 < high


def test_a_significant_difference_has_a_diamond() -> None:
    ax = drawn()
    assert [point.get_marker() for point in points(ax)] == ["D", "o", "D"]
    assert [to_hex(point.get_color()) for point in points(ax)] == [MARK, DATA, MARK]


def test_the_region_of_practical_equivalence_is_shaded() -> None:
    (region,) = drawn(rope=0.01).patches
    assert (region.get_x(), region.get_x() + region.get_width()) == pytest.approx((-0.01, 0.01))


def test_differences_of_shares_are_in_points() -> None:
    ax = drawn(percent=True)
    ax.figure.draw_without_rendering()
    assert ax.texts[0].get_text() == "−4.0 (−6.0 to −2.0)"
    assert {"−5", "0", "5"} <= {label.get_text() for label in ax.get_xticklabels()}


def test_without_an_interval_the_difference_is_drawn_alone() -> None:
    ax = differences(["a − b"], [5.0], [None], [None], significant=[False], rope=0.1)
    assert [text.get_text() for text in ax.texts] == ["5.00"]


def test_an_interval_without_end_goes_to_the_edge() -> None:
    ax = differences(["a − b"], [1.0], [0.5], [np.inf], significant=[True])
    assert intervals(ax)[0][1] == ax.get_xlim()[1]
    assert [line.get_marker() for line in ax.lines].count(">") == 1
