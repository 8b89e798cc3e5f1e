"""Row noise of nested samples, against a bootstrap that draws the rows."""

from __future__ import annotations

import numpy as np

from truefit._stats.curve_points import nested_covariance


def test_it_is_what_drawing_the_rows_comes_to() -> None:
    random = np.random.default_rng(0)
    hard = random.standard_normal(400)
    sizes = (100, 200, 400)
    losses = [(hard[:size] + random.standard_normal(size) > 0.8).astype(float) for size in sizes]
    shares = [(each - each.mean()) / len(each) for each in losses]
    # Each row is drawn as often as a Poisson number says, independently: nested samples keep their sizes on average.
    counts = random.poisson(1.0, (20_000, 400))
    drawn = np.array([counts[:, : len(each)] @ each for each in shares])
    np.testing.assert_allclose(nested_covariance(shares), np.cov(drawn), rtol=0.08)


def test_rows_of_one_cluster_are_drawn_together() -> None:
    shares = [np.array([1.0, 1.0, -1.0, -1.0])]
    assert nested_covariance(shares).tolist() == [[4.0]]
    assert nested_covariance(shares, np.array([0, 0, 1, 1])).tolist() == [[8.0]]
