"""A separate test set: evaluated once by the selected model, beside the estimate from the training rows."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score, zero_one_loss
from sklearn.naive_bayes import GaussianNB

from truefit import study
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._stats.clustered import clustered_wilson
from truefit._stats.intervals import wilson
from truefit._study.external_test import evaluated, read_test

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :5] / X[:, :5].std(axis=0)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(X[:, 0] > 3, "large", "small"))
MODELS = {"bayes": GaussianNB()}


def test_the_selected_model_is_evaluated_once_on_the_test_set(tmp_path):
    models = {"linear": LogisticRegression(), "bayes": GaussianNB()}
    order = np.random.default_rng(0).permutation(len(Y))
    kept, tested = order[:400], order[395:]
    found = study(X[kept], Y[kept], models, test=(X[tested], Y[tested]))
    own = zero_one_loss(Y[tested], models[found.best].fit(X[kept], Y[kept]).predict(X[tested]))
    assert found.test.estimate == pytest.approx(own)
    assert found.test.interval == pytest.approx(wilson(own, 174, 0.95))
    assert found.test.rows == 174
    assert found.test.agrees
    assert found.estimate == study(X[kept], Y[kept], models).estimate  # nothing else has seen the test set
    (sentence,) = [each for each in found.verdict if "separate test set" in each]
    assert f"of 174 rows, evaluated once: error {own:.1%}" in sentence
    assert "agrees with the estimate" in sentence
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["test"]["agrees"] is True
    copies = next(each for each in found.findings if each.code == "TF112")
    assert copies.evidence == {"copies": 5, "test_rows": 174}
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Separate test set" in page
    assert f"{found.best} on the separate test set (174 rows)" in page


def test_groups_of_the_test_set_are_counted_and_compared_with_those_of_the_training_rows():
    groups = np.arange(569) // 4
    models = {"bayes": GaussianNB()}
    found = study(X[:400], Y[:400], models, groups=groups[:400], test=(X[398:], Y[398:], groups[398:]))
    model = models["bayes"].fit(X[:400], Y[:400])
    wrong = (model.predict(X[398:]) != Y[398:]).astype(float)
    assert found.test.estimate == pytest.approx(wrong.mean())
    assert found.test.interval == pytest.approx(clustered_wilson([wrong], [groups[398:]], factor=1.0), abs=5e-4)
    assert found.test.interval != pytest.approx(wilson(wrong.mean(), 171, 0.95), abs=5e-4)
    related = next(each for each in found.findings if each.evidence.get("related"))
    assert related.code == "TF112"
    assert related.evidence == {"related": 2, "test_rows": 171}


def test_without_a_test_set_there_is_none():
    found = study(X[:200], Y[:200], MODELS)
    assert found.test is None
    assert found.to_dict()["test"] is None


def test_other_rows_do_not_agree():
    found = study(X[:300], Y[:300], MODELS, test=(X[300:], 1 - Y[300:]))
    assert found.test.agrees is False
    assert found.test.difference_interval[0] > 0
    assert "differs significantly from the estimate" in " ".join(found.verdict)


def score(metric, X_test, y_test, *, task="classification"):
    from truefit._metrics.metric import get_metric

    model = (GaussianNB() if task == "classification" else Ridge()).fit(X[:300], Y[:300])
    data = Data(X[:300], Y[:300], task=task)
    return model, evaluated(model, read_test((X_test, y_test), data), data, get_metric(metric, task), 0.95, 0.5, None)


def test_metrics_have_the_interval_of_a_hold_out():
    model, found = score("auc", X[300:], Y[300:])
    assert found.estimate == pytest.approx(roc_auc_score(Y[300:], model.predict_proba(X[300:])[:, 1]))
    assert found.interval[0] < found.estimate < found.interval[1]
    assert found.agrees is None  # without an interval of the other estimate
    for metric in ("log_loss", "balanced_accuracy", "f1", "brier"):
        _, found = score(metric, X[300:], Y[300:])
        assert found.interval[0] < found.estimate < found.interval[1]
    numbers, target = load_diabetes(return_X_y=True)
    whole = study(numbers[:300], target[:300], {"ridge": Ridge()}, test=(numbers[300:], target[300:]))
    predicted = Ridge().fit(numbers[:300], target[:300]).predict(numbers[300:])
    assert whole.test.estimate == pytest.approx(np.sqrt(np.mean((predicted - target[300:]) ** 2)))
    assert whole.test.interval is not None


def test_new_classes_count_as_errors_and_few_rows_say_what_they_can():
    target = np.where(np.arange(269) < 9, 7, Y[300:])
    _, found = score("error", X[300:], target)
    assert found.unseen_classes == {"7": 9}
    _, known = score("error", X[309:], Y[309:])
    assert found.estimate == pytest.approx((9 + 260 * known.estimate) / 269)
    _, one = score("error", X[300:301], Y[300:301])
    assert one.rows == 1
    assert one.interval[1] - one.interval[0] > 0.7
    _, alone = score("auc", X[300:301], Y[300:301])
    assert np.isnan(alone.estimate)
    assert "both classes" in alone.reason
    _, third = score("auc", X[300:], target)
    assert "is for 2 classes" in third.reason


BAD = {
    "no pair": (X[:300], X[300:], "pair .X_test, y_test."),
    "no rows": (X[:300], (X[:0], Y[:0]), "at least one row"),
    "lengths": (X[:300], (X[300:], Y[:5]), "must have 269 values"),
    "fewer columns": (X[:300], (X[300:, :3], Y[300:]), "must have the 5 columns .* Got 3"),
    "an array": (FRAME[:300], (X[300:], Y[300:]), "must be a data frame, .* Got an array"),
    "a missing column": (FRAME[:300], (FRAME[300:].drop(columns="b"), Y[300:]), "It lacks 'b'"),
    "text for numbers": (FRAME[:300], (FRAME[300:].assign(a="x"), Y[300:]), "Column 'a' .* must hold numbers"),
    "polars": (
        pl.from_pandas(FRAME[:300]),
        (pl.from_pandas(FRAME[300:]).with_columns(kind=pl.lit(1)), Y[300:]),
        "Column 'kind' .* must hold no numbers",
    ),
    "other classes": (X[:300], (X[300:], Y[300:].astype(str)), "classes of the test set must be those of the training"),
}


def test_a_metric_of_two_classes_is_refused_before_any_fit_where_the_test_set_has_more():
    target = np.where(np.arange(269) < 9, 7, Y[300:])
    with pytest.raises(InvalidInput, match=r"is for 2 classes, 0 and 1\. The test rows have 9 of '7' too"):
        study(X[:300], Y[:300], MODELS, metric="auc", test=(X[300:], target))


@pytest.mark.parametrize("case", BAD)
def test_a_test_set_that_does_not_suit_is_refused_in_one_sentence_before_any_fit(case):
    rows, test, message = BAD[case]
    with pytest.raises(InvalidInput, match=message) as caught:
        study(rows, Y[:300], models=["tree"] if hasattr(rows, "columns") else MODELS, test=test)
    assert len(str(caught.value).splitlines()) == 1


def test_columns_are_taken_by_name_and_new_categories_are_no_obstacle():
    test = FRAME[300:].assign(kind="huge", note=1)[["note", "kind", *"edcba"]]
    with (
        pytest.warns(UserWarning, match="columns that the training rows lack: 'note'. They are not used"),
        pytest.warns(UserWarning, match="categories that the training rows lack, in column 'kind': 'huge' in 269 rows"),
    ):
        found = study(FRAME[:300], Y[:300], ["tree", "dummy"], tune=False, test=(test, Y[300:]))
    assert found.test.estimate < 0.3
