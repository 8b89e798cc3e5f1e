"""Series with bands over what was varied, scores against time, learning curves."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from truefit._plots.canvas import series_style
from truefit._plots.curve import bands, learning_curve, periods
from truefit._plots.labels import spread

TEST = [0.30, 0.21, 0.25], [0.26, 0.17, 0.20], [0.34, 0.25, 0.30]
TRAIN = [0.28, 0.15, 0.02], [0.27, 0.14, 0.01], [0.29, 0.16, 0.03]
SPANS = [(10, 19), (20, 29), (30, 30)]
DATES = [tuple(np.datetime64("2024-01-01") + np.timedelta64(day, "D") for day in span) for span in SPANS]
SCORES = {"linear": [0.2, 0.3, np.nan], "tree": [0.25, 0.2, 0.4]}
SIZES = [100, 200, 400, 800]
ERRORS = [0.31, 0.25, 0.21, 0.18]
AHEAD = np.geomspace(100, 8000, 30)
CURVE = (AHEAD, 0.1 + AHEAD**-0.4, 0.05 + AHEAD**-0.4, 0.15 + AHEAD**-0.4)


def drawn(x=(1, 4, 16), series=None, **options):
    return bands(x, series or {"test": TEST, "train": TRAIN}, xlabel="depth", ylabel="error", **options)


def curves(ax):
    return [line for line in ax.lines if line.get_linestyle() != "None" and len(line.get_xdata()) > 2]


def test_lines_and_bands_are_where_they_should_be() -> None:
    ax = drawn()
    for line, (centre, low, high), band in zip(curves(ax), (TEST, TRAIN), ax.collections[::2], strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([[1, 4, 16], centre]))
        outline = {tuple(vertex) for vertex in band.get_paths()[0].vertices}
        assert set(zip([1, 4, 16], low, strict=True)) | set(zip([1, 4, 16], high, strict=True)) <= outline
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth", "error")


def test_x_is_put_in_order_with_all_that_belongs_to_it() -> None:
    mixed = drawn([16, 1, 4], {"test": [[column[i] for i in (2, 0, 1)] for column in TEST]}, mark=("test", 4))
    np.testing.assert_array_equal(curves(mixed)[0].get_xydata(), np.column_stack([[1, 4, 16], TEST[0]]))
    assert mixed.texts[0].get_text() == "0.210 at 4"


def test_names_stand_at_the_ends_of_the_lines() -> None:
    ax = drawn()
    labels = {text.get_text(): text for text in ax.texts}
    assert {name: label.xy for name, label in labels.items()} == {"test": (16, 0.25), "train": (16, 0.02)}
    assert ax.get_legend() is None
    ax.figure.draw_without_rendering()
    heights = {name: label.get_window_extent().y0 for name, label in labels.items()}
    assert heights["test"] > heights["train"]


def test_where_the_layout_makes_no_room_there_is_a_legend() -> None:
    ax = drawn(ax=Figure().add_subplot())
    assert not ax.texts
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["test", "train"]


def test_the_marked_point_is_set_off_and_said() -> None:
    ax = drawn(mark=("train", 16))
    (diamond,) = [line for line in ax.lines if line.get_marker() == "D"]
    assert (diamond.get_xdata()[0], diamond.get_ydata()[0]) == (16, 0.02)
    assert to_hex(diamond.get_color()) == series_style(1)[0]
    assert ax.texts[0].get_text() == "0.020 at 16"


def test_names_of_x_stand_side_by_side() -> None:
    ax = drawn(["linear", None, True], mark=("test", None))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["linear", "None", "True"]
    first, second = (line.get_xdata() for line in curves(ax))
    np.testing.assert_allclose(first.mean(), 1 - 0.07)
    np.testing.assert_allclose(second - first, 0.14)
    assert ax.texts[0].get_text() == "0.210 at None"


def test_ratios_of_x_are_equally_wide_on_request() -> None:
    ax = drawn(log_x=True)
    assert ax.get_xscale() == "log"
    ax.figure.draw_without_rendering()
    assert {"1", "2", "5", "10"} <= {label.get_text() for label in ax.get_xticklabels()}
    assert drawn(["a", "b", "c"], log_x=True).get_xscale() == "linear"


def test_whole_numbers_have_whole_ticks() -> None:
    ticks = drawn([1, 2, 3]).get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


def test_an_interval_without_neighbours_is_still_seen() -> None:
    nan = np.nan
    ax = drawn([1, 2, 3], {"test": ([0.1, nan, 0.3], [0.0, nan, 0.2], [0.2, nan, 0.4])})
    posts = [path.vertices for path in ax.collections[1].get_paths()]
    np.testing.assert_allclose(posts, [[[1, 0.0], [1, 0.2]], [[3, 0.2], [3, 0.4]]])


def test_a_series_without_values_is_named_all_the_same() -> None:
    ax = drawn(series={"test": TEST, "train": ([np.nan] * 3, None, None)})
    assert [text.get_text() for text in ax.texts] == ["test", "train: no values"]


def test_labels_are_spread_in_order_and_within_the_axes() -> None:
    wanted = np.array([0.5, 0.98, 0.5, 0.99, 0.51])
    placed = spread(wanted, 0.2)
    np.testing.assert_array_equal(np.argsort(placed, kind="stable"), np.argsort(wanted, kind="stable"))
    assert np.diff(np.sort(placed)).min() >= 0.2 - 1e-12
    assert placed.min() >= 0
    assert placed.max() <= 1 + 1e-12


@pytest.mark.parametrize(("spans", "numbers"), [(SPANS, SPANS), (DATES, [tuple(date2num(pair)) for pair in DATES])])
def test_strokes_are_as_long_as_the_periods(check_layout, spans, numbers) -> None:
    ax = periods(spans, SCORES, xlabel="day", ylabel="error", percent=True)
    for strokes, scores in zip(ax.collections, SCORES.values(), strict=True):
        drawn = [segment.tolist() for segment in strokes.get_segments() if len(segment)]
        expected = [[[a, y], [b, y]] for (a, b), y in zip(numbers, scores, strict=True) if np.isfinite(y)]
        np.testing.assert_allclose(drawn, expected)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("day", "error")
    assert {"linear", "tree"} <= {text.get_text() for text in ax.texts}
    check_layout(ax)


def test_one_candidate_needs_no_name(check_layout) -> None:
    ax = periods(DATES, {"selection": [0.2, 0.3, 0.1]}, xlabel="time", ylabel="error")
    assert not ax.texts
    check_layout(ax)


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
