import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from truefit import Engine, PerturbedSearch, perturb
from truefit._core.errors import FitError, InvalidInput

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200], y[:200]
XD, yd = load_diabetes(return_X_y=True)
DEPTHS = {"max_depth": [1, 2, 3, 8, None]}
FEW = {"levels": [0.25, 0.5], "repeats": 3}
TREE = DecisionTreeClassifier(random_state=0)


@parametrize_with_checks(
    [
        PerturbedSearch(LogisticRegression(), {"C": [0.1, 1.0]}, levels=[0.5], repeats=2, cv=2),
        PerturbedSearch(Ridge(), {"alpha": [0.1, 1.0]}, levels=[0.5], repeats=1, tie_breaker="rate", cv=2),
        PerturbedSearch(
            make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}, levels=[0.5], repeats=1, cv=2
        ),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_it_chooses_what_perturb_says():
    engine = Engine()
    search = PerturbedSearch(TREE, DEPTHS, tie_breaker="rate", engine=engine, **FEW).fit(X, y)
    found = perturb(
        {str(d): clone(TREE).set_params(max_depth=d) for d in DEPTHS["max_depth"]}, X, y, engine=engine, **FEW
    )
    assert engine.stats.run == 5 * (1 + 6) + 5 * 5  # shared with the function
    assert str(search.best_params_["max_depth"]) == found.best
    assert search.best_score_ == found.rate[found.best]
    assert [str(params["max_depth"]) for params in search.ties_] == found.ties
    assert search.results_["estimate"].tolist() == list(found.rate.values())
    assert search.results_["param_max_depth"].tolist()[:4] == [1, 2, 3, 8]
    assert search.perturbation_.verdict["max_depth=None"] in ("memorises", "overfitted")
    assert search.perturbation_.parameter == ("max_depth", DEPTHS["max_depth"])


def test_ties_are_broken_as_asked():
    searches = {
        how: PerturbedSearch(TREE, {"max_depth": [3, 2, 1, 8]}, tie_breaker=how, **FEW).fit(X, y)
        for how in ("cv", "first", "rate")
    }
    ties = searches["cv"].ties_
    assert len(ties) > 1
    assert {"max_depth": 8} not in ties
    assert searches["first"].best_params_ == ties[0]
    errors = searches["cv"].results_.set_index("param_max_depth")["cv_error"]
    best = searches["cv"].best_params_["max_depth"]
    assert errors[best] == min(errors[params["max_depth"]] for params in ties)
    rates = searches["rate"].results_["estimate"]
    assert searches["rate"].best_index_ == rates.argmax()


def test_the_model_is_the_chosen_one_fitted_on_all_rows():
    search = PerturbedSearch(TREE, DEPTHS, **FEW).fit(X, y)
    by_hand = clone(TREE).set_params(**search.best_params_).fit(X, y)
    assert np.array_equal(search.predict(X), by_hand.predict(X))
    assert np.array_equal(search.predict_proba(X), by_hand.predict_proba(X))
    assert search.score(X, y) == by_hand.score(X, y)
    assert search.classes_.tolist() == [0, 1]
    assert search.refit_time_ >= 0
    without = PerturbedSearch(TREE, DEPTHS, refit=False, **FEW).fit(X, y)
    assert without.best_params_ == search.best_params_
    assert not hasattr(without, "best_estimator_")


def test_results_have_the_shape_of_grid_searches():
    search = PerturbedSearch(TREE, DEPTHS, **FEW).fit(X, y)
    theirs = GridSearchCV(TREE, DEPTHS, cv=2).fit(X, y)
    for name in ("params", "param_max_depth", "mean_test_score", "std_test_score", "rank_test_score", "mean_fit_time"):
        assert len(search.cv_results_[name]) == len(theirs.cv_results_[name])
    assert search.cv_results_["params"] == theirs.cv_results_["params"]
    rates = search.perturbation_.by_name.values()
    assert search.cv_results_["mean_test_score"].tolist() == [each.rate for each in rates]
    assert search.cv_results_["std_test_score"].tolist() == [each.rates.std() for each in rates]
    assert search.cv_results_["rank_test_score"][search.cv_results_["mean_test_score"].argmax()] == 1


def test_it_stands_where_grid_search_can():
    search = PerturbedSearch(KNeighborsClassifier(), {"n_neighbors": [1, 15]}, engine=Engine(), **FEW)
    assert clone(search).engine is search.engine
    assert make_pipeline(StandardScaler(), search).fit(X, y).score(X, y) > 0.9
    assert len(cross_val_score(search, X, y, cv=2)) == 2
    outer = GridSearchCV(search, {"repeats": [2, 3]}, cv=2).fit(X, y)
    assert outer.best_params_["repeats"] in (2, 3)
    steps = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    nested = PerturbedSearch(steps, {"decisiontreeclassifier__max_depth": [1, None]}, **FEW).fit(X, y)
    assert nested.best_params_ == {"decisiontreeclassifier__max_depth": 1}


def test_pickling_leaves_the_engine_and_the_table_behind():
    big = np.hstack([X, np.zeros((200, 1000))])
    search = PerturbedSearch(Ridge(), {"alpha": [1.0, 2.0]}, engine=Engine(), **FEW).fit(big, y.astype(float))
    stored = pickle.dumps(search)
    again = pickle.loads(stored)
    assert again.engine is None
    assert len(stored) < big.nbytes / 10
    assert np.array_equal(again.predict(big), search.predict(big))
    assert again.results_.equals(search.results_)


def test_several_grids_regressors_frames_groups_and_weights():
    grids = [{"max_depth": [1, 2]}, {"min_samples_leaf": [1, 20]}, {"max_depth": [2]}]
    search = PerturbedSearch(DecisionTreeRegressor(random_state=0), grids, **FEW).fit(XD, yd)
    assert len(search.cv_results_["params"]) == 5
    assert search.perturbation_.names[1] == "max_depth=2 (2)"
    assert search.best_params_ != {"min_samples_leaf": 1}
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    assert PerturbedSearch(TREE, DEPTHS, **FEW).fit(frame, y).feature_names_in_.tolist() == frame.columns.tolist()
    grouped = PerturbedSearch(TREE, DEPTHS, **FEW).fit(X, y, groups=np.arange(200) // 5)
    assert grouped.perturbation_.errors is not None
    weight = np.where(y == 1, 2.0, 1.0)
    weighted = PerturbedSearch(TREE, DEPTHS, **FEW).fit(X, y, sample_weight=weight)
    assert weighted.best_estimator_.tree_.weighted_n_node_samples[0] == weight.sum()
    with sklearn.config_context(enable_metadata_routing=True):
        routed = PerturbedSearch(clone(TREE).set_fit_request(sample_weight=True), {}, **FEW)
        assert routed.fit(X, y, sample_weight=weight).best_params_ == {}
        assert routed.best_estimator_.tree_.weighted_n_node_samples[0] == weight.sum()


def test_features_may_be_disturbed_and_levels_adapt():
    search = PerturbedSearch(TREE, {"max_depth": [1, None]}, perturbation="feature", repeats=5, levels=[0.5]).fit(X, y)
    assert search.best_params_ == {"max_depth": 1}
    assert search.best_estimator_.tree_.n_node_samples[0] == 200  # none of the disturbed rows
    adaptive = PerturbedSearch(TREE, DEPTHS, levels="adaptive").fit(X, y)
    assert adaptive.best_params_["max_depth"] in (1, 2, 3)
    assert adaptive.results_["levels"].tolist()[-1] == 3


def test_workers_give_the_same_search():
    serial = PerturbedSearch(TREE, DEPTHS, **FEW).fit(X, y)
    parallel = PerturbedSearch(TREE, DEPTHS, n_jobs=2, **FEW).fit(X, y)
    assert serial.perturbation_.rate == parallel.perturbation_.rate
    assert serial.best_params_ == parallel.best_params_


def test_a_candidate_that_fails_is_not_chosen():
    grid = {"n_neighbors": [5, 100_000]}
    engine = Engine()
    with pytest.warns(UserWarning, match="fits failed"):
        search = PerturbedSearch(KNeighborsClassifier(), grid, engine=engine, **FEW).fit(X, y)
    assert search.best_params_ == {"n_neighbors": 5}
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    with pytest.raises(FitError, match=r"All .* fits failed"):
        PerturbedSearch(KNeighborsClassifier(), {"n_neighbors": [10**6]}, engine=engine, **FEW).fit(X, y)
    with pytest.raises(FitError, match="A fit failed"):
        PerturbedSearch(KNeighborsClassifier(), grid, error_score="raise", **FEW).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_grid": {"max_depth": []}}, "must have a list of values"),
        ({"param_grid": {"max_depth": 3}}, "must have a list of values"),
        ({"param_grid": 3}, "must be a dict"),
        ({"tie_breaker": "luck"}, "'tie_breaker' parameter must be one of"),
        ({"cv": None}, "needs folds"),
        ({"refit": "accuracy"}, "'refit' parameter must be True or False"),
        ({"levels": [0.7]}, "from 0 to 0.5"),
        ({"repeats": 0}, "'repeats'"),
        ({"perturbation": "target"}, "targets of a regression"),
        ({"level": 95}, "'level'"),
        ({"error_score": "zero"}, "'error_score' parameter must be 'raise' or a number"),
    ],
)
def test_bad_searches_get_one_clear_sentence(options, message):
    given = {"param_grid": DEPTHS, **FEW, **options}
    with pytest.raises(InvalidInput, match=message):
        PerturbedSearch(TREE, **given).fit(X, y)
    with pytest.raises(InvalidInput, match="'groups' and 'sample_weight'"):
        PerturbedSearch(TREE, DEPTHS).fit(X, y, magic=1)


def test_results_are_there_once_it_is_fitted():
    with pytest.raises(AttributeError, match="once the search is fitted"):
        PerturbedSearch(TREE, DEPTHS).results_
