"""Classes with fewer rows than folds: every method warns, and goes on."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from truefit import (
    AgghooClassifier,
    HonestSearchCV,
    assess,
    bias_variance,
    compare,
    cross_test,
    learning_curve,
    perturb,
    study,
)
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.splitting.splits import cv_splits

MODELS = {"tree": DecisionTreeClassifier(random_state=0), "knn": KNeighborsClassifier(3)}
SEARCH = (KNeighborsClassifier(), {"n_neighbors": [1, 3]})


def table(*counts):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    return rng.normal(size=(len(y), 3)) + y[:, None] % 7, y


X, Y = table(40, 30, 1, 2, 6)
WARNING = "2 of the 5 classes have fewer rows than the 5 folds"

METHODS = {
    "compare": lambda: compare(MODELS, X, Y).best in MODELS,
    "hold-out": lambda: assess(GaussianNB(), X, Y, design="holdout").interval is not None,
    "nested": lambda: assess(GaussianNB(), X, Y, design="nested").interval is not None,
    "HonestSearchCV": lambda: HonestSearchCV(*SEARCH).fit(X, Y).assessment_ is not None,
    "Agghoo": lambda: AgghooClassifier(*SEARCH).fit(X, Y).predict_proba(X).shape == (79, 5),
    "cross_test": lambda: cross_test(AgghooClassifier(*SEARCH), X, Y).interval is not None,
    "perturb": lambda: len(perturb(GaussianNB(), X, Y, repeats=1, levels=[0.5]).errors.scores["GaussianNB"]) == 5,
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_warns_once_and_goes_on(method):
    with pytest.warns(UserWarning, match=WARNING) as caught:
        assert METHODS[method]()
    assert len(caught) == 1


def test_methods_without_a_partition_of_all_rows_say_nothing():
    assert bias_variance(KNeighborsClassifier(1), X, Y, rounds=10).expected_loss
    assert learning_curve(KNeighborsClassifier(1), X, Y, cv=5).sizes[-1] > 30


@pytest.mark.filterwarnings("ignore:.*fewer (rows )?than the 5 folds")
@pytest.mark.parametrize(
    "metric",
    ["error", "accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc_ovr", "recall_macro", "f1_macro"],
)
def test_metrics_have_values_and_intervals(metric):
    found = assess(MODELS, X, Y, metric=metric)
    for each in found.estimates.values():
        assert np.isfinite(each.value)
        low, high = each.interval
        assert low <= each.value <= high
    two, y = table(40, 2)
    for name in ("recall", "f1", "precision"):
        # Two rows say next to nothing of a rate, and the interval shows it.
        low, high = assess(GaussianNB(), two, y, metric=name).interval
        assert high - low > 0.4
    with pytest.raises(InvalidInput, match="'auc' needs rows of every class in each test set"):
        assess(GaussianNB(), two, y, metric="auc").estimate


@pytest.mark.filterwarnings("ignore:.*fewer (rows )?than the 5 folds")
@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("counts", [(40, 30, 1, 2, 6), (60, 1), (4,) * 20])
def test_a_study_ends_with_a_page(counts, tmp_path):
    rows, y = table(*counts)
    found = study(rows, y, {"linear": LogisticRegression(), **MODELS})
    found.to_html(tmp_path / "page.html")
    assert "Rare class" in (tmp_path / "page.html").read_text()
    findings = {each.code: each for each in found.findings}
    rare = findings["TF107"]
    assert rare.evidence["fewer_than_folds"] == sum(count < 5 for count in counts)
    assert f"has {min(counts)} row" in rare.text
    assert "fewer rows than there are folds (5)" in rare.text
    if counts == (60, 1):  # without the one row there is a single class, which a linear model cannot be fitted to
        assert list(findings["TF202"].evidence["candidates"]) == ["linear"]


@pytest.mark.parametrize("count", [3, 2])
def test_a_study_by_a_ranking_uses_as_many_folds_as_the_rarest_class_has_rows(count):
    rows, y = table(40, count)
    with pytest.warns(UserWarning, match=f"{count} folds are used instead of 5"):
        found = study(rows, y, MODELS, metric="auc")
    assert len(found.assessment.splits) == count
    assert 0 <= found.estimate <= 1
    # With 2 folds, the rows without one of them hold a single row of the class: nothing to train on and to validate on.
    assert (found.honest is None) == (count == 2)
    why = dict(found.not_run).get("Nested cross-validation", "")
    assert ("none is left to validate on; the estimate is the selected model's own score" in why) == (count == 2)


@pytest.mark.filterwarnings("ignore:.*fewer (rows )?than the 5 folds")
@pytest.mark.parametrize("metric", ["auc", "average_precision", "roc_auc_ovr"])
def test_a_study_by_a_ranking_of_a_single_row_uses_the_default_metric_and_says_so(metric):
    rows, y = table(40, 1)
    with pytest.warns(UserWarning, match=f"Class 1 has 1 row: {metric} needs .* 4 of 5 test sets would have none"):
        found = study(rows, y, MODELS, metric=metric)
    assert found.metric == "error"
    assert "; error is the metric instead" in dict(found.not_run)["Requested metric"]
    assert "Requested metric" in next(each.text for each in found.findings if each.code == "TF301")


@pytest.mark.filterwarnings("ignore:.*fewer (rows )?than the 5 folds")
@pytest.mark.parametrize("metric", ["roc_auc_ovr", "roc_auc_ovo", "average_precision"])
@pytest.mark.filterwarnings("ignore:Some candidates are left out")
def test_a_study_by_a_ranking_of_several_classes_takes_those_that_a_test_set_has(metric):
    rows, y = table(40, 30, 1)
    found = study(rows, y, {"svm": SVC(), **MODELS}, metric=metric)
    assert found.metric == metric
    assert len(found.assessment.splits) == 5
    assert 0 < found.estimate <= 1
    assert ("svm cannot be scored" in dict(found.not_run).get("Some candidates", "")) == (metric != "average_precision")


@pytest.mark.filterwarnings("ignore:.*fewer (rows )?than the 5 folds")
def test_the_estimate_of_a_rate_counts_the_rows_of_all_test_sets():
    """Two of five test sets have no row of the class: their mean would say that always predicting the other is good."""
    rows, y = table(40, 3)
    found = study(rows, y, {"dummy": DummyClassifier(), "constant": DummyClassifier(strategy="constant", constant=0)},
                  metric="balanced_accuracy")  # fmt: skip
    assert found.estimate == found.cross_test.estimate == pytest.approx(0.5)


def test_folds_of_rare_classes_are_those_of_the_shared_partition():
    labels = np.array(["a"] * 12 + ["b"] * 6 + ["c"] * 2)
    data = Data(np.arange(20.0).reshape(-1, 1), labels, task="classification")
    with pytest.warns(UserWarning, match="Class 'c' has 2 rows"):
        splits, default = cv_splits(data, 4), cv_splits(data, 5)
    assert splits.partition
    assert sorted(len(split.test) for split in splits) == [5, 5, 5, 5]
    assert [len(split.test) for split in default] == [4] * 5
    with pytest.raises(InvalidInput, match="number of folds must be"):
        cv_splits(data, 1)
    with pytest.raises(InvalidInput, match="number of rows"):
        cv_splits(data, 21)
