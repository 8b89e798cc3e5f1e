"""The forest plot of paired differences."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from truefit._core.errors import InvalidInput
from truefit._plots.canvas import DATA, MARK
from truefit._plots.forest import differences

NAMES = ["knn − ridge", "svm − ridge", "tree − ridge"]
VALUES, LOWS, HIGHS = [-0.04, 0.002, 0.05], [-0.06, -0.003, 0.02], [-0.02, 0.007, 0.08]


def drawn(**options):
    return differences(NAMES, VALUES, LOWS, HIGHS, xlabel="difference of error", **options)


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


def test_nothing_is_where_the_line_is() -> None:
    ax = differences(["a − b"], [5.0], [4.0], [6.0])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0, 0])
    low, high = ax.get_xlim()
    assert low < 0 < high


def test_what_differs_from_nothing_has_a_diamond() -> None:
    ax = drawn()
    assert [point.get_marker() for point in points(ax)] == ["D", "o", "D"]
    assert [to_hex(point.get_color()) for point in points(ax)] == [MARK, DATA, MARK]


def test_what_is_set_off_can_be_said():
    ax = differences(["a − b", "c − b"], [0.04, 0.05], [0.01, 0.02], [0.07, 0.08], apart=[False, True])
    assert [point.get_marker() for point in points(ax)] == ["o", "D"]


@pytest.mark.parametrize(("rope", "markers"), [(0.01, "DoD"), (0.02, "Doo"), (0.03, "ooo"), ((-0.01, 0.05), "Doo")])
def test_with_a_region_it_must_differ_from_all_of_it(rope, markers: str) -> None:
    # An interval that only touches the region is not apart from it.
    ax = differences(NAMES, VALUES, [-0.06, -0.003, 0.02], [-0.021, 0.007, 0.08], rope=rope)
    assert "".join(point.get_marker() for point in points(ax)) == markers
    ends = (-rope, rope) if isinstance(rope, float) else rope
    (region,) = ax.patches
    assert (region.get_x(), region.get_x() + region.get_width()) == pytest.approx(ends)


def test_no_interval_is_no_verdict() -> None:
    ax = differences(["a − b"], [5.0], [None], [None], rope=0.1)
    assert [point.get_marker() for point in points(ax)] == ["o"]
    assert [text.get_text() for text in ax.texts] == ["5.00"]


def test_an_interval_without_end_goes_to_the_edge() -> None:
    ax = differences(["a − b"], [1.0], [0.5], [np.inf])
    assert intervals(ax)[0][1] == ax.get_xlim()[1]
    assert [line.get_marker() for line in ax.lines].count(">") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rope": -0.1}, "'rope'.*-0.1"),
        ({"rope": (0.2, 0.1)}, "'rope'.*low and then its high"),
        ({"rope": np.nan}, "'rope'"),
    ],
)
def test_what_cannot_be_drawn_is_said(options, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        drawn(**options)
    with pytest.raises(InvalidInput, match=r"'lows'.*3 values"):
        differences(NAMES, VALUES, LOWS[:2], HIGHS)
