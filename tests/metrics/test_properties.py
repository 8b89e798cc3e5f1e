import numpy as np
import pytest
from sklearn import metrics as sk

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.rows import Rows
from truefit._metrics.metric import get_metric
from truefit._metrics.properties import false_positive_rate, specificity

# 12 rows: 5 positive, of which 3 are found (TP 3, FN 2), and 7 negative, of which 1 is a false alarm (FP 1, TN 6).
Y = np.array([1] * 5 + [0] * 7)
PREDICTED = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
BY_HAND = {
    "error": (1 + 2) / 12,  # (FP + FN) / all
    "accuracy": (3 + 6) / 12,  # (TP + TN) / all
    "recall": 3 / 5,  # TP / (TP + FN)
    "sensitivity": 3 / 5,
    "tpr": 3 / 5,
    "specificity": 6 / 7,  # TN / (FP + TN)
    "tnr": 6 / 7,
    "fpr": 1 / 7,  # FP / (FP + TN)
    "precision": 3 / 4,  # TP / (TP + FP)
    "f1": 6 / 9,  # 2 TP / (2 TP + FP + FN)
    "balanced_accuracy": (3 / 5 + 6 / 7) / 2,
}


def said(data, predicted):
    """An outcome with these predictions for all rows."""
    codes = np.searchsorted(data.classes, predicted)
    return Outcome("fit", [Predictions("predict", data.tokens, codes, coded=True)], classes=data.classes)


def value(name, y, predicted, *, weight=None, pos_label=None):
    data = Data(np.arange(len(y))[:, None], y, task="classification", weight=weight)
    metric = get_metric(name, "classification", pos_label=pos_label)
    return metric.value(said(data, predicted), data, Rows.all(data.n))


def test_weighted_rates_of_negatives_equal_scikit_learns():
    weight = np.random.default_rng(0).uniform(size=12)
    tn, fp, _, _ = sk.confusion_matrix(Y, PREDICTED, sample_weight=weight).ravel()
    assert specificity(Y, PREDICTED, sample_weight=weight) == pytest.approx(tn / (fp + tn), rel=1e-12)
    assert false_positive_rate(Y, PREDICTED, sample_weight=weight) == pytest.approx(fp / (fp + tn), rel=1e-12)


@pytest.mark.parametrize("name", BY_HAND)
def test_every_rate_by_hand(name):
    assert value(name, Y, PREDICTED) == pytest.approx(BY_HAND[name], rel=1e-12)


@pytest.mark.parametrize("name", BY_HAND)
def test_text_labels_with_the_positive_class_said(name):
    words = np.array(["healthy", "ill"])
    assert value(name, words[Y], words[PREDICTED], pos_label="ill") == pytest.approx(BY_HAND[name], rel=1e-12)


def test_the_other_class_as_the_positive_one():
    # Then TP 6, FP 2, FN 1, TN 3.
    by_hand = {"recall": 6 / 7, "specificity": 3 / 5, "fpr": 2 / 5, "precision": 6 / 8, "f1": 12 / 15}
    for name, expected in by_hand.items():
        assert value(name, Y, PREDICTED, pos_label=0) == pytest.approx(expected, rel=1e-12)


def test_weighted_rates_by_hand():
    # The first false negative (row 3) counts 3 times, the false alarm (row 5) 2.5 times:
    # TP 3, FN 1 + 3 = 4, FP 2.5, TN 6, in all 15.5.
    weight = np.ones(12)
    weight[3], weight[5] = 3, 2.5
    by_hand = {
        "error": 6.5 / 15.5,
        "accuracy": 9 / 15.5,
        "recall": 3 / 7,
        "specificity": 6 / 8.5,
        "fpr": 2.5 / 8.5,
        "precision": 3 / 5.5,
        "f1": 6 / 12.5,
        "balanced_accuracy": (3 / 7 + 6 / 8.5) / 2,
    }
    for name, expected in by_hand.items():
        assert value(name, Y, PREDICTED, weight=weight) == pytest.approx(expected, rel=1e-12)


FUNCTIONS = {
    "error": sk.zero_one_loss,
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "recall": sk.recall_score,
    "precision": sk.precision_score,
    "f1": sk.f1_score,
    "jaccard": sk.jaccard_score,
    "matthews_corrcoef": sk.matthews_corrcoef,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_classes_equal_scikit_learn(name, weighted):
    random = np.random.default_rng(1)
    y, predicted = random.integers(2, size=(2, 80))
    weight = random.uniform(size=80) if weighted else None
    expected = FUNCTIONS[name](y, predicted, sample_weight=weight)
    assert value(name, y, predicted, weight=weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", ["recall", "precision", "f1", "jaccard"])
def test_several_classes_equal_scikit_learn(name, average, weighted):
    random = np.random.default_rng(2)
    y, predicted = np.array(["a", "b", "c", "d"])[random.integers(4, size=(2, 90))]
    weight = random.uniform(size=90) if weighted else None
    expected = FUNCTIONS[name](y, predicted, average=average, sample_weight=weight)
    assert value(f"{name}_{average}", y, predicted, weight=weight) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_of_several_classes_equal_scikit_learn(weighted):
    random = np.random.default_rng(3)
    y, predicted = random.integers(4, size=(2, 90))
    weight = random.uniform(size=90) if weighted else None
    for name in ("error", "accuracy", "balanced_accuracy"):
        expected = FUNCTIONS[name](y, predicted, sample_weight=weight)
        assert value(name, y, predicted, weight=weight) == pytest.approx(expected, rel=1e-12)


def test_a_rate_that_no_row_bears_on_is_the_worst_and_nothing_is_warned_of():
    nobody = np.zeros(12, dtype=int)
    assert value("precision", Y, nobody) == 0
    assert value("f1", Y, nobody) == 0
    assert specificity([1, 1], [1, 0]) == 0
    assert false_positive_rate([1, 1], [1, 0]) == 1
    data = Data(np.arange(12)[:, None], Y, task="classification")
    positives_only, outcome = Rows.of(range(5)), said(data, PREDICTED)
    negatives_only = Rows.of(range(5, 12))
    for name, expected in {"recall": 0, "precision": 0, "f1": 0, "balanced_accuracy": 6 / 7, "jaccard": 0}.items():
        assert get_metric(name, "classification").value(outcome, data, negatives_only) == pytest.approx(expected)
    for name, expected in {"tnr": 0, "fpr": 1, "balanced_accuracy": 3 / 5, "f1_macro": 3 / 8}.items():
        assert get_metric(name, "classification").value(outcome, data, positives_only) == pytest.approx(expected)
