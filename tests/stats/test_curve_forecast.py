"""Outlook: what is expected, how sure, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.curve_forecast import EXPONENTS, FEATURES, Outlook, averages, shipped
from truefit._stats.curve_points import Points

SIZES = np.round(16 * 2 ** (np.arange(41) / 5))


def outlook(*curves: np.ndarray, sizes: np.ndarray = SIZES) -> Outlook:
    return Outlook.of(Points.of([sizes[-len(curve) :] for curve in curves], curves))


def test_an_exact_power_law_goes_on() -> None:
    for c in (0.3, 0.5, 0.7):
        found = outlook(0.1 + 1.2 * SIZES**-c)
        value, low, high = found.predict([[10 * SIZES[-1]]], 0.95)
        assert value[0, 0] == pytest.approx(0.1 + 1.2 * (10 * SIZES[-1]) ** -c, abs=0.004)
        assert low[0, 0] < value[0, 0] < high[0, 0]


def test_later_points_count_more() -> None:
    # Until 500 rows the curve goes to 0.3, from there on to 0.1.
    errors = np.where(SIZES < 500, 0.3 + 1.5 * SIZES**-0.5, 0.1 + 6 * SIZES**-0.5)
    value, _, _ = outlook(errors).predict([[40_000]], 0.95)
    assert value[0, 0] == pytest.approx(0.1 + 6 * 40_000**-0.5, abs=0.02)


def test_the_average_lies_among_the_exponents_that_fit() -> None:
    points = Points.of([SIZES], [0.1 + 1.2 * SIZES**-0.5])
    sharp, blurred = (averages(points, [np.ones((1, 41))], np.array([sigma]))[0] for sigma in (1e-4, 10.0))
    step = EXPONENTS[1] - EXPONENTS[0]
    assert sharp.exponent[0] == pytest.approx(0.5, abs=step / 2)
    usual = np.exp(-((EXPONENTS - 0.45) ** 2) / (2 * 0.4**2))
    np.testing.assert_allclose(blurred.weights[0], usual / usual.sum(), rtol=0.02)
    assert sharp.weights.sum() == pytest.approx(1)
    assert sharp.end[0] == pytest.approx(0.1, abs=0.005)


def test_curves_side_by_side_are_as_if_alone() -> None:
    random = np.random.default_rng(0)
    curves = [0.1 + SIZES[k:] ** -0.4 + 0.004 * random.standard_normal(41 - k) for k in (0, 7, 20)]
    together = outlook(*curves)
    for i, curve in enumerate(curves):
        alone = outlook(curve)
        for one, other in zip(together.predict(np.full((3, 1), 1e5), 0.9), alone.predict([[1e5]], 0.9), strict=True):
            np.testing.assert_allclose(one[i], other[0], rtol=1e-9)
        np.testing.assert_allclose(together.backtests[i], alone.backtests[0], rtol=1e-6, atol=1e-12)


def test_intervals_widen_with_distance_and_level() -> None:
    found = outlook(0.15 + SIZES**-0.5)
    ahead = SIZES[-1] * np.array([[1.0, 2.0, 5.0, 20.0, 100.0]])
    for level in (0.5, 0.95):
        _, low, high = found.predict(ahead, level, largest=np.inf)
        assert (np.diff(high - low) > 0).all()
    widths = [np.ptp(found.predict(ahead[:, 1:2], level)[1:]) for level in (0.2, 0.5, 0.8, 0.9, 0.95, 0.99)]
    assert (np.diff(widths) > 0).all()


def test_intervals_stay_within_what_errors_can_be() -> None:
    found = outlook(0.97 - 0.004 * np.log(SIZES), 0.5 * SIZES**-0.9)
    _, low, high = found.predict(np.full((2, 1), 1e6), 0.99)
    assert high[0, 0] == 1
    assert low[1, 0] == 0


@pytest.mark.parametrize("level", [0.1, 0.995, 1.0, float("nan"), "0.95"])
def test_levels_that_the_reference_curves_do_not_tell_are_refused(level) -> None:
    with pytest.raises(InvalidInput, match=r"between 0\.2 and 0\.99"):
        outlook(0.15 + SIZES**-0.5).predict([[1e5]], level)


def test_what_is_shipped_fits_the_features() -> None:
    kept = shipped()
    for side in (kept.below, kept.above):
        assert side.weights.shape == (len(FEATURES),)
        assert (np.diff(side.quantiles) >= 0).all()
        assert side.weights[FEATURES.index("ahead")] > 0
        assert side.weights[FEATURES.index("noise")] > 0
    assert (np.diff(kept.tails) < 0).all()


def test_nothing_learned_is_seen_unless_many_rows_say_so() -> None:
    flat = np.full(31, 0.9)
    assert outlook(flat, sizes=SIZES[:31]).nothing_learned[0]
    assert not outlook(flat, sizes=100 * SIZES[:31]).nothing_learned[0]
    assert not outlook(np.full(31, 0.1), sizes=SIZES[:31]).nothing_learned[0]
    random = np.random.default_rng(0)
    noisy = 0.5 + 0.01 * random.standard_normal(31)
    assert outlook(noisy, sizes=SIZES[:31]).nothing_learned[0]
    falling = np.linspace(0.6, 0.5, 31)
    assert not outlook(falling, sizes=SIZES[:31]).nothing_learned[0]


@pytest.mark.parametrize(("baseline", "refused"), [(0.45, True), (0.485, False), (0.5, False), (0.55, False)])
def test_a_flat_curve_is_refused_only_clearly_above_the_baseline(baseline: float, refused: bool) -> None:
    points = Points.of([SIZES[:12]], [np.full(12, 0.5)], [np.full(12, 0.02)])
    found = Outlook.of(replace(points, baseline=np.array([baseline])))
    assert found.nothing_learned.tolist() == [refused]


@pytest.mark.parametrize(("noise", "rises"), [(0.05, False), (0.005, True)])
def test_a_rise_within_the_noise_of_its_points_is_none(noise: float, rises: bool) -> None:
    errors = 0.2 + 0.01 * np.maximum(np.arange(12) - 3, 0)
    points = Points.of([SIZES[:12]], [errors], [np.full(12, noise)])
    alone = Outlook.of(points)
    together = Outlook.of(replace(points, covariance=noise**2 * np.eye(12)[None]))
    assert alone.rising[0]
    assert together.rising[0] == rises


def test_rising_is_seen_but_not_the_scatter_of_the_first_points() -> None:
    fall = 0.2 + SIZES**-0.5
    assert not outlook(fall).rising[0]
    assert outlook(np.append(fall[:31], fall[30] + np.linspace(0.005, 0.08, 10))).rising[0]
    # A peak looks like scatter, but does not hide itself by that.
    assert outlook(np.append(fall[:36], fall[35] + np.array([0.04, 0.1, 0.16, 0.15, 0.14]))).rising[0]
    lucky = fall.copy()
    lucky[:3] = 0.15
    wobble = 0.004 * (-1.0) ** np.arange(41)
    assert not outlook(lucky + wobble).rising[0]


def test_acceleration_and_surprises_are_seen() -> None:
    late = 0.5 - 0.2 * np.log2(np.maximum(SIZES, 2000) / 2000)
    found = outlook(late, 0.2 + SIZES**-0.5)
    assert found.accelerating.tolist() == [True, False]
    assert found.surprised.tolist() == [True, False]
