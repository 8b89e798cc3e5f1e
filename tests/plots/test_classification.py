"""Mean ROC and precision-recall curves: their areas are the means of the folds' areas."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve
from sklearn.model_selection import StratifiedKFold

from truefit._plots.canvas import SERIES
from truefit._plots.classification import mean_precision, mean_roc, precision_recall, roc

STEP = [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]
LINE = [0.0, 1.0], [0.0, 1.0]


@pytest.fixture(scope="module")
def folds() -> list[tuple[np.ndarray, np.ndarray]]:
    """Classes and scores of five folds, from one column, rounded so that some scores are equal."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, [1]]
    splits = StratifiedKFold(5).split(X, y)
    return [
        (y[test], LogisticRegression().fit(X[train], y[train]).decision_function(X[test]).round(1))
        for train, test in splits
    ]


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_area_below_the_mean_roc_is_the_mean_area(folds) -> None:
    aucs = [roc_auc_score(y, scores) for y, scores in folds]
    curve = mean_roc([roc_curve(y, scores)[:2] for y, scores in folds])
    assert curve.area == pytest.approx(np.mean(aucs), abs=1e-12)
    assert np.trapezoid(curve.mean, curve.x) == pytest.approx(np.mean(aucs), abs=1e-12)


def test_the_area_below_the_mean_precision_is_the_mean_average_precision(folds) -> None:
    scores = [average_precision_score(y, s) for y, s in folds]
    pairs = [precision_recall_curve(y, s) for y, s in folds]
    curve = mean_precision([(recall, precision) for precision, recall, _ in pairs])
    assert curve.area == pytest.approx(np.mean(scores), abs=1e-12)
    assert np.trapezoid(curve.mean, curve.x) == pytest.approx(np.mean(scores), abs=1e-12)


def test_of_many_vertices_few_are_drawn() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    curves = [roc_curve(y, y + 2 * rng.normal(size=y.size))[:2] for _ in range(3)]
    curve = mean_roc(curves)
    assert curve.x.size <= 1000
    assert np.trapezoid(curve.mean, curve.x) == pytest.approx(curve.area, abs=1e-4)


def test_curves_are_averaged_upwards_with_their_spread() -> None:
    ax = roc(["half and half"], [[STEP, LINE]])
    (mean,) = [line for line in ax.lines if to_hex(line.get_color()) == SERIES[0]]
    np.testing.assert_allclose(mean.get_xydata(), [[0, 0], [0, 0.5], [1, 1], [1, 1]])
    # At a rate of 0 the folds are at 1 and 0: their standard deviation is 0.71, and the band is cut at 0 and 1.
    outline = ax.collections[0].get_paths()[0].vertices
    assert {0.0, 1.0} == set(outline[outline[:, 0] == 0][:, 1])
    assert texts(ax) == ["0.750  half and half", "±1 sd over 2 folds", "chance"]


def test_a_single_fold_has_no_band(folds) -> None:
    y, scores = folds[0]
    ax = roc(["one"], [[roc_curve(y, scores)[:2]]])
    assert not ax.collections
    assert texts(ax)[1:] == ["chance"]


def test_a_fold_without_a_class_is_left_out() -> None:
    ax = roc(["a", "b"], [[STEP, ([0.0, 1.0], [np.nan, np.nan])], [([0.0], [np.nan])]])
    assert texts(ax)[:2] == ["1.000  a (1 of 2 folds)", "–  b (0 of 1 folds)"]


def test_of_many_estimators_the_largest_areas_stand_out() -> None:
    shapes = [([0.0, t, 1.0], [0.0, 1.0, 1.0]) for t in np.linspace(1, 0, 9)]
    ax = roc([f"model {i}" for i in range(9)], [[shape] for shape in shapes])
    assert texts(ax)[:6] == [
        "1.000  model 8",
        "0.938  model 7",
        "0.875  model 6",
        "0.812  model 5",
        "0.750  model 4",
        "0.500 to 0.688  4 others",
    ]


def test_the_base_rate_is_a_line() -> None:
    ax = precision_recall(["a"], [[([1.0, 0.5, 0.0], [0.4, 0.8, 1.0])]], base_rate=0.4)
    assert texts(ax) == ["0.600  a", "base rate 40.0%"]
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), [0.4, 0.4])
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0, 0.8], [0.5, 0.8], [0.5, 0.4], [1, 0.4]])
