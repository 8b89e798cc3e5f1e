"""The study of paired tests: its tests are those of compare, its candidates as good as planned, and its page."""

import numpy as np
import pytest

from benchmarks import comparison_errors as benchmark


def setting(name, n=100):
    return next(each for each in benchmark.EQUAL if each.name == name and each.n == n)


@pytest.mark.parametrize("name", ["tree", "ridge, heavy tails"])
def test_the_tests_are_those_of_compare(monkeypatch, name):
    monkeypatch.setattr(benchmark, "EQUAL", (setting(name),))
    monkeypatch.setattr(benchmark, "DESIGNS", {"5-fold": (5, 1), "2 × 5-fold": (5, 2)})
    assert benchmark.check() > 0


def test_candidates_fitted_at_once_predict_what_each_predicts_alone():
    X, y, rng = benchmark.drawn(setting("tree"), 0, 3)
    (folds,) = benchmark.partitions_of(y, rng, 5, 1, True)
    found = benchmark.tree_predictions(X, y, [folds])[0]
    for columns, predicted in zip(X, found, strict=True):
        model = benchmark.Tree().fit(columns[folds != 0], y[folds != 0])
        assert (model.predict(columns[folds == 0]) == predicted[folds == 0]).all()


def test_the_planned_difference_is_the_true_one():
    worst = next(each for each in benchmark.UNEQUAL if each.key == "LDA/100/0.1")
    lines = [benchmark.measured(worst, repetition) for repetition in range(1, 31)]
    rates = benchmark.Rates(lines)
    assert abs(benchmark.true_difference(rates, worst) - 0.1) < 0.02
    assert 0 < rates.of(worst.key, "10-fold", "error", "pooled", "fixed 2")[0] <= 1


def test_the_best_of_equal_ones_is_found_better_more_often_than_a_fixed_one():
    means = np.array([-1.0, 0.0, 0.2, 1.9])[:, None] - np.array([-1.0, 0.0, 0.2, 1.9])
    tested = benchmark.Tested(means, means, np.full(means.shape, 1000))
    found = benchmark.found_different(tested, 0, np.zeros(4, dtype=bool))
    assert (found["best"], found["strict"], found["all"]) == (1, 1, 1)
    found = benchmark.found_different(tested, 0, np.array([False, False, True, True]))
    assert (found["best"], found["best false"], found["all false"]) == (0.5, 0, 0)


def test_a_line_that_was_cut_short_is_run_again(tmp_path):
    store = tmp_path / "runs.jsonl"
    store.write_text('{"kind": "truth", "setting": "adult", "repetition": 0}\n{"kind": "tr')
    assert len(benchmark.stored(store)) == 1
