"""Scatter of points around their curve, and what follows for their weights."""

from __future__ import annotations

import numpy as np

from truefit._stats.curve_points import FASTEST, FLOOR, SLOWEST, Points, nested_covariance, noise, recency

SIZES = 2.0 ** np.arange(4, 14)


def test_scatter_is_seen_in_spite_of_the_fall() -> None:
    random = np.random.default_rng(0)
    errors = 0.5 - 0.03 * np.log2(SIZES) + 0.01 * random.standard_normal((400, 10))
    found = noise(Points(np.tile(SIZES, (400, 1)), errors))
    np.testing.assert_allclose(np.sqrt((found**2).mean()), 0.01, rtol=0.05)


def test_the_smaller_of_scatter_and_standard_error_counts() -> None:
    zigzag = 0.3 + 0.02 * (-1.0) ** np.arange(10)
    scatter = noise(Points(SIZES[None], zigzag[None]))[0]
    # Each point is 0.04 off the line between its neighbours, whose own scatter is in that: 0.04 / sqrt(1 + 1/4 + 1/4).
    np.testing.assert_allclose(scatter, 0.04 / np.sqrt(1.5), rtol=1e-12)
    assert noise(Points(SIZES[None], zigzag[None], np.full((1, 10), 0.001)))[0] == 0.001
    assert noise(Points(SIZES[None], zigzag[None], np.full((1, 10), 0.9)))[0] == scatter


def test_a_straight_line_has_the_least_scatter_there_is() -> None:
    assert noise(Points(SIZES[None], (0.5 - 0.02 * np.log(SIZES))[None]))[0] == FLOOR


def test_clear_curves_forget_faster() -> None:
    points = Points(SIZES[None], (0.1 + SIZES**-0.5)[None])
    weights = [recency(points, np.array([sigma]))[0] for sigma in (1e-4, 0.002, 0.5)]
    assert weights[0] > weights[1] > weights[2]
    assert weights[0] <= FASTEST
    assert weights[2] == SLOWEST


def test_curves_of_different_lengths_are_treated_as_if_alone() -> None:
    short = Points.of([SIZES[4:]], [0.1 + SIZES[4:] ** -0.5 + 0.01 * np.sin(SIZES[4:])])
    both = Points.of([SIZES, SIZES[4:]], [0.2 + SIZES**-0.3, 0.1 + SIZES[4:] ** -0.5 + 0.01 * np.sin(SIZES[4:])])
    np.testing.assert_allclose(noise(both)[1], noise(short)[0], rtol=1e-12)
    np.testing.assert_allclose(both.end(3)[1], short.end(3)[0], rtol=1e-12)
    np.testing.assert_allclose(both.around(0.25)[1], short.around(0.25)[0], rtol=1e-12)


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
