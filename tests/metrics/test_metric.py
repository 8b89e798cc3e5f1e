import pickle
from itertools import combinations

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.base import is_regressor
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.svm import SVC, LinearSVC

from truefit import assess
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._core.rows import Rows
from truefit._metrics.metric import get_metric, metric_names, metric_of_scorer

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
#: Scorers that older versions of scikit-learn do not have.
NEWER = {"d2_brier_score", "d2_log_loss_score"} - set(sk.get_scorer_names())
REGRESSOR_SCORERS = [
    "r2",
    "neg_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_root_mean_squared_error",
    "neg_max_error",
]


@pytest.mark.parametrize("name", [name for name in CLASSIFIER_SCORERS if name not in NEWER])
def test_a_scorer_on_stored_predictions_equals_scikit_learn(name):
    ours = assess(LogisticRegression(), X, y, cv=CV).split_scores(name)["LogisticRegression"]
    assert np.allclose(ours, cross_val_score(LogisticRegression(), X, y, cv=CV, scoring=name), rtol=1e-12)


@pytest.mark.parametrize("name", REGRESSOR_SCORERS)
def test_a_regression_scorer_equals_scikit_learn(name):
    ours = assess(Ridge(), XR, yr, cv=KFold(4)).split_scores(name)["Ridge"]
    assert np.allclose(ours, cross_val_score(Ridge(), XR, yr, cv=KFold(4), scoring=name), rtol=1e-12)


def test_losses_keep_their_natural_sign():
    result = assess(Ridge(), XR, yr)
    assert result.metric == "mse"
    assert result.score("rmse") > 0
    assert np.isclose(result.score("neg_mean_squared_error"), -result.estimate)


def test_a_metric_asks_for_the_response_that_scikit_learn_would_take():
    ours = assess(SVC(), X, y, cv=CV, metric="auc").split_scores()["SVC"]
    assert np.allclose(ours, cross_val_score(SVC(), X, y, cv=CV, scoring="roc_auc"))
    with pytest.raises(InvalidInput, match="needs predict_proba"):
        assess(LinearSVC(), X, y, metric="log_loss")
    with pytest.raises(InvalidInput, match="log_loss"):
        assess(LinearSVC(), X, y).score("log_loss")


def test_several_classes_and_text_labels():
    XI, yi = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[yi]
    model = LogisticRegression(max_iter=1000)
    result = assess(model, XI, names, cv=CV)
    assert result.score("accuracy") == cross_val_score(model, XI, names, cv=CV).mean()
    assert np.isclose(
        result.score("roc_auc_ovr"), cross_val_score(model, XI, names, cv=CV, scoring="roc_auc_ovr").mean()
    )
    assert result.confusion().to_numpy().sum() == 150


def test_the_positive_class_is_said_and_not_guessed():
    names = np.where(y == 1, "yes", "no")
    with pytest.raises(InvalidInput, match="pos_label"):
        assess(LogisticRegression(), X, names, metric="f1").estimate
    result = assess(LogisticRegression(), X, names, cv=CV)
    assert np.isclose(result.score("f1", pos_label="yes"), assess(LogisticRegression(), X, y, cv=CV).score("f1"))


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
    result = assess(LogisticRegression(), X, y, cv=CV, sample_weight=weight)
    scores = []
    for train, test in CV.split(X, y):
        model = LogisticRegression().fit(X[train], y[train], sample_weight=weight[train])
        scores.append(1 - sk.accuracy_score(y[test], model.predict(X[test]), sample_weight=weight[test]))
    assert np.isclose(result.estimate, np.mean(scores))


def fitted(model, X, y, **options):
    """Data and the outcome of a model that was fitted on all rows, asked for everything it can say of them."""
    task = "regression" if is_regressor(model) else "classification"
    data = Data(X, y, task=task, **options)
    model.fit(X, y)
    if task == "regression":
        return data, Outcome("fit", [Predictions("predict", data.tokens, model.predict(X))])
    answers = [Predictions("predict", data.tokens, np.searchsorted(data.classes, model.predict(X)), coded=True)]
    answers += [Predictions(r, data.tokens, getattr(model, r)(X)) for r in ("predict_proba", "decision_function")]
    return data, Outcome("fit", answers, classes=data.classes)


def hard(classes, n=150, names=None):
    X, y = make_classification(n, 6, n_informative=4, n_classes=classes, flip_y=0.3, random_state=1)
    return X, y if names is None else np.array(names)[y]


def test_every_scorer_name_of_scikit_learn_gives_its_value():
    X2, y2 = hard(2)
    X3, y3 = hard(3)
    XN, yn = make_regression(80, 4, noise=10, random_state=0)
    yn = yn - yn.min() + 1
    seen = 0
    for model, X, y, task in (
        (LogisticRegression(), X2, y2, "classification"),
        (LogisticRegression(), X3, y3, "classification"),
        (Ridge(), XN, yn, "regression"),
    ):
        data, outcome = fitted(model, X, y)
        for name in set(sk.get_scorer_names()) - ({"r2"} if task == "classification" else set()):
            scorer = sk.get_scorer(name)
            try:
                expected = scorer(model, X, y)
            except (ValueError, AttributeError, UserWarning):  # not for this target
                continue
            metric = get_metric(name, task)
            assert metric.value(outcome, data, Rows.all(data.n)) == pytest.approx(expected, rel=1e-10, abs=1e-12), name
            seen += 1
    assert seen > 80


RANKINGS = {"auc": sk.roc_auc_score, "average_precision": sk.average_precision_score}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", RANKINGS)
def test_rankings_equal_scikit_learn(name, weighted):
    X, y = hard(2)
    weight = np.random.default_rng(0).uniform(size=150) if weighted else None
    model = LogisticRegression()
    data, outcome = fitted(model, X, y, weight=weight)
    expected = RANKINGS[name](y, model.decision_function(X), sample_weight=weight)
    assert get_metric(name, "classification").value(outcome, data, Rows.all(150)) == pytest.approx(expected, rel=1e-12)


def test_a_ranking_by_hand():
    # Positives at 0.8 and 0.4, negatives at 0.6 and 0.1: 3 of 4 pairs are in order. Precision is 1 at the first
    # positive and 2/3 at the second.
    data = Data(np.arange(4)[:, None], ["yes", "no", "yes", "no"], task="classification")
    score = np.array([0.8, 0.6, 0.4, 0.1])
    answer = Predictions("predict_proba", data.tokens, np.column_stack([1 - score, score]))
    outcome = Outcome("fit", [answer], classes=data.classes)
    assert get_metric("auc", "classification").value(outcome, data, Rows.all(4)) == 3 / 4
    precise = get_metric("average_precision", "classification", pos_label="yes")
    assert precise.value(outcome, data, Rows.all(4)) == pytest.approx((1 + 2 / 3) / 2)
    # With the other class as the positive one the order is turned round: precision 1 and 2/3 again.
    other = get_metric("average_precision", "classification", pos_label="no")
    assert other.value(outcome, data, Rows.all(4)) == pytest.approx((1 + 2 / 3) / 2)
    assert get_metric("auc", "classification", pos_label="no").value(outcome, data, Rows.all(4)) == 3 / 4


REGRESSION = {
    "mse": sk.mean_squared_error,
    "rmse": sk.root_mean_squared_error,
    "mae": sk.mean_absolute_error,
    "r2": sk.r2_score,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", REGRESSION)
def test_numbers_equal_scikit_learn(name, outputs, weighted):
    X, y = make_regression(60, 4, noise=30, n_targets=outputs, random_state=0)
    weight = np.random.default_rng(0).uniform(size=60) if weighted else None
    model = Ridge(100)
    data, outcome = fitted(model, X, y, weight=weight)
    expected = REGRESSION[name](y, model.predict(X), sample_weight=weight)
    assert get_metric(name, "regression").value(outcome, data, Rows.all(60)) == pytest.approx(expected, rel=1e-12)


def test_numbers_by_hand():
    # Targets 1, 2, 6 with mean 3; predictions 2, 2, 4: residuals -1, 0, 2, distances from the mean -2, -1, 3.
    data = Data(np.arange(3)[:, None], [1.0, 2.0, 6.0], task="regression")
    outcome = Outcome("fit", [Predictions("predict", data.tokens, np.array([2.0, 2.0, 4.0]))])
    by_hand = {"rss": 5, "mse": 5 / 3, "rmse": np.sqrt(5 / 3), "mae": 1, "rse": 5 / 14, "r2": 9 / 14}
    assert set(by_hand) == set(metric_names("regression"))
    for name, expected in by_hand.items():
        assert get_metric(name, "regression").value(outcome, data, Rows.all(3)) == pytest.approx(expected, rel=1e-12)


def test_a_sum_over_rows_is_for_as_many_rows_as_the_table_has():
    model = Ridge()
    folds = assess(model, XR[:113], yr[:113], cv=KFold(5))
    left_out = np.empty(113)
    for train, test in KFold(5).split(XR[:113]):
        left_out[test] = model.fit(XR[train], yr[train]).predict(XR[test])
    residuals = yr[:113] - left_out
    metric = get_metric("rss", "regression")
    data = Data(XR[:113], yr[:113], task="regression")
    outcome = Outcome("fit", [Predictions("predict", data.tokens, left_out)])
    assert metric.value(outcome, data, Rows.all(113)) == pytest.approx((residuals**2).sum())
    by_fold = folds.split_scores("rss")["Ridge"]
    expected = [113 * (residuals[test] ** 2).mean() for _, test in KFold(5).split(left_out)]
    assert np.allclose(by_fold, expected)
    weight = np.random.default_rng(0).uniform(size=113)
    weighted = Data(XR[:113], yr[:113], task="regression", weight=weight)
    outcome = Outcome("fit", [Predictions("predict", weighted.tokens, left_out)])
    assert metric.value(outcome, weighted, Rows.all(113)) == pytest.approx((weight * residuals**2).sum())


def test_the_names_of_the_lecture():
    labels = ["error", "accuracy", "balanced_accuracy", "recall", "sensitivity", "tpr", "specificity", "tnr", "fpr"]
    labels += ["precision", "f1", "auc", "average_precision", "log_loss", "brier"]
    assert set(metric_names("classification")) == set(labels)
    losses = {name for name in labels if not get_metric(name, "classification").greater_is_better}
    assert losses == {"error", "fpr", "log_loss", "brier"}
    better = {name for name in metric_names("regression") if get_metric(name, "regression").greater_is_better}
    assert better == {"r2"}


def test_metrics_survive_pickling():
    X, y = hard(2)
    data, outcome = fitted(LogisticRegression(), X, y)
    for name in [*metric_names("classification"), "f1_macro", "neg_log_loss"]:
        metric = get_metric(name, "classification")
        value = metric.value(outcome, data, Rows.all(150))
        assert pickle.loads(pickle.dumps(metric)).value(outcome, data, Rows.all(150)) == value


@pytest.mark.parametrize("name", ["recall", "tpr", "tnr", "specificity", "fpr", "precision", "f1", "average_precision"])
def test_the_positive_class_is_asked_for_before_anything_is_fitted(name):
    data = Data(np.zeros((4, 1)), ["no", "yes", "no", "yes"], task="classification")
    with pytest.raises(InvalidInput, match=r"The classes are 'no', 'yes'; pass one of them as pos_label"):
        get_metric(name, "classification").check(data)
    with pytest.raises(InvalidInput, match=r"Got 'maybe'; the classes are 'no', 'yes'"):
        get_metric(name, "classification", pos_label="maybe").check(data)
    get_metric(name, "classification", pos_label="yes").check(data)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("auc", "roc_auc_ovr"),
        ("roc_auc", "roc_auc_ovr"),
        ("f1", "f1_macro"),
        ("precision", "precision_macro"),
        ("recall", "recall_macro"),
        ("sensitivity", "recall_macro"),
        ("tpr", "recall_macro"),
        ("jaccard", "jaccard_macro"),
        ("tnr", "recall_macro.*one class against the rest"),
        ("specificity", "recall_macro.*one class against the rest"),
        ("fpr", "recall_macro.*one class against the rest"),
    ],
)
def test_a_metric_of_two_classes_says_what_to_use_for_several(name, instead):
    X, y = hard(3)
    data, outcome = fitted(LogisticRegression(), X, y)
    metric = get_metric(name, "classification")
    with pytest.raises(InvalidInput, match=f"{name}.*for 2 classes. The target has 3.*{instead}"):
        metric.check(data)
    with pytest.raises(InvalidInput, match="for 2 classes"):
        metric.value(outcome, data, Rows.all(150))


@pytest.mark.parametrize("name", ["roc_auc_ovr", "roc_auc_ovr_weighted"])
def test_one_against_rest_is_averaged_over_the_classes_of_the_test_rows(name):
    X, y = hard(4)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for weights in (None, weight):
        data, outcome = fitted(LogisticRegression(), X, y, weight=weights)
        rows = Rows.of(np.flatnonzero(y != 3))
        given = None if weights is None else weights[rows.index]
        scores = outcome.answer(data, rows, "predict_proba")
        each = [sk.roc_auc_score(y[rows.index] == code, scores[:, code], sample_weight=given) for code in range(3)]
        share = np.bincount(y[rows.index], given) if name.endswith("weighted") else None
        assert get_metric(name, "classification").value(outcome, data, rows) == pytest.approx(
            np.average(each, weights=share)
        )
    only = Rows.of(np.flatnonzero(y == 0))
    with pytest.raises(InvalidInput, match="needs rows of two classes"):
        get_metric(name, "classification").value(outcome, data, only)


@pytest.mark.parametrize("name", ["roc_auc_ovo", "roc_auc_ovo_weighted", "average_precision"])
def test_other_rankings_are_averaged_over_the_classes_of_the_test_rows(name):
    X, y = hard(4)
    y = np.where(np.arange(len(y)) % 5 > 1, y % 2, y)  # classes of different sizes
    data, outcome = fitted(LogisticRegression(), X, y)
    rows = Rows.of(np.flatnonzero(y != 3))
    truth, scores = y[rows.index], outcome.answer(data, rows, "predict_proba").round(1)  # with ties
    data_of_three = Data(X[rows.index], truth, task="classification")
    judge = get_metric(name, "classification")._judge
    if name == "average_precision":
        wanted = np.mean([sk.average_precision_score(truth == code, scores[:, code]) for code in range(3)])
    else:
        each, sizes = [], []
        for pair in combinations(range(3), 2):
            both = np.isin(truth, pair)
            each.append(np.mean([sk.roc_auc_score(truth[both] == code, scores[both, code]) for code in pair]))
            sizes.append(both.sum())
        wanted = np.average(each, weights=sizes if name.endswith("weighted") else None)
    assert judge._of_present(truth, scores, None) == pytest.approx(wanted)
    # Where no class is missing, it is scikit-learn's value.
    three = scores[:, :3] / scores[:, :3].sum(axis=1, keepdims=True)
    if name != "average_precision":
        average = "weighted" if name.endswith("weighted") else "macro"
        assert judge._of_present(truth, three, None) == pytest.approx(
            sk.roc_auc_score(truth, three, multi_class="ovo", average=average)
        )
    assert judge.missing(data, np.flatnonzero(y == 0)) == [1, 2, 3]
    assert judge.missing(data_of_three, np.flatnonzero(truth < 2)) == []


def test_a_ranking_needs_every_class_in_a_test_set():
    X, y = hard(2, names=["a", "b"])
    data, outcome = fitted(LogisticRegression(), X, y)
    with pytest.raises(InvalidInput, match=r"'auc' needs rows of every class .* has none of class 'a'"):
        get_metric("auc", "classification").value(outcome, data, Rows.of(np.flatnonzero(y != "a")))


def test_precision_and_recall_over_thresholds_need_a_positive_row():
    X, y = hard(2)
    data, outcome = fitted(LogisticRegression(), X, y)
    metric = get_metric("average_precision", "classification")
    assert metric.value(outcome, data, Rows.of(np.flatnonzero(y == 1))) == pytest.approx(1)
    with pytest.raises(InvalidInput, match="needs rows of the positive class"):
        metric.value(outcome, data, Rows.of(np.flatnonzero(y == 0)))


@pytest.mark.parametrize("name", sorted({"top_k_accuracy", "d2_log_loss_score", "d2_brier_score", "f1_macro"} - NEWER))
def test_other_metrics_do_without_a_class(name):
    X, y = hard(3, names=["a", "b", "c"])
    data, outcome = fitted(LogisticRegression(), X, y)
    assert np.isfinite(get_metric(name, "classification").value(outcome, data, Rows.of(np.flatnonzero(y != "a"))))


def test_a_metric_without_a_value_says_so_instead_of_warning():
    data, outcome = fitted(Ridge(), XR, yr)
    with pytest.raises(InvalidInput, match="'r2' has no value on a test set of 1 row:"):
        get_metric("r2", "regression").value(outcome, data, Rows.of([3]))
    with pytest.raises(InvalidInput, match="neg_mean_squared_log_error"):
        get_metric("neg_mean_squared_log_error", "regression").value(outcome, data, Rows.all(120))


@pytest.mark.parametrize(("name", "classes"), [("adjusted_rand_score", 2), ("roc_auc_ovo", 3)])
def test_a_metric_that_takes_no_weights_is_refused_with_weights(name, classes):
    X, y = hard(classes)
    data, outcome = fitted(LogisticRegression(), X, y, weight=np.ones(150))
    metric = get_metric(name, "classification")
    with pytest.raises(InvalidInput, match=f"'{name}' does not. Choose another one, such as 'error'"):
        metric.check(data)
    with pytest.raises(InvalidInput, match="must take weights"):
        metric.value(outcome, data, Rows.all(150))
    unweighted, outcome = fitted(LogisticRegression(), X, y)
    metric.check(unweighted)


def two_sided(y_true, y_pred, pos_label=1):
    return float(np.mean((np.asarray(y_true) == pos_label) == (np.asarray(y_pred) > 0.5)))


def test_a_scorer_of_ones_own_is_left_as_it_is():
    X, y = hard(2)
    model = LogisticRegression()
    data, outcome = fitted(model, X, y)
    scorer = sk.make_scorer(two_sided, response_method="predict_proba")
    metric = metric_of_scorer("mine", scorer, "classification")
    assert metric.value(outcome, data, Rows.all(150)) == scorer(model, X, y)
    assert (metric.row_loss, metric.smooth) == (None, None)
    texts, outcome = fitted(model, X, np.array(["no", "yes"])[y])
    with pytest.raises(InvalidInput, match="'mine' must know which class is the positive one"):
        metric.value(outcome, texts, Rows.all(150))


def test_a_scorer_with_options_keeps_them():
    X, y = hard(2)
    model = LogisticRegression()
    data, outcome = fitted(model, X, y)
    for scorer in (
        sk.make_scorer(sk.fbeta_score, beta=2),
        sk.make_scorer(sk.f1_score, pos_label=0),
        sk.make_scorer(sk.roc_auc_score, response_method="predict_proba", max_fpr=0.5),
        sk.make_scorer(sk.brier_score_loss, response_method="predict_proba", greater_is_better=False, pos_label=0),
        sk.make_scorer(sk.balanced_accuracy_score, adjusted=True),
        sk.make_scorer(sk.precision_score, zero_division=1.0),
        sk.make_scorer(sk.average_precision_score, pos_label=0, response_method="decision_function"),
        sk.make_scorer(sk.average_precision_score, pos_label=0, response_method="predict_proba"),
    ):
        value = metric_of_scorer("score", scorer, "classification").value(outcome, data, Rows.all(150))
        assert value == pytest.approx(scorer(model, X, y), rel=1e-12)


def test_what_intervals_are_made_from():
    def known(name, task="classification"):
        metric = get_metric(name, task)
        return metric.row_loss is not None, metric.smooth is not None

    assert {known(name) for name in ("error", "accuracy", "log_loss", "brier", "neg_log_loss", "f1_micro")} == {
        (True, False)
    }
    assert {known(name) for name in ("f1", "precision", "tpr", "tnr", "fpr", "balanced_accuracy", "f1_macro")} == {
        (False, True)
    }
    assert {known(name) for name in ("auc", "average_precision", "f1_weighted", "matthews_corrcoef")} == {
        (False, False)
    }
    assert {known(name, "regression") for name in ("rmse", "r2", "rse")} == {(False, True)}
    assert known("rss", "regression") == (True, True)


def test_intervals_are_clipped_to_what_a_metric_can_be():
    assert get_metric("f1", "classification").clipped((-0.1, 1.2)) == (0, 1)
    assert get_metric("mse", "regression").clipped((-1.0, 2.0)) == (0, 2)
    assert get_metric("neg_mean_squared_error", "regression").clipped((-2.0, 1.0)) == (-2, 0)
    assert get_metric("r2", "regression").clipped((-3.0, 1.2)) == (-3, 1)


@pytest.mark.parametrize("name", ["neg_mean_squared_error", "neg_mean_absolute_error", "neg_root_mean_squared_error"])
def test_scorers_of_numbers_refuse_classes_that_are_text(name):
    data = Data(np.arange(6).reshape(-1, 1), ["a", "b"] * 3, task="classification")
    with pytest.raises(InvalidInput, match="is for numbers"):
        get_metric(name, "classification").check(data)


@pytest.mark.parametrize("name", ["f1_macro", "recall_macro", "precision_macro", "jaccard"])
def test_scorers_of_classes_refuse_a_regression(name):
    data = Data(np.arange(6).reshape(-1, 1), np.arange(6) / 2, task="regression")
    with pytest.raises(InvalidInput, match="is for classes"):
        get_metric(name, "regression").check(data)
