import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_circles
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import Engine, assess, perturb
from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError, InvalidEstimator, InvalidInput
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._methods.candidates import Candidates
from truefit._methods.perturbation.config import PAPER_LEVELS, perturbation_config
from truefit._methods.perturbation.noise import FlippedLabels, PermutedTargets
from truefit._methods.perturbation.plan import perturb_plan
from truefit._solvers.plain import fit_plain
from truefit._stats.intervals import t_interval
from truefit.bounds import rademacher, srm_bound, srm_risk

XC, yc = load_breast_cancer(return_X_y=True)
XI, yi = load_iris(return_X_y=True)
XD, yd = load_diabetes(return_X_y=True)
XD, yd = XD[:150], yd[:150]
FEW = {"levels": [0.25, 0.5], "repeats": 3}


def terms_for(candidates, data, **options):
    given = {
        "levels": [0.25, 0.5],
        "repeats": 3,
        "perturbation": "auto",
        "mode": "default",
        "cv": None,
        "bounds": False,
        "level": 0.95,
        "random_state": None,
    }
    return perturbation_config(candidates, data, **{**given, **options})


def test_rates_equal_those_of_a_loop_with_scikit_learn():
    result = perturb(GaussianNB(), XI, yi, repeats=4)
    data, rates = Data(XI, yi, task="classification"), []
    for repeat in range(4):
        points = []
        for level in PAPER_LEVELS:
            labels = FlippedLabels(data).at(repeat, level).truth
            points.append((np.mean(labels != yi), GaussianNB().fit(XI, labels).score(XI, labels)))
        rates.append(-np.polyfit(*zip(*points, strict=True), 1)[0])
    np.testing.assert_allclose(result.rates, rates, rtol=1e-10)
    assert result.rate == pytest.approx(np.mean(rates), rel=1e-12)
    assert result.interval == pytest.approx(t_interval(rates))
    assert result.training == GaussianNB().fit(XI, yi).score(XI, yi)
    ideal = (3 * result.training - 1) / 2
    assert result.memorisation == pytest.approx(1 - result.rate / ideal, rel=1e-12)
    low, high = result.memorisation_interval
    assert (low, high) == pytest.approx((1 - result.interval[1] / ideal, 1 - result.interval[0] / ideal))
    assert low < result.memorisation < high


def test_an_unlimited_tree_on_distinct_rows_follows_all_noise():
    result = perturb(DecisionTreeClassifier(), XC, yc, repeats=3)
    assert abs(result.rate) < 1e-12
    assert result.memorisation == 1.0
    assert result.interval == (0.0, 0.0)
    assert result.verdict == "memorises"
    assert result.reasons == (
        "memorises 100% (95% interval narrower than 1 point) of injected label noise, more than 50%. Add a candidate "
        "that memorises less to see whether that costs accuracy."
    )
    assert "rate 0.000  (95% interval narrower than 0.001)" in result.summary()


def test_one_class_for_all_has_the_rate_of_its_majority():
    X = np.arange(400.0).reshape(-1, 1)
    y = np.repeat([1, 0], [300, 100])
    result = perturb(DummyClassifier(), X, y, repeats=2)
    assert result.rate == pytest.approx(2 * 0.75 - 1, abs=1e-12)
    assert result.dummy_rate == pytest.approx(0.5, abs=1e-12)
    assert abs(result.skill) < 1e-12
    assert result.verdict == "underfitted"
    assert "0.750 does not exceed" in result.reasons
    assert any("rate of 0.500" in note for note in result.notes)
    uneven = perturb(DummyClassifier(), np.arange(1000.0).reshape(-1, 1), np.arange(1000) < 759, repeats=2)
    assert uneven.rate == pytest.approx(0.518, abs=2e-3)


def test_all_candidates_are_given_the_same_noise_and_one_table_without():
    data = Data(XI, yi, task="classification")
    candidates = Candidates({"bayes": GaussianNB(), "tree": DecisionTreeClassifier(), "other": GaussianNB()}, yi)
    tasks = next(perturb_plan(candidates, terms_for(candidates, data)))
    assert len(tasks) == 3 * 3 * 3
    for start in range(0, 27, 3):
        first, second, third = tasks[start : start + 3]
        assert first.y is second.y is third.y
        assert first.train == second.train == Rows.all(150)
    assert [task.y is None for task in tasks[::3]] == [True, False, False] * 3
    flips = {task.y.tobytes() for task in tasks if task.y is not None}
    assert len(flips) == 6  # two levels, three repeats
    # A learner with random numbers draws them anew in each repeat; for one without, the same fit serves.
    assert [task.repeat for task in tasks[1::3]] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert {task.repeat for task in tasks[::3]} == {0}


def test_two_calls_share_their_fits_and_seeds_change_the_noise():
    engine = Engine()
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2, random_state=0)}
    first = perturb(models, XI, yi, engine=engine, **FEW)
    run = engine.stats.run
    # One fit without noise, two levels three times, which naive Bayes answers together; and five folds.
    assert run == 1 + (1 + 2 * 3) + 2 * 5
    again = perturb(models, XI, yi, engine=engine, **FEW)
    alone = perturb(GaussianNB(), XI, yi, engine=engine, levels=[0.5], repeats=2)
    assess(models, XI, yi, engine=engine)
    assert (engine.stats.run, engine.stats.refitted) == (run, 0)
    assert again.rate == first.rate
    cells = first.curves.query("estimator == 'bayes' and level == 0.5 and repeat < 2")["value"]
    assert alone.curves.query("level == 0.5")["value"].tolist() == cells.tolist()
    other = perturb(models, XI, yi, engine=engine, random_state=1, **FEW)
    assert other.rate != first.rate


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(150)
    ours, theirs = (perturb(GaussianNB(), XI[rows], yi[rows], **FEW) for rows in (slice(None), order))
    np.testing.assert_allclose(ours.rates, theirs.rates, rtol=1e-10)


def test_depths_of_trees_on_cancer_tie_at_the_top():
    # Over many seeds depths 1, 2 and 3 are each the best one about as often.
    trees = {depth: DecisionTreeClassifier(max_depth=depth) for depth in (1, 2, 3, 6)}
    result = perturb(trees, XC, yc, cv=None)
    assert result.ties == ["1", "2", "3"]
    lines = result.differences.set_index("candidate")
    assert lines.loc["6", "high"] < 0
    assert lines.loc["6", "p_adjusted"] < 1e-4
    assert lines["tie"].to_dict() == {name: name in result.ties for name in lines.index}
    assert result.parameter == ("max_depth", [1, 2, 3, 6])


def test_equal_candidates_tie_and_one_repeat_tells_nothing_apart():
    engine = Engine()
    same = perturb({"one": GaussianNB(), "two": GaussianNB()}, XI, yi, engine=engine, **FEW)
    assert same.ties == ["one", "two"]
    assert same.best == "one"
    once = perturb({"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}, XI, yi, levels=[0.5], repeats=1)
    assert once.interval == {"bayes": None, "tree": None}
    assert once.ties == ["bayes"]
    assert once.verdict["tree"] == "overfitted"
    assert "one repeat, no interval" in once.reasons["tree"]
    assert "one repeat does not show which differences are significant" in once.summary()


def checkerboard(n=300):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (n, 2))
    return X, (np.floor(X).sum(axis=1) % 2).astype(int)


def test_memorising_is_no_fault_where_nothing_else_does_as_well():
    models = {"forest": RandomForestClassifier(20), "bayes": GaussianNB(), "dummy": DummyClassifier()}
    best = perturb(models, *checkerboard(), **FEW)
    assert best.verdict["forest"] == "memorises"
    assert "so this is not overfitting" in best.reasons["forest"]
    engine = Engine()
    worse = perturb({"tree": DecisionTreeClassifier(), "bayes": GaussianNB()}, XI, yi, engine=engine, **FEW)
    assert worse.verdict == {"tree": "overfitted", "bayes": "no flag"}
    errors = assess({"tree": DecisionTreeClassifier(), "bayes": GaussianNB()}, XI, yi, engine=engine).estimate
    assert f"error {errors['bayes']:.4g} against {errors['tree']:.4g}" in worse.reasons["tree"]
    unknown = perturb({"tree": DecisionTreeClassifier(), "bayes": GaussianNB()}, XI, yi, cv=None, **FEW)
    assert unknown.verdict["tree"] == "memorises"
    assert "was not run" in unknown.reasons["tree"]


def test_near_chance_memorising_cannot_be_told():
    X, y = make_circles(100, noise=0.1, factor=0.5, random_state=1)
    result = perturb(SVC(kernel="linear", C=0.025), X, y, repeats=2)
    assert result.training == 0.56  # as good as chance for a line through 100 rows
    assert result.memorisation is None
    assert result.memorisation_interval is None
    assert result.verdict == "no flag"
    assert "near chance" in result.reasons
    assert any("hardly better than the baseline" in note for note in result.notes)
    assert np.isnan(result.table["memorisation"].iloc[0])


def test_where_one_class_holds_nearly_all_rows_underfitting_cannot_be_told():
    rng = np.random.default_rng(0)
    y = (np.arange(200) >= 194).astype(int)
    X = y[:, None] + 0.1 * rng.normal(size=(200, 1))
    result = perturb(LogisticRegression(), X, y, levels=[0.1, 0.2], repeats=2)
    assert result.verdict == "no flag"
    assert "97.0% of the rows" in result.reasons


def test_regressions_follow_the_correlation_with_permuted_targets():
    models = {"ridge": Ridge(), "tree": DecisionTreeRegressor(), "mean": DummyRegressor()}
    result = perturb(models, XD, yd, levels=[0.2, 0.5], repeats=3)
    data, rates = Data(XD, yd, task="regression"), []
    for repeat in range(3):
        targets = [PermutedTargets(data).at(repeat, level).truth for level in (0.0, 0.2, 0.5)]
        values = [np.corrcoef(Ridge().fit(XD, t).predict(XD), t)[0, 1] for t in targets]
        rates.append(-np.polyfit([0.0, 0.2, 0.5], values, 1)[0])
    np.testing.assert_allclose(result.rates["ridge"], rates, rtol=1e-10)
    at_first = np.corrcoef(Ridge().fit(XD, yd).predict(XD), yd)[0, 1]
    assert result.training["ridge"] == pytest.approx(at_first)
    assert result.memorisation["ridge"] == pytest.approx(1 - np.mean(rates) / at_first)
    assert abs(result.rate["tree"]) < 1e-12
    assert result.verdict == {"ridge": "no flag", "tree": "overfitted", "mean": "underfitted"}
    assert result.rate["mean"] == 0
    assert result.srm_risk["ridge"] is None
    assert result.perturbation == "target"


def test_noise_at_random_and_near_the_boundary():
    models = {"logistic": make_pipeline(StandardScaler(), LogisticRegression()), "tree": DecisionTreeClassifier()}
    engine = Engine()
    random = perturb(models, XC, yc, perturbation="random", engine=engine, **FEW)
    assert random.memorisation["tree"] == 1.0
    near = perturb(models, XC, yc, perturbation="boundary", engine=engine, **FEW)
    plain = perturb(models, XC, yc, engine=engine, **FEW)
    assert near.rate["tree"] == 0
    # Flipped where the model is unsure the labels make a new boundary, which is followed more than scattered flips.
    assert near.memorisation["logistic"] > plain.memorisation["logistic"] + 0.1
    assert any("that of logistic" in note for note in near.notes)
    # The same boundary whoever is asked about beside it.
    alone = perturb(models["logistic"], XC, yc, perturbation="boundary", engine=engine, **FEW)
    assert alone.rate == near.rate["logistic"]


def test_features_of_other_rows():
    engine = Engine()
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}
    labels = perturb(models, XI, yi, engine=engine, **FEW)
    run = engine.stats.run
    result = perturb(models, XI, yi, perturbation="feature", engine=engine, **FEW)
    # Without noise and in cross-validation these are the fits of the call before.
    assert engine.stats.run - run == 2 * 2 * 3
    assert result.training == labels.training
    assert result.errors.scores["bayes"].tolist() == labels.errors.scores["bayes"].tolist()
    assert result.dummy_rate["bayes"] == 0
    assert result.rate["tree"] == 0
    assert result.verdict["tree"] in ("memorises", "overfitted")
    assert abs(result.memorisation["bayes"]) < 0.3
    assert result.rows == 150
    assert "features of some rows" in result.summary()
    numbers = perturb(Ridge(), XD, yd, perturbation="feature", **FEW)
    assert 0.3 < numbers.rate < 1.2


def test_what_not_to_memorise_would_be_is_read_off_the_predictions_where_there_is_no_formula():
    result = perturb(GaussianNB(), XI, yi, perturbation="feature", levels=[0.5], repeats=2, cv=None)
    config = terms_for(
        Candidates(GaussianNB(), yi), Data(XI, yi, task="classification"),
        levels=[0.5], repeats=2, perturbation="feature",
    )  # fmt: skip
    before = GaussianNB().fit(XI, yi)
    kept = []
    for repeat in range(2):
        noisy = config.noise.at(repeat, 0.5)
        kept.append(np.mean(before.predict(config.data.X[noisy.rows.index]) == noisy.truth))
    ideal = np.mean([(result.training - value) / 0.5 for value in kept])
    assert result.table["ideal_rate"].iloc[0] == pytest.approx(ideal, rel=1e-12)


def test_cheap_first_leaves_behind_what_is_told_apart():
    models = {
        "bayes": GaussianNB(),
        "one": DecisionTreeClassifier(max_depth=1),
        "ten": DecisionTreeClassifier(max_depth=10),
        "tree": DecisionTreeClassifier(),
    }
    engine, cheap = Engine(), Engine()
    full = perturb(models, XI, yi, cv=None, engine=engine)
    result = perturb(models, XI, yi, levels="adaptive", cv=None, engine=cheap)
    assert cheap.stats.run < 0.75 * engine.stats.run
    assert result.best == full.best == "bayes"
    assert result.ties == full.ties
    assert result.rate["bayes"] == full.rate["bayes"]
    table = result.table
    assert table.loc["tree", ["levels", "repeats"]].tolist() == [3, 5]
    assert table.loc["bayes", ["levels", "repeats"]].tolist() == [11, 10]
    assert any("dropped early" in note for note in result.notes)
    assert set(result.differences["candidate"]) == {"one", "ten", "tree"}
    assert result.plot().lines[0].get_xdata().size == 3
    few = perturb(models, XI, yi, levels="adaptive", repeats=3, cv=None, engine=cheap)
    assert few.table["repeats"].tolist() == [3] * 4


def test_paper_mode_is_one_draw_without_a_sign():
    result = perturb(DummyClassifier(), XI, yi, mode="paper")
    signed = perturb(DummyClassifier(), XI, yi, repeats=1)
    assert result.levels == PAPER_LEVELS
    assert result.repeats == 1
    assert result.rate == abs(signed.rate)
    assert signed.rate < 0  # flips can only make the largest of three equal classes larger
    assert result.errors is None
    assert result.interval is None
    several = perturb(GaussianNB(), XI, yi, mode="paper", repeats=3, levels=[0.5])
    assert several.rate == pytest.approx(np.mean(several.rates))


def test_risk_and_bound_are_those_of_the_bounds():
    engine = Engine()
    models = {"bayes": GaussianNB(), "stump": DecisionTreeClassifier(max_depth=1)}
    result = perturb(models, XC, yc, bounds=True, engine=engine, **FEW)
    measured = rademacher(models, XC, yc, engine=engine)
    for name in models:
        assert result.srm_risk[name] == pytest.approx(srm_risk(result.rate[name], 569))
        bound = srm_bound(1 - result.training[name], measured.value[name], 569)
        assert result.srm_bound[name] == pytest.approx(bound)
    assert {"rademacher", "srm_bound"} <= set(result.table)
    single = perturb(GaussianNB(), XC, yc, bounds=True, engine=engine, **FEW)
    assert single.srm_bound == result.srm_bound["bayes"]
    assert perturb(GaussianNB(), XC, yc, engine=engine, **FEW).srm_bound is None


def test_weights_count_in_fits_and_accuracies():
    weight = np.where(yc == 1, 3.0, 1.0)
    result = perturb(GaussianNB(), XC, yc, sample_weight=weight, **FEW)
    fitted = GaussianNB().fit(XC, yc, sample_weight=weight)
    assert result.training == pytest.approx(fitted.score(XC, yc, sample_weight=weight))
    with pytest.raises(InvalidEstimator, match="take weights"):
        perturb(KNeighborsClassifier(), XC, yc, sample_weight=weight)


def test_groups_stay_together_in_the_folds_and_words_may_be_labels():
    groups = np.arange(150) // 5
    names = np.array(["setosa", "versicolor", "virginica"])[yi]
    engine = Engine()
    result = perturb(GaussianNB(), pd.DataFrame(XI), names, groups=groups, engine=engine, **FEW)
    folds = assess(GaussianNB(), pd.DataFrame(XI), names, groups=groups, engine=engine)
    assert result.errors.estimates["GaussianNB"][0] == folds.estimate
    assert engine.stats.run == 1 + 5  # all label vectors together, and the folds
    # Few groups make fewer folds, a rare class does not.
    assert len(perturb(GaussianNB(), XI, yi, groups=np.arange(150) // 50, **FEW).errors.scores["GaussianNB"]) == 3
    rare = np.where(np.arange(150) < 2, 3, yi)
    with pytest.warns(UserWarning, match="Class 3 has 2 rows"):
        assert len(perturb(KNeighborsClassifier(1), XI, rare, **FEW).errors.scores["KNeighborsClassifier"]) == 5


def test_the_result_has_what_every_result_has():
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(), "forest": RandomForestClassifier(5)}
    several = perturb(models, XI, yi, **FEW)
    single = perturb(GaussianNB(), XI, yi, **FEW)
    assert several.rate["bayes"] == single.rate == several.table.loc["bayes", "estimate"]
    assert several.interval["bayes"] == single.interval
    assert several.skill["bayes"] == single.skill
    assert single.ties == ["GaussianNB"]
    assert list(several.curves.columns) == ["estimator", "repeat", "level", "share", "value", "dummy"]
    assert len(several.curves) == 3 * 3 * 3
    assert several.curves["share"].max() == 0.5
    text = json.loads(json.dumps(several.to_dict()))
    assert text["estimators"][1]["verdict"] == "overfitted"
    assert text["ties"] == several.ties
    assert "bayes has " in several.summary()
    for result in (single, several):
        for kind in (None, "rate", "errors"):
            assert result.plot(kind=kind).get_figure() is not None
        assert "<svg" in result._repr_html_()
    again = pickle.loads(pickle.dumps(several))
    assert again.summary() == several.summary()
    big = perturb(GaussianNB(), np.hstack([XI, np.random.default_rng(0).normal(size=(150, 500))]), yi, **FEW)
    assert len(pickle.dumps(big)) < 20_000
    with pytest.raises(InvalidInput, match="'kind' parameter of plot"):
        single.plot(kind="magic")
    with pytest.raises(InvalidInput, match="pass cv=5"):
        perturb(GaussianNB(), XI, yi, cv=None, **FEW).plot(kind="errors")


def test_rates_are_drawn_along_the_parameter_that_differs():
    depths = {f"depth {d}": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=d)) for d in (1, 2, 4)}
    result = perturb(depths, XI, yi, **FEW)
    assert result.parameter == ("decisiontreeclassifier__max_depth", [1, 2, 4])
    ax = result.plot(kind="rate")
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 4]
    assert ax.get_xlabel().startswith("decisiontreeclassifier__max_depth")
    assert "at " in ax.texts[0].get_text()
    unlike = perturb({"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}, XI, yi, **FEW)
    assert unlike.parameter is None
    assert [label.get_text() for label in unlike.plot(kind="rate").get_yticklabels()] == ["bayes", "tree"]


class FailsOnNoise(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        if y[X[:, 2] < 2.5].any():  # these are all of the first class
            raise ValueError("no noise please")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_fits_that_fail_are_said_and_their_learner_gets_no_number():
    models = {"fails": FailsOnNoise(), "bayes": GaussianNB()}
    with pytest.raises(FitError, match="no noise please"):
        perturb(models, XI, yi, **FEW)
    with pytest.warns(UserWarning, match="6 of 18 fits failed"):
        result = perturb(models, XI, yi, engine=Engine(on_error="record"), **FEW)
    assert np.isnan(result.rate["fails"])
    assert result.best == "bayes"
    assert result.ties == ["bayes"]
    assert "fits failed" in result.reasons["fails"]
    assert result.to_dict()["estimators"][0]["estimate"] is None
    assert result.plot(kind="rate").get_figure() is not None
    assert result.plot().get_figure() is not None
    with pytest.warns(UserWarning, match="failed"):
        alone = perturb(FailsOnNoise(), XI, yi, engine=Engine(on_error="record"), cv=None, **FEW)
    assert alone.best is None
    assert alone.ties == []


def test_a_learner_of_which_every_fit_fails_is_an_error():
    class Broken(FailsOnNoise):
        def fit(self, X, y):
            raise ValueError("never")

    with pytest.raises(FitError, match="All 9 fits failed"):
        perturb(Broken(), XI, yi, engine=Engine(on_error="record"), **FEW)


def answered(plan, data, count):
    """Answer the first fits that a plan asks for, and let the time run out."""
    keys, tasks = Keys(data), next(plan)
    done = [fit_plain(keys.fit(task), data) for task in tasks[:count]]
    with pytest.raises(StopIteration) as stop:
        plan.throw(BudgetSpent("late", done + [None] * (len(tasks) - count)))
    return stop.value.value


def test_a_spent_budget_gives_what_the_finished_repeats_say():
    data, candidates = Data(XI, yi, task="classification"), Candidates(GaussianNB(), yi)
    config = terms_for(candidates, data, repeats=4, cv=5)
    part = answered(perturb_plan(candidates, config), data, 3 * 2 + 1)  # two repeats, and a bit of the third
    whole = perturb(GaussianNB(), XI, yi, levels=[0.25, 0.5], repeats=2, cv=None)
    assert part.rates.tolist() == whole.rates.tolist()
    assert any("5 fits were not run" in note for note in part.notes)
    assert part.errors is None
    nothing = answered(perturb_plan(candidates, config), data, 1)
    assert np.isnan(nothing.rate)
    assert "too few" in nothing.reasons
    plan = perturb_plan(candidates, config)
    tasks = next(plan)
    with pytest.raises(BudgetSpent):
        plan.throw(BudgetSpent("late", [None] * len(tasks)))


class Tireless(GaussianNB):
    """Knows only its own parameters: what cannot be cloned as it is would not be fitted twice."""


def test_estimators_of_ones_own_are_shared_too():
    engine = Engine()
    perturb(clone(Tireless()), XI, yi, engine=engine, **FEW)
    perturb(Tireless(), XI, yi, engine=engine, **FEW)
    assert engine.stats.run == 1 + 6 + 5


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (GaussianNB(), {"levels": [0.1, 0.6]}, "from 0 to 0.5. Got 0.6"),
        (GaussianNB(), {"levels": [-0.1]}, "Got -0.1"),
        (GaussianNB(), {"levels": [np.nan]}, "Got nan"),
        (GaussianNB(), {"levels": ["a lot"]}, "Got 'a lot'"),
        (GaussianNB(), {"levels": [True]}, "Got True"),
        (GaussianNB(), {"levels": [0.0]}, "a share above 0"),
        (GaussianNB(), {"levels": []}, "a share above 0"),
        (GaussianNB(), {"levels": "all"}, "'adaptive' or a list"),
        (GaussianNB(), {"levels": [0.001]}, "must perturb at least 1 row"),
        (GaussianNB(), {"repeats": 0}, "'repeats'"),
        (GaussianNB(), {"repeats": 2.5}, "'repeats'"),
        (GaussianNB(), {"perturbation": "magic"}, "'perturbation' parameter must be one of"),
        (GaussianNB(), {"perturbation": "target"}, "targets of a regression"),
        (GaussianNB(), {"mode": "fast"}, "'default' or 'paper'"),
        (GaussianNB(), {"cv": 1}, "'cv'"),
        (GaussianNB(), {"level": 2.0}, "'level'"),
        (GaussianNB(), {"bounds": True}, "Got 3 classes"),
        (GaussianNB(), {"perturbation": "boundary", "cv": None}, "pass cv=5"),
        (GaussianNB(), {"random_state": "a"}, "random_state"),
        (Ridge(), {"perturbation": "label"}, "labels of a classification. Got a regression; use 'target'"),
        (Ridge(), {"perturbation": "random"}, "use 'target' or 'feature'"),
        (Ridge(), {"bounds": True}, "Got a regression"),
    ],
)
def test_what_cannot_be_worked_with_is_refused_in_words(model, options, message):
    X, y = (XD, yd) if isinstance(model, Ridge) else (XI, yi)
    with pytest.raises(InvalidInput, match=message) as caught:
        perturb(model, X, y, **options)
    assert "\n" not in str(caught.value)


def test_tables_without_anything_to_disturb_are_refused_in_words():
    with pytest.raises(InvalidInput, match="at least 2 classes"):
        perturb(GaussianNB(), XI, np.zeros(150))
    with pytest.raises(InvalidInput, match=r"must vary. All its values are 3\.5"):
        perturb(Ridge(), XD, np.full(150, 3.5))
    with pytest.raises(InvalidInput, match="NaN"):
        perturb(GaussianNB(), XI, np.where(yi == 0, np.nan, yi))
    with pytest.raises(InvalidEstimator, match="neither; put another first"):
        perturb(Mute(), XI, yi, perturbation="boundary")
    assert perturb(RidgeClassifier(), XI, yi, perturbation="boundary", **FEW).verdict == "no flag"


class Mute(GaussianNB):
    predict_proba = property()
