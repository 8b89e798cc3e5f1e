import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess
from truefit._core.errors import FitError, InvalidEstimator, InvalidInput
from truefit._methods.candidates import Candidates

X, y = make_classification(150, 6, random_state=1)
XD, yd = load_diabetes(return_X_y=True)

DESIGNS = {
    "stratified": StratifiedKFold(5),
    "shuffled": StratifiedKFold(5, shuffle=True, random_state=2),
    "repeated": RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0),
    "shuffle split": ShuffleSplit(4, test_size=0.3, random_state=0),
    "loo": LeaveOneOut(),
}


@pytest.mark.parametrize("design", DESIGNS)
def test_the_estimate_equals_scikit_learns_on_the_same_splits(design):
    cv = DESIGNS[design]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    result = assess(model, X, y, cv=cv, metric="accuracy")
    assert np.isclose(result.estimate, cross_val_score(model, X, y, cv=cv).mean(), rtol=1e-12)


def test_loo_by_name_is_loo_by_splitter_and_has_no_interval():
    by_name, by_splitter = (assess(Ridge(), XD[:60], yd[:60], **o) for o in ({"design": "loo"}, {"cv": LeaveOneOut()}))
    assert by_name.estimate == by_splitter.estimate
    assert by_name.interval is None
    assert "leave-one-out" in by_name.interval_reason
    assert np.isclose(by_name.score("r2"), 1 - by_name.estimate / np.var(yd[:60]))


def test_holdout_is_the_first_fold_and_shares_its_fit():
    engine = Engine()
    assess(GaussianNB(), X, y, cv=5, engine=engine)
    result = assess(GaussianNB(), X, y, design="holdout", cv=5, engine=engine)
    assert engine.stats.run == 5
    assert result.interval[0] < result.estimate < result.interval[1]
    assert len(result.predictions) == 30


def test_several_estimators_give_dicts_and_a_table_with_a_line_each():
    result = assess({"nb": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}, X, y)
    assert set(result.estimate) == set(result.interval) == set(result.predictions) == {"nb", "tree"}
    assert result.table.loc["nb", "estimate"] == result.estimate["nb"]
    assert result.best == min(result.estimate, key=result.estimate.get)
    assert len(assess([GaussianNB(), GaussianNB()], X, y).table) == 2


def test_predictions_are_out_of_fold_and_cover_every_row():
    result = assess(GaussianNB(), X, y)
    frame = result.predictions
    assert sorted(frame["row"]) == list(range(150))
    assert np.allclose(frame[["p(0)", "p(1)"]].sum(axis=1), 1)
    by_split = frame.groupby("split").apply(lambda part: (part["y"] != part["prediction"]).mean())
    assert np.isclose(by_split.mean(), result.estimate)


def test_a_later_metric_needs_no_refit():
    engine = Engine()
    result = assess(GaussianNB(), X, y, engine=engine)
    for metric in ("auc", "log_loss", "brier", "f1", "roc_auc", "balanced_accuracy"):
        result.score(metric)
    assert (engine.stats.run, engine.stats.refitted) == (5, 0)


INTERVALS = {
    "one partition": ({}, "pooled losses × 1.2"),
    "repeats": ({"repeats": 3}, "averaged repeats × 1.1"),
    "conservative": ({"interval": "corrected_t"}, "corrected t"),
    "a metric that is no mean over rows": ({"metric": "auc"}, "corrected t"),
    "splits that overlap": ({"cv": ShuffleSplit(5, random_state=0)}, "corrected t"),
    "hold-out": ({"design": "holdout"}, "hold-out"),
    "groups": ({"groups": np.arange(150) // 5}, "clustered by group × 1.2"),
    "few groups": ({"groups": np.arange(150) // 10}, "corrected t"),
    "groups, a squared loss": ({"groups": np.arange(150) // 5, "metric": "brier"}, "corrected t"),
}


@pytest.mark.parametrize("case", INTERVALS)
def test_the_interval_suits_the_design(case):
    options, method = INTERVALS[case]
    result = assess(GaussianNB(), X, y, **options)
    low, high = result.interval
    assert low < result.estimate < high
    assert result.interval_method == method


def test_tables_of_any_kind_give_the_same_answers():
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(6)])
    kinds = [X, frame, pl.from_pandas(frame), sparse.csr_matrix(X)]
    estimates = {assess(KNeighborsClassifier(), table, y, cv=StratifiedKFold(4)).estimate for table in kinds}
    assert len(estimates) == 1


def test_labels_of_any_kind_give_the_same_answers():
    names = np.array(["no", "yes"])
    kinds = [
        y,
        names[y],
        names[y].astype(object),
        y.astype(bool),
        pd.Series(names[y]),
        pd.Categorical(names[y]),
        list(y),
    ]
    estimates = {assess(GaussianNB(), X, labels, cv=StratifiedKFold(4)).estimate for labels in kinds}
    assert len(estimates) == 1


def test_same_seed_same_result_whatever_the_number_of_workers():
    forest = RandomForestClassifier(n_estimators=5)
    serial = assess(forest, X, y).predictions
    with Engine(workers=2) as engine:
        parallel = assess(forest, X, y, engine=engine).predictions
    pd.testing.assert_frame_equal(serial, parallel, check_exact=True)
    again = assess(forest, X, y, random_state=4).predictions
    assert not serial["row"].equals(again["row"])
    pd.testing.assert_frame_equal(again, assess(forest, X, y, random_state=4).predictions)


def test_solvers_do_not_change_the_answers():
    models = [GradientBoostingClassifier(n_estimators=n) for n in (3, 10, 20)]
    auto, plain = Engine(), Engine(solvers="plain")
    first, second = (assess(models, X, y, engine=engine) for engine in (auto, plain))
    for name in first.names:
        pd.testing.assert_frame_equal(first.predictions[name], second.predictions[name], rtol=1e-12)
    assert (auto.stats.run, plain.stats.run) == (5, 15)


class Moody(ClassifierMixin, BaseEstimator):
    """Fails on training sets that hold a certain row."""

    def __init__(self, dislikes=0.0):
        self.dislikes = dislikes

    def fit(self, X, y):
        if (X[:, 0] == self.dislikes).any():
            raise RuntimeError("that row again")
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def test_failures_are_said_and_never_averaged_over():
    engine = Engine(on_error="record")
    with pytest.warns(UserWarning, match="4 of 10 fits failed"):
        result = assess({"moody": Moody(X[0, 0]), "nb": GaussianNB()}, X, y, engine=engine)
    assert np.isnan(result.estimate["moody"])
    assert result.interval["moody"] is None
    assert result.table.loc["moody", "failed"] == 4
    assert result.best == "nb"
    assert "4 of its fits failed" in result.summary()
    with pytest.raises(FitError, match="that row again"):
        assess(Moody(X[0, 0]), X, y)


def test_equal_reasons_are_counted_and_the_traceback_is_a_note_when_all_fail():
    with pytest.raises(FitError, match=r"All 5 fits failed(.|\n)*5 fits failed \(raised\)") as caught:
        assess(KNeighborsClassifier(n_neighbors=-1), X, y, engine=Engine(on_error="record"))
    assert "Traceback" not in str(caught.value)
    assert "".join(caught.value.__notes__).count("Traceback (most recent call last)") == 1


def test_the_result_is_plain_data_text_picture_and_html():
    result = assess({"a": GaussianNB(), "b": LogisticRegression()}, X, y)
    assert json.loads(json.dumps(result.to_dict()))["version"] == 1
    assert "95% confidence interval" in result.summary()
    assert "<table" in result._repr_html_()
    assert result.plot().get_xlabel()
    assert assess(GaussianNB(), X, y).plot().get_xlabel()


class NoPredict(BaseEstimator):
    def fit(self, X, y):
        return self


class NoParams:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


BAD = {
    "no predict": (NoPredict(), "has no predict"),
    "no params": (NoParams(), "get_params"),
    "class": (GaussianNB, r"GaussianNB\(\)"),
    "none": ([], "At least one"),
    "mixed": ([GaussianNB(), Ridge()], "one task"),
}


@pytest.mark.parametrize("case", BAD)
def test_estimators_that_will_not_do(case):
    estimator, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        assess(estimator, X, y)


def test_weights_that_would_not_be_used_are_refused():
    with pytest.raises(InvalidEstimator, match="must take weights"):
        assess(KNeighborsClassifier(), X, y, sample_weight=np.ones(150))
    weighted = make_pipeline(StandardScaler(), LogisticRegression())
    assert assess(weighted, X, y, sample_weight=np.ones(150)).estimate > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "magic"}, "'interval' parameter"),
        ({"level": 95}, "'level' parameter"),
        ({"random_state": "x"}, "'random_state' parameter"),
        ({"interval": "pooled", "metric": "auc"}, "needs a per-sample metric"),
    ],
)
def test_options_that_will_not_do(options, message):
    with pytest.raises(InvalidInput, match=message):
        assess(GaussianNB(), X, y, **options).interval


def test_the_task_of_an_untagged_estimator_comes_from_the_target():
    class Own(BaseEstimator):
        def fit(self, X, y):
            self.mean_ = float(np.mean(y))
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    assert Candidates(Own(), yd + 0.5).task == "regression"
    assert Candidates(Own(), np.array(["a", "b"])).task == "classification"


def test_regression_by_kfold():
    result = assess(Ridge(), XD, yd, cv=KFold(5))
    assert np.isclose(
        result.estimate, -cross_val_score(Ridge(), XD, yd, cv=KFold(5), scoring="neg_mean_squared_error").mean()
    )


class Backwards(ClassifierMixin, BaseEstimator):
    """Has its classes in the other order."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_[::-1].tolist()
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)[:, ::-1]


def test_probabilities_follow_the_classes_of_the_model():
    straight, backwards = (assess(model, X, y, cv=StratifiedKFold(4)) for model in (GaussianNB(), Backwards()))
    pd.testing.assert_frame_equal(straight.predictions, backwards.predictions)
    assert straight.score("average_precision") == backwards.score("average_precision")


def test_intervals_stay_within_the_range_of_the_metric():
    easy = np.c_[y + 0.01 * X[:, 0], X]
    low, high = assess(LogisticRegression(), easy + 0.6 * X[:, :1], y, metric="auc").interval or (0.0, 1.0)
    assert 0.0 <= low <= high <= 1.0


def test_a_positive_class_reaches_every_metric_that_has_one():
    labels = np.where(y == 1, "yes", "no")
    result = assess(GaussianNB(), X, labels, cv=StratifiedKFold(4))
    numbered = assess(GaussianNB(), X, y, cv=StratifiedKFold(4))
    for metric in ("average_precision", "brier", "jaccard", "recall"):
        assert np.isclose(result.score(metric, pos_label="yes"), numbered.score(metric))
    with pytest.raises(InvalidInput, match="must be a class of y"):
        assess(GaussianNB(), X, labels, metric="f1", pos_label="maybe")


def test_metrics_of_two_classes_are_refused_for_three():
    three = np.arange(150) % 3
    for metric in ("auc", "f1"):
        with pytest.raises(InvalidInput, match="is for 2 classes"):
            assess(GaussianNB(), X, three, metric=metric)


def test_names_and_repeats_that_would_be_lost_are_refused():
    with pytest.raises(InvalidInput, match="different names"):
        assess({1: GaussianNB(), "1": GaussianNB()}, X, y)
    with pytest.raises(InvalidInput, match="can be repeated"):
        assess(GaussianNB(), X, y, cv=KFold(3), repeats=4)
    with pytest.raises(InvalidInput, match=r"Engine\('runs.db'\)"):
        assess(GaussianNB(), X, y, engine="runs.db")


def test_a_stack_can_be_assessed():
    stack = StackingClassifier([("nb", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2))], cv=2)
    assert assess(stack, X, y, cv=2).estimate < 0.5


def test_a_result_can_be_pickled():
    result = assess(GaussianNB(), X, y)
    again = pickle.loads(pickle.dumps(result))
    pd.testing.assert_frame_equal(again.predictions, result.predictions)


def test_splits_over_time_get_a_word_of_caution():
    over_time = assess(Ridge(), XD, yd, cv=TimeSeriesSplit(5))
    assert any("are dependent" in note for note in over_time.notes)
    at_random = assess(Ridge(), XD, yd, cv=ShuffleSplit(5, random_state=0))
    assert not any("are dependent" in note for note in at_random.notes)
