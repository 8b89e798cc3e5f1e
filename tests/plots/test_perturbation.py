"""Rates along a parameter or by name, and beside errors."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._plots.canvas import INK
from truefit._plots.perturbation import rate_and_errors, rates

FOUND = [0.70, 0.80, 0.50], [0.65, 0.74, 0.40], [0.75, 0.86, 0.60]
TEST = [0.11, 0.07, 0.09], [0.08, 0.05, 0.06], [0.14, 0.10, 0.13]
TRAIN = [0.08, 0.02, 0.0]
NAN = np.nan
LONG = [f"pipeline-standardscaler-selectkbest-logisticregression-{i}-balanced" for i in range(30)]


def rings(ax):
    return [line.get_xydata().tolist() for line in ax.lines if line.get_markersize() > 10 and line.get_marker() == "o"]


def test_rates_over_numbers_are_a_line_in_a_band_with_the_best_called_out(check_layout) -> None:
    ax = rates([4, 1, 2], [np.roll(c, 1) for c in FOUND], ties=[1, 2], best=2, xlabel="depth", ylabel="rate")
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.column_stack([[1, 2, 4], FOUND[0]]))
    outline = {tuple(vertex) for vertex in ax.collections[0].get_paths()[0].vertices}
    assert {(1.0, 0.65), (2.0, 0.86), (4.0, 0.40)} <= outline
    assert ax.texts[0].get_text() == "0.800 at 2"
    assert rings(ax) == [[[1.0, 0.70], [2.0, 0.80]]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth\nring: no significant difference from the largest", "rate")
    check_layout(ax)


def test_rates_by_name_stand_below_each_other(check_layout) -> None:
    ax = rates(["bayes", "svm", "tree"], FOUND, ties=["bayes", "svm"], best="svm", ylabel="rate")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["bayes", "svm", "tree"]
    assert rings(ax) == [[[0.70, 0.0], [0.80, 1.0]]]
    assert ax.get_xlabel() == "rate\nring: no significant difference from the largest"
    check_layout(ax)


def test_one_that_ties_with_nobody_has_no_ring() -> None:
    ax = rates([1, 2, 3], FOUND, ties=[2], best=2, xlabel="depth")
    assert rings(ax) == []
    assert ax.get_xlabel() == "depth"


def test_rates_stand_on_an_axis_of_their_own_beside_errors(check_layout) -> None:
    ax = rate_and_errors([1, 2, 4], FOUND, train=TRAIN, test=TEST, xlabel="depth")
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines], [TEST[0], TRAIN])
    (right,) = [other for other in ax.figure.axes if other is not ax]
    np.testing.assert_allclose(right.lines[0].get_ydata(), FOUND[0])
    assert right.get_ylabel() == "decrease rate"
    assert right.yaxis.label.get_color() == INK
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["test", "train", "decrease rate (right)"]
    check_layout(ax)
    without = rate_and_errors(["a", "b", "c"], FOUND, train=None, test=TEST, metric="mse")
    assert [text.get_text() for text in without.get_legend().get_texts()] == ["test", "decrease rate (right)"]
    assert [label.get_text() for label in without.get_xticklabels()] == ["a", "b", "c"]
    check_layout(without)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: rates([3], ([0.5], [NAN], [NAN]), ties=[3], best=3, xlabel="depth"),
        lambda: rates(LONG, np.random.default_rng(0).random((3, 30)), ties=LONG[:2], best=LONG[1]),
        lambda: rates([1, 2, 3], ([NAN] * 3, [NAN] * 3, [NAN] * 3)),
        lambda: rates([0.001, 1, 1000], FOUND, log_x=True, best=1000, ties=[1, 1000], xlabel="C"),
        lambda: rate_and_errors([3], ([0.5], [NAN], [NAN]), train=[0.1], test=([0.1], [NAN], [NAN])),
        lambda: rate_and_errors(LONG, [np.zeros(30)] * 3, train=np.ones(30), test=[np.ones(30)] * 3),
        lambda: rate_and_errors([1, 10, 900], FOUND, train=TRAIN, test=TEST, log_x=True, xlabel="width"),
    ],
)
def test_drawing_survives(draw, check_layout) -> None:
    check_layout(draw())
