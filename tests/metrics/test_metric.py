import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC, LinearSVC

from truefit import assess
from truefit.core.errors import InvalidInput
from truefit.metrics.metric import get_metric, metric_names

X, y = make_classification(120, 6, random_state=0)
XR, yr = make_regression(120, 6, noise=20, random_state=0)
CV = StratifiedKFold(4)

CLASSIFIER_SCORERS = [
    "accuracy",
    "roc_auc",
    "neg_log_loss",
    "f1",
    "average_precision",
    "balanced_accuracy",
    "d2_brier_score",
]
REGRESSOR_SCORERS = [
    "r2",
    "neg_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_root_mean_squared_error",
    "neg_max_error",
]


@pytest.mark.parametrize("name", CLASSIFIER_SCORERS)
def test_a_scorer_on_stored_predictions_equals_scikit_learn(name):
    ours = assess(LogisticRegression(), X, y, design=CV).split_scores(name)["LogisticRegression"]
    assert np.allclose(ours, cross_val_score(LogisticRegression(), X, y, cv=CV, scoring=name), rtol=1e-12)


@pytest.mark.parametrize("name", REGRESSOR_SCORERS)
def test_a_regression_scorer_equals_scikit_learn(name):
    from sklearn.model_selection import KFold

    ours = assess(Ridge(), XR, yr, design=KFold(4)).split_scores(name)["Ridge"]
    assert np.allclose(ours, cross_val_score(Ridge(), XR, yr, cv=KFold(4), scoring=name), rtol=1e-12)


def test_losses_keep_their_natural_sign():
    result = assess(Ridge(), XR, yr)
    assert result.metric == "mse"
    assert result.score("rmse") > 0
    assert np.isclose(result.score("neg_mean_squared_error"), -result.estimate)


def test_a_metric_asks_for_the_response_that_scikit_learn_would_take():
    ours = assess(SVC(), X, y, design=CV, metric="auc").split_scores()["SVC"]
    assert np.allclose(ours, cross_val_score(SVC(), X, y, cv=CV, scoring="roc_auc"))
    with pytest.raises(InvalidInput, match="needs predict_proba"):
        assess(LinearSVC(), X, y, metric="log_loss")
    with pytest.raises(InvalidInput, match="log_loss"):
        assess(LinearSVC(), X, y).score("log_loss")


def test_several_classes_and_text_labels():
    XI, yi = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[yi]
    model = LogisticRegression(max_iter=1000)
    result = assess(model, XI, names, design=CV)
    assert result.score("accuracy") == cross_val_score(model, XI, names, cv=CV).mean()
    assert np.isclose(
        result.score("roc_auc_ovr"), cross_val_score(model, XI, names, cv=CV, scoring="roc_auc_ovr").mean()
    )
    assert result.confusion().to_numpy().sum() == 150


def test_the_positive_class_is_said_and_not_guessed():
    names = np.where(y == 1, "yes", "no")
    with pytest.raises(InvalidInput, match="pos_label"):
        assess(LogisticRegression(), X, names, metric="f1").estimate
    result = assess(LogisticRegression(), X, names, design=CV)
    assert np.isclose(result.score("f1", pos_label="yes"), assess(LogisticRegression(), X, y, design=CV).score("f1"))


def test_unknown_and_unsuitable_metrics_are_refused():
    with pytest.raises(InvalidInput, match="Did you mean 'accuracy'"):
        get_metric("acuracy", "classification")
    with pytest.raises(InvalidInput, match="for regression"):
        get_metric("mse", "classification")
    with pytest.raises(InvalidInput, match="must be a name"):
        get_metric(3, "classification")
    assert "mse" in metric_names("regression")


def test_weights_reach_the_scores():
    weight = np.random.default_rng(0).uniform(size=120)
    result = assess(LogisticRegression(), X, y, design=CV, sample_weight=weight)
    scores = []
    for train, test in CV.split(X, y):
        model = LogisticRegression().fit(X[train], y[train], sample_weight=weight[train])
        scores.append(1 - sk.accuracy_score(y[test], model.predict(X[test]), sample_weight=weight[test]))
    assert np.isclose(result.estimate, np.mean(scores))
