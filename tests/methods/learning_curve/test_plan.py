"""learning_curve: shared fits, rows on demand, rules by which it ends, and what it refuses."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess, compare, learning_curve
from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError, InvalidInput
from truefit._methods.learning_curve.config import learning_curve_config, sampled_table
from truefit._methods.learning_curve.plan import learning_curve_plan
from truefit._methods.learning_curve.result import LearningCurves
from truefit._metrics.metric import get_metric

CANCER = load_breast_cancer(return_X_y=True)
MANY = make_classification(4000, 10, n_informative=5, flip_y=0.1, random_state=0)


class Growing:
    """Rows on demand from arrays."""

    name = "arrays"

    def __init__(self, X, y, total=None):
        self.X, self.y, self.total = X, y, total
        self.largest = 0

    def take(self, n):
        self.largest = max(self.largest, min(n, len(self.X)))
        return self.X[:n], self.y[:n]


def test_all_rows_share_their_fits_with_other_methods() -> None:
    engine = Engine()
    assess(GaussianNB(), *CANCER, cv=10, engine=engine)
    before = engine.stats.run
    curve = learning_curve(GaussianNB(), *CANCER, schedule=[569], engine=engine)
    assert engine.stats.run == before
    assert curve.errors[-1] == pytest.approx(assess(GaussianNB(), *CANCER, cv=10, engine=engine).estimate)
    learning_curve(GaussianNB(), *CANCER, cv=5, tolerance=1e-6, engine=engine)
    before = engine.stats.run
    compare({"a": GaussianNB()} | {"b": GaussianNB()}, *CANCER, cv=5, engine=engine)
    assert engine.stats.run == before


class AlwaysWrong(GaussianNB):
    def predict(self, X):
        return 1 - (X[:, 0] > 0)


def test_a_learner_that_is_always_wrong_has_an_error_of_at_most_1() -> None:
    # The weighted sum over rows is 1 + 2e-16 at some sizes.
    X = np.random.default_rng(0).normal(size=(400, 3))
    curve = learning_curve(AlwaysWrong(), X, (X[:, 0] > 0).astype(int))
    assert curve.errors.max() == 1.0
    assert curve.errors.min() == pytest.approx(1.0)
    assert "the error stays near 100%, no better than the baseline" in curve.refused
    assert curve.summary().count("the error stays near 100%") == 1


def test_an_error_of_zero_is_a_plain_sentence() -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    X[:, 0] += 2 * np.sign(X[:, 0])
    curve = learning_curve(DecisionTreeClassifier(), X, (X[:, 0] > 0).astype(int), target=0.01)
    assert curve.errors[-1] == 0
    assert curve.reason == f"Target reached: error 0 with {curve.sizes[-1]:,.0f} rows (target 0.01)."
    without = learning_curve(DecisionTreeClassifier(), X, (X[:, 0] > 0).astype(int))
    assert re.fullmatch(
        r"More rows, up to 400, would lower the error by at most 0(\.\d+)?, less than the tolerance of 0\.02\.",
        without.reason,
    )


def test_a_weighted_error_at_all_rows_is_that_of_assess() -> None:
    weight = np.random.default_rng(0).uniform(0.5, 2, 569)
    engine = Engine()
    model = DecisionTreeClassifier(max_depth=2)
    curve = learning_curve(model, *CANCER, schedule=[200, 569], cv=5, sample_weight=weight, engine=engine)
    before = engine.stats.run
    assess(model, *CANCER, cv=5, sample_weight=weight, engine=engine)
    assert engine.stats.run == before
    assert 0 < curve.errors[-1] < 0.2


def test_the_standard_error_of_a_share_is_binomial() -> None:
    curve = learning_curve(GaussianNB(), *CANCER, schedule=[100, 200, 400])
    assert curve.stderr == pytest.approx(np.sqrt(curve.errors * (1 - curve.errors) / curve.sizes), rel=1e-2)


def test_sizes_step_by_a_tenth_to_twice() -> None:
    curve = learning_curve(DecisionTreeClassifier(max_depth=3), *MANY, cv=3, tolerance=0.001)
    ratio = curve.sizes[1:] / curve.sizes[:-1]
    assert (ratio >= 1.09).all()
    assert (ratio <= 2.01).all()
    assert curve.sizes[-1] == 4000
    assert curve.rule == "rows"
    assert curve.next_size is not None
    assert curve.next_size > 4000


def test_rows_on_demand_are_read_only_as_far_as_needed() -> None:
    source = Growing(*MANY)
    engine = Engine()
    curve = learning_curve(GaussianNB(), source, cv=3, budget=600, engine=engine)
    assert source.largest == 600
    assert curve.rule == "budget"
    assert "600 rows" in curve.reason
    assert engine.stats.run == curve.fits
    again = learning_curve(GaussianNB(), Growing(*MANY), cv=3, budget=1200, engine=engine)
    assert engine.stats.run == curve.fits + 3 * len(set(again.sizes) - set(curve.sizes))


def test_a_source_that_runs_dry_says_so() -> None:
    curve = learning_curve(GaussianNB(), Growing(*CANCER), cv=3)
    assert curve.stopped
    assert curve.rule == "rows"
    assert "All 569 rows are used" in curve.reason
    listed = learning_curve(GaussianNB(), Growing(*CANCER), cv=3, schedule=[100, 500, 5000])
    assert listed.sizes.tolist() == [100, 500]
    assert "only 569 rows" in listed.reason


def test_only_new_samples_are_fitted_when_rows_come() -> None:
    X, y = MANY
    engine = Engine()
    first = learning_curve(GaussianNB(), X[:500], y[:500], cv=3, tolerance=0.001, engine=engine)
    before = engine.stats.run
    then = learning_curve(GaussianNB(), X[:900], y[:900], cv=3, tolerance=0.001, batches=[500, 900], engine=engine)
    assert set(first.sizes) < set(then.sizes)
    assert then.errors[: len(first.sizes)] == pytest.approx(first.errors)
    assert engine.stats.run - before == 3 * (len(then.sizes) - len(first.sizes))


def test_position_does_not_matter() -> None:
    X, y = CANCER
    shuffled = np.random.default_rng(1).permutation(len(y))
    one = learning_curve(GaussianNB(), X, y, cv=3)
    other = learning_curve(GaussianNB(), X[shuffled], y[shuffled], cv=3)
    assert one.errors == pytest.approx(other.errors)
    assert one.errors.tolist() != learning_curve(GaussianNB(), X, y, cv=3, random_state=1).errors.tolist()


def test_targets() -> None:
    reached = learning_curve(GaussianNB(), *CANCER, cv=5, target=0.2)
    assert reached.rule == "target reached"
    assert reached.next_size is None
    assert reached.enough
    noise = np.random.default_rng(0).integers(0, 2, len(MANY[1]))
    model = DummyClassifier(strategy="prior")
    missed = learning_curve(model, MANY[0], noise, cv=3, target=0.01)
    assert missed.rule in ("target out of reach", "rows")
    with pytest.raises(InvalidInput, match="'target' parameter"):
        learning_curve(GaussianNB(), *CANCER, target=-0.1)


def test_budgets() -> None:
    curve = learning_curve(GaussianNB(), *MANY, cv=3, tolerance=1e-3, budget={"money": 100, "price_per_row": 0.25})
    assert curve.sizes[-1] == 400
    assert "400 rows at 0.25 each" in curve.reason
    engine = Engine()
    learning_curve(GaussianNB(), *MANY, cv=3, tolerance=1e-3, engine=engine)
    spent = learning_curve(GaussianNB(), *MANY, cv=3, tolerance=1e-3, budget={"seconds": 1e-9}, engine=engine)
    assert spent.rule == "budget"
    assert len(spent.sizes) == 5
    with pytest.raises(InvalidInput, match="'budget' parameter"):
        learning_curve(GaussianNB(), *CANCER, budget={"euros": 3})
    with pytest.raises(InvalidInput, match="price_per_row"):
        learning_curve(GaussianNB(), *CANCER, budget={"money": 3})


def test_train_errors_and_picture() -> None:
    X, y = load_diabetes(return_X_y=True)
    curve = learning_curve(Ridge(0.1), X, y, cv=5, train=True)
    assert (curve.train[-1] < curve.errors[-1]).all()
    assert "train" in [text.get_text() for text in curve.plot().texts]
    assert curve.metric == "mse"
    json.dumps(curve.to_dict())
    assert "<svg" in curve._repr_html_()
    assert list(curve.table.columns) == ["error", "stderr", "train", "train_sd", "seconds"]
    assert curve.summary().startswith("mean squared error of Ridge with 442 rows")


def test_several_estimators_have_a_curve_each() -> None:
    both = learning_curve({"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}, *CANCER, cv=3)
    assert isinstance(both, LearningCurves)
    assert set(both.errors) == {"bayes", "tree"}
    assert "estimate" in both.table.columns
    assert both.predict(569)["bayes"][0] == both["bayes"].predict(569)[0]
    json.dumps(both.to_dict())
    assert both.plot() is not None


def test_other_losses() -> None:
    assert learning_curve(LogisticRegression(max_iter=5000), *load_iris(return_X_y=True), cv=3, metric="log_loss").fits
    X, y = load_diabetes(return_X_y=True)
    rmse = learning_curve(Ridge(), X, y, cv=3, metric="rmse", schedule=[100, 442])
    mse = learning_curve(Ridge(), X, y, cv=3, metric="mse", schedule=[100, 442])
    assert rmse.errors**2 == pytest.approx(mse.errors, rel=1e-2)
    assert rmse.stderr == pytest.approx(mse.stderr / (2 * rmse.errors), rel=1e-2)
    for metric in ("accuracy", "auc"):
        with pytest.raises(InvalidInput, match="must be a loss"):
            learning_curve(GaussianNB(), *CANCER, metric=metric)
    with pytest.raises(InvalidInput, match="grows with the number of rows"):
        learning_curve(Ridge(), X, y, metric="rss")


def test_the_bound_of_a_loss_is_the_upper_end_of_its_gain() -> None:
    X, y = load_diabetes(return_X_y=True)
    curve = learning_curve(Ridge(0.1), X, y, cv=3, metric="rmse", horizon=1000)
    assert "upper bound" in curve.reason
    value, _, high = curve.gain(1000)
    assert curve.reason.endswith(f"by about {value:.2g} (upper bound {high:.2g}).")
    assert curve.summary().startswith("RMSE of Ridge with 442 rows")
    forecast = curve._forecast
    most = forecast.most_gain(np.array([442.0, 800.0, 1000.0]))
    assert most[0] == pytest.approx(high)
    assert most[0] > most[1] > most[2] == 0


def test_a_loss_that_has_levelled_off_is_enough() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 1))
    curve = learning_curve(Ridge(), X, X[:, 0] + 0.1 * random.uniform(-1, 1, 6000), cv=3, metric="rmse", tolerance=0.01)
    assert curve.rule == "gain"
    assert curve.sizes[-1] < 6000


def test_groups_stay_together() -> None:
    X, y = load_diabetes(return_X_y=True)
    groups = np.arange(len(y)) // 4
    curve = learning_curve(Ridge(), X, y, cv=3, groups=groups, schedule=[100, 442])
    alone = learning_curve(Ridge(), X, y, cv=3, schedule=[100, 442])
    assert curve.errors[-1] != alone.errors[-1]
    assert curve.stderr[-1] > 0


def test_bad_input_is_one_sentence() -> None:
    X, y = CANCER
    with pytest.raises(InvalidInput, match="at least 10 rows"):
        learning_curve(GaussianNB(), X[17:23], y[17:23])
    rare = np.r_[np.zeros(203, dtype=int), 1]
    with pytest.raises(InvalidInput, match="1 of them of class 1"):
        learning_curve(GaussianNB(), X[:204], rare)
    with pytest.raises(InvalidInput, match=r"at least \d+ of these rows, for enough .* a budget of 12 rows"):
        learning_curve(GaussianNB(), X, y, budget=12)
    with pytest.raises(InvalidInput, match=r"'horizon' parameter is the largest .* there are 569"):
        learning_curve(GaussianNB(), X, y, horizon=100)
    with pytest.raises(InvalidInput, match="begin with"):
        learning_curve(GaussianNB(), X, y, schedule=[12, 50])
    with pytest.raises(InvalidInput, match="increase"):
        learning_curve(GaussianNB(), X, y, schedule=[200, 100])
    with pytest.raises(InvalidInput, match="must not exceed the 569 rows"):
        learning_curve(GaussianNB(), X, y, schedule=[200, 1000])
    with pytest.raises(InvalidInput, match="'batches' parameter"):
        learning_curve(GaussianNB(), X, y, batches=[300, 200])
    engine = Engine()
    for wrong, message in (
        ({"cv": 1}, "at least 2"),
        ({"level": 0.9999}, "'level'"),
        ({"tolerance": 0}, "'tolerance'"),
        ({"horizon": -1}, "'horizon'"),
        ({"schedule": "adaptiv"}, "'schedule' parameter"),
    ):
        with pytest.raises(InvalidInput, match=message):
            learning_curve(GaussianNB(), X, y, engine=engine, **wrong)
    assert engine.stats.run == 0
    with pytest.raises(InvalidInput, match="in memory"):
        learning_curve(GaussianNB(), Growing(X, y), sample_weight=[1.0] * len(y))
    with pytest.raises(InvalidInput, match="'mode' parameter"):
        learning_curve(GaussianNB(), X, y, mode="papper")


def test_rare_classes_do_not_keep_small_samples_away() -> None:
    X, y = MANY
    several = y.copy()
    several[:40] = 2
    curve = learning_curve(GaussianNB(), X, several, cv=10)
    assert curve.sizes[0] < 100
    assert learning_curve(GaussianNB(), X[:204], np.arange(204) // 4, cv=10).sizes[-1] <= 204


def test_paper_mode_follows_the_paper() -> None:
    curve = learning_curve(DecisionTreeClassifier(max_depth=4), *MANY, cv=5, mode="paper")
    assert curve.sizes[:4].tolist() == [80, 90, 100, 200]
    assert curve.level == 0.999
    assert {"next", "large", "r_sigma", "well_behaved", "disagreement"} <= set(curve.table.columns)
    assert curve.rule in ("paper", "rows")
    if curve.rule == "paper":
        assert curve.well_behaved
        assert "Eq. 40" in curve.reason
    full = learning_curve(DecisionTreeClassifier(max_depth=4), *MANY, cv=5, mode="paper", schedule=[80, 90, 100, 200])
    assert full.rule == "sizes"


class FailsBelow(GaussianNB):
    """Cannot be trained on few rows."""

    def fit(self, X, y, sample_weight=None):
        if len(X) < 100:
            raise RuntimeError("too few rows for me")
        return super().fit(X, y, sample_weight)


def test_sizes_with_failed_fits_are_left_out_and_said() -> None:
    with pytest.warns(UserWarning, match="too few rows for me"):
        curve = learning_curve(FailsBelow(), *MANY, cv=3, engine=Engine(on_error="record"))
    assert curve.sizes[0] > 100
    with pytest.raises(FitError, match="too few rows for me"):
        learning_curve(FailsBelow(), *MANY, cv=3, schedule=[60, 90], engine=Engine(on_error="record"))


def test_a_deadline_leaves_what_was_measured() -> None:
    data = Data(*MANY, task="classification")
    sampled = sampled_table(data)
    config = learning_curve_config(
        sampled,
        get_metric("error", "classification"),
        schedule=[100, 200, 400],
        k=3,
        budget=None,
        mode="default",
        level=0.95,
        tolerance=None,
        horizon=None,
        target=None,
        train=False,
        random_state=None,
    )
    plan = learning_curve_plan("bayes", GaussianNB(), sampled, config)
    tasks = next(plan)
    assert len(tasks) == 9
    done = Engine().run(asked(tasks[:3]), data)
    with pytest.raises(StopIteration) as ended:
        plan.throw(BudgetSpent("late", [*done, *[None] * 6]))
    curve = ended.value.value
    assert curve.rule == "time"
    assert curve.sizes.tolist() == [100]


def asked(tasks):
    return (yield tasks)


class TooLarge(DummyRegressor):
    """Predicts a number whose square is infinite."""

    def predict(self, X):
        return np.full(len(X), 1e200)


def test_infinite_losses_are_refused_in_a_sentence():
    X = np.arange(60.0)[:, None]
    with pytest.raises(FitError, match=r"The mse of TooLarge with \d+ rows is infinite or too large to compute with"):
        learning_curve(TooLarge(), X, X[:, 0], cv=5)


def test_prices_and_targets_of_zero():
    with pytest.raises(InvalidInput, match=r"price_per_row.* must be a number above 0"):
        learning_curve(GaussianNB(), *CANCER, budget={"money": 10, "price_per_row": 0})
    curve = learning_curve(GaussianNB(), *CANCER, cv=3, target=0.0, schedule=[100, 200, 300, 400, 569])
    assert curve.rule == "rows"
    assert "does not reach an error of 0" in curve.summary()
