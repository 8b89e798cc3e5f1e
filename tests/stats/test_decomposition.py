"""The parts of an expected loss, against loops that hold every prediction."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.decomposition import SquaredTally, ZeroOneTally, monte_carlo_error


def some_rounds(points, rounds, draw, *, seed=0, share=0.4):
    """Which points each round judges, and what it says of them."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(rounds):
        index = np.flatnonzero(rng.random(points) < share)
        found.append((index, draw(rng, len(index))))
    return found


def by_point(found, points):
    said = [[] for _ in range(points)]
    for index, predictions in found:
        for i, value in zip(index, predictions, strict=True):
            said[i].append(value)
    return said


def filled(tally, found):
    for index, predictions in found:
        tally.add(index, predictions)
    return tally


def test_squared_parts_equal_those_of_a_loop_over_all_predictions() -> None:
    truth = np.random.default_rng(1).normal(size=30)
    found = some_rounds(30, 25, lambda rng, n: rng.normal(1, 2, n))
    parts = filled(SquaredTally(truth), found).parts()
    loss, bias, variance = [], [], []
    for y, said in zip(truth, by_point(found, 30), strict=True):
        loss.append(np.mean((np.array(said) - y) ** 2))
        variance.append(np.var(said, ddof=1))
        bias.append((np.mean(said) - y) ** 2 - variance[-1] / len(said))
    assert np.isclose(parts.expected_loss, np.mean(loss), rtol=1e-12)
    assert np.isclose(parts.variance, np.mean(variance), rtol=1e-12)
    assert np.isclose(parts.bias, np.mean(bias), rtol=1e-12)
    assert abs(parts.bias + parts.variance - np.mean(loss)) < 1e-10


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_large_bias_does_not_eat_a_small_variance(offset) -> None:
    found = [(np.arange(2), offset + np.array([1.0, 3.0]) * r) for r in range(4)]
    parts = filled(SquaredTally(np.zeros(2)), found).parts()
    assert np.isclose(parts.variance, (np.var([0, 1, 2, 3], ddof=1) + np.var([0, 3, 6, 9], ddof=1)) / 2, rtol=1e-6)


def test_several_outputs_are_averaged_and_a_scale_multiplies_their_sum() -> None:
    found = [(np.arange(1), np.array([[1.0, 5.0]])), (np.arange(1), np.array([[3.0, 5.0]]))]
    mean = filled(SquaredTally(np.zeros((1, 2))), found).parts()
    # Losses (1 + 25) / 2 and (9 + 25) / 2; the first output has variance 2, of two predictions.
    assert (mean.expected_loss, mean.variance, mean.bias) == (15.0, 1.0, 14.0)
    assert filled(SquaredTally(np.zeros((1, 2)), scale=1.0), found).parts().expected_loss == 30.0


def test_the_squared_parts_do_not_depend_on_the_number_of_rounds_on_average() -> None:
    # Truth 0, predictions of mean 1 and variance 4: bias² 1, variance 4. A plain mean over 3 rounds would say 2.33 and
    # 2.67.
    rng = np.random.default_rng(3)
    tally = SquaredTally(np.zeros(20_000))
    for _ in range(3):
        tally.add(np.arange(20_000), rng.normal(1, 2, 20_000))
    parts = tally.parts()
    assert abs(parts.bias - 1) < 0.1
    assert abs(parts.variance - 4) < 0.1


def test_a_squared_bias_is_never_below_zero() -> None:
    found = [(np.arange(1), np.array([-1.0])), (np.arange(1), np.array([1.0]))]
    parts = filled(SquaredTally(np.zeros(1)), found).parts()
    assert (parts.bias, parts.variance, parts.expected_loss) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_zero_one_parts_equal_those_of_a_loop_over_all_predictions(classes) -> None:
    truth = np.random.default_rng(1).integers(classes, size=60)
    found = some_rounds(
        60, 30, lambda rng, n: rng.choice(classes, n, p=np.arange(1, classes + 1) / np.arange(1, classes + 1).sum())
    )
    parts = filled(ZeroOneTally(truth, classes=classes, rounds=30), found).parts()
    loss, bias, unbiased, biased = [], [], [], []
    for y, said in zip(truth, by_point(found, 60), strict=True):
        said = np.array(said)
        main = np.bincount(said).argmax()  # of equally frequent ones the smallest
        away = said[said != main]
        c = np.mean(away == y) if len(away) else 0.0
        variance = len(away) / len(said)
        assert classes > 2 or main == y or c in (0.0, 1.0)  # of two classes the other one is right
        loss.append(np.mean(said != y))
        bias.append(main != y)
        unbiased.append(variance if main == y else 0.0)
        biased.append(c * variance if main != y else 0.0)
        assert np.isclose(loss[-1], bias[-1] + unbiased[-1] - biased[-1], atol=1e-15)
    assert np.isclose(parts.expected_loss, np.mean(loss), rtol=1e-13)
    assert np.isclose(parts.bias, np.mean(bias), rtol=1e-13)
    assert np.isclose(parts.unbiased_variance, np.mean(unbiased), rtol=1e-13)
    assert np.isclose(parts.biased_variance, np.mean(biased), rtol=1e-13)
    assert parts.variance == parts.unbiased_variance - parts.biased_variance
    assert abs(parts.bias + parts.variance - parts.expected_loss) < 1e-14


def test_of_equally_frequent_classes_the_first_is_the_main_prediction() -> None:
    found = [(np.arange(2), np.array([2, 1])), (np.arange(2), np.array([1, 2]))]
    parts = filled(ZeroOneTally(np.array([1, 2]), classes=3, rounds=2), found).parts()
    # Main prediction 1 for both: right for the first, wrong for the second.
    assert (parts.bias, parts.unbiased_variance, parts.biased_variance, parts.expected_loss) == (0.5, 0.25, 0.25, 0.5)


def test_points_that_fewer_than_two_rounds_judged_are_counted_and_left_out() -> None:
    found = [(np.array([0, 1]), np.array([1.0, 9.0])), (np.array([0]), np.array([3.0]))]
    parts = filled(SquaredTally(np.zeros(3)), found).parts()
    assert (parts.points, parts.left_out) == (1, 2)
    assert parts.expected_loss == 5.0
    coded = [(index, predictions.astype(int) % 2) for index, predictions in found]
    parts = filled(ZeroOneTally(np.zeros(3, int), classes=2, rounds=2), coded).parts()
    assert (parts.points, parts.left_out, parts.expected_loss) == (1, 2, 1.0)
    with pytest.raises(InvalidInput, match="use more rounds"):
        filled(SquaredTally(np.zeros(3)), found[:1]).parts()


def test_weights_are_those_of_the_points() -> None:
    found = some_rounds(3, 12, lambda rng, n: rng.normal(size=n), share=0.8)
    weighted = filled(SquaredTally(np.zeros(3), weight=np.array([2.0, 1.0, 0.0])), found).parts()
    single = [filled(SquaredTally(np.zeros(3), weight=np.eye(3)[i]), found).parts() for i in range(3)]
    assert np.isclose(weighted.expected_loss, (2 * single[0].expected_loss + single[1].expected_loss) / 3)
    with pytest.raises(InvalidInput, match="not all be 0"):
        filled(SquaredTally(np.zeros(3), weight=np.zeros(3)), found).parts()


def test_counts_do_not_overflow_at_the_number_of_rounds_that_was_announced() -> None:
    tally = ZeroOneTally(np.zeros(1, int), classes=2, rounds=300)
    for _ in range(300):
        tally.add(np.array([0]), np.array([1]))
    assert tally.parts().expected_loss == 1.0


@pytest.mark.parametrize("kind", ["squared", "0-1"])
def test_the_monte_carlo_error_is_the_spread_over_repetitions(kind) -> None:
    rng = np.random.default_rng(5)
    centre = rng.normal(size=40)
    estimates, errors = [], []
    for seed in range(150):
        if kind == "squared":
            tally = SquaredTally(np.zeros(40))
            # Predictions of one round move together, as those of one model do.
            draw = lambda rng, n: rng.normal() + rng.normal(0, 0.5, n) + 1  # noqa: E731
        else:
            tally = ZeroOneTally((centre > 0).astype(int), classes=2, rounds=40)
            draw = lambda rng, n: (rng.normal() + rng.normal(0, 0.5, n) > 0).astype(int)  # noqa: E731
        found = some_rounds(40, 40, draw, seed=seed)
        influences = [filled(tally, found).influence(*found[0])] + [tally.influence(*each) for each in found[1:]]
        parts = tally.parts()
        estimates.append((parts.expected_loss, parts.bias, parts.variance))
        errors.append(
            [
                monte_carlo_error([getattr(p, name) for p in influences])
                for name in ("expected_loss", "bias", "variance")
            ]
        )
    spread, said = np.std(estimates, axis=0, ddof=1), np.mean(errors, axis=0)
    known = slice(None) if kind == "squared" else slice(1)
    np.testing.assert_allclose(said[known], spread[known], rtol=0.2)
    assert np.isnan(said[1:]).all() == (kind == "0-1")
