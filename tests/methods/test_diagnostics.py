"""Calibration, decision curves, thresholds, classes and subgroups from the stored predictions of a result."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import precision_score, recall_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess, study
from truefit._core.errors import InvalidInput
from truefit._methods.diagnostics import PredictionDiagnostics
from truefit._methods.predictions import ModelPredictions
from truefit._stats.intervals import wilson

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
LABELS = y.map({0: "malignant", 1: "benign"})
MODELS = {"nb": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}


class Given(PredictionDiagnostics):
    """The least that the diagnostics need."""

    def __init__(self, **predictions):
        self.names, self.level, self.single = list(predictions), 0.95, len(predictions) == 1
        self._given = predictions

    def _predictions_of(self, name):
        return self._given[name]


def binary(y, p, **options):
    p = np.asarray(p, dtype=float)
    given = {"groups": None, "weight": None, **options}
    return ModelPredictions(
        np.asarray(y), (p >= 0.5).astype(int), np.column_stack([1 - p, p]), np.array([0, 1]), **given
    )


@pytest.fixture(scope="module")
def engine():
    return Engine()


@pytest.fixture(scope="module")
def one(engine):
    return assess(GaussianNB(), X, LABELS, metric="recall", pos_label="malignant", engine=engine)


@pytest.fixture(scope="module")
def several(engine):
    return assess(MODELS, X, LABELS, engine=engine)


def test_no_diagnosis_of_a_stored_study_fits_anything(tmp_path):
    store = tmp_path / "runs.db"
    models = {"nb": GaussianNB(), "dummy": DummyClassifier()}
    run = partial(study, X[:150], LABELS[:150], models, metric="f1", pos_label="benign")
    run(engine=Engine(store=store))
    engine = Engine(store=store)
    found = run(engine=engine)
    for result in (found, found.assessment):
        result.calibration().summary()
        result.decision_curve().summary()
        result.threshold({"sensitivity": 0.9}).summary()
        result.per_class().summary()
        result.by(X["mean area"][:150], "accuracy").summary()
        assert result.threshold().pos_label == "benign"
    assert isinstance(found.calibration().slope, float)
    assert set(found.assessment.calibration().slope) == set(models)
    page = found.to_html()
    for part in ("ROC curve", "Thresholds and decision curve", "Recall and precision of each class"):
        assert f"<summary><h3>{part}</h3></summary>" in page
    assert set(found.to_dict()["predictions"]) == {"calibration", "decision_curve", "thresholds", "per_class"}
    assert engine.stats.run == 0


def test_every_result_has_the_parts_of_a_result(several):
    for found in (several.calibration(), several.decision_curve(), several.threshold(), several.per_class()):
        assert set(found.table.index) == {"nb", "tree"}
        assert "nb" in found.summary()
        assert found.to_html().startswith("<!doctype html>")
        assert found.to_dict()["version"] == 1
        assert found.title in found._repr_html_()


def test_the_positive_class_is_remembered(one, several):
    assert one.score("recall") == one.estimate
    assert one.score("recall", pos_label="benign") != one.estimate
    assert one.calibration().summary().splitlines()[0].endswith("class 'malignant' on 569 held-out rows")
    assert one.threshold().pos_label == one.decision_curve().pos_label == "malignant"
    assert one.threshold(pos_label="benign").pos_label == "benign"
    assert several.threshold().pos_label == "malignant"  # the second in order
    assert one.roc()["tpr"].equals(one.roc(pos_label="malignant")["tpr"])


def test_thresholds_of_the_roc_curve_are_probabilities():
    found = assess(LogisticRegression(max_iter=5000), X / X.std(), y).roc()
    inner = found["threshold"][np.isfinite(found["threshold"])]
    assert inner.between(0, 1).all()


def test_of_repeats_the_first_partition_is_taken(engine):
    once = assess(GaussianNB(), X, y, engine=engine)
    repeated = assess(GaussianNB(), X, y, repeats=3, engine=engine)
    own = repeated._predictions_of("GaussianNB")
    assert len(own.y) == len(y)
    np.testing.assert_array_equal(own.probability, once._predictions_of("GaussianNB").probability)
    assert repeated.calibration().slope == once.calibration().slope


def test_the_slope_of_an_assessment_is_that_of_scikit_learn(one):
    frame = one.predictions
    p = frame["p(malignant)"].to_numpy()
    known = (p > 1e-6) & (p < 1 - 1e-6)
    own = Given(nb=binary((frame["y"] == "malignant")[known].astype(int), p[known])).calibration()
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=9999)
    peer.fit(logit(p[known])[:, None], frame["y"][known] == "malignant")
    assert own.slope == pytest.approx(peer.coef_[0, 0], abs=1e-6)
    assert own.intercept == pytest.approx(peer.intercept_[0], abs=1e-5)
    assert set(own.curve.columns) == {"predicted", "observed", "low", "high"}


def test_net_benefit_and_its_paired_difference(several):
    found = several.decision_curve([0.2, 0.5], pos_label="malignant")
    benefit = {}
    for name, frame in several.predictions.items():
        called = frame["p(malignant)"] >= 0.2
        true, false = (called & (frame["y"] == label) for label in ("malignant", "benign"))
        benefit[name] = true.mean() - false.mean() * 0.2 / 0.8
        assert found.net_benefit[name][0] == pytest.approx(benefit[name])
    pair = found.difference("nb", "tree", 0.2)
    assert pair.mean == pytest.approx(benefit["nb"] - benefit["tree"])
    assert pair.interval()[0] < pair.mean < pair.interval()[1]
    share = (LABELS == "malignant").mean()
    assert found.treat_all[0] == pytest.approx(share - (1 - share) * 0.25)


def test_recall_and_precision_of_every_class(several):
    table = several.per_class().table.loc["nb"].set_index("class")
    frame = several.predictions["nb"]
    for label in ("benign", "malignant"):
        recall = recall_score(frame["y"], frame["prediction"], pos_label=label)
        assert table.loc[label, "recall"] == pytest.approx(recall)
        assert table.loc[label, "precision"] == pytest.approx(
            precision_score(frame["y"], frame["prediction"], pos_label=label)
        )
        ends = wilson(recall, (frame["y"] == label).sum() / 1.2**2)
        assert table.loc[label, ["recall_low", "recall_high"]].tolist() == pytest.approx(ends)
    assert table.loc["benign", "most_often_called"] == "malignant"


def test_the_confusion_matrix_has_shares_with_intervals(several):
    cells = several.per_class().confusion.loc["nb"].set_index(["class", "predicted"])
    counts = several.confusion()["nb"]
    for (true, called), cell in cells.iterrows():
        assert cell["rows"] == counts.loc[true, called]
        assert cell["share"] == pytest.approx(counts.loc[true, called] / counts.loc[true].sum())
        assert cell["low"] < cell["share"] < cell["high"]
    assert cells["share"].sum() == pytest.approx(2)


@pytest.mark.parametrize("groups", [None, np.arange(200) // 4])
def test_a_given_threshold_is_evaluated_as_it_is(groups):
    own = binary(HELD.y, HELD.probability[:, 1], groups=groups)
    found = Given(own=own).threshold(0.4)
    called = HELD.probability[:, 1] >= 0.4
    assert found.threshold == 0.4
    assert found.sensitivity == pytest.approx(recall_score(HELD.y, called))
    assert found.specificity == pytest.approx(recall_score(HELD.y, called, pos_label=0))
    assert found.precision == pytest.approx(precision_score(HELD.y, called))
    alone = wilson(found.sensitivity, 100)
    assert (
        found.sensitivity_interval == pytest.approx(alone)
        if groups is None
        else np.ptp(found.sensitivity_interval) >= np.ptp(alone)
    )
    assert "not chosen" in found.summary()


def test_several_classes_and_regressions_are_calibrated_too():
    iris = assess(GaussianNB(), *load_iris(return_X_y=True)).calibration()
    assert list(iris.slope) == [0, 1, 2]
    assert "separate the classes" in iris.reason[0]
    assert list(iris.table["class"]) == [0, 1, 2]
    iris.plot()
    ridge = assess(Ridge(), *load_diabetes(return_X_y=True)).calibration()
    assert ridge.slope_interval[0] > 1  # this penalty shrinks predictions too much
    assert ridge.plot().get_xlabel() == "predicted"


rng = np.random.default_rng(1)
HELD = binary(np.arange(200) % 2, rng.random(200) * 0.5 + np.arange(200) % 2 * 0.4)


def test_subgroups_are_those_rows_and_their_intervals_hold_together():
    column = pd.Series(np.where(np.arange(200) < 90, "a", np.where(np.arange(200) < 190, "b", None)), name="site")
    found = Given(own=HELD).by(column, "accuracy")
    right = HELD.predicted == HELD.y
    assert found.estimate["a"] == pytest.approx(right[:90].mean())
    ends = wilson(right[:90].mean(), 90, 1 - 0.05 / 2, df=89)
    assert found.interval["a"] == pytest.approx(ends)
    assert np.isnan(found.estimate["missing"])
    assert found.table.set_index("group").loc["missing", "reason"] == "fewer than 30 rows"
    assert found.worst == min("ab", key=found.estimate.get)
    assert 0 < found.p <= 1
    assert "by site" in found.summary()
    areas = Given(own=HELD).by(column, "auc").estimate
    assert areas["b"] == pytest.approx(roc_auc_score(HELD.y[90:190], HELD.probability[90:190, 1]))
    assert found.plot().get_xlabel() == "accuracy"


@pytest.mark.parametrize("metric", ["error", "auc", "f1", "brier", "log_loss", "balanced_accuracy", "jaccard"])
def test_any_metric_has_subgroups(metric):
    numbers = np.arange(200.0)
    for own in (HELD, binary(HELD.y, HELD.probability[:, 1], groups=np.arange(200) // 4, folds=np.arange(200) % 5)):
        found = Given(own=own).by(numbers, metric, bins=3)
        assert list(found.table["rows"]) == [67, 66, 67]
        assert list(found.table["group"]) == ["0 to 66", "67 to 132", "133 to 199"]
        assert all(ends is None or ends[0] <= found.estimate[name] <= ends[1] for name, ends in found.interval.items())
        assert (found.p is None) == all(ends is None for ends in found.interval.values())


def test_no_row_is_lost_where_bins_or_levels_look_alike():
    seconds = Given(own=HELD).by(1.7e9 + np.arange(200), "accuracy", bins=2).table
    assert seconds["rows"].tolist() == [100, 100]
    assert seconds["group"].iloc[0] == "1700000000 to 1700000099"
    mixed = np.repeat(np.array([1, "1", "missing", None], dtype=object), 50)
    assert Given(own=HELD).by(mixed, "accuracy").table["rows"].tolist() == [50] * 4
    endless = np.where(np.arange(200) < 40, np.inf, np.arange(200.0))
    groups = Given(own=HELD).by(endless, "accuracy", bins=2).table.set_index("group")["rows"]
    assert groups.to_dict() == {"40 to 119": 80, "120 to 199": 80, "inf": 40}
    assert Given(own=HELD).by(["all"] * 200, "accuracy").heading.endswith("in 1 subgroup")


def test_values_may_be_of_the_whole_table():
    held_out = assess(GaussianNB(), X, y, design="holdout")
    rows = held_out.predictions["row"]
    whole, part = (held_out.by(column, bins=2) for column in (X["mean area"], X["mean area"].to_numpy()[rows]))
    assert whole.estimate == part.estimate


ONE = binary(np.ones(50, dtype=int), rng.random(50))
REGRESSION = ModelPredictions(rng.random(50), rng.random(50), None, None, None, None)
UNKNOWN = binary(np.arange(50) % 2, np.where(np.arange(50) == 7, np.nan, 0.5))


@pytest.mark.parametrize(
    ("given", "ask", "message"),
    [
        (ONE, lambda it: it.calibration(), "needs rows of class 1 and of another class. Got only rows of it"),
        (ONE, lambda it: it.threshold(), "needs rows of class 1 and of another class"),
        (UNKNOWN, lambda it: it.decision_curve(), "a probability for every row. Got NaN at 1 of 50 rows"),
        (HELD, lambda it: it.threshold("best"), 'must be "youden", {"sensitivity": 0.9}.*Got \'best\''),
        (HELD, lambda it: it.threshold({"cost": (0, 0)}), "two costs"),
        (HELD, lambda it: it.threshold(1.5), "a threshold between 0 and 1. Got 1.5"),
        (HELD, lambda it: it.threshold({"recall": 0.5}), "Got {'recall': 0.5}"),
        (HELD, lambda it: it.decision_curve([0, 0.5]), "between 0 and 1"),
        (HELD, lambda it: it.decision_curve().difference("own", "other", 0.5), "must be one of 'own'. Got 'other'"),
        (HELD, lambda it: it.calibration(pos_label=7), "must be a class of y. Got 7; the classes are 0, 1"),
        (HELD, lambda it: it.by(np.arange(199)), "one for each of the 200 rows. Got 199"),
        (HELD, lambda it: it.by([f"id{i}" for i in range(200)]), "Got a different value in every row"),
        (HELD, lambda it: it.by(np.arange(200) % 8), "The largest of 8 has 25 rows: fewer than 30 rows"),
        (HELD, lambda it: it.by(HELD.y, "auc"), "The largest of 2 has 100 rows: fewer than 10 rows of a class"),
        (HELD, lambda it: it.by([None] * 200), "not all be missing"),
        (HELD, lambda it: it.by(np.arange(200), bins=1), "whole number of at least 2. Got 1"),
        (HELD, lambda it: it.by(np.arange(200), "mse2"), "Unknown metric 'mse2'"),
        (REGRESSION, lambda it: it.threshold(), "need 2 classes. Got a regression."),
        (REGRESSION, lambda it: it.per_class(), "of a classification"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(given, ask, message):
    with pytest.raises(InvalidInput, match=message):
        ask(Given(own=given))


def test_a_precision_that_is_not_reached_is_named_with_the_highest():
    p = np.linspace(0, 1, 100)
    with pytest.raises(InvalidInput, match=r"No threshold reaches a precision of 90% for own: the highest is 5\d\.\d%"):
        Given(own=binary((np.arange(100) + 1) % 2, p)).threshold({"precision": 0.9})
    with pytest.raises(InvalidInput, match="with predict_proba"):
        assess(LinearSVC(), X / X.std(), y).threshold()
