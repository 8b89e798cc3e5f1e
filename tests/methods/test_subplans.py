import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, bias_variance, perturb
from truefit._core.data import Data
from truefit._core.errors import BudgetSpent
from truefit._core.outcome import Outcome
from truefit._core.protocols import FitTask
from truefit._core.rows import Rows
from truefit._methods.bias_variance import bias_variance_config, bias_variance_plan
from truefit._methods.candidates import Candidates
from truefit._methods.perturbation.config import perturbation_config
from truefit._methods.perturbation.plan import perturb_plan
from truefit._methods.subplans import FitMeter, on_rows, run_subplan
from truefit._study.budget import sample_rows

X, y = load_breast_cancer(return_X_y=True)
DATA = Data(X, y, task="classification")
ROWS = sample_rows(DATA, 150, least=5, random_state=None)


def test_a_plan_on_some_rows_finds_what_it_would_on_a_table_of_these_alone():
    models = {"tree": DecisionTreeClassifier(), "bayes": GaussianNB()}
    candidates, part = Candidates(models, y), DATA.subset(ROWS)
    config = perturbation_config(
        candidates, part, levels=[0.25, 0.5], repeats=2, perturbation="auto", mode="default", cv=5, bounds=False,
        level=0.95, random_state=None,
    )  # fmt: skip
    found = Engine().run(on_rows(perturb_plan(candidates, config), DATA, ROWS), DATA)
    alone = perturb(models, X[ROWS], y[ROWS], levels=[0.25, 0.5], repeats=2)
    assert found.rate == alone.rate
    assert found.errors.estimates == alone.errors.estimates


def test_bootstrap_samples_of_some_rows_too():
    candidates, part = Candidates({"bayes": GaussianNB()}, y), DATA.subset(ROWS)
    setup = bias_variance_config(candidates, part, trained=part.n, rounds=10, loss="auto", noise=None, random_state=1)
    found = Engine().run(on_rows(bias_variance_plan(candidates, setup), DATA, ROWS), DATA)
    alone = bias_variance({"bayes": GaussianNB()}, X[ROWS], y[ROWS], rounds=10, random_state=1)
    assert found.expected_loss == alone.expected_loss


def test_labels_that_are_longer_than_those_of_the_table_are_not_cut():
    data = Data(np.arange(4.0).reshape(-1, 1), ["a", "b", "a", "b"], task="classification")

    def plan():
        yield [FitTask(GaussianNB(), Rows.all(2), y=np.array(["long", "a"]))]

    (task,) = next(on_rows(plan(), data, np.array([1, 3])))
    assert task.y.tolist() == ["a", "long", "a", "a"]
    assert task.train == Rows.of([1, 3])


def test_each_fit_counts_once():
    meter = FitMeter(lambda task, outcome: outcome.fit_seconds)
    outcomes = [Outcome("a", fit_seconds=2.0), None, Outcome("b", fit_seconds=1.0), Outcome("a", fit_seconds=2.0)]
    meter.count([FitTask(GaussianNB(), Rows.all(2))] * 4, outcomes)
    assert (meter.requested, meter.distinct, meter.seconds) == (3, 2, 3.0)


def test_what_is_thrown_reaches_the_plan_inside_which_may_still_return():
    observed = []

    def plan():
        try:
            yield [FitTask(LogisticRegression(), Rows.all(3))]
        except BudgetSpent:
            return "what there is"

    outer = run_subplan(plan(), observe=lambda tasks, outcomes: observed.append(outcomes))
    next(outer)
    with pytest.raises(StopIteration) as stop:
        outer.throw(BudgetSpent("late", [Outcome("a")]))
    assert stop.value.value == "what there is"
    assert [outcome.key for outcome in observed[0]] == ["a"]
