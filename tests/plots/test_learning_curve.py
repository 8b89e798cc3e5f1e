"""The picture of an extrapolation."""

from __future__ import annotations

import numpy as np

from truefit._plots.learning_curve import learning_curve

SIZES = [100, 200, 400, 800]
ERRORS = [0.31, 0.25, 0.21, 0.18]
AHEAD = np.geomspace(100, 8000, 30)
CURVE = (AHEAD, 0.1 + AHEAD**-0.4, 0.05 + AHEAD**-0.4, 0.15 + AHEAD**-0.4)


def test_the_band_begins_where_measuring_ended(check_layout) -> None:
    ax = learning_curve(SIZES, ERRORS, [0.01] * 4, curve=CURVE, target=0.12, ylabel="error (95% interval)")
    (band,) = (each for each in ax.collections if each.get_alpha())
    assert band.get_paths()[0].vertices[:, 0].min() >= 800
    check_layout(ax)


def test_points_alone_are_drawn_where_there_is_no_curve(check_layout) -> None:
    ax = learning_curve(SIZES, ERRORS, ylabel="error")
    assert not ax.collections
    assert not ax.texts
    check_layout(ax)


def test_one_point_is_enough(check_layout) -> None:
    check_layout(learning_curve([50], [0.3], ylabel="error"))


def test_training_errors_and_the_target_are_named(check_layout) -> None:
    train = ([0.02, 0.05, 0.08, 0.1], [0.01] * 4)
    ax = learning_curve(SIZES, ERRORS, train=train, target=0.125, ylabel="error", percent=True)
    assert [text.get_text() for text in ax.texts] == ["target 12.5%", "train"]
    check_layout(ax)
