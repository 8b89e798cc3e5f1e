"""Curves that single cross-validations measure: the error with more rows, and the gain, with their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._stats.curve_forecast import Outlook
from truefit._stats.curve_points import Points
from truefit._stats.curve_single_runs import FEATURES, shipped_single_runs

SIZES = 25.0 * 2 ** np.arange(6)


def outlook(errors, noise=0.4):
    stderr = noise / np.sqrt(SIZES)
    ratio = np.sqrt(np.minimum.outer(SIZES, SIZES) / np.maximum.outer(SIZES, SIZES))
    together = np.where(np.eye(6, dtype=bool), 1.0, 0.6 * ratio) * np.outer(stderr, stderr)
    return Outlook.of(Points(SIZES[None], np.asarray(errors)[None], stderr[None], together[None]))


FALLING = 0.1 + 1.2 * SIZES**-0.5


@pytest.mark.parametrize("kind", ["share", "loss"])
def test_what_is_shipped_fits_the_features(kind):
    constants = shipped_single_runs(kind)
    assert (np.diff(constants.tails) < 0).all()
    assert constants.centre.shape == (len(FEATURES),)
    for spread in (constants.error, constants.gain):
        assert spread.widths.shape == (3,)
        for side in (spread.below, spread.above):
            assert side.weights.shape == (len(FEATURES),)
            assert (np.diff(side.quantiles) >= 0).all()


@pytest.mark.parametrize("kind", ["share", "loss"])
def test_intervals_widen_with_distance_level_and_noise(kind):
    constants, ahead = shipped_single_runs(kind), SIZES[-1] * np.array([[2.0, 4.0, 8.0, 20.0]])
    _, low, high = constants.errors(outlook(FALLING), ahead, 0.95, largest=np.inf)
    assert (np.diff((high - low)[0]) > 0).all()
    widths = [np.ptp(constants.errors(outlook(FALLING), ahead[:, :1], level)[1:]) for level in (0.5, 0.8, 0.95, 0.99)]
    assert (np.diff(widths) > 0).all()
    quiet, loud = (np.ptp(constants.errors(outlook(FALLING, noise), ahead[:, :1], 0.95)[1:]) for noise in (0.2, 0.8))
    assert quiet < loud


@pytest.mark.parametrize("kind", ["share", "loss"])
def test_a_gain_is_narrower_than_a_difference_and_there_is_none_in_no_rows(kind):
    constants, seen = shipped_single_runs(kind), outlook(FALLING)
    sizes = SIZES[-1] * np.array([[0.5, 1.0, 1.1, 2.0, 4.0]])
    value, low, high = constants.gains(seen, sizes, 0.95)
    assert (np.stack([value, low, high])[:, 0, :2] == 0).all()
    assert (np.diff((high - low)[0, 1:]) > 0).all()
    assert low[0, 3] < value[0, 3] < high[0, 3]
    _, least, most = constants.errors(seen, sizes, 0.95)
    assert (high - low)[0, 3] < (most - least)[0, 3]


def test_a_gain_is_no_more_than_the_error():
    seen = outlook([0.5, 0.3, 0.15, 0.07, 0.03, 0.01])
    constants = shipped_single_runs("share")
    value, _, high = constants.gains(seen, SIZES[-1:] * np.array([[10.0]]), 0.99)
    now = constants.values(seen, SIZES[None, -1:])
    assert value[0, 0] <= high[0, 0] <= now[0, 0]


def test_no_errors_at_all_still_leave_doubt():
    seen = Outlook.of(Points(SIZES[None], np.zeros((1, 6)), np.zeros((1, 6)), np.zeros((1, 6, 6))))
    value, low, high = shipped_single_runs("share").errors(seen, SIZES[-1] * np.array([[2.0]]), 0.95)
    assert low[0, 0] == 0
    assert 0 < high[0, 0] < 0.1
    assert value[0, 0] < high[0, 0]


@pytest.mark.parametrize("kind", ["share", "loss"])
@pytest.mark.parametrize("errors", [0.1 + 60 * SIZES**-1.2, [0.05, 0, 0, 0, 0, 0]], ids=["settled", "zero"])
def test_a_forecast_does_not_rise_where_the_curve_falls_and_levels_off_no_higher(kind, errors):
    constants, seen = shipped_single_runs(kind), outlook(errors)
    values = constants.values(seen, SIZES[-1] * np.geomspace(1, 1000, 301)[None])[0]
    assert (np.diff(values) < 1e-5).all()
    assert values[0] < max(errors)
    assert constants.end(seen)[0] == pytest.approx(values[-1], abs=1e-3)
    assert constants.end(seen)[0] <= values[-1]
