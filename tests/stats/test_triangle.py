"""Triangle + tau against numbers worked out by hand and a loop that follows the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.intervals import IntervalEstimate, Tail, around_skewed, pooled, wilson
from truefit._stats.triangle import single_fit_weight
from truefit._stats.triangle import triangle_tau as triangle_tau_repeats

Z = 1.959963984540054
Triangle = tuple[list[Any], list[list[Any]]]


def triangle_tau(singles: Any, pairs: Any, **options: Any) -> IntervalEstimate:
    return triangle_tau_repeats([(singles, pairs)], **options)


def triangle(sizes: list[int], seed: int = 0, *, zero_one: bool = False, fit_sd: float = 0.0) -> Triangle:
    """Losses with an effect of the row, of the fit, and of both."""
    random = np.random.default_rng(seed)
    rows = [random.exponential(size=size) for size in sizes]

    def seen(row: np.ndarray) -> np.ndarray:
        loss = row + random.normal(scale=0.3, size=row.size) + fit_sd * random.normal()
        return (loss > 1).astype(float) if zero_one else loss

    singles = [seen(row) for row in rows]
    pairs = [[None if a == b else seen(row) for b in range(len(sizes))] for a, row in enumerate(rows)]
    return singles, pairs


def by_loops(singles: list[Any], pairs: list[list[Any]]) -> tuple[float, float, float]:
    """Estimate, h squared and tau squared (not cut off) of 10 or more folds, one loss at a time."""
    folds = len(singles)
    per_point, every, moves = [], [], []
    for a in range(folds):
        m, others = len(singles[a]), [b for b in range(folds) if b != a]
        for i in range(m):
            losses = [pairs[a][b][i] for b in others]
            every += losses
            per_point.append((sum(losses) + singles[a][i]) / folds)
        e = {b: sum(pairs[a][b]) / m for b in others}
        grand = sum(e.values()) / (folds - 1)
        variance = sum((e[b] - grand) ** 2 for b in others) / (folds - 2)
        residual = 0.0
        for i in range(m):
            of_row = sum(pairs[a][b][i] for b in others) / (folds - 1)
            residual += sum((pairs[a][b][i] - e[b] - of_row + grand) ** 2 for b in others)
        moves.append(variance - residual / ((m - 1) * (folds - 2)) / m)
    mean = sum(every) / len(every)
    return (
        sum(per_point) / len(per_point),
        sum((x - mean) ** 2 for x in every) / (len(every) - 1),
        sum(moves) / folds,
    )


def test_by_hand() -> None:
    singles = [[1, 3], [2, 2], [3, 1]]
    pairs = [[None, [1, 4], [2, 4]], [[2, 3], None, [2, 2]], [[4, 1], [3, 2], None]]
    # Pair losses: sum 30, sum of squares 88, so h² = (88 - 12 · 2.5²) / 11 = 13/11.
    # Fold 0: errors 2.5 and 3, variance 1/8; residuals ±1/4, their variance 4/16 / 1, over 2 rows 1/8: together 0.
    # Fold 1: errors 2.5 and 2, residuals ±1/4: 0 as well. Fold 2: errors 2.5 and 2.5, residuals ±1/2: 0 - 1/2.
    # The mean is -1/6, cut off at 0.
    found = triangle_tau(singles, pairs, zero_one=False)
    se = math.sqrt(1.21 * 13 / 11 / 6)
    assert found.estimate == pytest.approx(2.0)
    assert found.tau2 == 0.0
    assert found.se == pytest.approx(se)
    # t with 5 degrees of freedom at 97.5%; the single losses are symmetric.
    half = 2.5705818356363146 * se
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half))


def test_a_learner_that_moves_by_hand() -> None:
    singles = [[0, 1]] * 3
    pairs = [[None, [0, 0], [1, 1]], [[0, 0], None, [1, 1]], [[0, 0], [1, 1], None]]
    # Errors 0 and 1 in each fold, no residual: tau² = 1/2. Six zeros and six ones: h² = 12/4/11 = 3/11.
    found = triangle_tau(singles, pairs, zero_one=True)
    f2 = 1.21 + 0.5 * 6 / (3 / 11)
    assert found.estimate == pytest.approx(0.5)
    assert found.tau2 == pytest.approx(0.5)
    assert found.se**2 == pytest.approx(1.21 * 3 / 11 / 6 + 0.5)
    assert (found.low, found.high) == pytest.approx(wilson(0.5, 6 / f2))


@pytest.mark.parametrize("zero_one", [False, True])
@pytest.mark.parametrize("sizes", [[10] * 10, [3, 9, 4, 4, 5, 6, 2, 8, 4, 4], [4] * 12])
def test_is_the_loop(sizes: list[int], zero_one: bool) -> None:
    singles, pairs = triangle(sizes, zero_one=zero_one, fit_sd=0.5)
    estimate, variance, tau2 = by_loops(singles, pairs)
    found = triangle_tau(singles, pairs, zero_one=zero_one, level=0.9)
    n = sum(sizes)
    assert tau2 > 0
    assert found.estimate == pytest.approx(estimate)
    assert found.tau2 == pytest.approx(tau2)
    assert found.se == pytest.approx(math.sqrt(1.21 * variance / n + tau2))
    if zero_one:
        assert (found.low, found.high) == pytest.approx(wilson(estimate, variance / found.se**2, 0.9))
    else:
        sd = math.sqrt(variance / n)
        tail = Tail.of(np.concatenate([np.asarray(each, dtype=float) for each in singles]))
        ends = around_skewed(estimate, sd, tail, factor=found.se / sd, level=0.9)
        assert (found.low, found.high) == pytest.approx(ends)


def test_five_folds_average_both_means() -> None:
    singles, pairs = triangle([7] * 5, seed=3)
    pair_mean = np.mean([pairs[a][b] for a in range(5) for b in range(5) if a != b])
    found = triangle_tau(singles, pairs, zero_one=False)
    assert found.estimate == pytest.approx((pair_mean + np.mean(singles)) / 2)


def test_weights_fall_from_the_k_fold_mean_to_the_mean_of_all_losses() -> None:
    weights = [single_fit_weight(folds) for folds in range(3, 40)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert weights[2] == 0.5
    assert weights[7:] == pytest.approx([1 / folds for folds in range(10, 40)])


def test_tau_is_the_variance_of_the_fits() -> None:
    # Fits that add normal effects of variance 0.25 to all losses of a fold: that is what tau² is to find.
    found = [triangle_tau(*triangle([20] * 10, seed, fit_sd=0.5), zero_one=False).tau2 for seed in range(60)]
    assert np.mean(found) == pytest.approx(0.25, rel=0.05)


def test_equal_pair_losses_have_no_tau() -> None:
    singles = [np.arange(4.0) + a for a in range(5)]
    found = triangle_tau(singles, [[single] * 5 for single in singles], zero_one=False)
    n, h = 20, np.repeat(singles, 4, axis=0).std(ddof=1)
    assert found.tau2 == 0.0
    assert found.se == pytest.approx(1.1 * h / math.sqrt(n))
    assert found.estimate == pytest.approx(np.mean(singles))


def test_without_a_single_error() -> None:
    zeros = [np.zeros(10)] * 10
    found = triangle_tau(zeros, [zeros] * 10, zero_one=True)
    assert (found.estimate, found.se, found.tau2) == (0.0, 0.0, 0.0)
    assert (found.low, found.high) == wilson(0.0, 100 / 1.44)
    ones = [np.ones(10)] * 10
    found = triangle_tau(ones, [ones] * 10, zero_one=True)
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(1 - wilson(0.0, 100 / 1.44)[1])


def test_equal_pair_losses_that_are_no_shares() -> None:
    # 0.1 cannot be written exactly: its variance must still count as none.
    same = [[np.full(4, 0.1)] * 5] * 5
    assert triangle_tau(same[0], same, zero_one=False)[1:] == pytest.approx((0.1, 0.1, 0.0, 0.0))
    singles = list(np.random.default_rng(0).exponential(size=(5, 4)))
    found = triangle_tau(singles, same, zero_one=False)
    low, high = pooled(np.concatenate(singles), zero_one=False)
    assert found.high - found.low == pytest.approx(high - low)


def test_repeats_average_the_parts() -> None:
    both = [triangle([5] * 10, seed, fit_sd=0.4) for seed in (1, 2)]
    (first, h1, tau1), (second, h2, tau2) = (by_loops(*each) for each in both)
    found = triangle_tau_repeats(iter(both), zero_one=False)
    assert found.estimate == pytest.approx((first + second) / 2)
    assert found.tau2 == pytest.approx((tau1 + tau2) / 2)
    assert found.se**2 == pytest.approx(1.21 * (h1 + h2) / 2 / 50 + (tau1 + tau2) / 2)


def test_repeats_cut_tau_off_after_averaging() -> None:
    down = ([[1, 3], [2, 2], [3, 1]], [[None, [1, 4], [2, 4]], [[2, 3], None, [2, 2]], [[4, 1], [3, 2], None]])
    up = ([[0, 1]] * 3, [[None, [0, 0], [1, 1]], [[0, 0], None, [1, 1]], [[0, 0], [1, 1], None]])
    assert triangle_tau_repeats([down, up], zero_one=False).tau2 == pytest.approx((-1 / 6 + 1 / 2) / 2)


def test_a_fold_of_one_row_is_left_out_of_tau() -> None:
    singles, pairs = triangle([6, 6, 1], seed=5, fit_sd=1.0)
    assert triangle_tau(singles, pairs, zero_one=False).tau2 > 0
    with pytest.raises(InvalidInput, match="a fold of at least 2 rows"):
        triangle_tau(*triangle([1, 1, 1]), zero_one=False)


def test_refuses_what_is_no_triangle() -> None:
    singles, pairs = triangle([4, 4, 4])
    with pytest.raises(InvalidInput, match="must be 0 or 1"):
        triangle_tau(singles, pairs, zero_one=True)
    pairs[0][1] = np.full(4, np.nan)
    with pytest.raises(InvalidInput, match="'pairs' parameter"):
        triangle_tau(singles, pairs, zero_one=False)
    with pytest.raises(InvalidInput, match="at least 1, and all of the same rows"):
        triangle_tau_repeats([], zero_one=False)
    with pytest.raises(InvalidInput, match=r"2 repeats of \[12, 15\] rows"):
        triangle_tau_repeats([triangle([4] * 3), triangle([5] * 3)], zero_one=False)
