"""Ways to propose candidates: the parameter ``search`` of HonestSearchCV, and refit="one_se"."""

import sys

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from truefit import Engine, HonestSearchCV
from truefit._core.errors import InvalidInput, MissingDependency, TruefitError

try:
    import optuna
except ImportError:
    optuna = None

needs_optuna = pytest.mark.skipif(optuna is None, reason="needs Optuna")
X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[:250], y[:250]
XD, yd = load_diabetes(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)
GRID = {"max_depth": [1, 2, 3, 5, 8], "min_samples_leaf": [1, 3, 10, 30]}
SPACE = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-4, 1.0)}


@parametrize_with_checks(
    # Values, not a distribution: its address in memory would be in the name of the test, another in each process.
    [HonestSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=2, search="optuna", n_iter=3, random_state=0)]
    if optuna is not None
    else [HonestSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=2, search="race")]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@needs_optuna
def test_the_sampler_is_rerun_within_each_outer_fold():
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    options = {"search": "optuna", "n_iter": 14, "random_state": 3}
    engine = Engine()
    search = HonestSearchCV(SVC(), SPACE, cv=cv, engine=engine, **options).fit(X, y)
    folds = np.empty(len(X), dtype=int)
    for fold, (_, test) in enumerate(cv.split(X, y)):
        folds[test] = fold
    scores, chosen = [], []
    for fold in range(4):
        train = folds != fold
        alone = HonestSearchCV(SVC(), SPACE, cv=PredefinedSplit(folds[train]), **options).fit(X[train], y[train])
        scores.append(alone.score(X[~train], y[~train]))
        chosen.append(alone.best_params_)
    assert search.assessment_.fold_scores.tolist() == scores
    assert [eval(f"dict({name})") for name in search.assessment_.chosen] == chosen
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert len(search.cv_results_["params"]) == 14
    # Ten candidates are drawn before scores are known: the triangle of folds serves all searches.
    assert engine.stats.run <= 10 * (4 + 6) + 4 * (4 + 12) + 4 + 1
    low, high = search.assessment_.interval
    assert low < search.assessment_.estimate < high


@needs_optuna
def test_a_search_is_repeated_and_resumed(tmp_path):
    def searched(engine):
        options = {"cv": 3, "search": "optuna", "n_iter": 12, "random_state": 0}
        return HonestSearchCV(SVC(), SPACE, engine=engine, **options).fit(X, y)

    with Engine(tmp_path / "runs.db") as first:
        search = searched(first)
    with Engine(tmp_path / "runs.db") as second:
        again = searched(second)
        assert (second.stats.run, second.stats.refitted) == (0, 1)  # the best model, which is not stored
    assert again.cv_results_["params"] == search.cv_results_["params"]
    assert again.assessment_.estimate == search.assessment_.estimate
    assert type(search.best_params_["C"]) is float


@needs_optuna
@pytest.mark.filterwarnings("error")
def test_spaces_have_values_of_any_kind():
    steps = [StandardScaler(), "passthrough"]
    spaces = [
        {"standardscaler": steps, "ridge__alpha": norm(5, 0.1)},
        {"ridge__alpha": [1, 2, 3], "ridge__max_iter": randint(10, 20)},
        {"ridge__alpha": optuna.distributions.FloatDistribution(0.5, 0.6), "ridge__fit_intercept": [True]},
    ]
    learner = make_pipeline(StandardScaler(), Ridge())
    search = HonestSearchCV(learner, spaces, cv=3, search="optuna", n_iter=25, random_state=0).fit(XD, yd)
    points = search.cv_results_["params"]
    assert {len(point) for point in points} == {2}
    assert {point["ridge__max_iter"] for point in points if "ridge__max_iter" in point} <= set(range(10, 20))
    assert all(point["standardscaler"] in steps for point in points if "standardscaler" in point)
    assert all(0.4 < point["ridge__alpha"] < 6 for point in points)
    assert {tuple(sorted(point)) for point in points} == {tuple(sorted(space)) for space in spaces}


@needs_optuna
@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_candidates_that_fail_are_told_to_the_sampler():
    space = {"C": [-1.0, 1.0, 10.0]}
    with pytest.warns(FitFailedWarning, match="fits failed out of"):
        search = HonestSearchCV(SVC(), space, cv=3, search="optuna", n_iter=12, random_state=0).fit(X, y)
    assert search.best_params_["C"] > 0
    assert search.assessment_.interval is not None
    with pytest.raises(ValueError, match="All the 9 fits failed"):
        HonestSearchCV(SVC(), {"C": [-1.0]}, cv=3, search="optuna", n_iter=3).fit(X, y)


@needs_optuna
def test_a_sampler_that_fails_loses_nothing():
    class Failing(optuna.samplers.RandomSampler):
        def __init__(self, after):
            super().__init__(seed=0)
            self.left = after

        def sample_independent(self, *args):
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("no more ideas")
            return super().sample_independent(*args)

    engine = Engine()
    search = HonestSearchCV(SVC(), {"C": loguniform(0.1, 10)}, cv=3, search=Failing(4), n_iter=9, engine=engine)
    with pytest.warns(UserWarning, match=r"RuntimeError: no more ideas.*ended after 4 of 9 candidates"):
        search.fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.assessment_.interval is not None
    run = engine.stats.run
    whole = search.set_params(search=Failing(9)).fit(X, y)
    assert len(whole.cv_results_["params"]) == 9
    assert engine.stats.run - run <= 5 * (3 + 3) + 3 + 1
    with pytest.raises(TruefitError, match="The sampler failed: RuntimeError: no more ideas"):
        search.set_params(search=Failing(0)).fit(X, y)


@needs_optuna
def test_periods_in_time_order_have_samplers_of_their_own():
    options = {"cv": 4, "search": "optuna", "n_iter": 6, "random_state": 0, "return_train_score": True}
    search = HonestSearchCV(Ridge(), {"alpha": loguniform(0.01, 100)}, **options).fit(XD, yd, time=np.arange(len(yd)))
    assert len(search.assessment_.chosen) == 3
    assert np.isfinite(search.cv_results_["mean_train_score"]).all()


@needs_optuna
def test_several_scores_need_one_to_sample_by():
    options = {"cv": 3, "search": "optuna", "n_iter": 4, "random_state": 0, "scoring": ["r2", "neg_mean_squared_error"]}
    search = HonestSearchCV(Ridge(), {"alpha": loguniform(0.01, 100)}, refit="r2", **options).fit(XD, yd)
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_r2"])
    with pytest.raises(InvalidInput, match="needs one score to select by"):
        HonestSearchCV(Ridge(), {"alpha": loguniform(0.01, 100)}, refit=False, **options).fit(XD, yd)


def test_optuna_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    engine = Engine()
    with pytest.raises(MissingDependency, match=r"search='optuna' needs Optuna: pip install truefit\[optuna\]"):
        HonestSearchCV(Ridge(), {"alpha": [1.0]}, search="optuna", engine=engine).fit(XD, yd)
    assert engine.stats.asked == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "genetic"}, "'search' parameter must be 'grid', 'random', 'race', 'optuna' or a sampler"),
        ({"search": None}, "'search' parameter must be"),
        ({"search": "optuna", "race": "folds"}, "An adaptive search has no race"),
        ({"search": "random", "n_iter": 0}, "'n_iter' parameter must be a positive whole number. Got 0"),
        ({"search": "random", "param_grid": {"alpha": []}}, "'alpha' has \\[\\]"),
        ({"param_grid": {"alpha": loguniform(1, 2)}}, "'alpha' has a distribution: .* search='random' or 'optuna'"),
        ({"search": "race", "param_grid": {"alpha": loguniform(1, 2)}}, "'alpha' has a distribution"),
        ({"param_grid": {"alhpa": [1.0]}}, "Got 'alhpa', which Ridge does not have; see its get_params"),
        ({"search": "race", "refit": len}, "A race needs one score"),
    ],
)
def test_bad_input_is_one_sentence(options, message):
    engine = Engine()
    with pytest.raises(InvalidInput, match=message):
        HonestSearchCV(**{"estimator": Ridge(), "param_grid": {"alpha": [1.0]}, "engine": engine} | options).fit(XD, yd)
    assert engine.stats.asked == 0


@needs_optuna
@pytest.mark.parametrize(("name", "message"), [("n_iter", "'n_iter' parameter"), ("param_grid", "have quantiles")])
def test_bad_input_of_an_adaptive_search(name, message):
    class Drawn:
        def rvs(self, random_state=None):
            return 1.0

    options = {"param_grid": {"alpha": [1.0]}} | {name: 0 if name == "n_iter" else {"alpha": Drawn()}}
    with pytest.raises(InvalidInput, match=message):
        HonestSearchCV(Ridge(), search="optuna", **options).fit(XD, yd)


def test_random_and_race_are_what_they_are_by_other_names():
    drawn = HonestSearchCV(TREE, GRID, search="random", cv=3, random_state=0).fit(X, y)
    named = HonestSearchCV(TREE, GRID, n_iter=10, cv=3, random_state=0).fit(X, y)
    assert drawn.cv_results_["params"] == named.cv_results_["params"]
    raced = HonestSearchCV(TREE, GRID, search="race", cv=3).fit(X, y)
    usual = HonestSearchCV(TREE, GRID, race="folds", cv=3).fit(X, y)
    assert raced.cv_results_["dropped_after"].tolist() == pytest.approx(
        usual.cv_results_["dropped_after"].tolist(), nan_ok=True
    )
    assert raced.assessment_.estimate == usual.assessment_.estimate


@pytest.mark.parametrize("options", [{}, {"search": "race"}])
def test_the_simplest_within_one_standard_error(options):
    cv = KFold(5, shuffle=True, random_state=0)
    search = HonestSearchCV(TREE, GRID, cv=cv, refit="one_se", **options).fit(X, y)
    best = HonestSearchCV(TREE, GRID, cv=cv, **options).fit(X, y)
    folds = np.array([search.cv_results_[f"split{fold}_test_score"] for fold in range(5)])
    behind = folds[:, best.best_index_] - folds[:, search.best_index_]
    assert behind.mean() <= behind.std(ddof=1) / np.sqrt(5)
    assert search.best_params_["max_depth"] <= best.best_params_["max_depth"]
    assert search.best_params_["min_samples_leaf"] >= best.best_params_["min_samples_leaf"]
    assert options or search.best_params_ != best.best_params_
    assert search.best_score_ == folds[:, search.best_index_].mean()
    assert search.predict(X).shape == (250,)


def test_one_standard_error_with_several_scores_is_refused():
    search = HonestSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, scoring=["accuracy", "roc_auc"], refit="one_se", cv=3
    )
    with pytest.raises(ValueError, match="refit"):
        search.fit(X, y)
