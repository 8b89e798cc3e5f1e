"""The study of paired tests: its tests are those of compare, its candidates as good as planned, and its page."""

import numpy as np
import pytest
from benchmarks.comparison_errors import check as checks
from benchmarks.comparison_errors.learners import Tree, tree_predictions
from benchmarks.comparison_errors.rates import Rates, true_difference
from benchmarks.comparison_errors.settings import EQUAL, UNEQUAL
from benchmarks.comparison_errors.simulation import drawn, measured
from benchmarks.comparison_errors.statistics import Pairs, found_different, partitions_of


def setting(name, n=100):
    return next(each for each in EQUAL if each.name == name and each.n == n)


@pytest.mark.parametrize("name", ["tree", "ridge, heavy tails"])
def test_the_tests_are_those_of_compare(monkeypatch, name):
    monkeypatch.setattr(checks, "EQUAL", (setting(name),))
    monkeypatch.setattr(checks, "DESIGNS", {"5-fold": (5, 1), "2 × 5-fold": (5, 2)})
    assert checks.check() > 0


def test_candidates_fitted_at_once_predict_what_each_predicts_alone():
    X, y, rng = drawn(setting("tree"), 0, 3)
    (folds,) = partitions_of(y, rng, 5, 1, "classification")
    found = tree_predictions(X, y, [folds])[0]
    for columns, predicted in zip(X, found, strict=True):
        model = Tree().fit(columns[folds != 0], y[folds != 0])
        assert (model.predict(columns[folds == 0]) == predicted[folds == 0]).all()


def test_the_planned_difference_is_the_true_one():
    worst = next(each for each in UNEQUAL if each.key == "LDA/100/0.1")
    rates = Rates([measured(worst, repetition) for repetition in range(1, 31)])
    assert abs(true_difference(rates, worst) - 0.1) < 0.02
    assert 0 < rates.of(worst.key, "10-fold", "error", "pooled", "fixed 2")[0] <= 1


def test_the_best_of_equal_ones_is_found_better_more_often_than_a_fixed_one():
    means = np.array([-1.0, 0.0, 0.2, 1.9])[:, None] - np.array([-1.0, 0.0, 0.2, 1.9])
    tested = Pairs(means, means, np.full(means.shape, 1000), np.eye(4))
    found = found_different(tested, 0, np.zeros(4, dtype=bool))
    assert (found["best"], found["holm"], found["strict"], found["all"]) == (1, 1, 1, 1)
    found = found_different(tested, 0, np.array([False, False, True, True]))
    assert (found["best"], found["best false"], found["all false"]) == (0.5, 0, 0)
