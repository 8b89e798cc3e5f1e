"""The nested cross-validation interval against numbers by hand and a loop that follows the published algorithm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.triangle import change_to_all_rows, nested_cv

Z = 1.959963984540054
Triangle = tuple[list[Any], list[list[Any]]]


def triangle(sizes: list[int], seed: int, fit_sd: float = 0.0) -> Triangle:
    random = np.random.default_rng(seed)
    rows = [random.exponential(size=size) for size in sizes]
    singles = [row + fit_sd * random.normal() for row in rows]
    pairs = [[row + fit_sd * random.normal() for _ in sizes] for row in rows]
    return singles, pairs


def by_loops(repetitions: list[Triangle]) -> tuple[float, float, float]:
    """Estimate, MSE and the naive standard error, loss by loss."""
    a_terms, b_terms, inner_all, outer_all = [], [], [], []
    for singles, pairs in repetitions:
        folds = len(singles)
        n = sum(map(len, singles))
        for k in range(folds):
            inner = [loss for j in range(folds) if j != k for loss in pairs[j][k]]
            outer = list(singles[k])
            a_terms.append((sum(inner) / len(inner) - sum(outer) / len(outer)) ** 2)
            mean = sum(outer) / len(outer)
            b_terms.append(sum((x - mean) ** 2 for x in outer) / (len(outer) - 1) / len(outer))
            inner_all += inner
            outer_all += outer
    ncv, cv = sum(inner_all) / len(inner_all), sum(outer_all) / len(outer_all)
    naive = math.sqrt(sum((x - ncv) ** 2 for x in inner_all) / (len(inner_all) - 1) / n)
    mse = sum(a_terms) / len(a_terms) - sum(b_terms) / len(b_terms)
    return ncv - (1 + (folds - 2) / folds) * (ncv - cv), mse, naive


def test_by_hand() -> None:
    singles = [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]
    pairs = [[None, [1.0, 4.0], [2.0, 4.0]], [[2.0, 3.0], None, [2.0, 2.0]], [[4.0, 1.0], [3.0, 2.0], None]]
    # Inner errors: sum 30 of 12, mean 2.5; outer mean 2; the bias is (1 + 1/3) · 0.5.
    # a: without fold 0, losses 2 3 4 1, mean 2.5 against 2: 1/4. Fold 1: 1 4 3 2: 1/4. Fold 2: 2 4 2 2: 1/4.
    # b: variances 2, 0 and 2 over 2 rows: 1, 0, 1. MSE = 1/4 - 2/3 < 0, so the root is held at s/√n.
    found = nested_cv([(singles, pairs)])
    se = math.sqrt(13 / 11 / 6)
    assert found.estimate == pytest.approx(2.5 - 4 / 3 * 0.5)
    assert found.se == pytest.approx(se)
    assert (found.low, found.high) == pytest.approx((found.estimate - Z * se, found.estimate + Z * se))


@pytest.mark.parametrize("sizes", [[8] * 10, [4, 5, 7, 5], [30, 30, 30]])
def test_is_the_loop(sizes: list[int]) -> None:
    repetitions = [triangle(sizes, seed, fit_sd=0.4) for seed in range(4)]
    estimate, mse, naive = by_loops(repetitions)
    folds = len(sizes)
    rescaled = math.sqrt(mse * (folds - 1) / folds)
    found = nested_cv(iter(repetitions))
    assert found.estimate == pytest.approx(estimate)
    assert found.se == pytest.approx(min(max(rescaled, naive), math.sqrt(folds) * naive))


def test_the_mse_counts_between_its_bounds() -> None:
    repetitions = [triangle([20] * 5, seed, fit_sd=0.08) for seed in range(6)]
    _, mse, naive = by_loops(repetitions)
    assert naive < math.sqrt(0.8 * mse) < math.sqrt(5) * naive
    assert nested_cv(repetitions).se == pytest.approx(math.sqrt(0.8 * mse))


def test_the_standard_error_is_held_below() -> None:
    repetitions = [triangle([20] * 5, 0, fit_sd=5.0)]
    _, mse, naive = by_loops(repetitions)
    assert math.sqrt(0.8 * mse) > math.sqrt(5) * naive
    assert nested_cv(repetitions).se == pytest.approx(math.sqrt(5) * naive)


def test_all_zero_losses() -> None:
    zeros = [np.zeros(5)] * 4
    assert nested_cv([(zeros, [zeros] * 4)] * 2)[:4] == (0.0, 0.0, 0.0, 0.0)


def test_refuses_what_does_not_belong_together() -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        nested_cv([])
    with pytest.raises(InvalidInput, match="as many folds"):
        nested_cv([triangle([6] * 4, 0), triangle([8] * 3, 0)])
    with pytest.raises(InvalidInput, match="at least 2 rows"):
        nested_cv([triangle([1, 4, 4], 0)])


@pytest.mark.parametrize("folds", [3, 5, 10, 40])
@pytest.mark.parametrize(("floor", "slope"), [(0.1, 2.0), (0.9, -3.0), (0.3, 0.0)])
def test_a_curve_of_the_usual_power_is_continued_exactly(folds, floor, slope):
    rows = 200
    one, two = (floor + slope * (rows * (folds - out) / folds) ** -0.5 for out in (1, 2))
    assert change_to_all_rows(one, two, folds) == pytest.approx(floor + slope * rows**-0.5 - one)


@pytest.mark.parametrize("power", [0.1, 0.3, 1.0])
def test_another_power_is_missed_by_less_than_a_sixth(power):
    one, two = (0.8**-power, 0.6**-power)
    assert abs(change_to_all_rows(one, two, 5) / (1 - one) - 1) < 1 / 6


def test_no_change_where_the_last_fold_brought_none():
    assert change_to_all_rows(0.25, 0.25, 5) == 0
    assert np.sign(change_to_all_rows(0.3, 0.2, 5)) == 1
