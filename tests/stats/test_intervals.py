"""Intervals against numbers worked out by hand, scipy, and coverage where it is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from truefit._core.errors import InvalidInput
from truefit._stats.intervals import Tail, averaged_repeats, corrected_t, pooled, t_interval, wilson

Z = 1.959963984540054


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (10, 100), (50, 100), (99, 100), (100, 100)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_is_scipys(k: int, n: int, level: float) -> None:
    reference = stats.binomtest(k, n).proportion_ci(level, method="wilson")
    assert wilson(k / n, n, level) == pytest.approx((reference.low, reference.high), abs=1e-12)


def test_wilson_by_hand() -> None:
    # Newcombe (1998), Table I: 81 of 263 gives 0.2553 to 0.3662.
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_wilson_ends_are_the_solutions_of_the_score_equation() -> None:
    p, n = 0.07, 61.4
    for end in wilson(p, n):
        assert abs(p - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n))


def test_wilson_has_width_where_no_error_was_seen() -> None:
    low, high = wilson(0.0, 50)
    assert low == 0.0
    assert high == pytest.approx(Z**2 / (50 + Z**2))
    assert wilson(1.0, 50) == pytest.approx((1 - high, 1.0))


def test_t_interval_is_scipys() -> None:
    x = np.random.default_rng(0).normal(size=17)
    reference = stats.ttest_1samp(x, 0.0).confidence_interval(0.9)
    assert t_interval(x, 0.9) == pytest.approx((reference.low, reference.high))


def test_pooled_by_hand() -> None:
    # sd of 1..4 is sqrt(5/3), n = 4, no skewness; t with 3 degrees at 97.5% is 3.1824.
    half = 3.182446305284263 * 1.2 * math.sqrt(5 / 3) / 2
    assert pooled([1, 2, 3, 4], zero_one=False) == pytest.approx((2.5 - half, 2.5 + half))


def test_pooled_zero_one_is_wilson_at_the_effective_size() -> None:
    losses = np.repeat([1.0, 0.0], [12, 88])
    assert pooled(losses, zero_one=True) == wilson(0.12, 100 / 1.44)
    assert pooled(losses, zero_one=True, factor=1.0) == wilson(0.12, 100)


def test_averaged_repeats_by_hand() -> None:
    losses = np.array([[0.0, 2.0, 4.0], [1.0, 1.0, 4.0]])
    # t with 2 degrees at 97.5% is 4.3027. The skewness of the repeats is 0 and sqrt(3), so u² = 0.75 / 3 on average.
    reach = 4.302652729696142 * (2.0 + math.sqrt(3.0)) / 2 / math.sqrt(3)
    above = 1.1 + 1.5 * 0.25 / (0.25 + 0.09)
    assert averaged_repeats(losses, zero_one=False) == pytest.approx((2.0 - 1.1 * reach, 2.0 + above * reach))


def test_averaged_repeats_do_not_shrink_with_repeats() -> None:
    # Repeats whose losses average out exactly: the sd of averaged losses would be 0.
    losses = np.array([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]])
    assert averaged_repeats(losses, zero_one=False) == pytest.approx(averaged_repeats(losses[:1], zero_one=False))
    zero_one = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert averaged_repeats(zero_one, zero_one=True) == wilson(0.25, 4 / 1.1**2)


def test_one_repeat_is_pooled() -> None:
    x = np.random.default_rng(1).exponential(size=30)
    assert averaged_repeats(x[None], factor=1.2, zero_one=False) == pytest.approx(pooled(x, zero_one=False))


def test_corrected_t_by_hand() -> None:
    # Variance of 1..5 is 2.5; (1/5 + 1/4) * 2.5 = 1.125; t with 4 degrees at 97.5% is 2.7764.
    half = 2.7764451051977987 * math.sqrt(1.125)
    assert corrected_t([1, 2, 3, 4, 5], 1 / 4) == pytest.approx((3 - half, 3 + half))


def _coverage(intervals: list[tuple[float, float]], truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def test_coverage_of_independent_losses() -> None:
    rng = np.random.default_rng(2)
    normal = rng.normal(size=(2000, 12))
    assert _coverage([t_interval(x) for x in normal], 0.0) == pytest.approx(0.95, abs=0.015)
    errors = rng.random((2000, 80)) < 0.1
    assert _coverage([pooled(x, zero_one=True, factor=1.0) for x in errors], 0.1) == pytest.approx(0.95, abs=0.025)
    # With nothing to make up for, the factor turns 95% into P(|Z| < 1.2 * 1.96) = 98.1%.
    normal = rng.normal(size=(2000, 400))
    assert _coverage([pooled(x, zero_one=False) for x in normal], 0.0) == pytest.approx(0.981, abs=0.012)


def test_corrected_t_covers_where_its_assumption_holds() -> None:
    # Scores with correlation n_test / (n_test + n_train): the corrected statistic is then exactly t.
    rng = np.random.default_rng(3)
    rho = 0.2
    scores = math.sqrt(rho) * rng.normal(size=(2000, 1)) + math.sqrt(1 - rho) * rng.normal(size=(2000, 5))
    corrected = _coverage([corrected_t(x, 1 / 4) for x in scores], 0.0)
    assert corrected == pytest.approx(0.95, abs=0.015)
    assert _coverage([t_interval(x) for x in scores], 0.0) < corrected - 0.05


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wilson(0.5, 10, level=95), "level.*between 0 and 1.*95"),
        (lambda: pooled([0.0, 0.5], zero_one=True), "0 or 1.*0.5"),
        (lambda: pooled([0.3], zero_one=False), "at least 2"),
        (lambda: pooled([0.3, float("nan")], zero_one=False), "finite.*1 NaN.*of 2"),
        (lambda: pooled([0.3, float("inf")], zero_one=False), "finite.*1 NaN or infinite of 2"),
        (lambda: t_interval([[1.0, 2.0]]), r"shape \(1, 2\)"),
        (lambda: averaged_repeats([[0.0, 1.0], [1.0, 0.0, 1.0]], zero_one=True), "as many losses"),
        (lambda: averaged_repeats(np.empty((0, 4)), zero_one=True), "at least 1 repeat"),
    ],
)
def test_what_cannot_be_worked_with_is_said(call, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        call()


def test_measures_are_scipys_and_hills() -> None:
    losses = np.random.default_rng(0).lognormal(size=200)
    tail = Tail.of(losses)
    assert tail.skewness == pytest.approx(stats.skew(losses, bias=False))
    far = np.sort(np.abs(losses - np.median(losses)))
    assert tail.hill == pytest.approx(np.log(far[-20:]).mean() - math.log(far[-21]))
    assert tail.largest == pytest.approx(np.sort(losses)[-2:].sum() / losses.sum())


def test_factors_by_hand() -> None:
    # u² = 3² / 100 = 0.09 is half of the growth; a tail index of 0.9 is half of the way, so 1.5 · ½ · (1 + 2 · ½).
    assert Tail(100, 3.0, 0.5, 0.1).factors(1.2) == pytest.approx((1.2, 1.95))
    assert Tail(100, 3.0, 0.9, 0.1).factors(1.2) == pytest.approx((1.2, 2.7))
    assert Tail(100, -3.0, 0.5, 0.1).factors(1.2) == pytest.approx((1.95, 1.2))
    assert Tail(100, 0.0, 2.0, 0.1).factors(1.2) == (1.2, 1.2)


def test_equal_and_few_losses_have_no_tail() -> None:
    assert Tail.of(np.full(50, 0.1)).factors(1.0) == (1.0, 1.0)
    assert Tail.of(np.array([1.0, 2.0])).skewness == 0
    assert Tail.of(np.arange(19.0) ** 3).hill == 0


@pytest.mark.parametrize(("draw", "heavy"), [("lognormal", True), ("standard_normal", False)])
def test_heavy_tails_are_those_of_few_large_losses(draw: str, heavy: bool) -> None:
    rng = np.random.default_rng(1)
    found = [Tail.of(np.square(getattr(rng, draw)(size=200))).heavy for _ in range(200)]
    assert (np.mean(found) > 0.6) if heavy else (np.mean(found) < 0.05)


@pytest.mark.parametrize("sign", [1, -1])
def test_covers_skewed_losses_that_a_symmetric_interval_misses(sign: int) -> None:
    rng = np.random.default_rng(2)
    losses, truth = sign * np.exp(rng.normal(scale=1.5, size=(800, 100))), sign * math.exp(1.125)
    held = plain = 0
    for each in losses:
        low, high = pooled(each, factor=1.0, zero_one=False)
        half = 1.984 * each.std(ddof=1) / 10
        held += low <= truth <= high
        plain += abs(each.mean() - truth) <= half
    assert held / 800 > 0.92
    assert plain / 800 < 0.85


def test_zero_one_losses_are_wilsons_whatever_their_skewness() -> None:
    losses = np.repeat([1.0, 0.0], [3, 197])
    assert pooled(losses, factor=1.2, zero_one=True) == wilson(0.015, 200 / 1.44)
