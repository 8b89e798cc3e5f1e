"""The plan of a study with real fits, whose seconds are made up."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import Engine
from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError
from truefit._core.rows import Rows
from truefit._methods.candidates import Candidates
from truefit._methods.selection.families import ModelFamily, settings_of
from truefit._methods.splitting.splits import make_splits
from truefit._metrics.metric import get_metric
from truefit._study.budget import TimeBudget
from truefit._study.config import StudyConfig
from truefit._study.plan import study_plan
from truefit._study.selection import CandidateSelection

X, y = load_breast_cancer(return_X_y=True)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
#: Just as good, though not the same to an engine.
QUICK = make_pipeline(StandardScaler(), LogisticRegression(max_iter=101))
MODELS = {"dummy": DummyClassifier(), "bayes": GaussianNB(), "tree": DecisionTreeClassifier(), "linear": LINEAR}


def config_for(models, X=X, y=y, *, metric=None, time_budget=None, k=5):
    candidates = Candidates(models, y)
    data = Data(X, y, task=candidates.task)
    splits = make_splits(data, "kfold", k=k)
    time_budget = TimeBudget() if time_budget is None else time_budget
    return StudyConfig(candidates, data, splits, get_metric(metric, data.task), 0.95, time_budget, None)


def found_by(study, code):
    return next((each for each in study.findings if each.code == code), None)


def asked(tasks):
    outcomes = yield tasks
    return list(outcomes)


class Clock:
    """Runs a study on one engine with made-up seconds of fits by estimator, and a deadline."""

    def __init__(self, config, seconds=None, *, on_noise=None, stop_at=float("inf")):
        self.config = config
        self.engine = Engine(on_error="record", progress=False)
        # Slow enough for the least effort, so that these tests are quick.
        self.kinds = {id(each): (seconds or {}).get(name, 0.3) for name, each in config.candidates}
        self.on_noise = {id(each): (on_noise or {}).get(name, 1.0) for name, each in config.candidates}
        self.stop_at = stop_at
        self.rounds = 0
        self.known = {}

    def run(self):
        plan = study_plan(self.config)
        step = lambda: next(plan)  # noqa: E731
        while True:
            try:
                tasks = step()
            except StopIteration as stop:
                return stop.value
            step = self._answer(plan, tasks)

    def _answer(self, plan, tasks):
        self.rounds += 1
        if self.rounds >= self.stop_at:
            some = [self.known.get(self._name(task)) for task in tasks]
            if any(outcome is None for outcome in some):
                return lambda: plan.throw(BudgetSpent("late", some))
            return lambda: plan.send(some)
        outcomes = self.engine.run(asked(tasks), self.config.data)
        told = []
        for task, outcome in zip(tasks, outcomes, strict=True):
            share = len(task.train) / self.config.data.n
            if task.y is not None and (task.y != self.config.data.y).any():
                share *= self.on_noise[id(task.estimator)]
            told.append(replace(outcome, fit_seconds=self.kinds[id(task.estimator)] * share))
            self.known[self._name(task)] = told[-1]
        return lambda: plan.send(told)

    def _name(self, task):
        return id(task.estimator), tuple(task.train.index), None if task.y is None else task.y.tobytes()


@pytest.fixture(scope="module")
def found():
    return Clock(config_for(MODELS)).run()


def test_a_study_answers_four_questions_from_one_set_of_fits(found):
    assert found.best == "linear"
    assert [answer.section for answer in found.answers] == ["which", "how_good", "fit", "more_data"]
    assert found.not_run == []
    assert found.interval[0] < found.estimate < found.interval[1] < 0.1
    assert found.comparison.best == "linear"
    assert "tree" not in found.comparison.ties
    assert found.perturbation.by_name["linear"].memorisation < 0.5
    assert found.bias_variance.rounds == 25
    assert found.curves["linear"].sizes[-1] == 569
    assert found.cross_test.triangle


def test_the_cross_test_costs_no_fit(found):
    text = next(sentence for sentence in found.verdict if sentence.startswith("Agghoo"))
    assert "no additional fits" in text


def test_a_study_in_plain_types_has_everything_and_is_json(found):
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (content["kind"], content["version"], content["best"]) == ("study", 3, "linear")
    assert (content["rows"], content["columns"], content["task"]) == (569, 30, "classification")
    assert set(content["parts"]) == {
        "assessment", "honest", "comparison", "perturbation", "bias_variance", "cross_test", "curves",
    }  # fmt: skip
    assert [each["question"] for each in content["answers"]] == [
        "Which model?", "How good is it, really?", "Does it fit?", "Would more data help?",
    ]  # fmt: skip
    assert {"findings", "next_steps", "not_run", "dropped", "baseline", "target", "seed", "fits"} <= set(content)


def test_where_the_search_takes_long_weak_candidates_are_dropped_with_the_reason_but_not_what_all_are_measured_by():
    found = Clock(config_for(MODELS), dict.fromkeys(MODELS, 1.0)).run()
    assert {each.name for each in found.dropped} == {"bayes", "tree"}
    assert all(0 < each.after < 5 for each in found.dropped)
    assert {each.cause for each in found.dropped} == {"racing"}
    assert found.verdict[1].endswith("Best of 4 candidates; 2 stopped early by racing.")
    worse = r"^Significantly worse than linear \(paired t-test\): dummy, by [\d.]+ points\.$"
    assert re.search(worse, "\n".join(found.verdict), re.MULTILINE)
    assert set(found.table.index) == {"linear", "dummy"}
    assert set(found.honest.chosen) == {"linear"}


def test_where_the_curve_is_steep_the_folds_train_on_notably_fewer_rows(found):
    assert found_by(found, "TF209") is None
    digits, labels = load_digits(return_X_y=True)
    models = {"knn": KNeighborsClassifier(3), "dummy": DummyClassifier()}
    steep = Clock(config_for(models, digits[:240], labels[:240])).run()
    now, then = (steep.curves["knn"].predict(size)[0] for size in (240, 300))
    text = found_by(steep, "TF209").text
    assert f"is about {steep.metric_text.change(now - then)} better, which is still inside the interval" in text
    assert "at its better end" not in str(steep)
    blurred = digits[:600] + np.random.default_rng(0).normal(scale=4.0, size=(600, 64))
    steeper = Clock(config_for(models, blurred, labels[:600])).run()
    by = steeper.metric_text.change(steeper.honest.reach)
    assert f"Interval extended by {by} at its better end: the final model is trained on all rows." in str(steeper)


def test_without_a_budget_what_takes_little_is_not_left_out_to_save_time(monkeypatch):
    models = {"linear": MODELS["linear"], "dummy": MODELS["dummy"], "quick": QUICK}
    seconds = {"linear": 5.0, "dummy": 0.01, "quick": 0.01}
    found = Clock(config_for(models), seconds).run()
    assert (found.best, found.curves.names) == ("linear", ["linear", "quick"])
    monkeypatch.setattr("truefit._study.diagnostics._LITTLE", 0.0)
    saving = Clock(config_for(models), seconds).run()
    assert saving.curves.names == ["linear"]
    assert any(what == "Learning curve of quick" and "skipped to save time" in why for what, why in saving.not_run)


@pytest.mark.slow
def test_who_takes_many_times_as_long_on_noise_is_left_out_after_one_look_and_named():
    models = {"linear": MODELS["linear"], "dummy": MODELS["dummy"], "quick": QUICK}
    even = Clock(config_for(models), dict.fromkeys(models, 0.02)).run()
    assert set(even.perturbation.by_name) == {"linear", "quick"}
    assert even.not_run == []
    clock = Clock(config_for(models), dict.fromkeys(models, 0.02), on_noise={"quick": 1000.0})
    found = clock.run()
    assert set(found.perturbation.by_name) == {"linear"}
    assert found.not_run == [
        ("Perturbed validation of quick", "skipped to save time; a fit on noisy labels takes about 20 s")
    ]
    quick = id(clock.config.candidates.estimators["quick"])
    noises = {labels for estimator, _, labels in clock.known if estimator == quick} - {None, y.tobytes()}
    assert len(noises) == 1
    assert found.perturbation.by_name["linear"].rate == even.perturbation.by_name["linear"].rate


def test_a_candidate_that_would_eat_the_budget_is_stopped_after_one_fold_and_named():
    slow = {"linear": 0.1, "bayes": 0.1, "dummy": 0.1, "tree": 30.0, "stump": 0.1}
    models = {**MODELS, "stump": DecisionTreeClassifier(max_depth=1)}
    found = Clock(config_for(models, time_budget=TimeBudget(100.0)), slow).run()
    assert (found.dropped[0].name, found.dropped[0].after) == ("tree", 1)
    assert "stopped to keep to the budget" in found.dropped[0].reason
    assert "tree" not in found.table.index
    assert found.honest is not None


def test_without_time_for_nesting_the_choice_is_judged_on_bootstrap_samples():
    seconds = dict.fromkeys(MODELS, 1.0)
    found = Clock(config_for(MODELS, time_budget=TimeBudget(60.0)), seconds).run()
    assert found.honest is None
    assert not any("budget" in each.reason for each in found.dropped)
    assert found.interval[0] < found.estimate < found.interval[1]
    assert {"Nested cross-validation", "Cross-tested Agghoo"} <= dict(found.not_run).keys()
    assert "corrected for the selection among 4 candidates by the bootstrap" in found.answers[1].sentences[0]


def tuned_config(budget, **more):
    families = {
        "dummy": ModelFamily("dummy", DummyClassifier()),
        "tree": ModelFamily("tree", DecisionTreeClassifier(), {"max_depth": [1, 3, 5], "min_samples_leaf": [1, 5, 20]}),
        "linear": ModelFamily("linear", LINEAR, {"C": [0.01, 0.1, 1.0, 10.0]}),
        **more,
    }
    settings = settings_of(families)
    models = {name: each.estimator for name, each in settings.items()}
    config = replace(config_for(models, time_budget=TimeBudget(budget)), families=families, settings=settings)
    return config, {
        name: {"dummy": 1.0, "tree": 20.0, "linear": 40.0}.get(each.family, 1.0) for name, each in settings.items()
    }


def used(clock):
    """Seconds of all distinct fits."""
    return sum({outcome.key: outcome.fit_seconds for outcome in clock.known.values()}.values())


@pytest.mark.parametrize("budget", [1500.0, 3000.0])
def test_a_tuned_study_tries_what_it_has_time_for_and_answers_everything_in_most_of_it(budget):
    config, seconds = tuned_config(budget)
    clock = Clock(config, seconds)
    found = clock.run()
    assert 0.8 * budget <= used(clock) <= 1.05 * budget
    assert found.interval[0] < found.estimate < found.interval[1]
    assert found.perturbation is not None
    assert found.curves is not None
    assert {config.family(name) for name in found.assessment.names} == {"dummy", "tree", "linear"}
    content = found.to_dict()
    untried = [each for each in content["settings"] if each["estimate"] is None and each["folds"] < 2]
    assert 0 < content["searched"] < 14
    assert f"{14 - content['searched']} left out to keep to the time budget" in found.verdict[1]
    assert len(untried) >= 14 - content["searched"]
    assert f"the {content['searched']} settings that were searched (of 14)" in str(found)


def test_a_family_that_cannot_be_fitted_does_not_end_a_tuned_study_with_a_budget():
    broken = ModelFamily("broken", KNeighborsClassifier(metric="none"), {"n_neighbors": [1, 3, 5]})
    config, seconds = tuned_config(500.0, broken=broken)
    found = Clock(config, seconds).run()
    assert "failed" in {each.cause for each in found.dropped if config.family(each.name) == "broken"}
    assert all(each["estimate"] is None for each in found.to_dict()["settings"] if each["family"] == "broken")


def test_with_time_for_everything_nothing_is_stopped():
    config, seconds = tuned_config(10_000.0)
    clock = Clock(config, dict.fromkeys(seconds, 0.01))
    found = clock.run()
    assert all(each["estimate"] is not None for each in found.to_dict()["settings"])
    assert found.not_run == []
    assert found.bias_variance.rounds == 100


def test_when_time_runs_out_the_study_says_what_it_has():
    whole = Clock(config_for(MODELS))
    whole.run()
    cut = Clock(config_for(MODELS), stop_at=whole.rounds - 2).run()
    assert cut.best == "linear"
    assert cut.perturbation is not None
    assert any("time budget exhausted" in why for _, why in cut.not_run)


def test_cut_off_in_the_search_it_compares_the_candidates_that_were_judged_on_every_fold():
    config = config_for(MODELS)
    clock = Clock(config, stop_at=2)
    for name in ("bayes", "dummy"):
        tasks = [config.task(name, split) for split in config.splits]
        for task, outcome in zip(tasks, clock.engine.run(asked(tasks), config.data), strict=True):
            clock.known[clock._name(task)] = outcome
    found = clock.run()
    assert found.best == "bayes"
    assert {each.name for each in found.dropped} == {"tree", "linear"}
    assert found.honest is None
    assert found.answers[3].headline == "Not run."
    assert found.answers[3].sentences == ("Time budget exhausted.",)
    assert "2 left out to keep to the time budget" in found.verdict[1]


def test_a_budget_that_is_spent_before_anything_is_known_is_said():
    with pytest.raises(BudgetSpent, match="before there was anything to choose between"):
        Clock(config_for(MODELS, time_budget=TimeBudget(0.1)), stop_at=1).run()


def test_the_same_seconds_lead_to_the_same_study():
    seconds = {"linear": 2.0, "bayes": 0.2, "dummy": 0.1, "tree": 0.4}
    one, two = (Clock(config_for(MODELS, time_budget=TimeBudget(150.0)), seconds).run().to_dict() for _ in range(2))
    assert one == two


@pytest.mark.slow
def test_a_large_table_is_sampled_where_that_saves_time_and_this_is_said():
    X, y = make_classification(4000, 6, n_informative=4, random_state=0)
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=4), "dummy": DummyClassifier()}
    clock = Clock(config_for(models, X, y, time_budget=TimeBudget(200.0)), {"bayes": 2.0, "tree": 2.0, "dummy": 0.01})
    found = clock.run()
    assert found.perturbation.rows < 4000
    assert f"perturbed validation on {found.perturbation.rows:,}" in found_by(found, "TF302").text.lower()
    assert found_by(found, "TF303").evidence == {"budget_seconds": 200.0}
    rounds, seconds = clock.rounds, {"bayes": 2.0, "tree": 2.0, "dummy": 0.01}
    for stop_at in range(rounds - 8, rounds):  # from about the end of the search on
        late = Clock(config_for(models, X, y, time_budget=TimeBudget(200.0)), seconds, stop_at=stop_at).run()
        sampled = found_by(late, "TF302")
        parts = set() if sampled is None else set(sampled.evidence["rows"])
        found = {name: getattr(late, name) for name in ("perturbation", "bias_variance")}
        assert parts == {name for name, part in found.items() if part is not None and part.rows < 4000}


def test_where_only_the_baseline_is_done_in_time_the_quickest_candidate_may_take_what_is_left():
    config = config_for(MODELS, time_budget=TimeBudget(100.0))
    search = CandidateSelection(config)
    search._by_speed = ["linear", "bayes"]
    plan = search._first_fold()
    tasks = next(plan)
    assert tasks.fit_seconds is not None
    outcomes = dict(zip(config.candidates.names, Engine(progress=False).run(asked(tasks), config.data), strict=True))
    in_time = [outcome if name == "dummy" else None for name, outcome in outcomes.items()]
    again = plan.throw(BudgetSpent("late", in_time))
    assert getattr(again, "fit_seconds", None) is None
    assert set(search.names) == {"linear", "dummy"}
    with pytest.raises(StopIteration):
        plan.send([outcomes[name] for name in search.names])
    assert set(search.first) == {"linear", "dummy"}
    assert {each.name for each in search.dropped} == {"bayes", "tree"}


def test_one_slow_look_at_noise_takes_no_more_than_that_look():
    models = {"linear": MODELS["linear"], "dummy": MODELS["dummy"], "quick": QUICK}
    slow = {"linear": 1000.0, "quick": 1000.0}
    clock = Clock(config_for(models, time_budget=TimeBudget(21.0)), dict.fromkeys(models, 0.02), on_noise=slow)
    found = clock.run()
    assert found.perturbation is None
    why = dict(found.not_run)["Perturbed validation"]
    assert "one fit of linear on noisy labels takes about 20 s, and under 1 ms of fitting" in why
    noisy = [labels for _, _, labels in clock.known if labels is not None and labels != y.tobytes()]
    assert len(noisy) == 1


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ValueError("no such luck")

    def predict(self, X):
        return np.zeros(len(X))


def test_a_candidate_that_cannot_be_fitted_is_left_out_and_named():
    found = Clock(config_for({"bayes": GaussianNB(), "broken": Broken()})).run()
    assert found.best == "bayes"
    assert [(each.name, each.after) for each in found.dropped] == [("broken", 0)]
    assert "no such luck" in found.dropped[0].reason
    with pytest.raises(FitError, match="No candidate could be fitted"):
        Clock(config_for({"broken": Broken()})).run()


def test_a_regression_is_told_in_the_unit_of_its_target():
    X, y = load_diabetes(return_X_y=True)
    models = {"dummy": DummyRegressor(), "ridge": Ridge(), "tree": DecisionTreeRegressor(max_depth=3)}
    found = Clock(config_for(models, X, y, metric="rmse")).run()
    assert found.answers[1].headline.startswith("Expect an RMSE of 5")
    assert "Baseline (always predicts the mean): RMSE 7" in " ".join(found.answers[1].sentences)
    assert found.curves[found.best].metric == "rmse"
    assert found.bias_variance.loss == "squared"


def test_a_score_has_its_curve_under_the_error():
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=3)}
    found = Clock(config_for(models, metric="auc")).run()
    assert found.metric == "auc"
    assert found.curves[found.best].metric == "error"
    assert "AUC of 0.9" in found.answers[1].headline


def test_one_candidate_is_enough():
    found = Clock(config_for({"bayes": GaussianNB()})).run()
    assert found.best == "bayes"
    assert found.comparison is None
    assert found.cross_test is None
    assert "only candidate" in found.answers[0].sentences[0]
    assert found.estimate == pytest.approx(found.honest.estimate)


def test_noise_alone_is_told_to_be_no_better_than_guessing():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 4)), rng.permutation(np.repeat([0, 1], 75))
    found = Clock(config_for({"dummy": DummyClassifier(), "bayes": GaussianNB()}, X, y)).run()
    assert found.answers[0].headline == "None: no candidate is significantly better than the baseline."
    assert any("Look for other features" in step and "(TF201)" in step for step in found.next_steps)


def test_the_folds_are_those_that_every_method_shares():
    config = config_for(MODELS)
    clock = Clock(config)
    clock.run()
    before = clock.engine.stats.run
    clock.engine.run(asked([config.on_all_rows("linear")]), config.data)
    assert clock.engine.stats.run == before
    assert Rows.all(569) == config.on_all_rows("linear").train


def test_a_model_that_memorises_is_told_so_and_not_that_others_are_worse():
    found = Clock(config_for({"tree": DecisionTreeClassifier()})).run()
    assert found.answers[2].headline == (
        "It memorises 100% of injected label noise; no candidate that memorises less was tested."
    )
    assert found.training == {"tree": 0.0}


def test_unequal_classes_that_leave_little_to_be_gained_are_not_taken_for_underfitting():
    random = np.random.default_rng(0)
    X = random.normal(size=(2_000, 2))
    y = (random.uniform(size=2_000) < np.where(X[:, 0] > 1.4, 0.8, 0.03)).astype(int)
    stump = DecisionTreeClassifier(max_depth=1)
    found = Clock(config_for({"dummy": DummyClassifier(), "stump": stump}, X, y)).run()
    assert found.perturbation.verdict["stump"] == "underfitted"
    answer = found.answers[2]
    assert answer.headline.startswith("No sign of over- or underfitting")
    assert any("alone would report underfitting" in sentence for sentence in answer.sentences)
    assert found_by(found, "TF204") is None


def test_what_hardly_avoids_an_error_of_guessing_underfits():
    random = np.random.default_rng(0)
    X = random.normal(size=(4_000, 2))
    y = (random.uniform(size=4_000) < np.where(X[:, 0] > 1, 0.65, 0.3)).astype(int)
    stump = DecisionTreeClassifier(max_depth=1)
    found = Clock(config_for({"dummy": DummyClassifier(), "stump": stump}, X, y)).run()
    assert found.answers[2].headline.startswith("It underfits: error 3")
    assert any("more flexible model" in step and "(TF204)" in step for step in found.next_steps)


def test_without_time_for_nesting_a_metric_that_is_no_mean_has_its_value_and_no_interval():
    config = config_for(MODELS, metric="auc", time_budget=TimeBudget(20.0))
    found = Clock(config, dict.fromkeys(MODELS, 0.3)).run()
    assert found.honest is None
    assert found.estimate == found.assessment.estimates[found.best].value
    assert found.interval is None
    assert "is not a per-sample metric" in found.answers[1].sentences[0]
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_curve_that_time_ended_has_the_point_of_all_rows_nevertheless():
    models = {"linear": LINEAR, "dummy": DummyClassifier()}
    whole = Clock(config_for(models))
    sizes = whole.run().curves.curves["linear"].sizes
    found = Clock(config_for(models), stop_at=whole.rounds - 1).run()
    curve = found.curves.curves["linear"]
    assert curve.sizes[-1] == 569
    assert len(curve.sizes) == len(sizes) - 1
    assert curve.errors[-1] == pytest.approx(found.assessment.estimates["linear"].value)


def test_every_next_step_has_a_number(found):
    other = Clock(config_for({"tree": DecisionTreeClassifier(), "linear": LINEAR})).run()
    for step in (*found.next_steps, *other.next_steps):
        assert any(letter.isdigit() for letter in step)
