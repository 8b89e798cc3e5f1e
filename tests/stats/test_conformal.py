"""CV+ intervals and cross-conformal sets: equal to their definition, and they cover."""

import math

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.conformal import conformal_sets, cv_plus


def by_definition(predictions, residuals, folds, level):
    """CV+ as Barber et al. (2021) define it."""
    n, alpha = len(residuals), 1 - level
    ends = []
    for row in predictions:
        below = sorted(row[fold] - residual for fold, residual in zip(folds, residuals, strict=True))
        above = sorted(row[fold] + residual for fold, residual in zip(folds, residuals, strict=True))
        ends.append((below[math.floor(alpha * (n + 1) + 1e-9) - 1], above[math.ceil((1 - alpha) * (n + 1) - 1e-9) - 1]))
    return np.array(ends)


def sets_by_definition(probabilities, scores, folds, level):
    """Cross-conformal sets as Romano et al. (2020) define them, and the most probable class."""
    found = np.zeros(probabilities.shape[1:], dtype=bool)
    for row in range(found.shape[0]):
        for label in range(found.shape[1]):
            smaller = sum(
                score < 1 - probabilities[fold, row, label] for fold, score in zip(folds, scores, strict=True)
            )
            found[row, label] = smaller < level * (len(scores) + 1)
        found[row, probabilities[:, row].mean(axis=0).argmax()] = True
    return found


@pytest.mark.parametrize("n", [19, 39, 100, 257])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_equal_to_brute_force(n, level):
    random = np.random.default_rng(n)
    predictions, residuals, folds = random.normal(size=(30, 4)), random.exponential(size=n), np.arange(n) % 4
    wanted = by_definition(predictions, residuals, folds, level)
    np.testing.assert_array_equal(cv_plus(predictions, residuals, folds, level), wanted)
    even = np.full(n, 2.0) * (1 + 1e-15 * np.arange(n))  # takes the way of unequal weights
    np.testing.assert_array_equal(cv_plus(predictions, residuals, folds, level, weights=even, new_weight=2.0), wanted)
    probabilities = random.dirichlet([1, 1, 1], size=(4, 30))
    scores = random.uniform(size=n)
    assert (
        conformal_sets(probabilities, scores, folds, level) == sets_by_definition(probabilities, scores, folds, level)
    ).all()


def test_whole_weights_are_rows_that_are_there_so_many_times():
    random = np.random.default_rng(0)
    predictions, residuals, folds = random.normal(size=(20, 3)), random.exponential(size=60), np.arange(60) % 3
    times = random.integers(1, 4, 60)
    repeated = cv_plus(predictions, np.repeat(residuals, times), np.repeat(folds, times), 0.9)
    np.testing.assert_array_equal(cv_plus(predictions, residuals, folds, 0.9, weights=times), repeated)
    shares, scores = random.dirichlet([1, 1], size=(3, 20)), random.uniform(size=60)
    repeated = conformal_sets(shares, np.repeat(scores, times), np.repeat(folds, times), 0.9)
    np.testing.assert_array_equal(conformal_sets(shares, scores, folds, 0.9, weights=times), repeated)


def test_a_level_that_so_few_rows_cannot_give_is_refused():
    with pytest.raises(InvalidInput, match=r"level 0.95 need at least 19 rows, or groups .* Got 18"):
        cv_plus([[0.0]], np.ones(18), np.zeros(18), 0.95)
    assert cv_plus([[0.0]], np.ones(19), np.zeros(19), 0.95).tolist() == [[-1.0, 1.0]]
    with pytest.raises(InvalidInput, match="at least 9 rows"):
        conformal_sets([[[0.5, 0.5]]], np.ones(8), np.zeros(8), 0.9)
