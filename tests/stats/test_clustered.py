"""Clustered inference against the formulas written out, and against what groups of one row must give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from truefit._core.errors import InvalidInput
from truefit._stats.clustered import clustered_paired_t, clustered_se, clustered_wilson, design_effect
from truefit._stats.intervals import wilson
from truefit._stats.paired import pooled_paired_t


def drawn(seed: int, groups: int = 25) -> tuple[np.ndarray, np.ndarray]:
    """0-1 losses that are alike within groups of uneven size, in random order."""
    random = np.random.default_rng(seed)
    names = np.repeat(np.arange(groups), random.integers(1, 9, groups))
    losses = (random.random(len(names)) < random.beta(1, 3, groups)[names]).astype(float)
    order = random.permutation(len(names))
    return losses[order], np.array([f"patient {name}" for name in names[order]])


def brute_force_se(losses: np.ndarray, groups: np.ndarray) -> float:
    mean, total, names = sum(losses) / len(losses), 0.0, sorted(set(groups))
    for name in names:
        total += sum(loss - mean for loss, group in zip(losses, groups, strict=True) if group == name) ** 2
    return math.sqrt(len(names) / (len(names) - 1) * total) / len(losses)


@pytest.mark.parametrize("seed", range(5))
def test_the_standard_error_is_the_formula(seed: int) -> None:
    losses, groups = drawn(seed)
    expected = brute_force_se(losses, groups)
    assert clustered_se(losses, groups) == pytest.approx(expected)
    effect = expected**2 / (np.var(losses, ddof=1) / len(losses))
    assert design_effect(losses, groups) == pytest.approx(max(1.0, effect))


def test_groups_of_one_row_are_independent_rows() -> None:
    losses, _ = drawn(0)
    rows = np.arange(len(losses))
    assert clustered_se(losses, rows) == pytest.approx(losses.std(ddof=1) / math.sqrt(len(losses)))
    assert design_effect(losses, rows) == pytest.approx(1.0)
    one, two = clustered_paired_t([losses], [rows], factor=1.2), pooled_paired_t([losses], factor=1.2)
    assert (one.mean, one.se, one.df) == pytest.approx((two.mean, two.se, two.df))


def test_copies_of_a_row_count_once() -> None:
    losses, _ = drawn(1)
    copies, groups = np.repeat(losses, 4), np.repeat(np.arange(len(losses)), 4)
    assert clustered_se(copies, groups) == pytest.approx(clustered_se(losses, np.arange(len(losses))))
    # s² has n - 1 in its denominator, so that the ratio is 4 only up to that.
    assert design_effect(copies, groups) == pytest.approx(4 * (4 * len(losses) - 1) / (4 * len(losses) - 4))


def test_the_design_effect_is_at_least_1() -> None:
    losses, groups = np.tile([0.0, 1.0], 30), np.repeat(np.arange(30), 2)
    assert clustered_se(losses, groups) == 0.0
    assert design_effect(losses, groups) == 1.0
    low, high = clustered_wilson([losses], [groups], factor=1.0)
    assert low < 0.5 < high
    assert clustered_paired_t([losses], [groups], factor=1.0).se == pytest.approx(losses.std(ddof=1) / math.sqrt(60))


def test_equal_losses_count_once_per_group() -> None:
    groups = np.repeat(np.arange(30), 5)
    assert design_effect(np.zeros(150), groups) == 5.0
    low, high = clustered_wilson([np.zeros(150)], [groups], factor=1.2)
    assert low == 0.0
    assert high == pytest.approx(wilson(0.0, 30 / 1.2**2, df=29)[1])


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_is_wilsons_at_the_effective_size_with_students_quantile(level: float) -> None:
    losses, groups = drawn(2)
    p, t = losses.mean(), stats.t.ppf(0.5 + level / 2, 24)
    size = len(losses) / design_effect(losses, groups) / 1.44
    half = t * math.sqrt(p * (1 - p) / size + t * t / (4 * size**2))
    expected = [(p + t * t / (2 * size) + sign * half) / (1 + t * t / size) for sign in (-1, 1)]
    assert clustered_wilson([losses], [groups], factor=1.2, level=level) == pytest.approx(tuple(expected))


def test_the_order_of_the_rows_and_the_names_of_the_groups_do_not_matter() -> None:
    losses, groups = drawn(3)
    order = np.argsort(groups, kind="stable")
    numbers = 100 - np.unique(groups, return_inverse=True)[1]
    expected = clustered_wilson([losses], [groups], factor=1.2)
    assert clustered_wilson([losses[order]], [numbers[order]], factor=1.2) == pytest.approx(expected)


def test_repeats_add_no_rows() -> None:
    losses, groups = drawn(4)
    once = clustered_wilson([losses], [groups], factor=1.1)
    assert clustered_wilson([losses] * 3, [groups] * 3, factor=1.1) == pytest.approx(once)
    once_paired = clustered_paired_t([losses - 0.5], [groups], factor=1.1)
    found = clustered_paired_t([losses - 0.5] * 3, [groups] * 3, factor=1.1)
    assert (found.mean, found.se, found.df) == pytest.approx((once_paired.mean, once_paired.se, once_paired.df))


@pytest.mark.parametrize("seed", range(3))
def test_the_paired_error_is_that_of_leaving_out_each_group(seed: int) -> None:
    losses, groups = drawn(seed)
    found = clustered_paired_t([losses], [groups], factor=1.0)
    means = np.array([losses[groups != name].mean() for name in np.unique(groups)])
    jackknife = math.sqrt(24 / 25 * np.square(means - losses.mean()).sum())
    assert found.se == pytest.approx(max(jackknife, losses.std(ddof=1) / math.sqrt(len(losses))))
    sizes = np.unique(groups, return_counts=True)[1]
    assert found.df == math.floor(sizes.sum() ** 2 / np.square(sizes).sum()) - 1 < 24
    # With groups of one size nothing differs from the cluster-robust error of G groups.
    even = np.repeat(np.arange(25), 4)
    values = np.resize(losses, 100) * (1 + even % 3)
    found = clustered_paired_t([values], [even], factor=1.0)
    assert found.df == 24
    assert found.se == pytest.approx(max(clustered_se(values, even), values.std(ddof=1) / 10))


def test_equal_differences_have_no_spread() -> None:
    found = clustered_paired_t([np.full(40, 0.1)], [np.repeat(np.arange(20), 2)], factor=1.2)
    assert (found.se, found.df) == (0.0, 19)


def test_what_cannot_be_computed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 2 groups"):
        clustered_se([0.0, 1.0], ["a", "a"])
    with pytest.raises(InvalidInput, match="one group per loss"):
        clustered_se([0.0, 1.0], ["a"])
    with pytest.raises(InvalidInput, match="0 or 1"):
        clustered_wilson([[0.0, 0.5]], [["a", "b"]], factor=1.0)
    with pytest.raises(InvalidInput, match="the same rows in each"):
        clustered_wilson([], [], factor=1.0)
    with pytest.raises(InvalidInput, match="the same groups in each"):
        clustered_paired_t([], [], factor=1.0)
