"""The skewness correction by hand, and where it holds: skewed losses that the plain interval misses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from truefit._stats.intervals import pooled, wilson
from truefit._stats.skewness import Tail


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
