"""The no-information error against the mean over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._stats.bootstrap_error import (
    no_information_absolute,
    no_information_error,
    no_information_squared,
    no_information_zero_one,
)

random = np.random.default_rng(0)


def test_zero_one_by_hand() -> None:
    # Two classes as Efron and Tibshirani have it: p(1 - q) + (1 - p)q, with p = 3/5 and q = 2/5.
    truth, predicted = [1, 1, 1, 0, 0], [1, 0, 0, 0, 1]
    assert no_information_zero_one(truth, predicted) == pytest.approx(0.6 * 0.6 + 0.4 * 0.4)


def test_zero_one_is_the_mean_over_all_pairs() -> None:
    truth, predicted = random.choice(list("abc"), 40), random.choice(list("abcd"), 40)
    assert no_information_zero_one(truth, predicted) == pytest.approx(np.mean(truth[:, None] != predicted))


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_and_absolute_are_the_means_over_all_pairs(offset: float) -> None:
    truth, predicted = offset + random.normal(size=50), offset + random.normal(0.3, 2, size=50).round(1)
    difference = truth[:, None] - predicted
    assert no_information_squared(truth, predicted) == pytest.approx(np.mean(difference**2), rel=1e-9)
    assert no_information_absolute(truth, predicted) == pytest.approx(np.mean(np.abs(difference)), rel=1e-9)


def test_any_loss_goes_through_all_pairs_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = random.integers(0, 3, size=30)
    predicted = random.dirichlet(np.ones(3), size=30)
    monkeypatch.setattr("truefit._stats.bootstrap_error._BLOCK", 70)

    def log_loss(y: np.ndarray, f: np.ndarray) -> np.ndarray:
        assert len(y) <= 70
        return -np.log(f[np.arange(len(y)), y])

    assert no_information_error(truth, predicted, log_loss) == pytest.approx(-np.mean(np.log(predicted[:, truth])))
    numbers = random.normal(size=(2, 30))
    found = no_information_error(*numbers, lambda y, f: (y - f) ** 2)
    assert found == pytest.approx(no_information_squared(*numbers))
