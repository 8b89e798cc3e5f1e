"""Intervals of simulated curves of every family hold as often as they say, with nested samples."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.curve_coverage import TRUTHS, as_markdown, measured, table


def test_samples_are_nested() -> None:
    seen = measured(TRUTHS["pow3"](np.random.default_rng(0)), 1024, np.random.default_rng(1))
    assert seen.sizes.tolist() == [64, 128, 256, 512, 1024]
    np.testing.assert_allclose(np.diag(seen.covariance), seen.errors * (1 - seen.errors) / seen.sizes)
    assert (seen.covariance > 0).all()


@pytest.mark.slow
def test_intervals_hold_whatever_the_truth() -> None:
    found = table(count=100, seed=1)
    held = {name: rows[rows[:, 0] == 0][:, 1].mean() for name, rows in found.items()}
    assert held["all"] >= 0.92
    assert min(held.values()) >= 0.88
    every = found["all"][found["all"][:, 0] == 0]
    assert every[:, 7].sum() <= 0.05 * every[:, 6].sum() + 3
    assert as_markdown(found).count("\n") == 9
