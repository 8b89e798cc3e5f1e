import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from truefit import AgghooClassifier, AgghooRegressor, Engine, HonestSearchCV
from truefit._core.data import Data
from truefit._core.errors import FitError, InvalidInput
from truefit._methods.splitting.splits import cv_splits

X, y = make_friedman1(120, noise=1.0, random_state=0)
XI, yi = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[yi]


@parametrize_with_checks(
    [
        AgghooRegressor(Ridge(), {"alpha": [0.1, 1.0]}, cv=3),
        AgghooClassifier(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
        AgghooClassifier([("stump", DecisionTreeClassifier(max_depth=1)), ("tree", DecisionTreeClassifier())]),
        AgghooClassifier(KNeighborsClassifier(3), aggregate="vote"),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def brute_force(candidates, splits, X, y, risk):
    """Algorithm 1, line by line."""
    members, chosen, scores = [], [], []
    for train, validation in splits:
        models = [clone(candidate).fit(X[train], y[train]) for candidate in candidates]
        risks = [risk(y[validation], model, X[validation]) for model in models]
        chosen.append(int(np.argmin(risks)))
        members.append(models[chosen[-1]])
        scores.append(risks)
    return members, chosen, np.array(scores)


def squared(y, model, X):
    return mean_squared_error(y, model.predict(X))


def wrong(y, model, X):
    return np.mean(y != model.predict(X))


REGRESSORS = [("tree", DecisionTreeRegressor(random_state=0)), ("near", KNeighborsRegressor())]
REGRESSOR_GRIDS = {"tree": {"max_depth": [1, 3, None]}, "near": {"n_neighbors": [1, 7, 20]}}
REGRESSOR_CANDIDATES = [
    *(DecisionTreeRegressor(max_depth=depth, random_state=0) for depth in (1, 3, None)),
    *(KNeighborsRegressor(k) for k in (1, 7, 20)),
]


@pytest.mark.parametrize("cv", [KFold(4, shuffle=True, random_state=1), ShuffleSplit(6, test_size=0.2, random_state=2)])
def test_a_regression_equals_the_algorithm_written_out(cv):
    splits = [(np.sort(train), test) for train, test in cv.split(X)]
    members, chosen, scores = brute_force(REGRESSOR_CANDIDATES, splits, X, y, squared)
    agghoo = AgghooRegressor(REGRESSORS, REGRESSOR_GRIDS, cv=cv).fit(X, y)
    assert agghoo.selection_["candidate"].tolist() == chosen
    assert np.allclose(agghoo.validation_scores_, scores, rtol=1e-12)
    assert np.array_equal(agghoo.predict(X), np.mean([member.predict(X) for member in members], axis=0))
    assert np.isclose(agghoo.mean_validation_score_, scores.min(axis=1).mean())
    assert [type(member) for member in agghoo.members_] == [type(member) for member in members]


@pytest.mark.parametrize("aggregate", ["soft", "vote"])
def test_a_classification_of_three_named_classes_equals_the_algorithm_written_out(aggregate):
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    candidates = [KNeighborsClassifier(k) for k in (1, 9, 40)]
    members, chosen, scores = brute_force(candidates, cv.split(XI, NAMES), XI, NAMES, wrong)
    agghoo = AgghooClassifier(KNeighborsClassifier(), {"n_neighbors": [1, 9, 40]}, cv=cv, aggregate=aggregate)
    agghoo.fit(XI, NAMES)
    assert agghoo.selection_["candidate"].tolist() == chosen
    assert np.allclose(agghoo.validation_scores_, scores)
    assert agghoo.selection_["params"][0] == {"n_neighbors": (1, 9, 40)[chosen[0]]}
    if aggregate == "soft":
        probabilities = np.mean([member.predict_proba(XI) for member in members], axis=0)
        assert np.array_equal(agghoo.predict_proba(XI), probabilities)
        expected = agghoo.classes_[probabilities.argmax(axis=1)]
    else:
        votes = pd.DataFrame([member.predict(XI) for member in members])
        expected = [column.value_counts().sort_index().idxmax() for _, column in votes.items()]
        assert not hasattr(agghoo, "predict_proba")
    assert np.array_equal(agghoo.predict(XI), expected)


def test_a_score_to_be_maximised_and_one_of_probabilities():
    splits = list(StratifiedKFold(3).split(XI, yi))
    candidates = [KNeighborsClassifier(k) for k in (2, 9, 40)]

    def loss(y, model, X):
        return log_loss(y, model.predict_proba(X))

    _, chosen, scores = brute_force(candidates, splits, XI, yi, loss)
    grid = {"n_neighbors": [2, 9, 40]}
    ours = AgghooClassifier(KNeighborsClassifier(), grid, cv=splits, scoring="log_loss").fit(XI, yi)
    assert ours.selection_["candidate"].tolist() == chosen
    assert np.allclose(ours.validation_scores_, scores)
    theirs = AgghooClassifier(KNeighborsClassifier(), grid, cv=splits, scoring="neg_log_loss").fit(XI, yi)
    assert theirs.selection_["candidate"].tolist() == chosen
    assert np.allclose(theirs.validation_scores_, -scores)


def test_of_equally_good_candidates_the_first_is_taken():
    agghoo = AgghooRegressor([("a", Ridge()), ("b", Ridge())], cv=3).fit(X, y)
    assert agghoo.selection_["name"].tolist() == ["a", "a", "a"]


def test_a_class_that_a_member_has_not_seen_has_probability_0():
    splits = [(np.r_[0:50, 60:100], np.r_[50:60]), (np.r_[0:40, 60:90, 100:140], np.r_[40:60, 140:150])]
    agghoo = AgghooClassifier(GaussianNB(), cv=splits).fit(XI, NAMES)
    assert agghoo.members_[0].classes_.tolist() == ["setosa", "versicolor"]
    assert agghoo.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    first, second = (member.predict_proba(XI) for member in agghoo.members_)
    assert np.allclose(agghoo.predict_proba(XI), (np.c_[first, np.zeros(150)] + second) / 2)


def test_a_class_of_fewer_rows_than_folds_is_no_obstacle():
    rows = np.r_[0:50, 50:100, 100:102]
    with pytest.warns(UserWarning, match="Class 'virginica' has 2 rows, fewer than the 5 folds"):
        agghoo = AgghooClassifier(GaussianNB(), cv=5).fit(XI[rows], NAMES[rows])
    assert agghoo.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert agghoo.predict_proba(XI).shape == (150, 3)


def test_folds_of_a_number_are_stratified_and_shared_with_other_methods():
    engine = Engine(solvers="plain")
    grid = {"n_neighbors": [1, 9]}
    HonestSearchCV(KNeighborsClassifier(), grid, cv=5, engine=engine).fit(XI, yi)
    run = engine.stats.run
    agghoo = AgghooClassifier(KNeighborsClassifier(), grid, cv=5, engine=engine).fit(XI, yi)
    assert engine.stats.run == run
    assert engine.stats.refitted <= 5
    assert agghoo.validation_scores_.shape == (5, 2)


def test_only_the_best_model_of_each_split_is_held():
    engine = Engine(solvers="plain")
    agghoo = AgghooRegressor(KNeighborsRegressor(), {"n_neighbors": list(range(1, 9))}, cv=4, engine=engine).fit(X, y)
    assert (engine.stats.run, engine.stats.refitted) == (32, 0)
    assert len(agghoo.members_) == 4


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_estimators=25, max_depth=2),
        pytest.param(GradientBoostingRegressor(n_estimators=25, max_depth=2, subsample=0.7), marks=pytest.mark.slow),
        HistGradientBoostingRegressor(max_iter=25, max_depth=2),
        pytest.param(
            make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=25, max_depth=2)),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_stages_of_boosting_are_candidates_from_one_fit_per_split(model):
    engine = Engine()
    agghoo = AgghooRegressor(model, cv=3, engine=engine).fit(X, y)
    assert (engine.stats.run, engine.stats.refitted) == (3, 0)
    assert agghoo.validation_scores_.shape == (3, 25)
    plain = AgghooRegressor(model, cv=3, engine=Engine(solvers="plain")).fit(X, y)
    assert np.array_equal(agghoo.validation_scores_, plain.validation_scores_)
    assert agghoo.selection_.equals(plain.selection_)
    assert np.allclose(agghoo.predict(X), plain.predict(X), rtol=1e-12)
    assert agghoo.selection_["stage"].tolist() == (agghoo.validation_scores_.argmin(axis=1) + 1).tolist()


def test_a_grid_of_stages_is_one_run_and_classes_too():
    engine = Engine()
    model = GradientBoostingClassifier(max_depth=1, random_state=0)
    grid = {"n_estimators": [2, 10, 30], "learning_rate": [0.1, 0.5]}
    agghoo = AgghooClassifier(model, grid, cv=3, scoring="log_loss", engine=engine).fit(XI, NAMES)
    assert (engine.stats.run, engine.stats.refitted) == (6, 0)
    assert agghoo.validation_scores_.shape == (3, 6)
    for member, params in zip(agghoo.members_, agghoo.selection_["params"], strict=True):
        assert member.n_estimators_ == params["n_estimators"]
    plain = AgghooClassifier(model, grid, cv=3, scoring="log_loss", engine=Engine(solvers="plain")).fit(XI, NAMES)
    assert np.allclose(agghoo.predict_proba(XI), plain.predict_proba(XI), rtol=1e-12)


@pytest.mark.parametrize("params", [{"n_iter_no_change": 3}, {"warm_start": True}, {"n_estimators": 7}])
def test_boosting_that_stops_by_itself_or_whose_stages_the_grid_sets_is_a_whole(params):
    grid = {name: [value] for name, value in params.items()}
    agghoo = AgghooRegressor(GradientBoostingRegressor(n_estimators=9, random_state=0), grid, cv=3).fit(X, y)
    assert agghoo.validation_scores_.shape == (3, 1)


def test_a_parameter_that_the_estimator_refuses_is_told_by_it():
    with pytest.raises(FitError, match="n_estimators"):
        AgghooRegressor(GradientBoostingRegressor(n_estimators=0), cv=3).fit(X, y)


def test_two_targets_are_averaged_each():
    both = np.c_[y, -y]
    agghoo = AgghooRegressor(Ridge(), cv=3).fit(X, both)
    expected = np.mean([member.predict(X) for member in agghoo.members_], axis=0)
    assert expected.shape == (120, 2)
    assert np.array_equal(agghoo.predict(X), expected)


def test_without_a_path_a_candidate_is_fitted_as_a_whole():
    agghoo = AgghooRegressor(GradientBoostingRegressor(n_estimators=5), path=None, cv=3).fit(X, y)
    assert agghoo.validation_scores_.shape == (3, 1)


class Fussy(ClassifierMixin, BaseEstimator):
    def __init__(self, fails=False):
        self.fails = fails

    def fit(self, X, y):
        if self.fails:
            raise RuntimeError("not today")
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))

    def predict(self, X):
        return np.repeat(self.classes_[self.shares_.argmax()], len(X))


def test_candidates_that_fail_are_left_out_with_a_warning():
    with pytest.warns(FitFailedWarning, match="3 fits failed.*not selected") as caught:
        agghoo = AgghooClassifier(Fussy(), {"fails": [True, False]}, cv=3).fit(XI, yi)
    assert "not today" in str(caught[0].message)
    assert np.isnan(agghoo.validation_scores_[:, 0]).all()
    assert agghoo.selection_["candidate"].tolist() == [1, 1, 1]
    with pytest.raises(FitError, match="not today"):
        AgghooClassifier(Fussy(fails=True), cv=3).fit(XI, yi)
    with pytest.raises(FitError, match="not today"):
        AgghooClassifier(Fussy(), {"fails": [True, False]}, cv=3, engine=Engine()).fit(XI, yi)


def test_it_is_cloned_pickled_and_searched_like_any_estimator():
    agghoo = AgghooClassifier(KNeighborsClassifier(), {"n_neighbors": [1, 9]}, cv=3, engine=Engine())
    assert clone(agghoo).engine is agghoo.engine
    pipeline = make_pipeline(StandardScaler(), agghoo).fit(XI, NAMES)
    again = pickle.loads(pickle.dumps(pipeline))
    assert again[-1].engine is None
    assert np.array_equal(again.predict(XI), pipeline.predict(XI))
    search = GridSearchCV(agghoo, {"cv": [3, 4], "estimator__weights": ["uniform", "distance"]}, cv=2).fit(XI, NAMES)
    assert search.best_score_ > 0.9
    named = AgghooRegressor(REGRESSORS).set_params(tree__max_depth=2)
    assert named.get_params()["tree__max_depth"] == 2
    assert clone(named).get_params()["near__n_neighbors"] == 5


def test_frames_of_pandas_and_polars():
    frame = pd.DataFrame(XI, columns=["a", "b", "c", "d"])
    agghoo = AgghooClassifier(GaussianNB(), cv=3)
    of_pandas = agghoo.fit(frame, pd.Series(NAMES)).predict_proba(frame)
    assert agghoo.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert agghoo.n_features_in_ == 4
    polars = pl.from_pandas(frame)
    of_polars = clone(agghoo).fit(polars, pl.Series(NAMES))
    assert of_polars.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert np.allclose(of_polars.predict_proba(polars), of_pandas)


def test_groups_stay_together_and_weights_reach_fits_and_scores():
    groups = np.arange(120) // 6
    seen = []

    class Watch(Ridge):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(np.flatnonzero(np.isin(X_rows, X[:, 0]))))
            return super().fit(X, y, sample_weight=sample_weight)

    X_rows = X[:, 0]
    weight = np.random.default_rng(0).uniform(0.1, 3, size=120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class that watches cannot be known by its content
        AgghooRegressor(Watch(), cv=4).fit(X, y, groups=groups)
    for rows in seen:
        assert all(len({i in rows for i in np.flatnonzero(groups == g)}) == 1 for g in range(20))
    splits = list(KFold(3).split(X))
    agghoo = AgghooRegressor(Ridge(), {"alpha": [0.1, 100.0]}, cv=splits).fit(X, y, sample_weight=weight)
    for b, (train, test) in enumerate(splits):
        for c, alpha in enumerate((0.1, 100.0)):
            model = Ridge(alpha=alpha).fit(X[train], y[train], sample_weight=weight[train])
            expected = mean_squared_error(y[test], model.predict(X[test]), sample_weight=weight[test])
            assert np.isclose(agghoo.validation_scores_[b, c], expected)
    with pytest.raises(InvalidInput, match="must take weights"):
        AgghooRegressor(KNeighborsRegressor()).fit(X, y, sample_weight=weight)


def test_metadata_are_routed():
    groups, weight = np.arange(120) // 6, np.linspace(0.5, 2, 120)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = AgghooRegressor(Ridge().set_fit_request(sample_weight=True), cv=GroupKFold(4))
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, inner).fit(X, y, groups=groups, sample_weight=weight)
        asks = AgghooRegressor(Ridge(), cv=GroupKFold(4))
        with pytest.raises(InvalidInput, match="must take weights"):
            asks.fit(X, y, groups=groups, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    direct = AgghooRegressor(Ridge(), cv=GroupKFold(4)).fit(scaled, y, groups=groups, sample_weight=weight)
    assert np.allclose(routed.predict(X), direct.predict(scaled))


@pytest.mark.parametrize(
    ("agghoo", "message"),
    [
        (AgghooRegressor(Ridge(), {}), "list of values|dict"),
        (AgghooRegressor(Ridge(), []), "not an empty list"),
        (AgghooRegressor(Ridge(), {"alpha": []}), "'alpha' has"),
        (AgghooRegressor([]), "list of \\(name, estimator\\)"),
        (AgghooRegressor([("a", Ridge()), ("a", Ridge())]), "different names"),
        (AgghooRegressor([("a", Ridge())], {"b": {"alpha": [1]}}), "names are 'a'"),
        (AgghooRegressor(Ridge(), aggregate="vote"), "must be 'mean'"),
        (AgghooRegressor(LogisticRegression()), "needs regressors"),
        (AgghooRegressor(Ridge(), cv="five"), "number of folds"),
        (AgghooRegressor(Ridge(), cv=[(range(60), range(50, 120))]), "must not overlap"),
        (AgghooRegressor(Ridge(), scoring=["mse"]), "one score"),
        (AgghooRegressor(Ridge(), scoring="accuracy"), "is for classification"),
        (AgghooRegressor(Ridge(), path="epochs"), "'path' parameter"),
        (AgghooRegressor(Ridge(), path=10), "must offer stages"),
    ],
)
def test_what_cannot_be_worked_with_is_said_in_one_sentence(agghoo, message):
    if agghoo.param_grid == {}:
        assert agghoo.fit(X, y).validation_scores_.shape == (5, 1)  # an empty dict is the estimator as given
        return
    with pytest.raises(InvalidInput, match=message):
        agghoo.fit(X, y)


def test_soft_needs_probabilities():
    with pytest.raises(InvalidInput, match=r"LinearSVC has none\. Use aggregate='vote'"):
        AgghooClassifier(LinearSVC()).fit(XI, yi)
    assert AgghooClassifier(LinearSVC(), aggregate="vote").fit(XI, yi).score(XI, yi) > 0.9
    with pytest.raises(InvalidInput, match="takes X, y, 'groups' and 'sample_weight'"):
        AgghooClassifier(GaussianNB()).fit(XI, yi, weights=yi)
    with pytest.raises(InvalidInput, match="AgghooClassifier cannot keep rows in time order"):
        AgghooClassifier(GaussianNB()).fit(XI, yi, time=range(len(yi)))


def test_two_processes_give_the_same():
    grid = {"n_neighbors": [1, 5, 20]}
    one = AgghooRegressor(KNeighborsRegressor(), grid, cv=3).fit(X, y)
    two = AgghooRegressor(KNeighborsRegressor(), grid, cv=3, n_jobs=2).fit(X, y)
    assert np.array_equal(one.predict(X), two.predict(X))
    assert one.selection_.equals(two.selection_)


def scaled_network(**params):
    return make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(6,), learning_rate_init=0.02, **params))


def test_the_epochs_of_a_network_are_one_fit_per_split_and_the_best_snapshot_is_the_member():
    engine = Engine()
    agghoo = AgghooRegressor(scaled_network(max_iter=100, random_state=0), cv=3, engine=engine).fit(X, y)
    assert (engine.stats.run, engine.stats.refitted) == (3, 0)
    assert agghoo.validation_scores_.shape == (3, 100)
    assert agghoo.selection_["stage"].tolist() == (agghoo.validation_scores_.argmin(axis=1) + 1).tolist()
    splits = cv_splits(Data(X, y, task="regression"), 3)
    for split, member, (_, chosen) in zip(splits, agghoo.members_, agghoo.selection_.iterrows(), strict=True):
        scaler = StandardScaler().fit(X[split.train.index])
        network = MLPRegressor(hidden_layer_sizes=(6,), learning_rate_init=0.02, max_iter=100, random_state=0)
        for _ in range(chosen["stage"]):
            network.partial_fit(scaler.transform(X[split.train.index]), y[split.train.index])
        assert np.array_equal(member.predict(X), network.predict(scaler.transform(X)))
        test = split.test.index
        assert np.isclose(mean_squared_error(y[test], member.predict(X[test])), chosen["validation_score"])


def test_epochs_in_two_processes_are_the_same_and_a_network_competes_with_others():
    models = [("network", scaled_network(random_state=0)), ("ridge", Ridge())]
    one = AgghooRegressor(models, path=30, cv=3).fit(X, y)
    two = AgghooRegressor(models, path=30, cv=3, n_jobs=2).fit(X, y)
    assert one.validation_scores_.shape == (3, 31)
    assert np.array_equal(one.predict(X), two.predict(X))
    plain = AgghooRegressor(models, path=30, cv=3, engine=Engine(solvers="plain")).fit(X, y)
    assert np.array_equal(one.predict(X), plain.predict(X))


def test_a_number_of_stages_reaches_forests_and_descent():
    engine = Engine()
    models = [("forest", ExtraTreesClassifier(random_state=0)), ("descent", SGDClassifier(loss="log_loss"))]
    agghoo = AgghooClassifier(models, path=12, cv=3, scoring="log_loss", engine=engine).fit(XI, NAMES)
    assert (engine.stats.run, engine.stats.refitted) == (6, 0)
    assert agghoo.validation_scores_.shape == (3, 24)
    assert np.isclose(agghoo.predict_proba(XI).sum(axis=1), 1).all()


def test_a_grid_over_epochs_is_taken_as_it_stands():
    grid = {"mlpregressor__max_iter": [2, 3]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        agghoo = AgghooRegressor(scaled_network(), grid, cv=3).fit(X, y)
    assert agghoo.validation_scores_.shape == (3, 2)


def test_from_a_store_only_the_members_are_fitted_again(tmp_path):
    model = scaled_network(max_iter=20, random_state=0)
    first = AgghooRegressor(model, cv=3, engine=Engine(tmp_path / "runs.db")).fit(X, y)
    engine = Engine(tmp_path / "runs.db")
    again = AgghooRegressor(model, cv=3, engine=engine).fit(X, y)
    assert (engine.stats.run, engine.stats.refitted) == (0, 3)
    assert np.array_equal(first.predict(X), again.predict(X))


def test_validation_curves_are_drawn_by_stage_or_by_candidate():
    agghoo = AgghooRegressor(GradientBoostingRegressor(n_estimators=6, random_state=0), cv=3).fit(X, y)
    ax = agghoo.plot()
    marks = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "D"]
    assert [mark[0] for mark in marks] == agghoo.selection_["stage"].tolist()
    assert np.allclose([mark[1] for mark in marks], agghoo.selection_["validation_score"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("stage", "mse on validation rows")
    grid = AgghooRegressor(REGRESSORS, REGRESSOR_GRIDS, cv=3).fit(X, y)
    marks = [line.get_xydata()[0][0] for line in grid.plot().lines if line.get_marker() == "D"]
    assert marks == grid.selection_["candidate"].tolist()
    assert grid.stages_ is None


def test_splits_that_leave_rows_out_are_taken_as_they_are():
    splits = [(range(40), range(40, 60)), (range(60), range(60, 100))]
    agghoo = AgghooRegressor(Ridge(), cv=splits).fit(X, y)
    assert agghoo.n_splits_ == 2
    assert np.array_equal(agghoo.members_[0].coef_, Ridge().fit(X[:40], y[:40]).coef_)


def test_where_every_candidate_fails_the_error_has_each_traceback_once():
    with pytest.raises(FitError, match="All 2 fits of split 0") as caught:
        AgghooClassifier([("a", Fussy(fails=True)), ("b", Fussy(fails=True))], cv=3).fit(XI, yi)
    assert "".join(caught.value.__notes__).count("Traceback (most recent call last)") == 1
    assert "2 fits failed" in str(caught.value)
