"""A search over rows in time order: the selection for each period knows the periods before it only."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor

from truefit import Engine, HonestSearchCV, PerturbedSearch
from truefit._core.errors import InvalidInput

GRID = {"n_neighbors": [1, 4, 8]}
N = 90
_random = np.random.default_rng(7)
X = _random.normal(size=(N, 2))
Y = X[:, 0] * np.linspace(-1, 2, N) + 0.4 * _random.normal(size=N)
TIME = np.arange(N)


def search(**options):
    return HonestSearchCV(KNeighborsRegressor(), GRID, scoring="neg_mean_squared_error", **options)


def table(cv):
    """Squared errors of shape (candidates, periods), by hand."""
    return np.array([
        [
            mean_squared_error(Y[test], KNeighborsRegressor(k).fit(X[train], Y[train]).predict(X[test]))
            for train, test in cv.split(X)
        ]
        for k in GRID["n_neighbors"]
    ])  # fmt: skip


@pytest.mark.parametrize("shuffled", [False, True])
def test_nested_selection_is_that_by_hand_and_needs_no_further_fits(shuffled):
    order = np.random.default_rng(2).permutation(N) if shuffled else np.arange(N)
    engine = Engine(solvers="plain")
    found = search(engine=engine, refit=False).fit(X[order], Y[order], time=TIME[order])
    errors = table(TimeSeriesSplit(5))
    np.testing.assert_allclose(-found.cv_results_["mean_test_score"], errors.mean(axis=1))
    assert engine.stats.run == 5 * 3
    chosen = [int(errors[:, :i].mean(axis=1).argmin()) for i in range(1, 5)]
    assert found.assessment_.chosen == [f"n_neighbors={GRID['n_neighbors'][each]}" for each in chosen]
    nested = [errors[each, i] for i, each in enumerate(chosen, start=1)]
    assert found.assessment_.estimate == pytest.approx(-np.mean(nested))
    assert len(set(chosen)) > 1  # or the test could not fail
    text = found.assessment_.summary()
    assert "Student's t for the next of 4 periods" in text
    assert "the periods before each of the last 4 inside" in text
    assert found.assessment_.table["from"].tolist() == [30, 45, 60, 75]
    assert found.assessment_.plot("time").get_xlabel() == "time"


def test_a_race_and_a_splitter_select_as_without():
    plain = search(cv=TimeSeriesSplit(8, gap=2)).fit(X, Y, time=TIME)
    assert len(plain.assessment_.chosen) == 6  # no period ends before the gap of the second one
    raced = search(race="folds", cv=8).fit(X, Y, time=TIME)
    whole = search(cv=8).fit(X, Y, time=TIME)
    assert raced.best_params_ == whole.best_params_
    assert len(raced.assessment_.chosen) == 7
    with pytest.raises(InvalidInput, match="A race over 'sizes' draws rows at random"):
        search(race="sizes").fit(X, Y, time=TIME)


def test_a_named_column_is_no_feature_and_failures_count_once():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(day=TIME)
    found = search().fit(frame, Y, time="day")
    assert found.feature_names_in_.tolist() == ["a", "b"]
    assert found.predict(frame[["a", "b"]]).shape == (N,)
    grid = {"n_neighbors": [1, 20]}  # more neighbours than rows before the first period
    with pytest.warns((FitFailedWarning, UserWarning)) as caught:
        HonestSearchCV(KNeighborsRegressor(), grid, cv=5).fit(frame, Y, time="day")
    assert any(str(each.message).startswith("1 fits failed out of a total of 10.") for each in caught)


def test_ties_of_perturbed_validation_are_broken_by_the_periods():
    found = PerturbedSearch(KNeighborsRegressor(), GRID, levels=[0.5], repeats=2).fit(X, Y, time=TIME)
    assert found.perturbation_.errors.description == "forward-chaining over 5 periods"
