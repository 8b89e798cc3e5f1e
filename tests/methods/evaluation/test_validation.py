"""Fitted and saved models on new rows, beside what their study promised."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from truefit import study, validate
from truefit._core.errors import InvalidInput
from truefit._methods.evaluation.promise import Agreement, Promise
from truefit._stats.intervals import wilson

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :6]
LABELS = Y.map({0: "malignant", 1: "benign"})
TRAIN, NEW = slice(0, 300), slice(300, None)
MODEL = GaussianNB().fit(X[TRAIN], LABELS[TRAIN])


def test_a_fitted_model_has_the_interval_of_a_hold_out():
    found = validate(MODEL, X[NEW], LABELS[NEW], metric="accuracy")
    assert found.estimate == accuracy_score(LABELS[NEW], MODEL.predict(X[NEW]))
    assert found.interval == pytest.approx(wilson(found.estimate, 269))
    assert found.score("auc") == pytest.approx(roc_auc_score(Y[NEW], MODEL.predict_proba(X[NEW])[:, 0]))
    assert (found.promise, found.difference, found.difference_interval, found.agrees) == (None,) * 4
    assert "carries no estimate of a study" in found.summary()
    assert "accuracy on new rows of the fitted model" in found.summary()
    wide = validate(MODEL, X[NEW], LABELS[NEW], metric="accuracy", groups=np.arange(269) // 27)
    assert np.ptp(wide.interval) > np.ptp(found.interval)
    numbers, target = load_diabetes(return_X_y=True)
    assert validate(Ridge().fit(numbers[:200], target[:200]), numbers[200:], target[200:]).metric == "rmse"


def test_a_study_is_compared_with_what_it_promised():
    found = study(X[TRAIN], LABELS[TRAIN], {"bayes": GaussianNB()}, metric="auc", pos_label="malignant")
    same = validate(found, X[NEW], LABELS[NEW])
    assert (same.metric, same.pos_label, same.agrees) == ("auc", "malignant", True)
    assert same.promise == Promise("auc", found.estimate, found.interval, 0.95, 300, "malignant")
    assert same.difference == pytest.approx(same.estimate - found.estimate)
    swapped = np.where(np.random.default_rng(0).random(269) < 0.4, "benign", LABELS[NEW])
    other = validate(found, X[NEW], swapped, metric="f1", level=0.9)  # compared by the metric and level of the promise
    assert other.agrees is False
    assert other.difference_interval[1] < 0
    assert other.difference == pytest.approx(other.score("auc") - found.estimate)
    assert "Its study promised AUC 0.9" in other.summary()
    assert f"On the new rows it is {other.score('auc'):.3f} (0." in other.summary()
    assert "The two differ significantly." in other.summary()
    data = json.loads(json.dumps(other.to_dict(), allow_nan=False))
    assert (data["kind"], data["agrees"], data["promise"]["metric"]) == ("validation", False, "auc")
    assert other.to_html().startswith("<!doctype html>")
    assert other.calibration().slope > 0


def test_agreement_without_both_intervals_is_not_tested():
    assert Agreement.between(0.3, None, 0.2, (0.1, 0.3)) == Agreement(pytest.approx(0.1), None, None)
    assert Agreement.between(0.3, (0.25, 0.35), 0.2, (0.19, 0.21)).agrees is False


def test_classes_that_the_model_does_not_know_count_as_errors():
    target = LABELS[NEW].to_numpy().astype(object)
    target[:20] = "unclear"
    found = validate(MODEL, X[NEW], target)
    assert found.unseen_classes == {"unclear": 20}
    assert found.estimate == pytest.approx(np.mean(MODEL.predict(X[NEW]) != target))
    assert "count as errors: 20 of 'unclear'" in found.summary()
    sentence = "is for 2 classes, 'benign' and 'malignant'. The test rows have 20 of 'unclear' too"
    for ask in (lambda: validate(MODEL, X[NEW], target, metric="auc"), lambda: found.under("auc")):
        with pytest.raises(InvalidInput, match=sentence):
            ask()
    by_auc = study(X[TRAIN], LABELS[TRAIN], {"bayes": GaussianNB()}, metric="auc", pos_label="malignant")
    beside = validate(by_auc, X[NEW], target, metric="error")
    assert (beside.agrees, beside.difference) == (None, None)
    assert "It cannot be compared with the new rows: The metric 'auc' is for 2 classes" in beside.summary()


def test_categories_that_an_encoder_does_not_know_are_named():
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    model.fit(pd.DataFrame({"stage": ["I", "II"] * 10}), [0, 1] * 10)
    new = pd.DataFrame({"stage": ["I", "II", "IV", None, "IV"]})
    (note,) = validate(model, new, [0, 1, 1, 0, 1]).notes
    assert note == "categories that the model was not fitted on: 'stage': 'IV' in 2 rows."
    assert validate(model, new[:2], [0, 1]).notes == []


@pytest.mark.parametrize(
    ("model", "table", "target", "sentence"),
    [
        (MODEL, X[NEW].drop(columns="mean area"), LABELS[NEW], "It lacks 'mean area'; add it"),
        (MODEL, X[NEW].to_numpy()[:, :4], LABELS[NEW], "must have the 6 columns that the model was fitted on. Got 4"),
        (MODEL, X[NEW].assign(**{"mean area": "wide"}), LABELS[NEW], "cannot predict the test rows"),
        (MODEL, X[NEW], Y[NEW], "must hold classes of the model, such as 'benign'. Got"),
        (MODEL, X[NEW], LABELS[NEW][:-1], "y must have 269 values"),
        (GaussianNB(), X[NEW], LABELS[NEW], "The model must be fitted"),
        (GaussianNB, X[NEW], LABELS[NEW], "must be a fitted estimator, a Study, or the path"),
        ("nowhere.skops", X[NEW], LABELS[NEW], "There is no model 'nowhere.skops'"),
    ],
)
def test_what_does_not_suit_the_model_is_refused_in_a_sentence(model, table, target, sentence):
    with pytest.raises(InvalidInput, match=sentence) as caught:
        validate(model, table, target)
    assert "\n" not in str(caught.value)


def test_columns_are_found_by_name_and_others_are_named():
    mixed = X[NEW][X.columns[::-1]].assign(site=1)
    with pytest.warns(UserWarning, match="not fitted on: 'site'"):
        found = validate(MODEL, mixed, LABELS[NEW])
    assert found.estimate == validate(MODEL, X[NEW], LABELS[NEW]).estimate


@pytest.fixture
def saved(tmp_path):
    pytest.importorskip("skops.io")
    from truefit._cli.saved_model import write_model
    from truefit.sources.table import Table

    frame = X[TRAIN].assign(kind=LABELS[TRAIN].to_numpy())
    table = Table.of(frame, name="rows", target="kind")
    model = LogisticRegression(max_iter=5000).fit(table.X, table.y)
    promise = Promise("error", 0.1, (0.07, 0.14), 0.95, 300)
    write_model(model, tmp_path / "model.skops", table=table, promise=promise)
    return tmp_path / "model.skops"


def rewritten(place, **changes):
    """Replace the notes in a model file."""
    with zipfile.ZipFile(place) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    entries["truefit.json"] = json.dumps(json.loads(entries["truefit.json"]) | changes).encode()
    with zipfile.ZipFile(place, "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)


def test_a_saved_model_carries_what_its_study_promised(saved):
    found = validate(saved, X[NEW], LABELS[NEW])
    assert found.promise == Promise("error", 0.1, (0.07, 0.14), 0.95, 300)
    assert found.metric == "error"
    assert found.agrees is not None
    rewritten(saved, promise=None)  # as version 0.2 wrote it
    assert validate(saved, X[NEW], LABELS[NEW]).promise is None


@pytest.mark.parametrize(
    "promise",
    [7, {}, {"metric": "error", "estimate": "low"}, {"metric": "error", "estimate": 0.1, "level": 2, "rows": 3}],
)
def test_a_promise_that_is_none_is_refused(saved, promise):
    rewritten(saved, promise=promise)
    with pytest.raises(InvalidInput, match="the estimate in the notes of truefit is not valid"):
        validate(saved, X[NEW], LABELS[NEW])


def test_a_model_of_a_later_version_is_refused_and_of_another_scikit_learn_is_said(saved, monkeypatch):
    rewritten(saved, version=3, truefit="0.9.1")
    with pytest.raises(InvalidInput, match=r"saved by a later one, 0.9.1. Update truefit"):
        validate(saved, X[NEW], LABELS[NEW])
    rewritten(saved, version=2)
    with zipfile.ZipFile(saved) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    import sklearn

    entries["schema.json"] = entries["schema.json"].replace(sklearn.__version__.encode(), b"1.8.0")
    with zipfile.ZipFile(saved, "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    with pytest.warns(UserWarning, match="was saved with scikit-learn 1.8.0; this is"):
        validate(saved, X[NEW], LABELS[NEW])


def test_columns_of_a_frame_of_another_library(saved):
    pl = pytest.importorskip("polars")
    expected = validate(MODEL, X[NEW], LABELS[NEW]).estimate
    assert validate(MODEL, pd.DataFrame(X[NEW]), LABELS[NEW]).estimate == expected
    other = validate(saved, pl.from_pandas(X[NEW]), LABELS[NEW].to_numpy())
    assert other.estimate == validate(saved, X[NEW], LABELS[NEW]).estimate
