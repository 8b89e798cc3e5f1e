"""The formulas, against values worked out by hand and against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from truefit._stats.bounds import (
    pac_finite,
    pac_vc,
    rademacher_slack,
    stump_dimension,
    vc_gap,
    vc_gap_realizable,
)


def test_equation_6_by_hand() -> None:
    # h = 3, l = 1000, eta = 0.05: 3·(ln(666.67) + 1) = 22.5069, − ln(0.05/9) = 5.19296; 2·sqrt(27.6998/1000).
    assert math.isclose(vc_gap(3, 1000, eta=0.05), 0.332865, rel_tol=1e-5)
    assert math.isclose(vc_gap(3, 1000, eta=0.05, tau=5.0), 5 * vc_gap(3, 1000, eta=0.05))


def test_equation_7_by_hand() -> None:
    # 2·ln(2000/3)·3/1000
    assert math.isclose(vc_gap_realizable(3, 1000), 0.0390137, rel_tol=1e-5)


def test_gaps_shrink_with_rows_and_grow_with_the_dimension() -> None:
    for gap in (vc_gap, vc_gap_realizable):
        over_n = [gap(5, n) for n in (7, 10, 100, 1000, 10**6)]
        assert all(a > b for a, b in itertools.pairwise(over_n))
        over_h = [gap(h, 1000) for h in (1, 2, 10, 100, 700, math.inf)]
        assert all(a < b for a, b in itertools.pairwise(over_h))
    assert vc_gap(5, 1000, eta=0.01) > vc_gap(5, 1000, eta=0.05)


def test_where_a_formula_does_not_hold_it_gives_no_number() -> None:
    assert vc_gap(10, 5) == math.inf
    assert vc_gap(math.inf, 5) == math.inf
    assert vc_gap_realizable(10, 13) == math.inf
    assert vc_gap_realizable(10, 14) < 2


def test_finite_classes_by_hand() -> None:
    # (ln 1000 + ln 20) / 0.1 = 99.03; (ln 1000 + ln 40) / 0.02 = 529.8
    assert pac_finite(math.log(1000), 0.1, 0.05, realizable=True) == 100
    assert pac_finite(math.log(1000), 0.1, 0.05, realizable=False) == 530
    assert pac_finite(0.0, 0.1, 0.05, realizable=True) == 30


def test_the_realizable_sample_is_enough_in_simulation() -> None:
    # 50 coins as hypotheses, each wrong on 10% of the rows: none should look perfect on so many rows.
    epsilon, delta, size = 0.1, 0.1, 50
    rows = pac_finite(math.log(size), epsilon, delta, realizable=True)
    rng = np.random.default_rng(0)
    looked_perfect = (rng.random((1000, size, rows)) >= epsilon).all(axis=2).any(axis=1)
    assert looked_perfect.mean() <= delta


def test_the_agnostic_sample_of_a_vc_dimension_is_the_least() -> None:
    for h, epsilon in ((1, 0.3), (3, 0.1), (50, 0.2)):
        rows = pac_vc(h, epsilon, 0.05, realizable=False)
        assert vc_gap(h, rows, eta=0.05) <= epsilon < vc_gap(h, rows - 1, eta=0.05)
    # 8·3/0.1·log2(130) = 1685.4, and 4/0.1·log2(40) = 212.9 is less
    assert pac_vc(3, 0.1, 0.05, realizable=True) == 1686
    assert pac_vc(math.inf, 0.1, 0.05, realizable=True) == math.inf


def test_the_slack_by_hand() -> None:
    # 3·sqrt(ln 40 / 2000)
    assert math.isclose(rademacher_slack(1000, 0.05), 0.128841, rel_tol=1e-5)


def shattered_by_stumps(features: int, points: int) -> bool:
    """Whether some points are split up in every way by a threshold on one of the features."""
    base = tuple(range(points))
    orders = list(itertools.permutations(base))
    for others in itertools.combinations_with_replacement(orders, features - 1):
        sides = {frozenset(order[:cut]) for order in (base, *others) for cut in range(points + 1)}
        if len(sides | {frozenset(base) - side for side in sides}) == 2**points:
            return True
    return False


@pytest.mark.parametrize("features", [1, 2, 3])
def test_the_dimension_of_stumps_is_what_brute_force_finds(features) -> None:
    d = stump_dimension(features)
    assert shattered_by_stumps(features, d)
    assert not shattered_by_stumps(features, d + 1)
