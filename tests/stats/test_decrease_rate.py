import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.bounds import correlation, decrease_rates, rate_skill, srm_risk, unmemorised_rate


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
    with pytest.raises(InvalidInput, match=r"\(1, 2\) and \(2,\)"):
        decrease_rates([[0.0, 0.5]], [1.0, 0.5])


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
