from inspect import signature

import numpy as np
import pytest
from sklearn import metrics as sk

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._core.rows import Rows
from truefit._metrics.metric import get_metric

FUNCTIONS = {"log_loss": sk.log_loss, "brier": sk.brier_score_loss}
#: Those that take several classes; the Brier score does from scikit-learn 1.7 on.
OF_SEVERAL = [name for name, function in FUNCTIONS.items() if "labels" in signature(function).parameters]


def probable(classes, *, labels=None, n=60, weight=None, dtype=np.float64, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    proba = random.dirichlet(np.full(classes, 0.3), size=n).astype(dtype)
    y = y if labels is None else np.asarray(labels)[y]
    data = Data(np.arange(n)[:, None], y, task="classification", weight=weight)
    return data, Outcome("fit", [Predictions("predict_proba", data.tokens, proba)], classes=data.classes), proba


def check(name, data, outcome, expected):
    metric, rows = get_metric(name, "classification"), Rows.all(data.n)
    each = metric.rows(outcome, data, rows)
    assert each.shape == (data.n,)
    mean = np.average(each, weights=data.weight)
    assert mean == pytest.approx(expected, rel=1e-12)
    assert metric.value(outcome, data, rows) == mean
    assert get_metric(f"neg_{'brier_score' if name == 'brier' else name}", "classification").value(
        outcome, data, rows
    ) == pytest.approx(-expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_classes_equal_scikit_learn(name, weighted):
    weight = np.random.default_rng(1).uniform(size=60) if weighted else None
    data, outcome, proba = probable(2, weight=weight)
    check(name, data, outcome, FUNCTIONS[name](data.y, proba[:, 1], sample_weight=weight))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", OF_SEVERAL)
def test_several_classes_equal_scikit_learn(name, weighted):
    weight = np.random.default_rng(2).uniform(size=60) if weighted else None
    data, outcome, proba = probable(4, labels=["a", "b", "c", "d"], weight=weight)
    check(name, data, outcome, FUNCTIONS[name](data.y, proba, sample_weight=weight))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_text_labels_of_two_classes_need_no_positive_one(name):
    data, outcome, proba = probable(2, labels=["no", "yes"])
    check(name, data, outcome, FUNCTIONS[name](data.y == "yes", proba[:, 1]))


def test_by_hand():
    # Rows of classes a, b, b with P(b) = 0.2, 0.6, 1: losses -ln 0.8, -ln 0.6, 0 and 0.04, 0.16, 0.
    data = Data(np.arange(3)[:, None], ["a", "b", "b"], task="classification")
    proba = np.array([[0.8, 0.2], [0.4, 0.6], [0.0, 1.0]])
    outcome = Outcome("fit", [Predictions("predict_proba", data.tokens, proba)], classes=data.classes)
    rows = Rows.all(3)
    log_loss = get_metric("log_loss", "classification").rows(outcome, data, rows)
    assert np.allclose(log_loss, [-np.log(0.8), -np.log(0.6), 0], atol=1e-12)
    assert np.allclose(get_metric("brier", "classification").rows(outcome, data, rows), [0.04, 0.16, 0])


def test_three_classes_are_not_halved():
    # |(1, 0, 0) - (0.5, 0.3, 0.2)|² = 0.25 + 0.09 + 0.04.
    data = Data(np.arange(3)[:, None], [0, 1, 2], task="classification")
    proba = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    outcome = Outcome("fit", [Predictions("predict_proba", data.tokens, proba)], classes=data.classes)
    assert np.allclose(get_metric("brier", "classification").rows(outcome, data, Rows.all(3)), [0.38, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_probability_of_zero_is_kept_off_zero_as_in_scikit_learn(dtype):
    data, outcome, proba = probable(3, dtype=dtype)
    proba[0] = [0, 1, 0]
    expected = sk.log_loss(data.y, proba)
    assert np.isfinite(expected)
    assert get_metric("log_loss", "classification").value(outcome, data, Rows.all(60)) == pytest.approx(
        expected, rel=1e-12 if dtype == np.float64 else 1e-6
    )


@pytest.mark.parametrize("name", OF_SEVERAL)
@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"]])
def test_test_rows_that_lack_a_class(name, labels):
    data, outcome, proba = probable(len(labels), labels=labels)
    rows = Rows.of(np.flatnonzero(data.y != labels[-1]))
    expected = FUNCTIONS[name](data.y[rows.index], proba[rows.index], labels=labels)
    assert get_metric(name, "classification").value(outcome, data, rows) == pytest.approx(expected, rel=1e-12)


def test_a_class_that_the_model_has_not_seen_has_probability_zero():
    data, _, _ = probable(3)
    proba = np.full((60, 2), 0.5)
    outcome = Outcome("fit", [Predictions("predict_proba", data.tokens, proba)], classes=np.array([0, 1]))
    full = np.column_stack([proba, np.zeros(60)])
    value = get_metric("brier", "classification").value(outcome, data, Rows.all(60))
    assert value == pytest.approx(((np.eye(3)[data.y] - full) ** 2).sum(axis=1).mean(), rel=1e-12)


def test_what_is_no_probability_is_refused_or_warned_of():
    data, _, proba = probable(3)
    metric = get_metric("log_loss", "classification")

    def outcome(values):
        return Outcome("fit", [Predictions("predict_proba", data.tokens, values)], classes=data.classes)

    with pytest.raises(InvalidInput, match="within 0 and 1"):
        metric.value(outcome(proba - 1), data, Rows.all(60))
    with pytest.raises(InvalidInput, match="within 0 and 1"):
        metric.value(outcome(np.full_like(proba, np.nan)), data, Rows.all(60))
    with pytest.warns(UserWarning, match="add up to 1"):
        metric.value(outcome(proba / 2), data, Rows.all(60))
