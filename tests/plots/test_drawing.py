"""What the drawings show, and that they leave nothing behind."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from truefit._plots.canvas import DATA, INK, MARK
from truefit._plots.classification import confusion
from truefit._plots.forest import fold_scores, forest
from truefit._plots.regression import predicted_vs_true

NAMES = ["ridge", "forest", "boosting"]


def three_rows(**options):
    return forest(NAMES, [0.3, 0.1, 0.2], [0.2, 0.05, 0.1], [0.4, 0.15, 0.3], xlabel="error", **options)


def test_forest_keeps_the_order_given_from_top_to_bottom() -> None:
    ax = three_rows()
    assert [label.get_text() for label in ax.get_yticklabels()] == NAMES
    bottom, top = ax.get_ylim()
    assert bottom > top
    assert next(text.get_text() for text in ax.texts) == "0.30 (0.20 to 0.40)"
    assert ax.get_xlabel() == "error"


def test_forest_draws_the_interval_that_it_was_given() -> None:
    ax = three_rows()
    spans = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(spans, [[0.2, 0.4], [0.05, 0.15], [0.1, 0.3]])


def test_the_best_has_a_shape_a_weight_and_a_colour_of_its_own() -> None:
    ax = three_rows(best="forest")
    markers = [line.get_marker() for line in ax.lines if line.get_marker() != "None"]
    assert markers == ["o", "D", "o"]
    assert [label.get_fontweight() for label in ax.get_yticklabels()] == ["normal", "bold", "normal"]
    assert [to_hex(line.get_color()) for line in ax.lines[::2]] == [DATA, MARK, DATA]


def test_an_estimate_without_interval_is_drawn_alone() -> None:
    ax = forest(["a", "b"], [0.3, 0.1], [None, 0.05], [None, 0.15], xlabel="error")
    assert [text.get_text() for text in ax.texts] == ["0.300", "0.100 (0.050 to 0.150)"]


def test_names_are_no_formulas() -> None:
    ax = forest(["cost $x^$ of_1$"], [1.0], [0.5], [1.5], xlabel="loss in $ and $")
    ax.figure.canvas.draw()
    assert ax.get_yticklabels()[0].get_text() == "cost $x^$ of_1$"


def test_fold_scores_show_every_split_and_the_mean() -> None:
    ax = fold_scores(NAMES[:2], [[0.1, 0.2, 0.3], [0.4, 0.6]], xlabel="error per fold", best="forest")
    points = [collection.get_offsets() for collection in ax.collections]
    np.testing.assert_allclose(points[0][:, 0], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(points[1][:, 0], [0.4, 0.6])
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], [0.2, 0.5])


def test_fold_scores_of_a_single_split() -> None:
    assert len(fold_scores(["a"], [[0.5]], xlabel="error").texts) == 1


def test_shares_are_in_percent_and_the_data_stay_fractions() -> None:
    ax = three_rows(percent=True)
    ax.figure.draw_without_rendering()
    assert ax.texts[0].get_text() == "30% (20% to 40%)"
    assert {"10%", "20%", "30%", "40%"} <= {label.get_text() for label in ax.get_xticklabels()}
    assert ax.lines[0].get_xdata().tolist() == [0.2, 0.4]
    folds = fold_scores(["a"], [[0.021, 0.025]], xlabel="error", percent=True)
    folds.figure.draw_without_rendering()
    assert [text.get_text() for text in folds.texts] == ["2.30%"]
    assert "2.2%" in {label.get_text() for label in folds.get_xticklabels()}


def test_a_long_label_takes_several_lines(check_layout) -> None:
    ax = forest(["a"], [1.0], [0.5], [1.5], xlabel="a label of many words " * 6)
    assert ax.get_xlabel().count("\n") == 1
    check_layout(ax)


def test_predicted_vs_true_rasterises_many_points_only() -> None:
    x = np.linspace(0, 1, 3000)
    assert predicted_vs_true(x, x).collections[0].get_rasterized()
    assert not predicted_vs_true(x[:100], x[:100]).collections[0].get_rasterized()
    assert np.ptp(predicted_vs_true([1.0], [1.0]).get_xlim()) > 0


def test_confusion_shades_by_the_share_of_the_true_class() -> None:
    ax = confusion([[9, 1], [0, 0]], ["no", "yes"])
    assert [text.get_text() for text in ax.texts] == ["9", "1", "0", "0"]
    strong, weak = (patch.get_facecolor()[3] for patch in ax.patches)
    assert strong == pytest.approx(9 * weak)
    assert not confusion(np.eye(30), [str(i) for i in range(30)]).texts


def test_confusion_of_many_classes_is_one_picture_with_some_names() -> None:
    ax = confusion(np.eye(100), [f"class {i}" for i in range(100)])
    assert not ax.texts
    assert not ax.patches
    assert ax.collections[0].get_rasterized()
    assert [label.get_text() for label in ax.get_yticklabels()][:3] == ["class 0", "class 4", "class 8"]


def test_a_count_finds_room_in_its_cell() -> None:
    ax = confusion(np.full((16, 16), 98_765), [f"class {i}" for i in range(16)])
    ax.figure.draw_without_rendering()
    cell = ax.get_window_extent().width / 16
    assert max(text.get_window_extent().width for text in ax.texts) < cell


def test_axes_that_are_given_are_used_with_their_own_ink() -> None:
    own = Figure().add_subplot()
    own.xaxis.label.set_color("white")
    assert three_rows(ax=own) is own
    assert {to_hex(text.get_color()) for text in own.texts} == {"#ffffff"}
    assert {text.get_color() for text in three_rows().texts} == {INK}


def test_no_figure_is_left_with_pyplot() -> None:
    code = """
import sys
from truefit._plots.forest import forest
from truefit._plots.svg import to_svg
assert "matplotlib" not in sys.modules, "imported before anything is drawn"
ax = forest(["a"], [1.0], [0.5], [1.5], xlabel="error")
to_svg(ax, title="t", description="d")
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_long_names_leave_room_for_the_picture() -> None:
    names = [f"{'very ' * 20}long {i} {'name ' * 20}" for i in range(3)]
    ax = forest(names, [0.3, 0.1, 0.2], [0.2, 0.05, 0.1], [0.4, 0.15, 0.3], xlabel="error", best=names[1])
    ax.figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(set(labels)) == 3
    assert ax.get_position().width > 0.2
