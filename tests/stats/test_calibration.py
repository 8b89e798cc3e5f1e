"""Calibration: against scikit-learn, by hand, and in the cases where there is no slope."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss

from truefit._stats.calibration import calibration, log_odds, quantile_bins, spline

rng = np.random.default_rng(3)
Z = 2 * rng.normal(size=400)
Y = (rng.random(400) < expit(0.3 + 0.6 * Z)).astype(float)
P = expit(Z)


@pytest.mark.parametrize("weighted", [False, True])
def test_slope_and_intercept_are_those_of_an_unpenalised_logistic_regression(weighted):
    weight = rng.integers(1, 5, 400).astype(float) if weighted else None
    found = calibration(Y, P, probabilities=True, weight=weight)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(logit(P)[:, None], Y, sample_weight=weight)
    assert found.slope == pytest.approx(peer.coef_[0, 0], abs=1e-6)
    assert found.intercept == pytest.approx(peer.intercept_[0], abs=1e-6)
    assert found.slope_interval[0] < found.slope < found.slope_interval[1] < 1
    assert found.parts.score == pytest.approx(brier_score_loss(Y, P, sample_weight=weight))
    miscalibration, discrimination, uncertainty = found.parts[1:]
    assert found.parts.score == pytest.approx(miscalibration - discrimination + uncertainty)


def test_calibration_in_the_large_makes_the_means_equal():
    found = calibration(Y, P, probabilities=True)
    assert expit(Z + found.in_the_large).mean() == pytest.approx(Y.mean(), abs=1e-9)


def test_rows_that_come_twice_as_groups_count_once():
    once = calibration(Y, P, probabilities=True, groups=np.arange(400))
    twice = calibration(np.repeat(Y, 2), np.repeat(P, 2), probabilities=True, groups=np.repeat(np.arange(400), 2))
    assert twice.slope_interval == pytest.approx(once.slope_interval)
    rows = calibration(np.repeat(Y, 2), np.repeat(P, 2), probabilities=True)
    assert np.ptp(rows.slope_interval) == pytest.approx(np.ptp(once.slope_interval) / np.sqrt(2), rel=0.02)
    wider = calibration(Y, P, probabilities=True, factor=1.2)
    assert np.ptp(wider.slope_interval) == pytest.approx(
        1.2 * np.ptp(calibration(Y, P, probabilities=True).slope_interval)
    )


def test_numbers_are_regressed_on_their_predictions():
    y = 1 + 0.5 * Z + rng.normal(size=400)
    found = calibration(y, Z, probabilities=False)
    peer = LinearRegression().fit(Z[:, None], y)
    assert (found.slope, found.intercept) == pytest.approx((peer.coef_[0], peer.intercept_))
    assert found.in_the_large == pytest.approx((y - Z).mean())
    assert found.ece > 5 * found.ece_expected


def test_the_calibration_error_is_that_of_its_bins_and_near_chance_for_calibrated_rows():
    y, p = np.array([1.0] * 2 + [0] * 8 + [1] * 9 + [0]), np.array([0.2] * 10 + [0.6] * 10)
    assert calibration(y, p, probabilities=True).ece == pytest.approx(0.15)
    errors, chance = np.transpose([
        (lambda found: (found.ece, found.ece_expected))(
            calibration((rng.random(400) < P).astype(float), P, probabilities=True)
        )
        for _ in range(100)
    ])  # fmt: skip
    assert errors.mean() == pytest.approx(chance.mean(), rel=0.1)


def test_the_smooth_curve_finds_what_a_line_cannot():
    z = 2 * rng.normal(size=4000)
    true = expit(z + 0.4 * np.minimum(z, 0) ** 2)
    found = calibration((rng.random(4000) < true).astype(float), expit(z), probabilities=True)
    expected = np.interp(found.curve.predicted, *map(np.sort, (expit(z), expit(z))))
    at = logit(expected.clip(1e-9, 1 - 1e-9))
    wanted = expit(at + 0.4 * np.minimum(at, 0) ** 2)
    assert np.abs(found.curve.observed - wanted).mean() < 0.03
    assert (found.curve.low <= found.curve.observed).all()
    assert (found.curve.observed <= found.curve.high).all()


def test_a_spline_is_linear_beyond_its_outer_knots():
    knots = np.array([0.0, 1.0, 2.0, 4.0])
    for x in (np.linspace(-9, 0, 5), np.linspace(4, 9, 5)):
        np.testing.assert_allclose(np.diff(spline(x, knots), n=2, axis=0), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("y", "p", "reason"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], "separate the classes"),
        ([1, 1, 0, 0], [0.1, 0.2, 0.8, 0.9], "separate the classes"),
        ([0, 1, 0, 1], [0.5] * 4, "all predictions are equal"),
    ],
)
def test_where_there_is_no_slope_the_reason_is_given(y, p, reason):
    found = calibration(y, p, probabilities=True)
    assert reason in found.reason
    assert np.isnan(found.slope)
    assert found.slope_interval is found.curve is None
    assert np.isfinite(found.in_the_large)


def test_one_error_is_enough_for_a_slope_and_far_probabilities_for_a_mean():
    p = expit(np.concatenate([np.linspace(-9, -0.7, 50), [0.1, -0.1], np.linspace(0.7, 9, 50)]))
    y = np.repeat([0.0, 1.0], 51)  # two rows are on the wrong side, by little
    found = calibration(y, p, probabilities=True)
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(logit(p)[:, None], y)
    assert found.slope == pytest.approx(peer.coef_[0, 0], rel=1e-5)
    assert np.abs(found.slope * logit(p)).max() > 35
    tiny = np.array([1e-12, 2e-11, 1e-10, 3e-9])
    found = calibration([0, 1, 0, 1], tiny, probabilities=True)
    assert expit(logit(tiny) + found.in_the_large).mean() == pytest.approx(0.5)
    only = calibration([0, 1, 1], [0.2, 0.6, 0.7], probabilities=True, weight=[0, 1, 1])  # one class has all the weight
    assert np.isnan(only.in_the_large)
    assert "one class only" in only.reason


def test_probabilities_of_0_and_1_count_as_half_a_row():
    odds, extreme = log_odds(np.array([0.0, 1.0, 0.5, 0.5]))
    assert (odds[0], odds[1], extreme) == (pytest.approx(logit(1 / 8)), pytest.approx(logit(7 / 8)), 2)
    tiny = np.array([0.0, 1e-9, 0.5])
    assert log_odds(tiny)[0][0] == pytest.approx(logit(1e-9))
    assert log_odds(tiny)[0][1] == pytest.approx(logit(1e-9))


def test_bins_have_equally_many_rows_and_equal_values_stay_together():
    assert np.bincount(quantile_bins(rng.random(1000) ** 3, 8)).tolist() == [125] * 8
    p = np.array([0.0] * 50 + [0.3] * 2 + [1.0] * 48)
    which = quantile_bins(p, 10)
    assert [np.unique(which[p == value]).size for value in (0.0, 0.3, 1.0)] == [1, 1, 1]
    assert which.max() == np.unique(which).size - 1
