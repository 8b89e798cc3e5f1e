"""Residuals and predictions, of few rows and of many."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from truefit._plots.regression import predicted_vs_true, residuals
from truefit._plots.svg import to_svg


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    predicted = rng.uniform(0, 10, n)
    return predicted + (predicted - 5) + rng.normal(size=n), predicted


def labels(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_residuals_are_true_minus_predicted() -> None:
    ax = residuals([3.0, 5.0], [2.0, 7.0])
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[2, 1], [7, -2]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "true − predicted")
    low, high = ax.get_ylim()
    assert low < 0 < high
    assert ax.get_legend() is None


def test_the_median_follows_the_bias() -> None:
    ax = residuals(*rows(400))
    assert labels(ax) == ["median of neighbours", "normal, same mean and sd"]
    x, y = ax.lines[1].get_data()
    assert len(x) == 400 // 20
    # The rows err by their prediction − 5: a median of 20 normal errors is within 1 of it.
    np.testing.assert_allclose(y, x - 5, atol=1.0)


def test_the_histogram_has_all_rows_and_stands_beside_the_cloud() -> None:
    true, predicted = rows(400)
    ax = residuals(true, predicted)
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in ax.patches]
    starts, widths, heights = map(np.array, zip(*bars, strict=True))
    assert (starts > predicted.max()).all()
    counts = np.histogram(true - predicted, bins=len(bars))[0]
    np.testing.assert_allclose(widths / widths.sum(), counts / 400)
    np.testing.assert_allclose(heights, np.ptp(true - predicted) / len(bars))
    assert max(starts + widths) <= ax.get_xlim()[1]
    assert ax.get_xticks().max() <= starts[0]


@pytest.mark.parametrize("draw", [residuals, predicted_vs_true])
@pytest.mark.parametrize("n", [100, 4000, 100_000])
def test_pictures_of_many_rows_stay_small(draw, n: int) -> None:
    ax = draw(*rows(n))
    assert isinstance(ax.collections[0], PolyCollection) == (n > 5000)
    if n > 5000:
        assert ax.collections[0].get_array().sum() == n
    assert len(to_svg(ax, title="t", description="d")) < 200_000


@pytest.mark.parametrize("draw", [residuals, predicted_vs_true])
def test_rows_without_a_number_are_counted(draw) -> None:
    ax = draw([1.0, np.nan, 3.0, 4.0], [1.0, 2.0, np.inf, 5.0])
    assert len(ax.collections[0].get_offsets()) == 2
    assert ax.get_xlabel().endswith("\n2 rows without a finite value not shown")
