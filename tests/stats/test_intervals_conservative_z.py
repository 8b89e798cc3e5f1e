"""The conservative z interval by hand, and what its variance estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.intervals import conservative_z

Z = 1.959963984540054


def test_by_hand() -> None:
    # Differences .2, -.1 and 0: squares sum to .05, over 2 · 3.
    found = conservative_z([0.25, 0.35, 0.3], [[0.4, 0.2], [0.2, 0.3], [0.5, 0.5]])
    se = math.sqrt(0.05 / 6)
    assert found[:4] == pytest.approx((0.3, 0.3 - Z * se, 0.3 + Z * se, se))


def test_the_variance_is_that_of_one_half() -> None:
    random = np.random.default_rng(0)
    halves = random.normal(0.3, 0.07, size=(40_000, 2))
    assert conservative_z([0.3], halves).se == pytest.approx(0.07, rel=0.01)


def test_equal_halves_have_no_width() -> None:
    assert conservative_z([0.2, 0.2], [[0.1, 0.1]])[:4] == pytest.approx((0.2, 0.2, 0.2, 0.0))


def test_refuses_nan() -> None:
    with pytest.raises(InvalidInput, match="'halves' parameter of conservative_z"):
        conservative_z([0.2], [[0.1, math.nan]])
