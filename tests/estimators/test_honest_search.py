import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from truefit import Engine, HonestSearchCV, Race, assess
from truefit._core.errors import InvalidInput

XC, yc = X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[:250], y[:250]
XD, yd = load_diabetes(return_X_y=True)
GRID = {"n_neighbors": [1, 5, 15], "weights": ["uniform", "distance"]}


@parametrize_with_checks(
    [
        HonestSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
        HonestSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3),
        HonestSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}, cv=2),
        HonestSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3, race="folds"),
        HonestSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=3, race=Race(over="sizes")),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def nested_by_scikit_learn(estimator, grid, cv, X, y, **options):
    """GridSearchCV inside a loop, the other folds of the same partition as its inner folds."""
    folds = np.empty(len(X), dtype=int)
    for fold, (_, test) in enumerate(cv.split(X, y)):
        folds[test] = fold
    scores, chosen = [], []
    for fold in range(cv.get_n_splits()):
        train = folds != fold
        inner = GridSearchCV(estimator, grid, cv=PredefinedSplit(folds[train]), **options).fit(X[train], y[train])
        scores.append(inner.score(X[~train], y[~train]))
        chosen.append(inner.best_params_)
    return np.array(scores), chosen


CASES = {
    "knn": (KNeighborsClassifier(), GRID, StratifiedKFold(5, shuffle=True, random_state=0), X, y, {}),
    "svc": (SVC(), {"C": [0.1, 1, 10]}, StratifiedKFold(4), X, y, {"scoring": "roc_auc"}),
    "tree": (DecisionTreeClassifier(random_state=3), {"max_depth": [1, 3, None]}, StratifiedKFold(3), X, y, {}),
    "ridge": (Ridge(), {"alpha": [0.01, 1.0, 100.0]}, KFold(5, shuffle=True, random_state=1), XD, yd, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_selections_and_outer_scores_equal_scikit_learns(case):
    estimator, grid, cv, table, target, options = CASES[case]
    engine = Engine(solvers="plain")
    ours = HonestSearchCV(estimator, grid, cv=cv, engine=engine, **options).fit(table, target)
    theirs = GridSearchCV(estimator, grid, cv=cv, **options).fit(table, target)
    assert ours.best_params_ == theirs.best_params_
    assert np.isclose(ours.best_score_, theirs.best_score_, rtol=1e-12)
    assert np.allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-12)
    assert np.array_equal(ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"])
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    assert np.array_equal(ours.predict(table), theirs.predict(table))
    scores, chosen = nested_by_scikit_learn(estimator, grid, cv, table, target, **options)
    assert np.allclose(ours.assessment_.fold_scores, scores, rtol=1e-12)
    assert np.isclose(ours.assessment_.estimate, scores.mean())
    assert [eval(f"dict({name})") for name in ours.assessment_.chosen] == chosen
    k, n = cv.get_n_splits(), len(theirs.cv_results_["params"])
    assert engine.stats.run <= k * (k - 1) // 2 * n + k * n + 1


def test_the_triangle_takes_15_fits_per_candidate_and_one():
    engine = Engine(solvers="plain")
    search = HonestSearchCV(KNeighborsClassifier(), GRID, cv=5, engine=engine).fit(X, y)
    assert engine.stats.run == 15 * 6 + 1
    assert search.assessment_.triangle
    low, high = search.assessment_.interval
    assert low < search.assessment_.estimate < high


def test_it_shares_its_fits_with_other_methods_on_the_engine():
    engine = Engine(solvers="plain")
    HonestSearchCV(KNeighborsClassifier(), GRID, cv=5, engine=engine).fit(X, y)
    before = engine.stats.run
    assess(KNeighborsClassifier(5), X, y, cv=5, engine=engine)
    assert engine.stats.run == before


def test_the_same_rows_inside_cross_val_score_are_found_again():
    engine = Engine(solvers="plain")
    search = HonestSearchCV(KNeighborsClassifier(), GRID, cv=4, engine=engine)
    cross_val_score(search, X, y, cv=StratifiedKFold(3))
    run = engine.stats.run
    cross_val_score(search, X, y, cv=StratifiedKFold(3))
    assert engine.stats.run == run
    assert engine.stats.refitted <= 3  # the winners' models are not stored


def test_it_stands_where_grid_search_can():
    search = HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=3, engine=Engine())
    assert clone(search).engine is search.engine
    pipeline = make_pipeline(StandardScaler(), search).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    assert len(cross_validate(search, X, y, cv=3)["test_score"]) == 3
    outer = GridSearchCV(search, {"cv": [3, 4]}, cv=2).fit(X, y)
    assert outer.best_params_["cv"] in (3, 4)


def test_pickling_leaves_the_engine_and_the_table_behind():
    big = np.hstack([X, np.zeros((250, 2000))])
    search = HonestSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=3, engine=Engine()).fit(big, y)
    stored = pickle.dumps(search)
    again = pickle.loads(stored)
    assert again.engine is None
    assert len(stored) < big.nbytes / 10
    assert np.array_equal(again.predict(big), search.predict(big))
    assert again.assessment_.estimate == search.assessment_.estimate
    assert again.assessment_.summary() == search.assessment_.summary()


def test_several_metrics_and_a_refit_of_ones_own():
    scoring = {"acc": "accuracy", "auc": "roc_auc"}
    ours = HonestSearchCV(LogisticRegression(), {"C": [0.01, 1]}, cv=3, scoring=scoring, refit="auc").fit(X, y)
    cv = [(s.train.index, s.test.index) for s in _splits(3)]
    theirs = GridSearchCV(LogisticRegression(), {"C": [0.01, 1]}, cv=cv, scoring=scoring, refit="auc").fit(X, y)
    for name in ("mean_test_acc", "mean_test_auc", "rank_test_auc"):
        assert np.allclose(ours.cv_results_[name], theirs.cv_results_[name])
    assert ours.assessment_.metric == "auc"
    last = HonestSearchCV(
        LogisticRegression(), {"C": [0.01, 1]}, cv=3, scoring=scoring, refit=lambda results: len(results["params"]) - 1
    ).fit(X, y)
    assert last.best_params_ == {"C": 1}
    without = HonestSearchCV(LogisticRegression(), {"C": [0.01, 1]}, cv=3, scoring=scoring, refit=False).fit(X, y)
    assert not hasattr(without, "best_params_")


def _splits(k):
    from truefit._core.data import Data
    from truefit._methods.splitting.splits import make_splits

    return make_splits(Data(X, y, task="classification"), "kfold", k=k)


def test_scorers_of_ones_own():
    def own(estimator, X, y):
        return accuracy_score(y, estimator.predict(X)) - 0.001 * X.shape[1]

    search = HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=3, scoring=own).fit(X, y)
    made = HonestSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=3, scoring=make_scorer(accuracy_score)
    ).fit(X, y)
    assert np.isclose(search.best_score_, made.best_score_ - 0.001 * X.shape[1])


def test_candidates_drawn_from_distributions():
    space = {"C": loguniform(1e-2, 1e2)}
    cv = StratifiedKFold(3)
    ours = HonestSearchCV(LogisticRegression(), space, n_iter=4, cv=cv, random_state=0).fit(X, y)
    theirs = RandomizedSearchCV(LogisticRegression(), space, n_iter=4, cv=cv, random_state=0).fit(X, y)
    assert ours.best_params_ == theirs.best_params_


def test_splits_that_are_no_partition_are_nested_plainly():
    search = HonestSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=ShuffleSplit(3, test_size=0.25, random_state=0)
    ).fit(X, y)
    assert not search.assessment_.triangle
    assert "splits of each training set inside" in search.assessment_.summary()


def test_groups_and_weights_are_routed():
    groups = np.arange(250) // 5
    search = HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert search.n_splits_ == 3
    weight = np.random.default_rng(0).uniform(0.5, 2, size=250)
    cv = StratifiedKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        ours = HonestSearchCV(model, {"C": [0.01, 1]}, cv=cv).fit(X, y, sample_weight=weight)
        theirs = GridSearchCV(model, {"C": [0.01, 1]}, cv=cv).fit(X, y, sample_weight=weight)
        assert np.allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    plain = HonestSearchCV(LogisticRegression(), {"C": [0.01, 1]}, cv=cv).fit(X, y, sample_weight=weight)
    assert np.allclose(
        plain.cv_results_["mean_test_score"],
        GridSearchCV(LogisticRegression(), {"C": [0.01, 1]}, cv=cv)
        .fit(X, y, sample_weight=weight)
        .cv_results_["mean_test_score"],
    )


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_in_and_feature_names_out(kind):
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    table = frame if kind == "pandas" else pl.from_pandas(frame)
    search = HonestSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=3).fit(table, y)
    assert search.feature_names_in_.tolist() == frame.columns.tolist()
    assert search.predict(table).shape == (250,)


def test_workers_give_the_same_search():
    serial = HonestSearchCV(KNeighborsClassifier(), GRID, cv=3).fit(X, y)
    parallel = HonestSearchCV(KNeighborsClassifier(), GRID, cv=3, n_jobs=2).fit(X, y)
    assert np.array_equal(serial.cv_results_["mean_test_score"], parallel.cv_results_["mean_test_score"])
    assert np.array_equal(serial.assessment_.fold_scores, parallel.assessment_.fold_scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_grid": {"n_neighbors": []}}, "must have a list of values"),
        ({"param_grid": 3}, "must be a dict"),
        ({"cv": "5"}, "'cv' parameter"),
        ({"cv": 2400}, "number of rows"),
        ({"n_iter": 0}, "'n_iter' parameter"),
        ({"refit": "one-se"}, "'refit' must be True, False, 'one_se' or a function of the results. Got 'one-se'"),
        ({"refit": "roc_auc", "scoring": "accuracy"}, "Got 'roc_auc' instead"),
        ({"refit": "foo", "scoring": lambda estimator, X, y: 0.5}, "Got 'foo' instead"),
    ],
)
def test_bad_searches_get_one_clear_sentence(options, message):
    given = {"param_grid": {"n_neighbors": [1]}, **options}
    with pytest.raises(InvalidInput, match=message):
        HonestSearchCV(KNeighborsClassifier(), **given).fit(X, y)


def test_a_candidate_that_fails_has_no_score_and_is_not_chosen():
    grid = {"n_neighbors": [5, 100_000]}
    with pytest.warns(FitFailedWarning, match="Expected n_neighbors"), pytest.warns(UserWarning, match="non-finite"):
        search = HonestSearchCV(KNeighborsClassifier(), grid, cv=3, engine=Engine()).fit(X, y)
    assert search.best_params_ == {"n_neighbors": 5}
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert np.isfinite(search.assessment_.estimate)


def test_weights_reach_the_assessment():
    weight = np.random.default_rng(0).exponential(size=250) ** 2
    search = HonestSearchCV(LogisticRegression(), {"C": [1.0]}, cv=4).fit(X, y, sample_weight=weight)
    assert np.isclose(search.assessment_.estimate, search.best_score_)


@pytest.mark.parametrize(
    "cv", [PredefinedSplit(np.r_[np.full(200, -1), np.zeros(50)]), [(np.arange(200), np.arange(200, 250))]]
)
def test_splits_that_cannot_be_used_again_are_nested_with_folds(cv):
    search = HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=cv).fit(X, y)
    assert np.isfinite(search.assessment_.estimate)


def test_where_nesting_is_impossible_the_search_goes_on():
    with pytest.warns(UserWarning, match="assessment_ is None"):
        search = HonestSearchCV(Ridge(), {"alpha": [1.0]}, cv=TimeSeriesSplit(5)).fit(XD[:20], yd[:20])
    assert search.assessment_ is None
    rows = np.argsort(y, kind="stable")[np.r_[0:40, -40:0, 40:80]]
    three = np.repeat([0, 1, 2], 40)
    with pytest.warns(UserWarning, match="assessment_ is None"):
        sorted_rows = HonestSearchCV(LogisticRegression(), {"C": [1.0]}, cv=KFold(3)).fit(X[rows], three)
    assert sorted_rows.best_params_ == {"C": 1.0}


def test_a_scorer_that_gives_several_scores():
    def both(estimator, X, y):
        right = accuracy_score(y, estimator.predict(X))
        return {"right": right, "wrong": 1 - right}

    grid, cv = {"n_neighbors": [1, 5]}, StratifiedKFold(3)
    ours = HonestSearchCV(KNeighborsClassifier(), grid, cv=cv, scoring=both, refit="right").fit(X, y)
    theirs = GridSearchCV(KNeighborsClassifier(), grid, cv=cv, scoring=both, refit="right").fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    assert np.allclose(ours.cv_results_["mean_test_wrong"], theirs.cv_results_["mean_test_wrong"])
    assert ours.multimetric_
    with pytest.raises(InvalidInput, match="must name the one"):
        HonestSearchCV(KNeighborsClassifier(), grid, cv=cv, scoring=both).fit(X, y)


def test_a_score_of_its_own_is_not_guessed():
    with pytest.raises(InvalidInput, match="a score of its own"):
        HonestSearchCV(PoissonRegressor(), {"alpha": [1.0]}).fit(XD, yd)
    assert HonestSearchCV(PoissonRegressor(), {"alpha": [1.0]}, scoring="r2", cv=3).fit(XD, yd).best_params_


def test_what_a_search_did_not_ask_for_is_refitted_and_counted_apart():
    engine = Engine()
    HonestSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=5, engine=engine).fit(X, y)
    assess(LogisticRegression(), X, y, cv=5, engine=engine)  # asks for probabilities too
    assert (engine.stats.run, engine.stats.refitted) == (31, 5)
    assert engine.stats.shared == 20


TREE = DecisionTreeClassifier(random_state=0)
TREES = {"max_depth": [1, 2, 3, None], "min_samples_leaf": [1, 10, 60, 120]}


def test_a_race_tells_who_was_dropped_and_ranks_them_last():
    whole = HonestSearchCV(TREE, TREES, cv=5).fit(XC, yc)
    engine = Engine(solvers="plain")
    raced = HonestSearchCV(TREE, TREES, cv=5, race=Race(chance=0.01), engine=engine).fit(XC, yc)
    assert raced.best_params_ == whole.best_params_
    assert raced.best_score_ == whole.best_score_
    assert engine.stats.run < 15 * 16
    results, full = raced.cv_results_, whole.cv_results_
    assert set(results) == {*full, "dropped_after"}
    after = results["dropped_after"]
    gone = ~np.isnan(after)
    assert gone.any()
    assert not gone.all()
    for place in range(16):
        seen = int(after[place]) if gone[place] else 5
        own = [full[f"split{fold}_test_score"][place] for fold in range(seen)]
        assert np.isclose(results["mean_test_score"][place], np.mean(own))
        assert np.isclose(results["std_test_score"][place], np.std(own))
        assert all(np.isnan(results[f"split{fold}_test_score"][place]) for fold in range(seen, 5))
        assert results["mean_fit_time"][place] > 0
    assert results["rank_test_score"][~gone].max() < results["rank_test_score"][gone].min()
    assert results["rank_test_score"][raced.best_index_] == 1
    further = after[gone][:, None] > after[gone]
    ranks = results["rank_test_score"][gone]
    assert (ranks[:, None] < ranks)[further].all()
    low, high = raced.assessment_.interval
    assert low < raced.assessment_.estimate < high
    assert raced.assessment_.triangle
    assert np.array_equal(pickle.loads(pickle.dumps(raced)).predict(XC), raced.predict(XC))


@pytest.mark.slow
@pytest.mark.parametrize("race", ["folds", "sizes"])
def test_a_race_of_workers_is_the_same_race(race):
    serial = HonestSearchCV(TREE, TREES, cv=4, race=race).fit(XC, yc)
    parallel = HonestSearchCV(TREE, TREES, cv=4, race=race, n_jobs=2).fit(XC, yc)
    for name in ("mean_test_score", "dropped_after", "rank_test_score"):
        assert np.array_equal(serial.cv_results_[name], parallel.cv_results_[name], equal_nan=True)
    assert serial.assessment_.chosen == parallel.assessment_.chosen


def test_a_race_by_one_of_several_scores():
    scoring = {"acc": "accuracy", "loss": "neg_log_loss"}
    search = HonestSearchCV(TREE, TREES, cv=4, scoring=scoring, refit="loss", race="folds").fit(XC, yc)
    assert np.nanmax(search.cv_results_["dropped_after"]) < 4
    assert search.assessment_.metric == "loss"

    def both(estimator, X, y):
        right = accuracy_score(y, estimator.predict(X))
        return {"right": right, "wrong": 1 - right}

    own = HonestSearchCV(TREE, TREES, cv=5, scoring=both, refit="right", race="folds").fit(XC, yc)
    assert np.nanmin(own.cv_results_["dropped_after"]) >= 3  # of a function nothing is known but its values
    for options in ({"refit": False, "scoring": scoring}, {"refit": lambda results: 0}):
        with pytest.raises(InvalidInput, match="one score to select by"):
            HonestSearchCV(TREE, TREES, race="folds", **options).fit(XC, yc)
    with pytest.raises(InvalidInput, match="'race' parameter"):
        HonestSearchCV(TREE, TREES, race="fast").fit(XC, yc)


def test_a_candidate_that_fails_is_out_of_the_race():
    grid = {"n_neighbors": [5, 100_000]}
    engine = Engine()
    with pytest.warns(FitFailedWarning, match="Expected n_neighbors"), pytest.warns(UserWarning, match="non-finite"):
        search = HonestSearchCV(KNeighborsClassifier(), grid, cv=3, engine=engine, race="folds").fit(X, y)
    assert search.best_params_ == {"n_neighbors": 5}
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert search.cv_results_["rank_test_score"].tolist() == [1, 2]
    assert search.cv_results_["dropped_after"].tolist()[1] == 1
    assert np.isfinite(search.assessment_.estimate)
