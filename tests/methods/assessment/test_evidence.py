"""What an assessment says of skewed losses: heavy tails, few rows per column, losses too large to compute with."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from truefit import assess, compare
from truefit._methods.assessment.evidence import gain_of_all_rows
from truefit._stats.intervals import Tail, pooled

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3))
NORMAL, HEAVY = X[:, 0] + RNG.normal(size=100), X[:, 0] + RNG.standard_t(1.5, size=100)


class Constant(RegressorMixin, BaseEstimator):
    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


def test_heavy_tails_are_noted_with_their_numbers():
    found = assess(Ridge(), X, HEAVY, metric="mse", cv=5)
    losses = np.concatenate(found.row_losses("Ridge"))
    tail = Tail.of(losses)
    assert tail.heavy
    note = next(note for note in found.notes if "heavy tail" in note)
    assert f"largest 1% of them carry {np.sort(losses)[-1] / losses.sum():.0%}" in note
    assert found.interval == pytest.approx(
        (max(0.0, pooled(losses, zero_one=False)[0]), pooled(losses, zero_one=False)[1])
    )
    assert not any("heavy tail" in note for note in assess(Ridge(), X, NORMAL, metric="mse", cv=5).notes)


@pytest.mark.parametrize("interval", ["auto", "triangle"])
def test_rmse_has_the_roots_of_the_ends(interval):
    mse, rmse = (assess(Ridge(), X, NORMAL, metric=name, cv=5, interval=interval).interval for name in ("mse", "rmse"))
    assert np.square(rmse) == pytest.approx(mse)


def test_few_rows_per_column_extend_the_better_end():
    wide = RNG.normal(size=(60, 30))
    y = wide.sum(axis=1) + RNG.normal(size=60)
    found = assess(Ridge(), wide, y, metric="mse", cv=5)
    low, high = pooled(np.concatenate(found.row_losses("Ridge")), zero_one=False)
    reach = gain_of_all_rows(60, 48, 30) * found.estimate
    # Least squares: 59/29 at 60 rows, 47/17 at 48.
    assert gain_of_all_rows(60, 48, 30) == pytest.approx(1 - (59 / 29) / (47 / 17))
    assert found.interval == pytest.approx((max(0.0, low - reach), high))
    assert "48 rows of 30 columns" in " ".join(found.notes)
    labels = (y > 0).astype(int)
    assert "columns" not in " ".join(assess(LogisticRegression(), wide, labels, metric="error", cv=5).notes)


def test_paired_differences_have_a_p_value_that_agrees_with_their_interval():
    found = compare({"ridge": Ridge(), "mean": DummyRegressor()}, X, HEAVY, metric="mse", test="pooled", cv=5)
    pair = found.pairs[0].found
    assert pair.factors != (1.0, 1.0)
    low, high = pair.interval(1 - pair.p)
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-6 * (high - low))


@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "r2"])
def test_losses_that_cannot_be_used_have_no_interval_and_a_reason(metric):
    huge = assess(Constant(1e200), X, NORMAL, metric=metric, cv=5)
    assert huge.interval is None
    assert huge.interval_reason.endswith("too large to compute with; check the predictions")
    equal = assess(Constant(0.0), X, np.ones(100), metric=metric, cv=5)
    assert equal.interval is None
    assert "same" in equal.interval_reason or "vary" in equal.interval_reason
