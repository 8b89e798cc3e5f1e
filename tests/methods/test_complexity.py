import json
from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine
from truefit._core.errors import FitError, InvalidEstimator, InvalidInput
from truefit._methods.complexity import random_signs
from truefit.bounds import rademacher

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200], y[:200]


def test_signs_are_fair_independent_and_follow_the_rows():
    signs = np.array(random_signs(X, 400, None))
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    # Sums over rounds and over rows spread as those of fair coins do.
    assert 0.85 < signs.sum(axis=0).std() / np.sqrt(400) < 1.15
    assert 0.85 < signs.sum(axis=1).std() / np.sqrt(200) < 1.15
    order = np.random.default_rng(0).permutation(200)
    assert np.array_equal(random_signs(X[order], 2, None)[1], signs[1][order])
    assert not np.array_equal(random_signs(X, 1, 5)[0], signs[0])


def test_equal_rows_get_signs_of_their_own_and_a_set_always_has_both():
    same = np.zeros((3, 1))
    assert {tuple(signs) for signs in random_signs(same, 100, None)} == set(product((-1, 1), repeat=3)) - {
        (1, 1, 1),
        (-1, -1, -1),
    }
    with pytest.raises(InvalidInput, match="at least 2 rows"):
        random_signs(np.zeros((1, 1)), 1, None)


def test_a_learner_that_remembers_everything_has_complexity_1():
    result = rademacher(KNeighborsClassifier(1), X, rounds=5)
    assert float(result) == result.value == 1.0
    assert result.interval is None
    assert "fits 100%" in result.reading
    assert result.training_error is None


def test_one_class_for_all_has_the_complexity_of_an_unbalanced_coin():
    result = rademacher(DummyClassifier(), X, rounds=200)
    # The larger class of m fair signs: E|sum| / m, about sqrt(2 / (π m)).
    assert np.isclose(result.value, np.sqrt(2 / (np.pi * 200)), rtol=0.15)
    low, high = result.interval
    assert low < np.sqrt(2 / (np.pi * 200)) < high


def test_the_complexity_of_stumps_on_one_feature_is_that_of_all_thresholds():
    x = np.arange(12.0).reshape(-1, 1)
    stump = DecisionTreeClassifier(max_depth=1, criterion="gini", random_state=0)
    result = rademacher(stump, x, rounds=60)
    best = []
    for signs in random_signs(x, 60, None):
        sides = [np.where(np.arange(12) < cut, side, -side) for cut in range(13) for side in (-1, 1)]
        best.append(max(np.mean(signs * side) for side in sides))
    # Gini is no training error: the tree comes close to the best threshold and never above it.
    assert (result.correlations <= np.array(best) + 1e-12).all()
    assert np.mean(best) - result.value < 0.1


def test_each_round_is_the_training_accuracy_on_its_signs():
    result = rademacher(GaussianNB(), X, y, rounds=4)
    for signs, correlation in zip(random_signs(X, 4, None), result.correlations, strict=True):
        assert np.isclose(correlation, 2 * GaussianNB().fit(X, signs).score(X, signs) - 1, rtol=1e-12)
    assert np.isclose(result.training_error, 1 - GaussianNB().fit(X, y).score(X, y))


def test_labels_do_not_change_the_complexity_and_may_be_words():
    named = np.where(y == 1, "good", "bad")
    plain, told = rademacher(GaussianNB(), X, rounds=5), rademacher(GaussianNB(), X, named, rounds=5)
    assert np.array_equal(plain.correlations, told.correlations)
    assert told.training_error < 0.1


def test_fits_are_shared_and_signs_depend_on_the_seed():
    engine = Engine()
    tree = DecisionTreeClassifier(max_depth=2)
    first = rademacher(tree, X, y, rounds=5, engine=engine)
    rademacher(tree, X, y, rounds=3, engine=engine)
    assert engine.stats.run == 6
    other = rademacher(tree, X, y, rounds=5, random_state=1, engine=engine)
    assert engine.stats.run == 11
    assert not np.array_equal(first.correlations, other.correlations)


def test_signs_are_answered_together_where_a_solver_can():
    auto, plain = Engine(), Engine(solvers="plain")
    together, alone = (rademacher(GaussianNB(), X, y, rounds=5, engine=engine) for engine in (auto, plain))
    assert (auto.stats.run, plain.stats.run) == (1, 6)
    assert np.array_equal(together.correlations, alone.correlations)


def test_the_result_has_what_every_result_has():
    single = rademacher(GaussianNB(), X, y, rounds=4)
    several = rademacher({"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}, X, y, rounds=4)
    assert several.value["bayes"] == single.value == several.table.loc["bayes", "estimate"]
    assert several.value["bayes"] < several.value["tree"]
    assert json.loads(json.dumps(several.to_dict()))["estimators"][1]["name"] == "tree"
    assert "random signs" in several.summary()
    for result in (single, several):
        assert result.plot().get_figure() is not None
        assert "<svg" in result._repr_html_()
    with pytest.raises(TypeError, match="one estimator"):
        float(several)


class Fails(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        if -1 in y:
            raise ValueError("no signs please")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(InvalidEstimator, match="needs a classifier"):
        rademacher(Ridge(), X)
    with pytest.raises(InvalidInput, match="two classes"):
        rademacher(GaussianNB(), X, np.arange(200) % 3)
    with pytest.raises(FitError, match="no signs please"):
        rademacher(Fails(), X, rounds=2)
    with pytest.raises(FitError, match="2 of 3 fits failed"):
        rademacher(Fails(), X, y, rounds=2, engine=Engine(on_error="record"))
