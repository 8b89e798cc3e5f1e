"""Bootstrap bias correction against a loop over the draws, and against selections whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats import selection
from truefit._stats.clustered import design_effect
from truefit._stats.intervals import Tail, around_skewed, wilson
from truefit._stats.selection import bbc

Z = 1.959963984540054


def by_loops(losses: np.ndarray, draws: np.ndarray) -> float:
    """Estimate from the given rows drawn, one draw at a time."""
    found = []
    for drawn in draws:
        inside = losses[drawn]
        left_out = np.setdiff1d(np.arange(len(losses)), drawn)
        if left_out.size:
            found.append(losses[left_out, inside.mean(axis=0).argmin()].mean())
    return float(np.mean(found))


@pytest.mark.parametrize("zero_one", [True, False])
def test_is_the_loop(zero_one: bool) -> None:
    random = np.random.default_rng(1)
    losses = random.integers(0, 2, size=(40, 6)).astype(float) if zero_one else random.exponential(size=(40, 6))
    draws = np.random.default_rng(7).integers(0, 40, size=(200, 40))
    found = bbc(losses, seed=7, draws=200, zero_one=zero_one)
    estimate = by_loops(losses, draws)
    assert found.estimate == pytest.approx(estimate)
    if zero_one:
        assert (found.low, found.high) == pytest.approx(wilson(estimate, 40 / 1.21))
    else:
        winner = losses[:, losses.mean(axis=0).argmin()]
        ends = around_skewed(estimate, winner.std(ddof=1) / math.sqrt(40), Tail.of(winner), factor=1.1)
        assert (found.low, found.high) == pytest.approx(ends)


@pytest.mark.parametrize("zero_one", [True, False])
def test_groups_are_drawn_whole_and_widen_the_interval(zero_one: bool) -> None:
    random = np.random.default_rng(1)
    names = random.permutation(np.repeat(np.arange(25), random.integers(1, 6, 25)))
    losses = (random.random((25, 4)) < 0.3)[names].astype(float)
    if not zero_one:
        losses += random.exponential(size=losses.shape)
    found = bbc(losses, seed=7, draws=200, zero_one=zero_one, groups=[f"group {name}" for name in names])
    draws, estimates = np.random.default_rng(7).integers(0, 25, size=(200, 25)), []
    order = np.argsort([f"group {name}" for name in range(25)])
    for drawn in order[draws]:
        inside = np.concatenate([np.flatnonzero(names == group) for group in drawn])
        left_out = ~np.isin(names, drawn)
        estimates.append(losses[left_out, losses[inside].mean(axis=0).argmin()].mean())
    estimate, winner = float(np.mean(estimates)), losses[:, losses.mean(axis=0).argmin()]
    assert found.estimate == pytest.approx(estimate)
    effective = len(names) / design_effect(winner, names)
    sd = winner.std(ddof=1) / math.sqrt(effective)
    skewed = around_skewed(estimate, sd, Tail.of(winner), factor=1.1, n=effective, df=24)
    ends = wilson(estimate, effective / 1.21, df=24) if zero_one else skewed
    assert (found.low, found.high) == pytest.approx(ends)


def test_by_hand_on_two_rows() -> None:
    # Draws of two rows that leave one out hold the other twice. Row 0 selects candidate 0, which loses 5 on row 1;
    # row 1 selects candidate 1, which loses 3 on row 0.
    losses = np.array([[0.0, 3.0], [5.0, 1.0]])
    draws = np.random.default_rng(0).integers(0, 2, size=(50, 2))
    of_row_0, of_row_1 = (int((draws == row).all(axis=1).sum()) for row in (0, 1))
    expected = (5 * of_row_0 + 3 * of_row_1) / (of_row_0 + of_row_1)
    assert bbc(losses, seed=0, draws=50, zero_one=False).estimate == pytest.approx(expected)


def test_one_candidate_is_only_resampled() -> None:
    losses = np.random.default_rng(3).exponential(size=(300, 1))
    assert bbc(losses, seed=0, zero_one=False).estimate == pytest.approx(losses.mean(), rel=0.01)
    assert bbc(np.zeros((50, 1)), seed=0, zero_one=True)[:3] == (0.0, 0.0, wilson(0.0, 50 / 1.21)[1])


def test_takes_the_optimism_out_of_the_best_of_many() -> None:
    # All candidates guess: the truth is one half, and the best of 50 looks better.
    random = np.random.default_rng(5)
    best, corrected = [], []
    for trial in range(20):
        losses = random.integers(0, 2, size=(100, 50))
        best.append(losses.mean(axis=0).min())
        corrected.append(bbc(losses, seed=trial, draws=200, zero_one=True).estimate)
    assert np.mean(best) < 0.42
    assert np.mean(corrected) == pytest.approx(0.5, abs=0.03)


def test_seeds_decide_and_blocks_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = np.random.default_rng(2).exponential(size=(64, 5))
    found = bbc(losses, seed=4, zero_one=False)
    assert bbc(losses, seed=4, zero_one=False) == found
    assert bbc(losses, seed=5, zero_one=False).estimate != found.estimate
    monkeypatch.setattr(selection, "_BLOCK", 640)
    assert bbc(losses, seed=4, zero_one=False) == pytest.approx(found)


def test_greater_is_better() -> None:
    hits = np.random.default_rng(6).integers(0, 2, size=(80, 4)).astype(float)
    found = bbc(hits, seed=1, zero_one=True, greater_is_better=True)
    mirrored = bbc(1 - hits, seed=1, zero_one=True)
    assert found[:3] == pytest.approx((1 - mirrored.estimate, 1 - mirrored.high, 1 - mirrored.low))


def test_repeats_select_by_their_mean_and_spread_as_one_run() -> None:
    runs = np.random.default_rng(8).exponential(size=(3, 50, 4))
    found = bbc(runs, seed=0, zero_one=False)
    mean = runs.mean(axis=0)
    assert found.estimate == pytest.approx(bbc(mean, seed=0, zero_one=False).estimate)
    sd = runs[:, :, mean.mean(axis=0).argmin()].std(axis=1, ddof=1).mean()
    tail = Tail.mean_of(Tail.of(run) for run in runs[:, :, mean.mean(axis=0).argmin()])
    assert found.high == pytest.approx(around_skewed(found.estimate, sd / math.sqrt(50), tail, factor=1.1)[1])
    assert bbc(runs[:1], seed=0, zero_one=False) == bbc(runs[0], seed=0, zero_one=False)


def test_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InvalidInput, match="at least 2 rows and a column per candidate"):
        bbc([0.0, 1.0], seed=0, zero_one=True)
    with pytest.raises(InvalidInput, match="must be finite"):
        bbc([[0.0], [math.nan]], seed=0, zero_one=False)
    with pytest.raises(InvalidInput, match="must be 0 or 1"):
        bbc([[0.0], [0.5]], seed=0, zero_one=True)
