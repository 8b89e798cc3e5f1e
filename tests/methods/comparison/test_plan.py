import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification, make_moons
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess, compare
from truefit._core.errors import InvalidInput
from truefit._methods.comparison.result import Comparison
from truefit._metrics.metric import get_metric

X, y = make_classification(150, 6, n_informative=4, flip_y=0.1, class_sep=1.5, random_state=0)
XD, yd = load_diabetes(return_X_y=True)
XC, yc = load_breast_cancer(return_X_y=True)

MODELS = {"dummy": DummyClassifier(), "nb": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=3, random_state=0)}


def line(result, candidate, reference=None):
    frame = result.differences
    found = frame[(frame["candidate"] == candidate) & (frame["reference"] == (reference or result.reference))]
    assert len(found) == 1
    return found.iloc[0]


def test_the_test_is_the_published_formula_on_scikit_learns_scores():
    cv = KFold(6, shuffle=True, random_state=1)
    result = compare(
        {"nb": GaussianNB(), "knn": KNeighborsClassifier()}, X, y, cv=cv, metric="accuracy", reference="nb"
    )
    apart = cross_val_score(KNeighborsClassifier(), X, y, cv=cv) - cross_val_score(GaussianNB(), X, y, cv=cv)
    se = math.sqrt((1 / 6 + 25 / 125) * apart.var(ddof=1))
    found = line(result, "knn")
    assert found["difference"] == pytest.approx(apart.mean())
    assert found["t"] == pytest.approx(apart.mean() / se)
    assert found["df"] == 5
    assert found["p"] == found["p_adjusted"] == pytest.approx(2 * stats.t.sf(abs(apart.mean() / se), 5))
    half = stats.t.ppf(0.975, 5) * se
    assert (found["low"], found["high"]) == pytest.approx((apart.mean() - half, apart.mean() + half))


def test_published_comparison_of_two_kernels():
    # The numbers that scikit-learn's example of a statistical comparison of models prints for this pair.
    moons, side = make_moons(noise=0.352, random_state=1, n_samples=100)
    models = {"linear": SVC(kernel="linear"), "rbf": SVC()}
    cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    result = compare(models, moons, side, cv=cv, metric="auc", reference="linear", rope=0.01)
    found = line(result, "rbf")
    assert found["t"] == pytest.approx(0.750, abs=5e-4)
    assert found["p"] / 2 == pytest.approx(0.227, abs=5e-4)  # printed one-sided
    assert (found["low"], found["high"]) == pytest.approx((-0.016445, 0.036445), abs=5e-7)
    printed = (0.500, 0.432, 0.068)
    assert (found["p_better"], found["p_equivalent"], found["p_worse"]) == pytest.approx(printed, abs=5e-4)
    assert result.best == "rbf"
    assert result.ties == ["linear", "rbf"]


def test_losses_and_scores_say_the_same_with_their_own_signs():
    engine = Engine()
    by_error = compare(MODELS, X, y, metric="error", rope=0.01, engine=engine)
    by_accuracy = compare(MODELS, X, y, metric="accuracy", rope=0.01, engine=engine)
    assert by_error.best == by_accuracy.best
    assert by_error.ties == by_accuracy.ties
    assert by_error.differences["difference"].to_numpy() == pytest.approx(-by_accuracy.differences["difference"])
    for column in ("p_adjusted", "p_better", "p_equivalent", "p_worse", "verdict"):
        assert list(by_error.differences[column]) == pytest.approx(list(by_accuracy.differences[column]))
    assert line(by_error, "dummy")["difference"] > 0
    assert line(by_error, "dummy")["verdict"] == "worse"
    assert line(by_error, "dummy")["p_worse"] > 0.95
    assert "smaller is better" in by_error.summary()
    assert "larger is better" in by_accuracy.summary()


def test_a_clear_loser_is_no_tie_and_the_sentences_say_so():
    result = compare(MODELS, X, y)
    assert result.best in result.ties
    assert "dummy" not in result.ties
    assert f"{result.best} is best" in result.verdict[0]
    assert "dummy is significantly worse." in result.verdict
    assert result.table.loc[result.best, "difference"] == 0
    assert list(result.table["tie"]) == [name in result.ties for name in MODELS]
    assert result.table["estimate"].to_dict() == result.assessment.estimate


def test_after_an_assessment_nothing_is_fitted():
    engine = Engine()
    assess(MODELS, X, y, cv=4, engine=engine)
    assert engine.stats.run == 12
    result = compare(MODELS, X, y, cv=4, engine=engine)
    again = compare(MODELS, X, y, cv=4, metric="auc", test="corrected_t", reference="all", engine=engine)
    assert engine.stats.run == 12
    assert engine.stats.refitted == 0
    assert len(result.differences) == 2
    assert len(again.differences) == 3


@pytest.mark.parametrize("options", [{}, {"test": "pooled"}, {"design": "holdout"}, {"design": "loo"}, {"repeats": 2}])
def test_identical_models_are_a_tie(options):
    result = compare({"one": GaussianNB(), "other": GaussianNB()}, X[:60], y[:60], rope=0.01, **options)
    found = result.differences.iloc[0]
    assert (found["difference"], found["low"], found["high"], found["t"], found["p"]) == (0, 0, 0, 0, 1)
    assert (found["p_better"], found["p_equivalent"], found["p_worse"]) == (0, 1, 0)
    assert result.ties == ["one", "other"]
    assert result.plot().get_xlabel()


def test_a_picture_goes_from_the_best_on_and_sets_off_what_is_told_apart():
    models = {"dummy": DummyClassifier(), "tree": DecisionTreeClassifier(random_state=0), "nb": GaussianNB()}
    result = compare(models | {"knn": KNeighborsClassifier()}, X, y)
    ax = result.plot()
    drawn = [text.get_text().split(" − ")[0] for text in ax.get_yticklabels()]
    estimates = result.assessment.table["estimate"]
    assert drawn == estimates[drawn].sort_values().index.tolist()
    assert drawn[-1] == "dummy"
    markers = [line.get_marker() for line in ax.lines if line.get_marker() in ("o", "D")]
    significantly_different = {pair.candidate: result.verdict_on(pair) == "worse" for pair in result.pairs}
    assert markers == ["D" if significantly_different[name] else "o" for name in drawn]
    assert set(markers) == {"o", "D"}


def test_models_that_differ_by_rounding_alone_are_a_tie():
    scaled = {"plain": LinearRegression(), "ridge": Ridge(alpha=1e-12, solver="svd")}
    for test in ("corrected_t", "pooled"):
        result = compare(scaled, XD, yd, test=test)
        assert result.differences.loc[0, "p"] == 1
        assert result.ties == ["plain", "ridge"]


def test_the_same_difference_on_all_test_sets():
    # Every AUC is 1 or 0.5: no spread, and no doubt.
    easy = np.c_[y, X]
    result = compare(
        {"all": LogisticRegression(C=1e4), "none": DummyClassifier()}, easy, y, metric="auc", reference="none"
    )
    found = line(result, "all")
    assert (found["t"], found["p"], found["verdict"]) == (math.inf, 0, "better")
    assert np.isnan(found["low"])
    assert any("no interval" in note for note in result.notes)
    assert result.plot().get_xlabel()
    # An error of the same kind is told by its rows.
    half = np.arange(100) % 2
    apart = compare(
        {"right": KNeighborsClassifier(1), "wrong": DummyClassifier()}, half[:, None] * 10.0 + X[:100, :1] * 0, half
    )
    assert apart.pairs[0].test == "pooled losses × 1.2"
    assert line(apart, "wrong")["verdict"] == "worse"


def test_pooled_rows_by_hand():
    models = {"nb": GaussianNB(), "knn": KNeighborsClassifier()}
    result = compare(models, X, y, test="pooled", reference="nb", cv=3)
    frames = result.assessment.predictions
    wrong = {name: (f["y"] != f["prediction"]).to_numpy().astype(float) for name, f in frames.items()}
    apart = wrong["knn"] - wrong["nb"]
    found = line(result, "knn")
    assert found["difference"] == pytest.approx(apart.mean())
    assert found["t"] == pytest.approx(apart.mean() / (1.2 * apart.std(ddof=1) / math.sqrt(150)))
    assert found["df"] == 149
    assert result.pairs[0].test == "pooled losses × 1.2"
    assert compare(models, X, y, test="pooled", cv=3, repeats=2).pairs[0].test == "averaged repeats × 1.1"


def test_a_hold_out_is_compared_row_by_row():
    result = compare({"nb": GaussianNB(), "knn": KNeighborsClassifier()}, XC, yc, design="holdout", reference="nb")
    frames = result.assessment.predictions
    wrong = {name: (f["y"] != f["prediction"]).to_numpy().astype(float) for name, f in frames.items()}
    assert line(result, "knn")["p"] == pytest.approx(stats.ttest_rel(wrong["knn"], wrong["nb"]).pvalue)
    by_auc = compare({"nb": GaussianNB(), "knn": KNeighborsClassifier()}, XC, yc, design="holdout", metric="auc")
    assert by_auc.differences.loc[0, "verdict"] == "worse"  # by what each row contributes to the AUC
    assert by_auc.differences.loc[0, "difference"] == pytest.approx(
        np.subtract(*by_auc.assessment.estimate.values()) * -1
    )
    assert by_auc.plot().get_xlabel()


def test_single_rows_have_no_auc_to_compare():
    result = compare({"nb": GaussianNB(), "dummy": DummyClassifier()}, X[:40], y[:40], design="loo", metric="auc")
    assert result.differences.loc[0, "verdict"] == "no comparison"
    assert "is not defined on each of the test sets" in result.pairs[0].reason
    with pytest.raises(InvalidInput, match="one-standard-error rule needs"):
        result.simplest_within_one_se()


def test_repeats_show_more():
    models = {"nb": GaussianNB(), "knn": KNeighborsClassifier()}
    once, often = (compare(models, X, y, repeats=repeats).differences.iloc[0] for repeats in (1, 4))
    assert (once["df"], often["df"]) == (4, 19)
    assert often["high"] - often["low"] < once["high"] - once["low"]
    assert any("repeated cross-validation" in note for note in compare(models, X, y).notes)
    assert not any("repeated cross-validation" in note for note in compare(models, X, y, repeats=4).notes)


def test_a_reference_of_ones_own_and_each_with_each():
    engine = Engine()
    against_tree = compare(MODELS, X, y, reference="tree", engine=engine)
    assert list(against_tree.differences["reference"]) == ["tree", "tree"]
    assert against_tree.table.loc["tree", "difference"] == 0
    each = compare(MODELS, X, y, reference="all", engine=engine)
    assert len(each.differences) == 3
    assert each.ties == compare(MODELS, X, y, engine=engine).ties == against_tree.ties
    # The better one is always the reference, so all differences of a loss are positive.
    assert (each.differences["difference"] >= 0).all()


def test_holm_over_all_pairs_is_at_least_the_plain_p():
    found = compare(MODELS, X, y, reference="all").differences
    assert (found["p_adjusted"] >= found["p"]).all()
    assert found["p_adjusted"].min() == pytest.approx(3 * found["p"].min())


def test_the_selection_of_the_best_is_adjusted_for_by_all_pairs():
    for options in ({"test": "pooled"}, {"test": "corrected_t"}, {"design": "holdout", "metric": "auc"}):
        found = compare(MODELS, X, y, **options)
        again = compare(dict(reversed(MODELS.items())), X, y, **options)
        table, p = found.differences, found.differences["p"]
        assert (table["p_adjusted"] >= p).all()
        assert (table["p_adjusted"] <= np.minimum(1, 3 * p)).all()
        assert table["p_adjusted"].max() == p.max()  # a single pair is left
        assert list(table["p_adjusted"]) == pytest.approx(list(again.differences["p_adjusted"][::-1]), abs=0.01)
        assert found.adjustment == "for the selection of the best of 3 candidates by Tukey's method"
        assert found.to_dict()["adjustment"] == found.adjustment


def test_the_candidates_correlation_counts():
    models = {"nb": GaussianNB(), "knn": KNeighborsClassifier()}
    twins = {f"{name} {i}": model for name, model in models.items() for i in range(4)}
    plain, more = (compare(each, X, y, test="pooled").differences for each in (models, twins))
    worse = more[more["difference"] > 0]
    assert list(worse["p_adjusted"]) == pytest.approx([plain["p_adjusted"][0]] * 4, abs=0.03)


def test_groups_weights_and_repeats_are_adjusted_too():
    groups = np.arange(150) // 3
    for options in ({"groups": groups}, {"sample_weight": np.linspace(0.5, 2, 150)}, {"repeats": 3, "test": "pooled"}):
        found = compare(MODELS, X, y, **options)
        table = found.differences
        assert (table["p_adjusted"] > table["p"]).any()
        assert (table["p_adjusted"] <= np.minimum(1, 3 * table["p"])).all()
        assert "Tukey" in found.adjustment


def test_a_baseline_is_a_reference_that_was_fixed_beforehand():
    models = MODELS | {"stump": DecisionTreeClassifier(max_depth=1), "knn": KNeighborsClassifier()}
    found = compare(models, X, y, test="pooled")
    config = replace(found._config, baselines=("dummy",))
    fixed = Comparison(found.assessment, get_metric("error", "classification"), config, by_rows=True)
    against = compare(models, X, y, test="pooled", reference="dummy").differences.set_index("candidate")
    p = {pair.candidate: pair.p_adjusted for pair in fixed.pairs}
    assert p["dummy"] == pytest.approx(against.loc[found.best, "p_adjusted"])
    assert p["dummy"] <= line(found, "dummy")["p_adjusted"]
    assert fixed.adjustment == (
        "for the selection of the best of 4 candidates by Tukey's method, and for 4 comparisons with dummy by Holm's "
        "method"
    )
    three = compare({name: models[name] for name in ("nb", "tree", "stump", "knn")}, X, y, test="pooled")
    assert [pair.p_adjusted for pair in fixed.pairs if pair.candidate != "dummy"] == pytest.approx(
        [pair.p_adjusted for pair in three.pairs]
    )


def test_further_settings_among_which_the_best_was_selected_count():
    models = {f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 3, 4)}
    models |= {"nb": GaussianNB(), "knn": KNeighborsClassifier()}
    every = compare(models, X, y, test="pooled")
    shown = [name for name in models if name == every.best or not name.startswith("depth")] + ["depth 1"]
    shown = list(dict.fromkeys(shown))
    some = compare({name: models[name] for name in shown}, X, y, test="pooled")
    families = {name: name.split()[0] for name in models}
    metric = get_metric("error", "classification")
    found = Comparison(
        some.assessment, metric, some._config, by_rows=True, searched=every.assessment, families=families
    )
    assert found.best == every.best
    assert found.adjustment == "for the selection of the best of 6 settings by Tukey's method"
    known = {pair.candidate: pair.p_adjusted for pair in every.pairs}
    for pair, plain in zip(found.pairs, some.pairs, strict=True):
        assert plain.p_adjusted - 0.01 <= pair.p_adjusted <= known[pair.candidate] + 0.01


def test_the_note_on_picking_the_best_is_there_where_it_is_true():
    picked = "selected as the best"
    assert any(picked in note for note in compare(MODELS, X, y).notes)
    assert not any(picked in note for note in compare(MODELS, X, y, reference="nb").notes)
    assert not any(picked in note for note in compare(MODELS, X, y, reference="all").notes)
    assert not any(picked in note for note in compare(MODELS, X, y, design="threeway").notes)
    # Of two it does not matter which was picked: the test is two-sided.
    two = {"nb": GaussianNB(), "dummy": DummyClassifier()}
    assert not any(picked in note for note in compare(two, X, y).notes)


def test_a_region_of_practical_equivalence():
    near = {"C=1": LogisticRegression(), "C=1.1": LogisticRegression(C=1.1)}
    result = compare(near, X, y, metric="log_loss", rope=0.1)
    found = result.differences.iloc[0]
    assert found["p_equivalent"] > 0.95
    assert found["p_better"] + found["p_equivalent"] + found["p_worse"] == pytest.approx(1)
    assert found["verdict"] == "equivalent"
    assert len(result.ties) == 2
    assert "practically equivalent to it: within 0.1" in result.summary()
    assert "p_better" not in compare(near, X, y).differences


def test_one_standard_error_by_hand():
    models = {"stump": DecisionTreeClassifier(max_depth=1), "tree": DecisionTreeClassifier(random_state=0)}
    models["nb"] = GaussianNB()
    result = compare(models, X, y, cv=5)
    scores = result.assessment.split_scores()
    means = {name: scores[name].mean() for name in models}
    best = min(means, key=means.get)
    limit = means[best] + scores[best].std(ddof=1) / math.sqrt(5)
    assert result.simplest_within_one_se() == next(name for name in models if means[name] <= limit)
    backwards = list(models)[::-1]
    assert result.simplest_within_one_se(backwards) == next(name for name in backwards if means[name] <= limit)
    with pytest.raises(InvalidInput, match="'order' parameter"):
        result.simplest_within_one_se(["forest"])


def test_repeats_do_not_shrink_the_standard_error():
    def within(**options):
        result = compare({"dummy": DummyRegressor(), "ridge": Ridge()}, XD, yd, **options)
        return result._paired.standard_error("ridge")

    assert within(repeats=6) == pytest.approx(within(), rel=0.5)
    assert within(design="holdout") > 0
    assert within(cv=ShuffleSplit(10, test_size=0.2, random_state=0)) > 0


class Moody(ClassifierMixin, BaseEstimator):
    """Fails on training sets that hold a certain row."""

    def __init__(self, dislikes=0.0):
        self.dislikes = dislikes

    def fit(self, X, y):
        if (X[:, 0] == self.dislikes).any():
            raise RuntimeError("that row again")
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


def test_a_candidate_with_failed_fits_has_no_comparison_and_a_reason():
    engine = Engine(on_error="record")
    with pytest.warns(UserWarning, match="4 of 15 fits failed"):
        result = compare({"moody": Moody(X[0, 0]), **{n: MODELS[n] for n in ("dummy", "nb")}}, X, y, engine=engine)
    found = line(result, "moody")
    assert found["verdict"] == "no comparison"
    assert np.isnan(found["p_adjusted"])
    assert "4 of its fits failed" in result.summary()
    assert result.ties == ["nb"]
    # The failed one does not count among the comparisons.
    assert line(result, "dummy")["p_adjusted"] == line(result, "dummy")["p"]
    assert result.plot().get_yticks().size == 1
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["differences"][0]["p"] is None


def test_a_failed_reference_leaves_nothing_to_compare_with():
    engine = Engine(on_error="record")
    with pytest.warns(UserWarning, match="4 of 10 fits failed"):
        result = compare({"moody": Moody(X[0, 0]), "nb": GaussianNB()}, X, y, reference="moody", engine=engine)
    assert line(result, "nb")["verdict"] == "no comparison"
    assert result.ties == ["nb"]


def test_few_groups_and_weights_are_compared_by_test_sets():
    groups = np.arange(150) // 8  # 19 of them
    assert compare(MODELS, X, y, groups=groups).pairs[0].test == "corrected t"
    with pytest.raises(InvalidInput, match="20 or more groups"):
        compare(MODELS, X, y, groups=groups, test="pooled")
    weighted = {"nb": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2, random_state=0)}
    weight = np.linspace(0.5, 2, 150)
    assert compare(weighted, X, y, sample_weight=weight).pairs[0].test == "corrected t"


def test_the_result_is_plain_data_text_picture_and_html():
    result = compare(MODELS, X, y, rope=0.02)
    found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (found["kind"], found["version"], found["best"]) == ("comparison", 1, result.best)
    assert found["assessment"]["kind"] == "assessment"
    assert set(found["differences"][0]) >= {"candidate", "reference", "difference", "low", "high", "p_adjusted", "test"}
    assert "<table" in result._repr_html_()
    assert "difference of error" in result.plot().get_xlabel()
    assert list(result.differences.columns[:10]) == [
        "candidate", "reference", "difference", "low", "high", "t", "df", "p", "p_adjusted", "verdict",
    ]  # fmt: skip
    again = pickle.loads(pickle.dumps(result))
    assert again.summary() == result.summary()


BAD = {
    "one estimator": ({"estimators": GaussianNB()}, "at least 2 estimators"),
    "a dict of one": ({"estimators": {"nb": GaussianNB()}}, "at least 2 estimators"),
    "reference": ({"reference": "trea"}, "Did you mean 'tree'"),
    "rope": ({"rope": 0}, "'rope' parameter"),
    "rope that is no number": ({"rope": "x"}, "'rope' parameter"),
    "test": ({"test": "magic"}, "'test' parameter"),
    "level": ({"level": 95}, "'level' parameter"),
    "design": ({"design": ".632+"}, "without replacement"),
    "pooled auc": ({"test": "pooled", "metric": "auc"}, "per-sample metric on independent rows"),
    "pooled overlapping splits": ({"test": "pooled", "cv": ShuffleSplit(5)}, "each tested once"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_compared_is_refused_before_anything_is_fitted(case):
    options, message = BAD[case]
    engine = Engine()
    with pytest.raises(InvalidInput, match=message):
        compare(**{"estimators": MODELS, "X": X, "y": y, "engine": engine, **options})
    assert engine.stats.run == 0


def test_rmse_is_compared_row_by_row_with_its_linearisation():
    X, y = load_diabetes(return_X_y=True)
    learners = {"ridge": Ridge(alpha=0.1), "mean": DummyRegressor()}
    found = compare(learners, X, y, metric="rmse", test="pooled")
    [pair] = found.pairs
    contributions = []
    for name in (pair.candidate, pair.reference):
        squares = found.assessment.under("mse").row_losses(name)
        roots = [math.sqrt(each.mean()) for each in squares]
        contributions.append(np.concatenate([(r + s / r) / 2 for r, s in zip(roots, squares, strict=True)]))
    difference = contributions[0] - contributions[1]
    assert pair.found.mean == pytest.approx(difference.mean())
    assert pair.found.se == pytest.approx(1.2 * difference.std(ddof=1) / math.sqrt(len(y)))
    assert pair.found.mean == pytest.approx(
        found.assessment.estimate["mean"] - found.assessment.estimate["ridge"], rel=0.01
    )
