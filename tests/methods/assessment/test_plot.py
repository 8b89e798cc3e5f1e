import inspect

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics import auc, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess, compare
from truefit._core.errors import InvalidInput
from truefit._plots.svg import to_svg

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:200], np.array(["benign", "malignant"])[1 - y[:200]]
XD, yd = load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def engine():
    return Engine()


@pytest.mark.parametrize("kind", ["roc", "precision_recall", "calibration", "decision_curve", "confusion"])
def test_classifications_are_drawn(kind, engine):
    ax = assess(GaussianNB(), X, y, engine=engine).plot(kind=kind)
    assert "<svg" in to_svg(ax, title=kind, description=kind)


@pytest.mark.parametrize("kind", ["residuals", "predicted"])
def test_regressions_are_drawn(kind):
    ax = assess(Ridge(), XD, yd).plot(kind=kind)
    assert "<svg" in to_svg(ax, title=kind, description=kind)


def test_the_curves_of_several_stand_in_one_picture(engine):
    models = {"nb": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}
    labels = [text.get_text() for text in assess(models, X, y, engine=engine).plot(kind="roc").get_legend().get_texts()]
    assert any("nb" in text for text in labels)
    assert any("tree" in text for text in labels)


def test_the_points_of_a_roc_curve_enclose_the_auc_of_each_fold(engine):
    result = assess(GaussianNB(), X, y, engine=engine)
    for split, part in result.roc().groupby("split"):
        fold = result.predictions[result.predictions["split"] == split]
        expected = roc_auc_score(fold["y"] == "malignant", fold["p(malignant)"])
        assert auc(part["fpr"], part["tpr"]) == pytest.approx(expected)


def test_the_positive_class_can_be_the_other_one(engine):
    result = assess(GaussianNB(), X, y, engine=engine)
    curve = result.roc(pos_label="benign").query("split == 0")
    fold = result.predictions.query("split == 0")
    assert auc(curve["fpr"], curve["tpr"]) == pytest.approx(roc_auc_score(fold["y"] == "benign", fold["p(benign)"]))


def test_a_margin_serves_where_there_is_no_probability():
    result = assess(RidgeClassifier(), X, y)
    assert len(result.roc()) > 5
    with pytest.raises(InvalidInput, match="with predict_proba"):
        result.plot(kind="calibration")


def test_all_metrics_stand_in_one_table_without_a_fit(engine):
    result = assess({"nb": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}, X, y, engine=engine)
    before = engine.stats.run
    table = result.metrics(pos_label="malignant")
    assert engine.stats.run == before
    assert {"error", "f1", "auc", "log_loss", "fpr", "tnr"} <= set(table.columns)
    assert table.loc["nb", "auc"] == result.score("auc")["nb"]
    assert list(result.metrics(["accuracy", "f1_macro"]).columns) == ["accuracy", "f1_macro"]


@pytest.mark.parametrize(
    ("model", "table", "target", "kind", "message"),
    [
        (GaussianNB(), X, y, "pie", "must be one of"),
        (GaussianNB(), X, y, "residuals", "of a regression"),
        (Ridge(), XD, yd, "roc", "of 2 classes"),
        (GaussianNB(), *load_iris(return_X_y=True), "roc", "of 2 classes"),
        ([GaussianNB(), GaussianNB()], X, y, "confusion", "of one estimator"),
    ],
)
def test_a_picture_that_does_not_suit_is_refused(model, table, target, kind, message):
    with pytest.raises(InvalidInput, match=message):
        assess(model, table, target, cv=3).plot(kind=kind)


def test_the_kind_or_the_axes_come_first(engine):
    result = assess(GaussianNB(), X, y, engine=engine)
    own = Figure().subplots(1, 2)
    assert result.plot("confusion").get_xlabel() == "predicted"
    assert [result.plot(own[0], kind="roc"), result.plot("roc", ax=own[1])] == own.tolist()
    assert own[0].get_xlabel() == own[1].get_xlabel() == "false positive rate"
    assert result.plot(own[0]) is own[0]
    assert "kind" in inspect.signature(result.plot).parameters
    kinds = "'calibration', 'decision_curve', 'confusion', 'residuals', 'predicted', 'time' or None. Got 'pie'"
    with pytest.raises(InvalidInput, match=kinds):
        result.plot("pie")
    with pytest.raises(InvalidInput, match=r"must be one of 'time' or None\. Got 'roc'"):
        compare([GaussianNB(), DecisionTreeClassifier(max_depth=1)], X, y, engine=engine).plot("roc")


def test_shares_are_drawn_in_percent_and_other_metrics_in_their_own_unit(engine):
    result = assess({"nb": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}, X, y, engine=engine)
    for metric, percent in {"error": True, "balanced_accuracy": True, "recall_macro": True, "auc": False}.items():
        texts = [text.get_text() for text in result.under(metric).plot().texts]
        assert all(("%" in text) == percent for text in texts), (metric, texts)
    differences = compare([GaussianNB(), DecisionTreeClassifier(max_depth=1)], X, y, engine=engine).plot()
    assert "in percentage points" in differences.get_xlabel().replace("\n", " ")
