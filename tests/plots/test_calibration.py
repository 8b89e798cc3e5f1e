"""Predicted probabilities and observed shares."""

from __future__ import annotations

import numpy as np

from truefit._plots.calibration import Reliability, calibration
from truefit._plots.classification import decision_curves

BINS = np.array([0.2, 0.7]), np.array([0.2, 0.9]), np.array([0.1, 0.6]), np.array([0.5, 1.0])
CURVE = np.array([0.2, 0.5, 0.7]), np.array([0.2, 0.6, 0.9]), np.array([0.1, 0.4, 0.6]), np.array([0.4, 0.8, 1.0])
TWENTY = np.array([0.2] * 10 + [0.7] * 10)


def drawn(score: float = 0.145, curve=CURVE) -> Reliability:
    return Reliability(TWENTY, BINS, curve, score)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_bins_curve_and_band_are_where_they_should_be() -> None:
    ax = calibration(["ridge"], [drawn()])
    posts = np.array([path.vertices for path in ax.collections[0].get_paths()])
    np.testing.assert_allclose(posts[:, :, 1], [[0.1, 0.5], [0.6, 1.0]])
    bins, curve = (line.get_xydata() for line in ax.lines[:2])
    np.testing.assert_allclose(bins, [[0.2, 0.2], [0.7, 0.9]])
    np.testing.assert_allclose(curve, np.transpose(CURVE[:2]))
    assert texts(ax) == ["0.145  ridge", "95% interval per bin", "95% band of the curve", "perfect"]
    assert texts(calibration(["ridge"], [drawn(curve=None)], level=0.8)) == [
        "0.145  ridge",
        "80% interval per bin",
        "perfect",
    ]


def test_the_histogram_counts_the_predictions() -> None:
    (outline,) = calibration(["ridge"], [drawn()]).patches
    heights, edges, base = outline.get_data()
    full = np.flatnonzero(heights > base)
    np.testing.assert_allclose(np.column_stack([edges[full], edges[full + 1]]), [[0.2, 0.24], [0.68, 0.72]])
    assert heights.max() < 0


def test_numbers_have_axes_of_their_own() -> None:
    ax = calibration(["ridge"], [drawn()], probabilities=False, title="mean squared error")
    assert ax.get_xlim() == (0.1, 1.0)
    assert ax.get_legend().get_title().get_text() == "mean squared error"


def test_of_many_estimators_the_smallest_scores_are_drawn_without_bands() -> None:
    ax = calibration([f"model {i}" for i in range(7)], [drawn(0.2 - 0.02 * i) for i in range(7)])
    assert texts(ax)[:6] == [f"{0.2 - 0.02 * i:.3f}  model {i}" for i in (6, 5, 4, 3, 2)] + ["2 others not drawn"]
    assert "band" not in " ".join(texts(ax))


def test_decision_curves_stand_beside_treating_all_and_none() -> None:
    at = np.array([0.1, 0.2, 0.9])
    curve = np.array([0.4, 0.3, 0.1]), np.array([0.3, 0.2, 0.0]), np.array([0.5, 0.4, 0.2])
    ax = decision_curves(["ridge"], at, [curve], np.array([0.3, 0.1, -6.0]), level=0.9)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.transpose([at, curve[0]]))
    assert texts(ax) == ["ridge", "treat all", "treat none", "90% band"]
    assert -0.2 < ax.get_ylim()[0] < 0  # the large harm of treating all is cut off
    assert texts(decision_curves(["a", "b"], at, [curve] * 2, curve[0])) == ["a", "b", "treat all", "treat none"]
