"""Predicted probabilities and observed shares."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._plots.calibration import calibration, quantile_bins
from truefit._stats.intervals import wilson

#: Ten rows at 0.2, two of them positive, and ten at 0.7, nine of them positive.
TWENTY = [1] * 2 + [0] * 8 + [1] * 9 + [0], [0.2] * 10 + [0.7] * 10


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def posts(ax) -> np.ndarray:
    return np.array([path.vertices for path in ax.collections[0].get_paths()])


def test_every_bin_is_where_it_should_be() -> None:
    ax = calibration(["ridge"], [TWENTY])
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.2, 0.2], [0.7, 0.9]])
    np.testing.assert_allclose(posts(ax)[:, :, 0], [[0.2, 0.2], [0.7, 0.7]])
    np.testing.assert_allclose(posts(ax)[:, :, 1], [wilson(0.2, 10), wilson(0.9, 10)])
    # (2 × 0.8² + 8 × 0.2² + 9 × 0.3² + 0.7²) / 20
    assert texts(ax) == ["0.145  ridge", "95% interval per bin", "perfect"]


def test_the_level_of_the_intervals_is_said_and_drawn() -> None:
    ax = calibration(["ridge"], [TWENTY], level=0.8)
    np.testing.assert_allclose(posts(ax)[0, :, 1], wilson(0.2, 10, level=0.8))
    assert texts(ax)[1] == "80% interval per bin"


def test_bins_have_equally_many_rows_and_at_least_ten() -> None:
    p = np.random.default_rng(0).random(1000) ** 3
    assert np.bincount(quantile_bins(p, 8)).tolist() == [125] * 8
    y = (p > 0.5).astype(int)
    assert calibration(["a"], [(y, p)]).lines[0].get_xdata().size == 10
    assert calibration(["a"], [(y[:35], p[:35])]).lines[0].get_xdata().size == 3
    assert calibration(["a"], [(y[:3], p[:3])]).lines[0].get_xdata().size == 1


def test_equal_probabilities_are_in_one_bin() -> None:
    p = np.array([0.0] * 50 + [0.3] * 2 + [1.0] * 48)
    which = quantile_bins(p, 10)
    assert [np.unique(which[p == value]).size for value in (0.0, 0.3, 1.0)] == [1, 1, 1]
    assert which.max() == np.unique(which).size - 1


def test_the_histogram_counts_the_probabilities() -> None:
    ax = calibration(["ridge"], [TWENTY])
    (outline,) = ax.patches
    heights, edges, base = outline.get_data()
    full = np.flatnonzero(heights > base)
    np.testing.assert_allclose(np.column_stack([edges[full], edges[full + 1]]), [[0.2, 0.24], [0.68, 0.72]])
    assert heights.max() < 0


def test_rows_without_a_probability_are_left_out() -> None:
    y, p = TWENTY
    ax = calibration(["a", "nothing"], [([*y, 1, np.nan], [*p, np.nan, 0.5]), ([], [])])
    assert texts(ax)[:2] == ["0.145  a", "–  nothing"]


def test_of_many_estimators_the_smallest_scores_are_drawn() -> None:
    y = np.array([0, 1] * 20)
    pairs = [(y, np.where(y, 0.5 + 0.05 * i, 0.5 - 0.05 * i)) for i in range(7)]
    ax = calibration([f"model {i}" for i in range(7)], pairs)
    assert texts(ax)[:6] == [
        "0.040  model 6",
        "0.062  model 5",
        "0.090  model 4",
        "0.122  model 3",
        "0.160  model 2",
        "2 others not drawn",
    ]


def test_scores_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"within 0 and 1. Got -3.1 to 4.2"):
        calibration(["a"], [([0, 1], [-3.1, 4.2])])
