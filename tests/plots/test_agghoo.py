import numpy as np

from truefit._plots.agghoo import cross_tested, estimates_and_truth, members_and_aggregate, validation_curves
from truefit._plots.svg import to_svg


def test_the_interval_is_a_band_behind_the_first_row_alone():
    ax = cross_tested(["Agghoo", "members"], [[2.0, 3.0], [4.0, 3.0]], interval=(1.5, 3.5), xlabel="mse")
    (band,) = [each for each in ax.collections if type(each).__name__ == "FillBetweenPolyCollection"]
    corners = band.get_paths()[0].vertices
    assert (corners[:, 0].min(), corners[:, 0].max()) == (1.5, 3.5)
    assert np.abs(corners[:, 1]).max() < 0.5
    assert ax.get_xlabel() == "mse"
    left, right = ax.get_xlim()
    assert left < 1.5 < 4.0 < right


def test_without_an_interval_there_is_no_band():
    ax = cross_tested(["Agghoo"], [[2.0, 3.0]], interval=None, xlabel="mse")
    assert len(ax.collections) == 1


def test_validation_curves_break_where_a_fit_failed_and_mark_the_chosen():
    scores = [[3.0, np.nan, 2.0], [4.0, 3.0, 5.0]]
    ax = validation_curves([1, 2, 3], scores, [2, 1], xlabel="stage", ylabel="mse")
    curves = [line for line in ax.lines if line.get_marker() != "D"]
    marks = [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "D"]
    assert np.isnan(curves[0].get_ydata()[1])
    assert marks == [[[3.0, 2.0]], [[2.0, 3.0]]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("stage", "mse")
    assert "<svg" in to_svg(ax, title="curves", description="curves")


def test_members_stand_beside_their_aggregate_on_each_test_set():
    ax = members_and_aggregate([[3.0, 4.0], [2.0, 5.0]], [2.5, 3.0], xlabel="mse")
    assert [dots.get_offsets()[:, 0].tolist() for dots in ax.collections] == [[3.0, 4.0], [2.0, 5.0]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["test set 0", "test set 1"]


def test_the_truth_is_a_line_that_is_seen():
    ax = estimates_and_truth(["tested", "validation"], [2.0, 1.5], interval=(1.8, 2.2), truth=9.0, xlabel="mse")
    assert ax.get_xlim()[1] > 9.0
    assert [line.get_xdata() for line in ax.lines][-1] == [9.0, 9.0]
    without = estimates_and_truth(["tested", "validation"], [2.0, 1.5], xlabel="mse")
    assert without.get_title(loc="left") == ""
