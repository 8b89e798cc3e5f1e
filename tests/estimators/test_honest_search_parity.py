"""HonestSearchCV takes what GridSearchCV takes, and has the same in ``cv_results_``."""

import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, HonestSearchCV
from truefit._core.errors import InvalidInput

X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[:200, :6], y[:200]
XD, yd = load_diabetes(return_X_y=True)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.1, 3, size=200)
TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": [1, 3, None]}


def same_results(ours, theirs, *, but=()):
    """Scores, ranks and parameters are equal to the last bit; times cannot be."""
    assert list(ours) == list(theirs)
    for name, values in theirs.items():
        if name.endswith("_time") or name in but:
            continue
        if name == "params":
            assert ours[name] == values
        elif isinstance(values, np.ma.MaskedArray):
            assert ours[name].tolist() == values.tolist()
        else:
            np.testing.assert_array_equal(ours[name], values, err_msg=name)


def right_and_small(results):
    """Choose the smallest gap between training and test rows."""
    return int(np.argmin(results["mean_train_score"] - results["mean_test_score"]))


CASES = {
    "train scores": (TREE, DEPTHS, {"return_train_score": True}),
    "several metrics": (
        TREE, DEPTHS, {"return_train_score": True, "scoring": ["accuracy", "roc_auc"], "refit": "roc_auc"},
    ),
    "a function chooses": (TREE, DEPTHS, {"return_train_score": True, "refit": right_and_small}),
    "no refit": (TREE, DEPTHS, {"refit": False, "return_train_score": True}),
    "no refit, several metrics": (TREE, DEPTHS, {"refit": False, "scoring": ["accuracy", "f1"]}),
    "neighbours": (KNeighborsClassifier(), {"n_neighbors": [1, 5, 9]}, {"return_train_score": True}),
    "a scorer": (TREE, DEPTHS, {"scoring": make_scorer(accuracy_score), "return_train_score": True}),
    "other options": (TREE, DEPTHS, {"pre_dispatch": "n_jobs", "error_score": 0, "n_jobs": 1}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_grid_search(case):
    estimator, grid, options = CASES[case]
    ours = HonestSearchCV(estimator, grid, cv=FOLDS, **options).fit(X, y)
    theirs = GridSearchCV(estimator, grid, cv=FOLDS, **options).fit(X, y)
    same_results(ours.cv_results_, theirs.cv_results_)
    for name in ("best_index_", "best_params_", "best_score_", "multimetric_", "n_splits_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        assert getattr(ours, name, None) == getattr(theirs, name, None)
    assert hasattr(ours, "best_estimator_") == hasattr(theirs, "best_estimator_")
    if hasattr(ours, "best_estimator_"):
        assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_train_scores_of_a_regression_and_of_a_race():
    options = {"cv": KFold(4), "return_train_score": True, "scoring": "neg_mean_absolute_error"}
    ours = HonestSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, engine=Engine(solvers="plain"), **options).fit(XD, yd)
    same_results(ours.cv_results_, GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, **options).fit(XD, yd).cv_results_)
    raced = HonestSearchCV(TREE, DEPTHS, cv=FOLDS, race="folds", return_train_score=True).fit(X, y)
    assert (raced.cv_results_["mean_train_score"] >= raced.cv_results_["mean_test_score"]).all()


def test_train_scores_take_no_further_fits():
    engine = Engine(solvers="plain")
    HonestSearchCV(TREE, DEPTHS, cv=5, return_train_score=True, engine=engine).fit(X, y)
    assert (engine.stats.run, engine.stats.refitted) == (15 * 3 + 1, 0)


# Fits that fail.

FAILING = {"max_depth": [3, -1]}


@pytest.mark.parametrize("engine", [None, Engine(on_error="raise"), Engine(on_error="record")])
@pytest.mark.parametrize("error_score", [np.nan, 0.0, 2.0])
def test_a_failing_candidate_warns_and_has_the_error_score(engine, error_score):
    options = {"cv": FOLDS, "error_score": error_score, "return_train_score": True}
    found = []
    for search in (
        HonestSearchCV(TREE, FAILING, engine=engine, **options),
        GridSearchCV(TREE, FAILING, **options),
    ):
        # With an error score of 2 the failing candidate is the best, and its refit raises.
        refit = search.set_params(refit=error_score != 2.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(refit.fit(X, y))
        texts = [str(each.message) for each in caught if each.category is FitFailedWarning]
        assert len(texts) == 1
        assert "3 fits failed out of a total of 6" in texts[0]
        assert f"will be set to {error_score}" in texts[0]
        assert texts[0].count("Traceback (most recent call last)") == 1
        assert "error_score='raise'" in texts[0]
    ours, theirs = found
    same_results(ours.cv_results_, theirs.cv_results_)
    assert ours.best_index_ == theirs.best_index_
    assert ours.cv_results_["rank_test_score"].tolist() == ([2, 1] if error_score == 2.0 else [1, 2])


@pytest.mark.parametrize("engine", [None, Engine(on_error="raise"), Engine(on_error="record")])
def test_error_score_raise_ends_the_search(engine):
    search = HonestSearchCV(TREE, FAILING, cv=FOLDS, error_score="raise", engine=engine)
    with pytest.raises(ValueError, match="The 'max_depth' parameter"):
        search.fit(X, y)


def test_where_all_fail_there_is_nothing_to_choose():
    for search in (HonestSearchCV, GridSearchCV):
        with pytest.raises(ValueError, match="All the 3 fits failed"):
            search(TREE, {"max_depth": [-1]}, cv=FOLDS).fit(X, y)
    with pytest.raises(InvalidInput, match="'error_score' parameter must be 'raise' or a number"):
        HonestSearchCV(TREE, FAILING, error_score="none").fit(X, y)


def fails_on_two_classes(estimator, X, y):
    if len(np.unique(estimator.predict(X))) < 3:
        raise RuntimeError("cannot be scored")
    return 1.0


@pytest.mark.parametrize("scoring", [fails_on_two_classes, {"own": fails_on_two_classes, "accuracy": "accuracy"}])
def test_a_scorer_that_fails_warns(scoring):
    options = {"cv": FOLDS, "scoring": scoring, "refit": False}
    found = []
    for search in (HonestSearchCV, GridSearchCV):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(search(TREE, DEPTHS, **options).fit(X, y).cv_results_)
        texts = [str(each.message) for each in caught]
        assert any(text.startswith("Scoring failed") and "cannot be scored" in text for text in texts)
        assert any("test scores are non-finite" in text for text in texts)
        with pytest.raises(RuntimeError, match="cannot be scored"):
            search(TREE, DEPTHS, error_score="raise", **options).fit(X, y)
    same_results(*found)


# Parameters of fit.


class Recorder(ClassifierMixin, BaseEstimator):
    """Naive Bayes whose fit takes what boosting libraries take."""

    def __init__(self, smoothing=1e-9):
        self.smoothing = smoothing

    def fit(self, X, y, offset=None, eval_set=None, callbacks=(), flag=None):
        if offset is not None and len(offset) != len(X):
            raise ValueError("offset must have one value per row")
        self.inner_ = GaussianNB(var_smoothing=self.smoothing).fit(X, y, sample_weight=offset)
        self.classes_ = self.inner_.classes_
        self.shift_ = 0.0 if eval_set is None else float(sum(np.mean(part[0]) for part in eval_set))
        self.calls_ = [callback(len(X)) for callback in callbacks]
        return self

    def predict(self, X):
        return self.inner_.predict(X + self.shift_ + sum(self.calls_))


class Counts:
    """A callback with state: gives another number each time it is called."""

    def __init__(self):
        self.times = 0

    def __call__(self, rows):
        self.times += 1
        return float(self.times)


class Locked(Counts):
    """A callback without a comparable content."""

    def __init__(self):
        super().__init__()
        self.lock = threading.local()


OFFSET = WEIGHT.copy()
FIT_PARAMS = {
    "by row": {"offset": OFFSET},
    "by row, a list": {"offset": OFFSET.tolist()},
    "by row, a series": {"offset": pd.Series(OFFSET)},
    "eval_set": {"eval_set": [(X[:20] + 1, y[:20])]},
    "callbacks": {"callbacks": [np.sqrt, lambda rows: 0.25]},
    "all": {"offset": OFFSET, "eval_set": [(X[:20], y[:20])], "callbacks": [np.log], "flag": "x"},
}
SMOOTHING = {"smoothing": [1e-9, 0.3]}


@pytest.mark.parametrize("case", FIT_PARAMS)
def test_fit_parameters_reach_the_estimator_as_in_grid_search(case):
    params = FIT_PARAMS[case]
    ours = HonestSearchCV(Recorder(), SMOOTHING, cv=FOLDS).fit(X, y, **params)
    theirs = GridSearchCV(Recorder(), SMOOTHING, cv=FOLDS).fit(X, y, **params)
    same_results(ours.cv_results_, theirs.cv_results_)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert type(ours.best_estimator_) is Recorder
    assert ours.assessment_ is not None


def test_the_parameters_of_a_step():
    steps = Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression())])
    grid = {"clf__C": [0.01, 1.0]}
    ours = HonestSearchCV(steps, grid, cv=FOLDS).fit(X, y, clf__sample_weight=WEIGHT)
    theirs = GridSearchCV(steps, grid, cv=FOLDS).fit(X, y, clf__sample_weight=WEIGHT)
    same_results(ours.cv_results_, theirs.cv_results_)
    assert np.array_equal(ours.best_estimator_["clf"].coef_, theirs.best_estimator_["clf"].coef_)
    unweighted = HonestSearchCV(steps, grid, cv=FOLDS).fit(X, y)
    assert not np.array_equal(ours.best_estimator_["clf"].coef_, unweighted.best_estimator_["clf"].coef_)
    with pytest.raises(InvalidInput, match="Weights must be given once"):
        HonestSearchCV(steps, grid, cv=FOLDS).fit(X, y, sample_weight=WEIGHT, clf__sample_weight=WEIGHT)


def test_parameters_by_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        asked = Recorder().set_fit_request(offset=True, eval_set=True)
        params = {"offset": OFFSET, "eval_set": [(X[:20] + 1, y[:20])]}
        ours = HonestSearchCV(asked, SMOOTHING, cv=FOLDS).fit(X, y, **params)
        theirs = GridSearchCV(asked, SMOOTHING, cv=FOLDS).fit(X, y, **params)
        same_results(ours.cv_results_, theirs.cv_results_)
        renamed = LogisticRegression().set_fit_request(sample_weight="mine").set_score_request(sample_weight="mine")
        ours = HonestSearchCV(renamed, {"C": [0.01, 1.0]}, cv=FOLDS).fit(X, y, mine=WEIGHT)
        theirs = GridSearchCV(renamed, {"C": [0.01, 1.0]}, cv=FOLDS).fit(X, y, mine=WEIGHT)
        same_results(ours.cv_results_, theirs.cv_results_)
        with pytest.raises(Exception, match="offset"):
            HonestSearchCV(Recorder(), SMOOTHING, cv=FOLDS).fit(X, y, offset=OFFSET)


def test_a_parameter_that_fit_does_not_take():
    with pytest.raises(ValueError, match=r"All the 5 fits failed(.|\n)*unexpected keyword argument 'magic'"):
        HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}).fit(X, y, magic=1)


# A stored answer is that of the same parameters.


def scores_of(engine, X=X, y=y, cv=FOLDS, **params):
    return HonestSearchCV(Recorder(), {"smoothing": [0.3]}, cv=cv, engine=engine).fit(X, y, **params).best_score_


def test_fits_with_the_same_parameters_are_shared_and_others_are_not():
    engine = Engine()
    scores_of(engine, offset=OFFSET, eval_set=[(X[:20] + 1, y[:20])])
    run = engine.stats.run
    scores_of(engine, offset=OFFSET.copy(), eval_set=[(X[:20] + 1, y[:20])])
    assert engine.stats.run == run
    for params in (
        {},
        {"offset": OFFSET},
        {"offset": OFFSET, "eval_set": [(X[:20], y[:20])]},
        {"offset": OFFSET[::-1]},
    ):
        run = engine.stats.run
        assert scores_of(engine, **params) == scores_of(None, **params)
        assert engine.stats.run > run


def test_values_by_row_go_with_their_rows():
    # The same rows in another order, with the same array of values: each row has another value then.
    order = np.random.default_rng(1).permutation(200)
    splits = list(FOLDS.split(X, y))
    place = np.argsort(order)
    moved = [(np.sort(place[train]), np.sort(place[test])) for train, test in splits]
    engine = Engine()
    extreme = np.where(np.arange(200) < 60, 1e-3, 50.0)
    scores_of(engine, cv=splits, offset=extreme)
    params = {"X": X[order], "y": y[order], "cv": moved, "offset": extreme}
    assert scores_of(engine, **params) == scores_of(None, **params)
    model = HonestSearchCV(Recorder(), {"smoothing": [0.3]}, cv=moved, engine=engine).fit(
        X[order], y[order], offset=extreme
    )
    fresh = Recorder(0.3).fit(X[order], y[order], offset=extreme)
    assert np.array_equal(model.best_estimator_.inner_.theta_, fresh.inner_.theta_)


def test_each_fit_has_its_own_copy_of_a_callback():
    engine = Engine()
    callback = Counts()
    search = HonestSearchCV(Recorder(), {"smoothing": [0.3, 0.5]}, cv=FOLDS, engine=engine)
    assert search.fit(X, y, callbacks=[callback]).best_estimator_.calls_ == [1.0]
    assert callback.times == 0


def test_parameters_without_content_are_never_shared():
    engine = Engine()
    search = HonestSearchCV(Recorder(), {"smoothing": [0.3]}, cv=FOLDS, engine=engine, refit=False)
    for times in (1, 2):
        with pytest.warns(UserWarning, match=r"Recorder cannot be identified by its content"):
            search.fit(X, y, callbacks=[Locked()])
        assert (
            engine.stats.run == 9 * times
        )  # 3 folds, and 3 choices on the 2 others: even pairs of folds are not shared
    assert engine.stats.stored == 0


def test_workers_are_given_the_parameters():
    params = {"offset": OFFSET, "eval_set": [(X[:20] + 1, y[:20])]}
    serial = HonestSearchCV(Recorder(), SMOOTHING, cv=FOLDS).fit(X, y, **params)
    parallel = HonestSearchCV(Recorder(), SMOOTHING, cv=FOLDS, n_jobs=2).fit(X, y, **params)
    same_results(parallel.cv_results_, serial.cv_results_)


# What is printed.


def test_verbose_prints_fits_and_scores(capsys):
    HonestSearchCV(TREE, DEPTHS, cv=FOLDS).fit(X, y)
    assert capsys.readouterr().out == ""
    HonestSearchCV(TREE, DEPTHS, cv=FOLDS, verbose=1).fit(X, y)
    assert capsys.readouterr().out.startswith("Fitting 3 folds for each of 3 candidates, totalling 9 fits")
    HonestSearchCV(TREE, DEPTHS, cv=FOLDS, verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 9
    assert lines[1].startswith("[CV 1/3] END max_depth=1 total time=")
    HonestSearchCV(TREE, DEPTHS, cv=FOLDS, verbose=3, return_train_score=True).fit(X, y)
    assert "score: (train=" in capsys.readouterr().out.splitlines()[1]


def test_parameters_are_printed_as_plain_numbers():
    search = HonestSearchCV(LogisticRegression(), {"C": np.logspace(-1, 1, 3)}, cv=FOLDS).fit(X, y)
    assert "np.float64" not in search.assessment_.summary()
    assert search.assessment_.chosen[0].startswith("C=")
