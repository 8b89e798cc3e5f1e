"""The formulas, against values worked out by hand and against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.bounds import (
    correlation,
    decrease_rates,
    pac_finite,
    pac_vc,
    rademacher_slack,
    rate_skill,
    srm_risk,
    stump_dimension,
    unmemorised_rate,
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


def test_rates_are_minus_the_slopes_of_numpys_lines():
    rng = np.random.default_rng(0)
    shares = np.sort(rng.uniform(0, 0.5, (4, 7)), axis=1)
    values = 1 - 0.8 * shares + 0.05 * rng.normal(size=shares.shape)
    by_numpy = [-np.polyfit(x, a, 1)[0] for x, a in zip(shares, values, strict=True)]
    np.testing.assert_allclose(decrease_rates(shares, values), by_numpy, rtol=1e-10)


def test_rates_by_hand():
    # (0, 1), (0.25, 0.9), (0.5, 0.6): deviations ±0.25 of x, slope (0.6 − 1)/0.5
    assert decrease_rates([[0, 0.25, 0.5]], [[1, 0.9, 0.6]]).tolist() == pytest.approx([0.8], rel=1e-14)
    assert decrease_rates([[0, 0.25, 0.5]], [[0.5, 0.6, 0.7]]).tolist() == pytest.approx([-0.4], rel=1e-14)
    flat = decrease_rates([[0, 0.25, 0.5]], [[1, 1, 1]])
    assert flat.tolist() == [0.0]
    assert not np.signbit(flat[0])
    assert np.isnan(decrease_rates([[0, 0.5], [0, 0.5]], [[1, np.nan], [1, 0.5]])).tolist() == [True, False]


def test_what_has_no_rate_is_refused():
    with pytest.raises(InvalidInput, match="2 different shares"):
        decrease_rates([[0.0, 0.0]], [[1.0, 0.5]])


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("accuracy", [0.4, 0.9, 1.0])
def test_predictions_that_stay_lose_what_the_formula_says(classes, accuracy):
    def kept(r):
        return accuracy * (1 - r) + (1 - accuracy) * r / (classes - 1)

    assert unmemorised_rate(accuracy, classes) == pytest.approx((kept(0.1) - kept(0.3)) / 0.2)


def test_skill_is_0_for_the_largest_class_and_1_for_the_best():
    assert rate_skill(0.518, 0.518) == 0
    assert rate_skill(1.0, 0.518) == 1
    assert np.isnan(rate_skill(1.0, 1.0))


def test_the_risk_of_a_perfect_learner_on_endless_rows_is_a_half():
    assert srm_risk(1.0, 10**12) == pytest.approx(0.5, abs=1e-5)
    assert srm_risk(-0.4, 500) == srm_risk(0.4, 500)


def test_correlations():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50))
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1], rel=1e-12)
    assert correlation(a + 1e9, b) == pytest.approx(np.corrcoef(a, b)[0, 1], rel=1e-6)
    columns = np.column_stack([a, b]), np.column_stack([b, b])
    assert correlation(*columns) == pytest.approx((np.corrcoef(a, b)[0, 1] + 1) / 2)
    weight = rng.integers(0, 3, 50)
    assert correlation(a, b, weight) == pytest.approx(np.corrcoef(np.repeat(a, weight), np.repeat(b, weight))[0, 1])
    assert correlation(np.full(50, 0.1), b) == 0.0
    assert correlation(b, np.full(50, 1e7)) == 0.0
