"""A fitted Agghoo is written without pickle and comes back the same."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import AgghooClassifier, AgghooRegressor, Engine

skops = pytest.importorskip("skops.io")

XI, yi = load_iris(return_X_y=True)
X, y = load_diabetes(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[yi]
GRID = {"n_neighbors": [1, 9, 30]}
NETWORK = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,), max_iter=10, random_state=0))


@pytest.mark.parametrize(
    ("agghoo", "X", "y"),
    [
        (AgghooClassifier(KNeighborsClassifier(), GRID, engine=Engine()), XI, NAMES),
        (AgghooClassifier(KNeighborsClassifier(), GRID, aggregate="vote", cv=3), XI, yi),
        (AgghooRegressor([("network", NETWORK), ("ridge", Ridge())], cv=3), X, y),
        (AgghooRegressor(GradientBoostingRegressor(n_estimators=10, random_state=0), cv=3), X, y),
    ],
    ids=["soft", "vote", "epochs and others", "boosting"],
)
def test_what_is_loaded_predicts_and_tells_the_same(agghoo, X, y, tmp_path):
    agghoo.fit(X, y)
    place = tmp_path / "model.skops"
    skops.dump(agghoo, place)
    needed = skops.get_untrusted_types(file=place)
    assert all(name.startswith(("truefit.estimators.agghoo.", "sklearn.")) for name in needed)
    loaded = skops.load(place, trusted=needed)
    assert np.array_equal(loaded.predict(X), agghoo.predict(X))
    assert loaded.selection_.equals(agghoo.selection_)
    assert loaded.selection_["stage"].dtype == "Int64"
    assert loaded.engine is None
    assert np.array_equal(loaded.validation_scores_, agghoo.validation_scores_)
    if hasattr(agghoo, "predict_proba"):
        assert np.array_equal(loaded.predict_proba(X), agghoo.predict_proba(X))
    again = loaded.fit(X, y)
    assert np.array_equal(again.predict(X), agghoo.predict(X))


def test_what_was_not_agreed_to_is_not_loaded(tmp_path):
    place = tmp_path / "model.skops"
    skops.dump(AgghooRegressor(Ridge()).fit(X, y), place)
    with pytest.raises(TypeError, match="AgghooRegressor"):
        skops.load(place, trusted=[])


def test_an_estimator_that_is_not_fitted_and_a_pickle():
    agghoo = AgghooRegressor(Ridge(), engine=Engine())
    assert skops.loads(skops.dumps(agghoo), trusted=["truefit.estimators.agghoo.AgghooRegressor"]).engine is None
    assert agghoo.engine is not None
    fitted = agghoo.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.selection_.equals(fitted.selection_)
