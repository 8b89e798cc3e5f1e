"""Bootstrap errors by hand, against loops that follow the definitions, and on learners whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from truefit._core.errors import InvalidInput
from truefit._stats.bootstrap_error import OutOfBag, bbc, bootstrap_error, no_information_zero_one
from truefit._stats.clustered import design_effect
from truefit._stats.intervals import Tail, around_skewed, wilson

Z = 1.959963984540054


def drawn(models: int, n: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.array([np.bincount(random.integers(0, n, n), minlength=n) for _ in range(models)])


def losses_of(counts: np.ndarray, seed: int = 0, model_sd: float = 0.5) -> np.ndarray:
    """Losses with an effect of the row, of the model, and of both; NaN where the row was in the sample."""
    random = np.random.default_rng(seed)
    models, n = counts.shape
    every = random.exponential(size=n) + model_sd * random.normal(size=(models, 1)) + random.normal(size=counts.shape)
    return np.where(counts == 0, every, np.nan)


def out_of_bag(losses: npt.ArrayLike, counts: npt.ArrayLike) -> OutOfBag:
    drawn = np.asarray(counts)
    bag = OutOfBag(drawn.shape[1])
    for line, times in zip(np.asarray(losses), drawn, strict=True):
        bag.add(line, times)
    return bag


def loo_by_loops(losses: np.ndarray, counts: np.ndarray) -> tuple[float, list[float]]:
    means = []
    for i in range(losses.shape[1]):
        found = [losses[b, i] for b in range(len(losses)) if counts[b, i] == 0]
        means.append(sum(found) / len(found))
    return sum(means) / len(means), means


def test_leave_one_out_bootstrap_by_hand() -> None:
    nan = math.nan
    # Row 0 is left out once, loss 4; row 1 twice, losses 1 and 3; row 2 never; row 3 three times, mean 2.
    losses = [[4, 1, nan, 1], [nan, 3, nan, 2], [nan, nan, nan, 3]]
    counts = [[0, 0, 4, 0], [1, 0, 3, 0], [1, 1, 2, 0]]
    bag = out_of_bag(losses, counts)
    assert bag.error == pytest.approx((4 + 2 + 2) / 3)
    assert bag.error_of_rows == pytest.approx([4, 2, nan, 2], nan_ok=True)
    assert (bag.models, bag.rows, bag.never_left_out) == (3, 4, 1)


def test_it_is_the_mean_per_row_first_and_not_over_all_losses() -> None:
    counts = drawn(30, 20)
    losses = losses_of(counts)
    bag = out_of_bag(losses, counts)
    error, means = loo_by_loops(losses, counts)
    assert bag.error == pytest.approx(error)
    assert bag.error_of_rows == pytest.approx(means)
    assert bag.error != pytest.approx(np.nanmean(losses))


def test_models_may_come_one_by_one_and_in_sample_losses_are_not_looked_at() -> None:
    counts = drawn(12, 15, seed=3)
    losses = losses_of(counts, seed=3)
    bag = OutOfBag(15)
    for line, times in zip(losses, counts, strict=True):
        bag.add(np.where(np.isnan(line), 1e9, line), times)
    whole = out_of_bag(losses, counts)
    assert bag.error == whole.error
    assert bag.spread() == whole.spread()


def test_spread_is_the_loop() -> None:
    counts = drawn(50, 30, seed=5)
    losses = losses_of(counts, seed=5)
    out = counts == 0
    _, means = loo_by_loops(losses, counts)
    moved, sizes = [], []
    for b in range(50):
        beyond = [losses[b, i] - means[i] for i in range(30) if out[b, i]]
        moved.append(sum(beyond) / len(beyond))
        sizes.append(len(beyond))
    left = sum((losses[b, i] - means[i] - moved[b]) ** 2 for b in range(50) for i in range(30) if out[b, i])
    noise = left / (out.sum() - 30 - 50 + 1)
    variance, tau2 = out_of_bag(losses, counts).spread()
    assert variance == pytest.approx(np.nanvar(losses, ddof=1))
    assert tau2 == pytest.approx(np.var(moved, ddof=1) - noise * np.mean(1 / np.array(sizes)))


def test_tau_is_the_variance_of_the_models() -> None:
    found = []
    for seed in range(20):
        counts = drawn(100, 60, seed)
        found.append(out_of_bag(losses_of(counts, seed, model_sd=0.5), counts).spread()[1])
    assert np.mean(found) == pytest.approx(0.25, rel=0.1)


def test_models_that_lose_alike_do_not_move() -> None:
    counts = drawn(40, 30, seed=6)
    row = np.random.default_rng(6).exponential(size=30)
    assert out_of_bag(np.tile(row, (40, 1)), counts).spread()[1] == pytest.approx(0.0, abs=1e-12)


def test_interval_by_hand() -> None:
    counts = drawn(60, 40, seed=7)
    losses = losses_of(counts, seed=7)
    bag = out_of_bag(losses, counts)
    variance, tau2 = bag.spread()
    found = bootstrap_error(bag, rule="loo", zero_one=False)
    se = math.sqrt(1.21 * variance / 40 + tau2)
    sd = math.sqrt(variance / 40)
    low, high = around_skewed(bag.error, sd, Tail.of(bag.error_of_rows), factor=se / sd)
    assert found[:5] == pytest.approx((bag.error, low, high, se, tau2))
    assert found.weight == 1.0
    # The .632 estimate is drawn towards the apparent error, by .368 of the gap: a third of its square is added.
    pulled = bootstrap_error(bag, rule=".632", zero_one=False, apparent=np.full(40, 0.5))
    gap = 0.368 * (bag.error - 0.5)
    assert pulled.estimate == pytest.approx(0.368 * 0.5 + 0.632 * bag.error)
    assert pulled.se == pytest.approx(math.sqrt(se**2 + gap**2 / 3))


def test_zero_one_is_wilson_at_the_effective_size() -> None:
    counts = drawn(60, 40, seed=8)
    losses = np.where(counts == 0, losses_of(counts, seed=8) > 1.5, np.nan)
    bag = out_of_bag(losses, counts)
    variance, _ = bag.spread()
    found = bootstrap_error(bag, rule="loo", zero_one=True, level=0.9)
    assert (found.low, found.high) == pytest.approx(wilson(bag.error, variance / found.se**2, 0.9))


def test_the_nearest_neighbour_is_its_own_and_has_no_apparent_error() -> None:
    # So .632 is .632 times the leave-one-out bootstrap exactly.
    X, y = load_iris(return_X_y=True)
    counts = drawn(30, len(y))
    bag = OutOfBag(len(y))
    for times in counts:
        rows = np.repeat(np.arange(len(y)), times)
        bag.add(KNeighborsClassifier(1).fit(X[rows], y[rows]).predict(X) != y, times)
    fitted = KNeighborsClassifier(1).fit(X, y).predict(X)
    apparent = (fitted != y).astype(float)
    assert apparent.sum() == 0
    found = bootstrap_error(bag, rule=".632", zero_one=True, apparent=apparent)
    assert found.estimate == 0.632 * bag.error
    assert bag.error > 0
    gamma = no_information_zero_one(y, fitted)
    plus = bootstrap_error(bag, rule=".632+", zero_one=True, apparent=apparent, no_information=gamma)
    rate = bag.error / (2 / 3)
    assert plus.overfitting == pytest.approx(rate)
    assert plus.estimate == pytest.approx(0.632 / (1 - 0.368 * rate) * bag.error)


@pytest.fixture
def guessing() -> OutOfBag:
    """Out-of-bag losses of a guess: about one half."""
    counts = drawn(40, 50, seed=9)
    return out_of_bag(np.random.default_rng(9).integers(0, 2, size=counts.shape), counts)


def test_total_overfitting_is_the_leave_one_out_bootstrap_or_no_information(guessing: OutOfBag) -> None:
    zeros = np.zeros(50)
    error = guessing.error
    found = bootstrap_error(guessing, rule=".632+", zero_one=True, apparent=zeros, no_information=error)
    assert (found.overfitting, found.weight, found.estimate) == pytest.approx((1.0, 1.0, error))
    capped = bootstrap_error(guessing, rule=".632+", zero_one=True, apparent=zeros, no_information=error - 0.1)
    assert (capped.overfitting, capped.weight, capped.estimate) == pytest.approx((1.0, 1.0, error - 0.1))


@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_no_overfitting_has_the_weights_of_632(guessing: OutOfBag, gap: float) -> None:
    # The apparent error is no lower than the leave-one-out bootstrap.
    apparent = (np.arange(50) < math.ceil((guessing.error + gap) * 50)).astype(float)
    assert apparent.mean() >= guessing.error
    found = bootstrap_error(guessing, rule=".632+", zero_one=True, apparent=apparent, no_information=0.9)
    plain = bootstrap_error(guessing, rule=".632", zero_one=True, apparent=apparent)
    assert (found.overfitting, found.weight) == (0.0, 0.632)
    assert found.estimate == pytest.approx(plain.estimate)


def test_no_information_below_the_apparent_error_counts_as_no_overfitting(guessing: OutOfBag) -> None:
    apparent = np.repeat([1.0, 0.0], [20, 30])
    found = bootstrap_error(guessing, rule=".632+", zero_one=True, apparent=apparent, no_information=0.3)
    assert (found.overfitting, found.weight) == (0.0, 0.632)
    assert found.estimate == pytest.approx(0.368 * 0.4 + 0.632 * 0.3)


def test_half_overfitted_by_hand(guessing: OutOfBag) -> None:
    apparent = np.repeat([1.0, 0.0], [10, 40])
    gamma = 0.2 + 2 * (guessing.error - 0.2)
    found = bootstrap_error(guessing, rule=".632+", zero_one=True, apparent=apparent, no_information=gamma)
    weight = 0.632 / (1 - 0.368 / 2)
    assert found.overfitting == pytest.approx(0.5)
    assert found.weight == pytest.approx(weight)
    assert found.estimate == pytest.approx((1 - weight) * 0.2 + weight * guessing.error)


def test_without_a_single_error() -> None:
    counts = drawn(20, 30)
    bag = out_of_bag(np.zeros((20, 30)), counts)
    for rule in ("loo", ".632", ".632+"):
        found = bootstrap_error(bag, rule=rule, zero_one=True, apparent=np.zeros(30), no_information=0.5)
        assert (found.estimate, found.se, found.tau2) == (0.0, 0.0, 0.0)
        assert (found.low, found.high) == wilson(0.0, 30 / 1.44)


def test_refuses_what_it_cannot_use(guessing: OutOfBag) -> None:
    with pytest.raises(InvalidInput, match="must be finite"):
        guessing.add(np.full(50, np.nan), np.repeat([2, 0], 25))
    with pytest.raises(InvalidInput, match="needs an out-of-bag row"):
        OutOfBag(5).error
    with pytest.raises(InvalidInput, match="more samples"):
        out_of_bag([[1.0, 0.0]], [[2, 0]]).spread()


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
    monkeypatch.setattr("truefit._stats.bootstrap_error._DRAWS_BLOCK", 640)
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


def test_bbc_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InvalidInput, match="at least 2 rows and a column per candidate"):
        bbc([0.0, 1.0], seed=0, zero_one=True)
    with pytest.raises(InvalidInput, match="must be finite"):
        bbc([[0.0], [math.nan]], seed=0, zero_one=False)
    with pytest.raises(InvalidInput, match="must be 0 or 1"):
        bbc([[0.0], [0.5]], seed=0, zero_one=True)
