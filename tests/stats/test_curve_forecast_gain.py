"""The bound of the gain: what it grows with, and that it says less the more is known."""

from __future__ import annotations

import numpy as np

from truefit._stats.curve_forecast import FEATURES, Outlook, gain_features, shipped_gain
from truefit._stats.curve_points import Points

SIZES = 64.0 * 2 ** np.arange(8)


def outlook(errors, noise=0.35, covariance=None):
    stderr = noise / np.sqrt(SIZES)
    return Outlook.of(Points(SIZES[None], np.asarray(errors)[None], stderr[None], covariance))


def test_a_steeper_curve_may_bring_more() -> None:
    flat, steep = outlook(0.15 + 2 * SIZES**-1.0), outlook(0.05 + 1.2 * SIZES**-0.3)
    last, far = SIZES[None, -1:], np.array([[50_000.0]])
    assert shipped_gain().most(flat, last, far, 0.95) < shipped_gain().most(steep, last, far, 0.95)


def test_less_is_left_the_nearer_the_end_and_the_less_sure_one_must_be() -> None:
    seen = outlook(0.1 + 1.5 * SIZES**-0.5)
    last = SIZES[None, -1:]
    near, far = (float(shipped_gain().most(seen, last, np.array([[end]]), 0.95)[0, 0]) for end in (12_000.0, 80_000.0))
    assert 0 < near < far
    sure, less_sure = (
        float(shipped_gain().most(seen, last, np.array([[80_000.0]]), level)[0, 0]) for level in (0.99, 0.8)
    )
    assert less_sure < far < sure


def test_measured_further_less_is_left() -> None:
    seen = outlook(0.1 + 1.5 * SIZES**-0.5)
    ahead = SIZES[-1] * np.array([[1.0, 1.5, 2.0]])
    most = shipped_gain().most(seen, ahead, np.array([[80_000.0]]), 0.95)[0]
    assert (np.diff(most) < 0).all()


def test_points_that_move_together_leave_less_doubt_about_the_slope() -> None:
    errors = 0.1 + 1.5 * SIZES**-0.5
    stderr = 0.35 / np.sqrt(SIZES)
    ratio = np.sqrt(np.minimum.outer(SIZES, SIZES) / np.maximum.outer(SIZES, SIZES))
    together = np.where(np.eye(8, dtype=bool), 1.0, 0.9 * ratio) * np.outer(stderr, stderr)
    last, far = SIZES[None, -1:], np.array([[80_000.0]])
    alone = gain_features(outlook(errors), last, far)
    both = gain_features(outlook(errors, covariance=together[None]), last, far)
    assert both.shape == (1, 1, len(FEATURES) + 4)
    assert both[0, 0, -1] < alone[0, 0, -1]


def test_without_standard_errors_the_scatter_counts() -> None:
    seen = Outlook.of(Points(SIZES[None], (0.1 + 1.5 * SIZES**-0.5)[None]))
    assert np.isfinite(gain_features(seen, SIZES[None, -1:], np.array([[80_000.0]]))).all()
