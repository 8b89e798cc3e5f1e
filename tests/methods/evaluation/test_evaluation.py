"""Predictions from arrays: every metric as scikit-learn has it, intervals, comparisons, and what is refused."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics as sk

from truefit import evaluate
from truefit._core.errors import InvalidInput
from truefit._methods.assessment.hold_out_interval import contributions_of
from truefit._metrics.metric import metric_names
from truefit._stats.intervals import t_interval, wilson

RANDOM = np.random.default_rng(0)
N = 240
GROUPS = np.repeat(np.arange(40), 6)
ODDS = 1.5 * RANDOM.normal(size=N) + RANDOM.normal(size=40)[GROUPS]
Y = (ODDS + RANDOM.logistic(size=N) > 0).astype(int)
TEXT = np.where(Y == 1, "yes", "no")
GOOD = 1 / (1 + np.exp(-ODDS - 0.5 * RANDOM.normal(size=N)))
POOR = 1 / (1 + np.exp(-ODDS - 4 * RANDOM.normal(size=N)))
THREE = RANDOM.integers(0, 3, N)
SHARES = 0.6 * RANDOM.dirichlet([1, 1, 1], N) + 0.4 * np.eye(3)[RANDOM.permutation(THREE) * (THREE > 0)]
NUMBERS = 5 + ODDS
WEIGHT = RANDOM.uniform(0.5, 2, N)

#: scikit-learn's own number, from labels, probabilities and weights.
EXPECTED = {
    "error": lambda y, label, p, w: sk.zero_one_loss(y, label, sample_weight=w),
    "accuracy": lambda y, label, p, w: sk.accuracy_score(y, label, sample_weight=w),
    "balanced_accuracy": lambda y, label, p, w: sk.balanced_accuracy_score(y, label, sample_weight=w),
    "recall": lambda y, label, p, w: sk.recall_score(y, label, sample_weight=w),
    "sensitivity": lambda y, label, p, w: sk.recall_score(y, label, sample_weight=w),
    "tpr": lambda y, label, p, w: sk.recall_score(y, label, sample_weight=w),
    "specificity": lambda y, label, p, w: sk.recall_score(y, label, pos_label=0, sample_weight=w),
    "tnr": lambda y, label, p, w: sk.recall_score(y, label, pos_label=0, sample_weight=w),
    "fpr": lambda y, label, p, w: 1 - sk.recall_score(y, label, pos_label=0, sample_weight=w),
    "precision": lambda y, label, p, w: sk.precision_score(y, label, sample_weight=w),
    "f1": lambda y, label, p, w: sk.f1_score(y, label, sample_weight=w),
    "auc": lambda y, label, p, w: sk.roc_auc_score(y, p, sample_weight=w),
    "average_precision": lambda y, label, p, w: sk.average_precision_score(y, p, sample_weight=w),
    "log_loss": lambda y, label, p, w: sk.log_loss(y, p, sample_weight=w),
    "brier": lambda y, label, p, w: sk.brier_score_loss(y, p, sample_weight=w),
    "f1_weighted": lambda y, label, p, w: sk.f1_score(y, label, average="weighted", sample_weight=w),
    "matthews_corrcoef": lambda y, label, p, w: sk.matthews_corrcoef(y, label, sample_weight=w),
}
OF_NUMBERS = {
    "mse": sk.mean_squared_error,
    "rmse": sk.root_mean_squared_error,
    "mae": sk.mean_absolute_error,
    "r2": sk.r2_score,
    "rse": lambda y, p, sample_weight: 1 - sk.r2_score(y, p, sample_weight=sample_weight),
    "rss": lambda y, p, sample_weight: (
        sk.mean_squared_error(y, p, sample_weight=sample_weight) * (N if sample_weight is None else sample_weight.sum())
    ),
    "neg_median_absolute_error": lambda y, p, sample_weight: (
        -sk.median_absolute_error(y, p, sample_weight=sample_weight)
    ),
}


@pytest.mark.parametrize(
    "options", [{}, {"groups": GROUPS}, {"sample_weight": WEIGHT}], ids=["rows", "groups", "weights"]
)
def test_every_metric_is_scikit_learns_and_has_an_interval(options):
    weight = options.get("sample_weight")
    assert set(metric_names("classification")) <= set(EXPECTED)
    assert set(metric_names("regression")) <= set(OF_NUMBERS)
    result = evaluate(TEXT, GOOD, pos_label="yes", **options)
    for name, expected in EXPECTED.items():
        score = result.score(name)
        assert score == pytest.approx(expected(Y, GOOD > 0.5, GOOD, weight), rel=1e-9), name
        assert score.interval[0] < score < score.interval[1], name
    of_numbers = evaluate(NUMBERS, NUMBERS + POOR - GOOD, **options)
    assert of_numbers.metric == "rmse"
    for name, expected in OF_NUMBERS.items():
        score = of_numbers.score(name)
        assert score == pytest.approx(expected(NUMBERS, NUMBERS + POOR - GOOD, sample_weight=weight), rel=1e-9), name
        assert score.interval[0] < score < score.interval[1], name


def test_tiny_probabilities_of_the_first_class_keep_their_ranks():
    tiny = GOOD**60  # down to 1e-80, which 1 - p rounds to 1
    swapped = np.where(Y == 1, "a", "b")  # the positive class is the first in order
    result = evaluate(swapped, tiny, pos_label="a", metric="auc")
    assert result.estimate == pytest.approx(sk.roc_auc_score(Y, tiny), abs=1e-12)
    assert result.interval == pytest.approx(evaluate(Y, tiny, metric="auc").interval, abs=1e-12)
    assert result.score("average_precision") == pytest.approx(sk.average_precision_score(Y, tiny))
    assert list(result.predictions.columns[-3:]) == ["prediction", "p(a)", "p(b)"]


def test_several_classes_are_columns_of_probabilities():
    result = evaluate(THREE, SHARES, metric="roc_auc_ovr", groups=GROUPS)
    assert result.estimate == pytest.approx(sk.roc_auc_score(THREE, SHARES, multi_class="ovr"))
    assert result.score("log_loss") == pytest.approx(sk.log_loss(THREE, SHARES))
    assert result.score("f1_macro") == pytest.approx(sk.f1_score(THREE, SHARES.argmax(axis=1), average="macro"))
    assert result.score("roc_auc_ovo").interval is not None  # without known contributions: by a jackknife
    names = np.array(["cat", "ant", "bee"])
    other = evaluate(names[THREE], SHARES, classes=["cat", "ant", "bee"], metric="roc_auc_ovr", groups=GROUPS)
    assert other.estimate == pytest.approx(result.estimate)
    assert other.interval == pytest.approx(result.interval)
    rounded = SHARES.round(3)  # files hold rounded numbers, which need not sum to 1
    assert evaluate(THREE, rounded, metric="log_loss").estimate == pytest.approx(sk.log_loss(THREE, SHARES), abs=1e-3)


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_columns_named_by_class_are_found_by_their_names(as_frame):
    named = {"no": 1 - GOOD, "yes": GOOD}
    expected = evaluate(TEXT, GOOD, pos_label="yes", metric="auc").estimate
    for names in (["no", "yes"], ["yes", "no"]):
        frame = as_frame({name: named[name] for name in names})
        for options in ({}, {"classes": ["yes", "no"]}):
            assert evaluate(TEXT, frame, metric="auc", **options).estimate == pytest.approx(expected)
    assert evaluate(Y, as_frame({"1": GOOD, "0": 1 - GOOD}), metric="auc").estimate == pytest.approx(expected)
    unnamed = as_frame(np.column_stack([1 - GOOD, GOOD]))
    assert evaluate(TEXT, unnamed, metric="auc").estimate == pytest.approx(expected)
    models = as_frame({"forest": GOOD, "linear": 1 - GOOD})
    for truth in (TEXT, NUMBERS):
        with pytest.raises(InvalidInput, match="Pass a dict of names to predictions for several models"):
            evaluate(truth, models)
    three = as_frame({str(place): SHARES[:, place] for place in (2, 0, 1)})
    assert evaluate(THREE, three, metric="log_loss").estimate == evaluate(THREE, SHARES, metric="log_loss").estimate


def test_independent_rows_have_the_interval_of_a_hold_out():
    wrong = (GOOD > 0.5) != Y
    assert evaluate(Y, GOOD).interval == pytest.approx(wilson(wrong.mean(), N))
    assert evaluate(Y, GOOD, metric="brier").interval == pytest.approx(t_interval((GOOD - Y) ** 2), rel=0.15)
    alone = evaluate(Y, GOOD, metric="auc", groups=np.arange(N))
    assert alone.interval == pytest.approx(evaluate(Y, GOOD, metric="auc").interval, abs=2e-3)


def test_contributions_are_derivatives_by_the_weights_of_rows():
    for name, truth, predicted in [
        *((name, Y, GOOD) for name in ("f1", "auc", "average_precision", "balanced_accuracy", "log_loss", "precision")),
        *((name, NUMBERS, NUMBERS + POOR - GOOD) for name in ("rmse", "r2", "mae")),
        *((name, THREE, SHARES) for name in ("roc_auc_ovr", "f1_macro")),
    ]:
        result = evaluate(truth, predicted, metric=name, sample_weight=WEIGHT)
        found = contributions_of(result._evidence("model", result._metric)).values
        assert found.mean() == pytest.approx(result.estimate)
        for row in (0, 7, 100):
            ends = []
            for step in (1e-5, -1e-5):
                moved = WEIGHT.copy()
                moved[row] += step
                ends.append(evaluate(truth, predicted, metric=name, sample_weight=moved).estimate)
            slope = (ends[0] - ends[1]) / 2e-5
            expected = (found[row] - result.estimate) * WEIGHT.sum() / (N * WEIGHT[row])
            assert slope * WEIGHT.sum() == pytest.approx(expected, abs=1e-6), name


@pytest.mark.parametrize("metric", ["f1", "auc", "brier"])
def test_intervals_of_groups_are_as_wide_as_a_bootstrap_of_groups(metric):
    random, drawn = np.random.default_rng(1), []
    rows = [np.flatnonzero(np.equal(GROUPS, group)) for group in range(40)]
    for _ in range(250):
        index = np.concatenate([rows[group] for group in random.integers(40, size=40)])
        drawn.append(EXPECTED[metric](Y[index], GOOD[index] > 0.5, GOOD[index], None))
    low, high = evaluate(Y, GOOD, metric=metric, groups=GROUPS).interval
    assert (high - low) == pytest.approx(np.subtract(*np.quantile(drawn, [0.975, 0.025])), rel=0.25)


def test_copies_of_rows_add_nothing():
    five = {
        "y_true": np.repeat(TEXT, 5),
        "pos_label": "yes",
        "groups": np.repeat(np.arange(N), 5),
    }  # five runs per item
    for metric in ("auc", "f1", "brier", "error"):
        once = evaluate(TEXT, GOOD, pos_label="yes", metric=metric).interval
        assert evaluate(predictions=np.repeat(GOOD, 5), metric=metric, **five).interval == pytest.approx(
            once, abs=0.004
        )
        blind = evaluate(np.repeat(TEXT, 5), np.repeat(GOOD, 5), pos_label="yes", metric=metric).interval
        assert np.ptp(blind) < 0.6 * np.ptp(once)


def test_models_are_compared_in_pairs():
    models = {"good": GOOD, "poor": POOR, "again": GOOD, "flat": np.full(N, 0.5)}
    result = evaluate(Y, models, metric="auc", groups=GROUPS, reference="good", rope=0.01)
    assert list(result.estimate) == list(models)
    assert result.ties == ["good", "again"]
    table = result.differences.set_index("candidate")
    assert table.loc["poor", "verdict"] == "worse"
    assert table.loc["again", ["difference", "low", "high"]].tolist() == [0, 0, 0]
    assert table.loc["poor", "difference"] == pytest.approx(sk.roc_auc_score(Y, POOR) - sk.roc_auc_score(Y, GOOD))
    assert (table["p_adjusted"] >= table["p"]).all()
    assert result.table.loc["good", "tie"]
    whole = evaluate(Y, models, metric="f1_weighted", groups=GROUPS)
    assert whole.differences["p"].notna().all()
    assert whole.comparison.pairs[0].test == "paired t over blocks"


def test_a_paired_test_of_the_auc_is_that_of_delong():
    def placements(score):
        above = (score[Y == 1][:, None] > score[Y == 0]) + 0.5 * (score[Y == 1][:, None] == score[Y == 0])
        return above.mean(axis=1), above.mean(axis=0)

    (one_positive, one_negative), (other_positive, other_negative) = placements(GOOD), placements(POOR)
    variance = np.var(one_positive - other_positive, ddof=1) / (Y == 1).sum()
    variance += np.var(one_negative - other_negative, ddof=1) / (Y == 0).sum()
    (pair,) = evaluate(Y, {"good": GOOD, "poor": POOR}, metric="auc").comparison.pairs
    assert pair.found.se == pytest.approx(math.sqrt(variance), rel=0.01)


def test_a_tie_says_how_many_rows_would_settle_it():
    slightly = GOOD + 0.02 * RANDOM.normal(size=N)
    result = evaluate(Y, {"good": GOOD, "slightly": slightly.clip(0, 1)}, metric="brier")
    (pair,), (rows,) = result.comparison.pairs, result.differences["rows_to_settle"]
    assert result.ties == ["good", "slightly"]
    assert rows == pytest.approx(N * ((1.959964 + 0.841621) / pair.found.t) ** 2, rel=1e-4)
    (sentence,) = result.settling
    assert "more rows would settle this tie, if difference and spread stay as they are (power 80%)" in sentence
    assert sentence in result.summary()
    groups = evaluate(Y, {"good": GOOD, "slightly": slightly.clip(0, 1)}, metric="brier", groups=GROUPS)
    assert "more groups would settle" in groups.settling[0]
    assert "no number of rows that can be had" in evaluate(Y, {"one": GOOD, "same": GOOD}).settling[0]


def test_frames_lists_truth_values_and_scores_are_read():
    estimate = evaluate(TEXT, GOOD, pos_label="yes", metric="auc").estimate
    for given in (TEXT.tolist(), pd.Series(TEXT), pd.Series(TEXT, dtype="category"), pl.Series(TEXT)):
        assert evaluate(given, pl.Series(GOOD), pos_label="yes", metric="auc").estimate == estimate
    assert evaluate(TEXT, 1 - GOOD, pos_label="no", metric="auc").estimate == pytest.approx(estimate)
    assert evaluate(Y == 1, GOOD, metric="auc").estimate == estimate
    score = evaluate(Y, 10 * ODDS, kind="score")
    assert (score.metric, score.estimate) == ("auc", pytest.approx(sk.roc_auc_score(Y, ODDS)))
    assert evaluate(TEXT, -ODDS, kind="score", pos_label="no").estimate == pytest.approx(score.estimate)
    grades = RANDOM.integers(1, 5, N)
    assert evaluate(grades, grades + RANDOM.normal(size=N)).metric == "rmse"  # between the grades: they are numbers
    assert evaluate(grades, grades).metric == "error"
    assert evaluate(Y, Y, kind="number").metric == "rmse"


def test_a_result_is_plain_data_a_page_and_pictures(tmp_path):
    result = evaluate(TEXT, {"good": GOOD, "poor": POOR}, pos_label="yes", metric="auc", groups=GROUPS)
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (found["kind"], found["rows"], found["groups"], found["pos_label"]) == ("evaluation", N, 40, "yes")
    assert result.heading == "AUC on 240 rows in 40 groups"
    assert "AUC on rows of new groups of the models that made these predictions" in result.summary()
    for kind in (None, "roc", "precision_recall", "calibration"):
        assert result.plot(kind).get_figure() is not None
    one = evaluate(TEXT, GOOD, pos_label="yes")
    assert one.confusion().loc["yes", "yes"] == ((GOOD > 0.5) & (Y == 1)).sum()
    assert one.plot("confusion").get_figure() is not None
    assert len(one.predictions) == N
    assert one.ties == ["model"]
    assert one.differences.empty
    assert one.to_html(tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert pickle.loads(pickle.dumps(result.score("f1")))["good"].interval == result.score("f1")["good"].interval


HALF = np.full(N, 0.5)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((Y, GOOD[:-1]), "must have one row for each of the 240 of y_true. Got 239"),
        ((Y, np.where(np.arange(N) == 3, np.nan, GOOD)), "must have a value in every row. Got 1 missing"),
        ((Y, np.where(np.arange(N) == 3, np.inf, GOOD)), "must be finite. Got 1 infinite"),
        ((Y, 2 * GOOD), "must lie within 0 and 1 to be probabilities"),
        ((Y, -GOOD), "must lie within 0 and 1 to be probabilities"),
        ((Y, np.column_stack([GOOD, GOOD])), "sum to 1 in every row"),
        ((Y, SHARES), "must have a column for each of the 2 classes"),
        ((TEXT, np.where(Y == 1, "yes", "never")), "must be classes of y_true: 'no' and 'yes'. Got 'never' in"),
        ((THREE, np.full(N, 7)), "must be classes of y_true: 0, 1 and 2. Got 7 in 240 rows"),
        ((TEXT, GOOD), r"for which class\? Name it as pos_label"),
        ((["yes"] * N, ["yes"] * N), "must hold at least 2 classes. Got 'yes' in all 240 rows"),
        (([], []), "of at least one row"),
        ((None, GOOD), "one label or number per row"),
        ((np.where(np.arange(N) == 3, np.nan, NUMBERS), NUMBERS), "NaN or missing values at 1 of 240"),
        ((NUMBERS, TEXT), "must be one number per row, since y_true holds numbers. Got values such as '"),
        ((TEXT, np.where(np.arange(N) == 3, "n/a", GOOD.astype(str))), "Got text such as 'n/a' in 1 row among numbers"),
        ((Y, {}), "at least one model"),
        ((Y, np.zeros((N, 2, 2))), "one value per row, or one per row and class"),
    ],
)
def test_bad_predictions_are_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(InvalidInput, match=sentence) as caught:
        evaluate(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"groups": GROUPS[:-1]}, "groups must have a value for each of the 240 rows. Got 239"),
        ({"sample_weight": -WEIGHT}, "finite and not negative"),
        ({"metric": "rmse", "pos_label": 1}, "is for regression, but this is a classification"),
        ({"metric": "acu"}, "Did you mean 'auc'"),
        ({"pos_label": "maybe"}, "must be a class of y. Got 'maybe'"),
        ({"classes": [1]}, "at least 2 different classes"),
        ({"classes": [1, 2]}, "must be among classes: 1, 2. Got 0"),
        ({"kind": "odds"}, "The 'kind' parameter must be None or one of"),
        ({"level": 95}, "The 'level' parameter"),
        ({"reference": "other"}, "The 'reference' parameter"),
        ({"rope": -1}, "The 'rope' parameter"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        evaluate(Y, {"one": GOOD, "half": HALF}, **options)


def test_what_cannot_be_known_has_a_reason():
    with pytest.raises(InvalidInput, match="The predictions of 'model' are labels"):
        evaluate(TEXT, TEXT, metric="auc")
    assert evaluate(NUMBERS, NUMBERS).estimates["model"].reason == "all rows have the same value"
    assert "single row" in evaluate(NUMBERS, GOOD, metric="neg_max_error").interval_reason
    only = evaluate(["yes"] * 5, ["yes"] * 5, classes=["yes", "no"])
    assert only.interval == pytest.approx(wilson(0, 5))
    with pytest.raises(InvalidInput, match=r"needs rows of both classes\. Got 'no' in all 5 rows"):
        evaluate(["no"] * 5, HALF[:5], classes=["no", "yes"], pos_label="yes", metric="auc")
    with pytest.raises(InvalidInput, match=r"needs rows of both classes\. Got 1 in all .* rows with a weight above 0"):
        evaluate(Y, GOOD, sample_weight=Y, metric="auc")
    assert evaluate(np.ones(N), NUMBERS).metric == "rmse"  # of one class there would be probabilities
    assert "single row" in evaluate([1.5], [1.25]).interval_reason
    few = evaluate(Y, GOOD, groups=GROUPS % 3, metric="auc").interval  # three groups say next to nothing
    assert np.ptp(few) > 3 * np.ptp(evaluate(Y, GOOD, metric="auc").interval)


def test_diagnostics_of_predictions_are_those_of_an_assessment():
    result = evaluate(TEXT, {"good": GOOD, "poor": POOR}, pos_label="yes", groups=GROUPS)
    slopes = result.calibration().slope
    assert slopes["poor"] < slopes["good"]
    one = evaluate(TEXT, GOOD, pos_label="yes", groups=GROUPS)
    assert one.calibration().slope == pytest.approx(slopes["good"])
    curve = one.decision_curve([0.3])
    positive = GOOD >= 0.3
    expected = (positive & (Y == 1)).mean() - (positive & (Y == 0)).mean() * 0.3 / 0.7
    assert float(curve.net_benefit[0]) == pytest.approx(expected)
    with pytest.raises(InvalidInput, match="Calibration needs rows of class 'yes' and of another class"):
        evaluate(TEXT, GOOD, pos_label="yes", sample_weight=Y).calibration()
    found = one.threshold({"sensitivity": 0.8})
    assert "Each part of the rows by a threshold chosen on the others" in found.summary()
    never = evaluate(TEXT, np.where(Y == 1, 0.4, 1.0), pos_label="yes").threshold({"specificity": 1.0})
    assert "above 1: sensitivity 0%" in never.summary()
    assert found.sensitivity_interval[0] < found.sensitivity < found.sensitivity_interval[1]
    assert one.per_class().table.set_index("class").loc["yes", "recall"] == pytest.approx(
        sk.recall_score(Y, GOOD > 0.5)
    )
    assert len(one.by(np.where(GROUPS < 20, "first", "second")).table) == 2
    score = evaluate(Y, ODDS, kind="score")
    assert score.predictions["score"].tolist() == ODDS.tolist()
    with pytest.raises(InvalidInput, match="needs predicted probabilities"):
        score.calibration()
