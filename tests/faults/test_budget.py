"""A budget stops a fit that is running, whatever it does, and what was finished is the answer."""

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from truefit import Engine, learning_curve, study
from truefit._core.errors import BudgetSpent

X, y = make_classification(200, 4, random_state=0)


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time from a number of rows on."""

    def __init__(self, seconds=100.0, from_rows=0):
        self.seconds = seconds
        self.from_rows = from_rows

    def fit(self, X, y):
        if len(X) >= self.from_rows:
            time.sleep(self.seconds)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def within(budget):
    """Seconds that a call with a budget may take."""
    return 1.1 * budget + 5


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_ends_in_time_with_what_it_has(workers):
    models = {"slow": Slow(), "dummy": DummyClassifier(), "bayes": GaussianNB()}
    with Engine(workers=workers, on_error="record") as engine:
        start = time.monotonic()
        result = study(X, y, models, budget=20, engine=engine)
        assert time.monotonic() - start < within(20)
        assert engine.stats.failed == 0  # not done is not failed
    assert result.best == "bayes"
    assert "slow" in str(result)


def test_a_study_of_which_nothing_was_done_in_time_says_so():
    start = time.monotonic()
    with pytest.raises(BudgetSpent, match=r"The time budget of 3 s was exhausted before .* Allow more time") as caught:
        study(X, y, {"slow": Slow()}, budget="3s")
    assert time.monotonic() - start < within(3)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.slow
def test_a_study_that_fitted_the_baseline_alone_calls_no_candidate_bad():
    result = study(X, y, {"slow": Slow(), "dummy": DummyClassifier()}, budget=10)
    assert result.answers[0].headline.startswith("None: the time budget was exhausted before any candidate")
    assert result.answers[2].headline == "Not applicable: only the baseline was fitted."
    assert "TF201" not in [each.code for each in result.findings]


@pytest.mark.slow
def test_a_learning_curve_ends_in_time_with_what_it_has():
    start, limit = time.monotonic(), {"seconds": 8}
    with Engine() as engine:
        curve = learning_curve(Slow(from_rows=70), X, y, cv=3, budget=limit, schedule=[30, 60, 120], engine=engine)
    assert time.monotonic() - start < within(8)
    assert list(curve.sizes) == [30, 60]
    assert curve.rule == "time"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_fit_in_compiled_code_is_stopped(workers):
    rng = np.random.default_rng(0)
    many, noise = rng.normal(size=(30_000, 20)), rng.integers(0, 2, 30_000)
    with Engine(workers=workers, on_error="record") as engine:
        start = time.monotonic()
        result = study(
            many, noise, {"svm": SVC(C=1e9, gamma=5.0), "dummy": DummyClassifier()}, budget=20, engine=engine
        )
        assert time.monotonic() - start < within(20)
        start, limit = time.monotonic(), {"seconds": 3}
        with pytest.raises(BudgetSpent, match="before the first point"):
            learning_curve(SVC(C=1e9, gamma=5.0), many, noise, cv=3, budget=limit, schedule=[30_000], engine=engine)
        assert time.monotonic() - start < within(3)
    assert result.best == "dummy"


def test_a_later_call_without_a_budget_runs_here_again():
    with Engine() as engine:
        study(X, y, {"dummy": DummyClassifier()}, budget=20, engine=engine)
        learning_curve(GaussianNB(), X, y, cv=3, engine=engine)
        assert engine._one_worker is not None
        assert engine._executor_for(with_deadline=False) is engine._executor
        assert engine._executor_for(with_deadline=True) is engine._one_worker
