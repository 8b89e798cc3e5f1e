import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import brier_score_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import Engine, bias_variance
from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, Failure, FitError, InvalidEstimator, InvalidInput
from truefit._core.identity import Keys
from truefit._core.outcome import Outcome
from truefit._methods.bias_variance import bias_variance_config, bias_variance_plan
from truefit._methods.candidates import Candidates
from truefit._methods.splitting.designs import draw_samples
from truefit._solvers.plain import fit_plain

XD, yd = load_diabetes(return_X_y=True)
XD, yd = XD[:150], yd[:150]
XI, yi = load_iris(return_X_y=True)


def fitted_by_hand(model, X, y, rounds, task):
    """Predictions of each row by the models that did not see it."""
    data = Data(X, y, task=task)
    said = [[] for _ in y]
    for sample in draw_samples(data, rounds):
        rows = sample.train.index
        fitted = clone(model).fit(X[rows], y[rows])
        for i, value in zip(sample.test.index, fitted.predict(X[sample.test.index]), strict=True):
            said[i].append(value)
    return said


def test_squared_parts_equal_those_of_a_loop_with_scikit_learn():
    result = bias_variance(Ridge(), XD, yd, rounds=30)
    said = fitted_by_hand(Ridge(), XD, yd, 30, "regression")
    loss = np.mean([np.mean((np.array(s) - y) ** 2) for s, y in zip(said, yd, strict=True)])
    variance = np.mean([np.var(s, ddof=1) for s in said])
    assert np.isclose(result.expected_loss, loss, rtol=1e-10)
    assert np.isclose(result.variance, variance, rtol=1e-10)
    assert abs(result.bias + result.variance - loss) < 1e-10
    assert result.noise == 0.0
    assert not result.noise_known


def test_zero_one_parts_equal_those_of_a_loop_with_scikit_learn():
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    result = bias_variance(model, XI, yi, rounds=30)
    said = fitted_by_hand(model, XI, yi, 30, "classification")
    main = np.array([np.bincount(s).argmax() for s in said])
    loss = np.mean([np.mean(np.array(s) != y) for s, y in zip(said, yi, strict=True)])
    unbiased = np.mean([np.mean(np.array(s) != y) if m == y else 0 for s, y, m in zip(said, yi, main, strict=True)])
    helpful = np.mean([np.mean(np.array(s) == y) if m != y else 0 for s, y, m in zip(said, yi, main, strict=True)])
    assert np.isclose(result.bias, np.mean(main != yi), rtol=1e-13)
    assert np.isclose(result.expected_loss, loss, rtol=1e-13)
    assert np.isclose(result.unbiased_variance, unbiased, rtol=1e-13)
    assert np.isclose(result.biased_variance, helpful, rtol=1e-13)
    assert abs(result.bias + result.variance - result.expected_loss) < 1e-14


def test_the_squared_loss_of_a_classification_is_the_brier_score():
    X, y = make_classification(120, 4, random_state=3)
    train, test = slice(0, 80), slice(80, 120)
    labels = np.where(y == 1, "yes", "no")
    result = bias_variance(
        GaussianNB(), X[train], labels[train], rounds=10, loss="squared", X_test=X[test], y_test=labels[test]
    )
    scores = []
    for sample in draw_samples(Data(X[train], labels[train], task="classification"), 10):
        rows = sample.train.index
        fitted = GaussianNB().fit(X[train][rows], labels[train][rows])
        scores.append(brier_score_loss(labels[test], fitted.predict_proba(X[test])[:, 1], pos_label="yes"))
    assert np.isclose(result.expected_loss, np.mean(scores), rtol=1e-12)
    assert np.isclose(result.bias + result.variance, result.expected_loss, rtol=1e-12)
    three = bias_variance(GaussianNB(), XI, yi, rounds=10, loss="squared")
    assert 0 < three.expected_loss < 0.2
    assert three.unbiased_variance is None


def test_a_full_tree_varies_more_and_is_less_biased_than_a_stump():
    trees = {"stump": DecisionTreeRegressor(max_depth=1), "full": DecisionTreeRegressor()}
    result = bias_variance(trees, XD, yd, rounds=60)
    assert result.variance["full"] > 3 * result.variance["stump"]
    assert result.bias["full"] < result.bias["stump"]
    labels = {"stump": DecisionTreeClassifier(max_depth=1), "full": DecisionTreeClassifier()}
    result = bias_variance(labels, XI, yi, rounds=60)
    assert result.bias["full"] < result.bias["stump"]


def test_the_parts_are_those_of_the_generator():
    def truth(X):
        return np.sin(3 * X[:, 0])

    rng = np.random.default_rng(0)
    points = np.linspace(-0.9, 0.9, 25).reshape(-1, 1)
    line, tree = LinearRegression(), DecisionTreeRegressor(max_depth=4, random_state=0)

    def table():
        X = rng.uniform(-1, 1, (200, 1))
        return X, truth(X) + 0.3 * rng.normal(size=200)

    tables = [table() for _ in range(150)]
    line_said, tree_said = (np.array([m.fit(*t).predict(points) for t in tables]) for m in (line, tree))
    results = [
        bias_variance({"line": line, "tree": tree}, *t, rounds=40, X_test=points, y_test=truth(points), noise=0.0)
        for t in tables[:8]
    ]
    # The line misses the sine by far more than it varies; the tree is nearly all variance.
    bias = np.mean((line_said.mean(axis=0) - truth(points)) ** 2)
    variance = tree_said.var(axis=0, ddof=1).mean()
    assert np.isclose(np.mean([r.bias["line"] for r in results]), bias, rtol=0.1)
    assert np.isclose(np.mean([r.variance["tree"] for r in results]), variance, rtol=0.25)


def test_noise_that_is_known_is_set_apart():
    plain, told = (bias_variance(Ridge(), XD, yd, rounds=10, noise=noise) for noise in (None, 500.0))
    assert told.noise == 500.0
    assert told.bias == plain.bias - 500.0
    assert abs(told.bias + told.variance + told.noise - told.expected_loss) < 1e-10
    assert "noise 500" in told.summary()
    assert any("not known" in note for note in plain.notes)
    too_much = bias_variance(Ridge(), XD, yd, rounds=10, noise=1e6)
    assert too_much.bias < 0
    assert any("less noise than given" in note for note in too_much.notes)


def test_two_calls_with_one_engine_share_their_fits_also_with_other_losses_and_fewer_rounds():
    engine = Engine()
    first = bias_variance(GaussianNB(), XI, yi, rounds=20, engine=engine)
    again = bias_variance(GaussianNB(), XI, yi, rounds=20, engine=engine)
    bias_variance(GaussianNB(), XI, yi, rounds=12, loss="squared", engine=engine)
    assert engine.stats.run == 20
    assert engine.stats.refitted == 0
    assert first.to_dict()["estimators"][0]["bias"] == again.to_dict()["estimators"][0]["bias"]
    bias_variance(GaussianNB(), XI, yi, rounds=20, random_state=1, engine=engine)
    assert engine.stats.run == 40


def test_the_same_rows_give_the_same_numbers_in_any_order_with_any_solvers():
    order = np.random.default_rng(0).permutation(len(yi))
    ours = bias_variance(KNeighborsClassifier(3), XI, yi, rounds=20)
    theirs = bias_variance(KNeighborsClassifier(3), XI[order], yi[order], rounds=20)
    plain = bias_variance(KNeighborsClassifier(3), XI, yi, rounds=20, engine=Engine(solvers="plain"))
    assert np.isclose(ours.expected_loss, theirs.expected_loss, atol=0.02)  # kNN breaks ties by position
    assert np.isclose(ours.expected_loss, plain.expected_loss, rtol=1e-12)
    ridge = [bias_variance(Ridge(), *t, rounds=10).variance for t in ((XD, yd), (XD[::-1], yd[::-1]))]
    assert np.isclose(*ridge, rtol=1e-9)


class TrainsOnSmall(ClassifierMixin, BaseEstimator):
    """Fails when it is shown a row of the test set, whose values are large."""

    def fit(self, X, y):
        if np.max(X) > 100:
            raise ValueError("a test row was trained on")
        self.classes_ = np.unique(y)
        self.model_ = GaussianNB().fit(X, y)
        return self

    def predict(self, X):
        if np.min(X) < 100:
            raise ValueError("a training row was judged")
        return self.model_.predict(np.asarray(X) - 1000)


def test_a_test_set_is_judged_on_and_never_trained_on():
    X, y = XI[:, :2], yi == 2
    result = bias_variance(TrainsOnSmall(), X[::2], y[::2], rounds=5, X_test=X[1::2] + 1000, y_test=y[1::2])
    assert not result.out_of_bag
    assert result.rows == 75
    assert result.table.loc["TrainsOnSmall", "points"] == 75
    assert "evaluated on the test rows" in result.summary()


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "sparse", "list"])
def test_a_test_set_may_be_of_any_kind_of_table(kind):
    make = {
        "array": np.asarray,
        "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
        "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
        "sparse": sparse.csr_matrix,
        "list": np.ndarray.tolist,
    }[kind]
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    names = np.array(["setosa", "versicolor", "virginica"])[yi]
    engine = Engine()
    apart = bias_variance(
        model, make(XI[::2]), names[::2], rounds=8, X_test=make(XI[1::2]), y_test=names[1::2], engine=engine
    )
    said = [
        clone(model).fit(XI[::2][s.train.index], names[::2][s.train.index]).predict(XI[1::2])
        for s in draw_samples(Data(make(XI[::2]), names[::2], task="classification"), 8)
    ]
    assert np.isclose(apart.expected_loss, np.mean(np.array(said) != names[1::2]), rtol=1e-12)
    # The models are those of the call without a test set: only their answers for other rows are wanted.
    bias_variance(model, make(XI[::2]), names[::2], rounds=8, engine=engine)
    assert engine.stats.run == 8


def test_a_test_set_may_hold_few_classes_and_unseen_ones():
    train = yi < 2
    result = bias_variance(GaussianNB(), XI[train], yi[train], rounds=5, X_test=XI[yi == 2], y_test=yi[yi == 2])
    assert (result.bias, result.variance, result.expected_loss) == (1.0, 0.0, 1.0)
    one = bias_variance(GaussianNB(), XI, yi, rounds=5, X_test=XI[:1], y_test=yi[:1])
    assert one.expected_loss == 0.0


def test_groups_are_drawn_whole_and_weights_count_in_fits_and_means():
    groups = np.arange(150) // 10
    grouped = bias_variance(GaussianNB(), XI, yi, rounds=20, groups=groups)
    assert grouped.expected_loss != bias_variance(GaussianNB(), XI, yi, rounds=20).expected_loss
    weight = np.where(yi == 0, 0.0, 1.0)
    weighted = bias_variance(GaussianNB(), XI, yi, rounds=20, sample_weight=weight + 1e-9)
    assert abs(weighted.bias + weighted.variance - weighted.expected_loss) < 1e-14
    # Setosa is never mistaken: without it the error is half as large again.
    plain = bias_variance(GaussianNB(), XI, yi, rounds=20)
    assert np.isclose(weighted.expected_loss, 1.5 * plain.expected_loss, rtol=0.25)
    with pytest.raises(InvalidEstimator, match="take weights"):
        bias_variance(KNeighborsClassifier(), XI, yi, rounds=5, sample_weight=weight)
    tested = bias_variance(
        GaussianNB(), XI[::2], yi[::2], rounds=5, X_test=XI[1::2], y_test=yi[1::2],
        groups=groups[::2], sample_weight=weight[::2] + 1,
    )  # fmt: skip
    assert tested.table["points"].iloc[0] == 75


def test_several_outputs_are_averaged():
    Y = np.column_stack([yd, yd * 2])
    both = bias_variance(Ridge(), XD, Y, rounds=10)
    one = bias_variance(Ridge(), XD, yd, rounds=10, X_test=XD, y_test=yd)
    assert np.isclose(both.bias + both.variance, both.expected_loss, rtol=1e-12)
    two = bias_variance(Ridge(), XD, Y, rounds=10, X_test=XD, y_test=Y)
    assert np.isclose(two.bias, one.bias * 5 / 2, rtol=0.05)


def test_rows_that_no_model_could_judge_are_counted_and_left_out():
    result = bias_variance(GaussianNB(), XI, yi, rounds=3)
    points = result.table["points"].iloc[0]
    assert 0 < points < 150
    assert any(note.startswith(f"{150 - points} rows") for note in result.notes)
    assert abs(result.bias + result.variance - result.expected_loss) < 1e-14


def test_the_result_has_what_every_result_has():
    single = bias_variance(GaussianNB(), XI, yi, rounds=20)
    several = bias_variance({"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}, XI, yi, rounds=20)
    assert isinstance(single.expected_loss, float)
    assert several.bias["bayes"] == single.bias
    assert several.table.loc["bayes", "estimate"] == single.expected_loss == several.expected_loss["bayes"]
    assert several.noise == {"bayes": 0.0, "tree": 0.0}
    assert several.unbiased_variance["tree"] - several.biased_variance["tree"] == several.variance["tree"]
    assert 0 < single.monte_carlo_error < 0.1
    assert json.loads(json.dumps(several.to_dict()))["estimators"][1]["name"] == "tree"
    assert "net variance" in several.summary()
    assert several.plot().get_figure() is not None
    assert "<svg" in single._repr_html_()
    squared = bias_variance([Ridge(), Ridge(alpha=10)], XD, yd, rounds=5)
    assert {"bias_error", "variance_error", "noise"} <= set(squared.table.columns)
    assert json.dumps(squared.to_dict())


class FailsOnSome(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        if X[:, 0].mean() > np.float64(5.84):
            raise ValueError("no")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_fits_that_fail_are_said_and_their_learner_gets_no_number():
    models = {"fails": FailsOnSome(), "bayes": GaussianNB()}
    with pytest.raises(FitError, match="no"):
        bias_variance(models, XI, yi, rounds=10)
    with pytest.warns(UserWarning, match="of 20 fits failed"):
        result = bias_variance(models, XI, yi, rounds=10, engine=Engine(on_error="record"))
    assert np.isnan(result.bias["fails"])
    assert result.bias["bayes"] == bias_variance(GaussianNB(), XI, yi, rounds=10).bias
    assert "of its fits failed" in result.summary()
    assert result.to_dict()["estimators"][0]["estimate"] is None


def answered_at_once(plan, answer):
    """Let a plan ask once, answer it, and return its result."""
    tasks = next(plan)
    with pytest.raises(StopIteration) as stop:
        answer(plan, tasks)
    return stop.value.value


def test_a_spent_budget_gives_what_the_finished_rounds_say():
    candidates, data = Candidates(GaussianNB(), yi), Data(XI, yi, task="classification")
    keys = Keys(data)
    setup = bias_variance_config(candidates, data, trained=150, rounds=20, loss="auto", noise=None, random_state=None)

    def half(plan, tasks):
        done = [fit_plain(keys.fit(task), data) for task in tasks[:10]]
        plan.throw(BudgetSpent("late", done + [None] * 10))

    part = answered_at_once(bias_variance_plan(candidates, setup), half)
    assert part.expected_loss == bias_variance(GaussianNB(), XI, yi, rounds=10).expected_loss
    assert any("10 of the fits were not run" in note for note in part.notes)
    plan = bias_variance_plan(candidates, setup)
    tasks = next(plan)
    with pytest.raises(BudgetSpent):
        plan.throw(BudgetSpent("late", [None] * len(tasks)))


def test_a_learner_of_which_every_fit_fails_is_an_error():
    candidates, data = Candidates(GaussianNB(), yi), Data(XI, yi, task="classification")
    setup = bias_variance_config(candidates, data, trained=150, rounds=5, loss="auto", noise=None, random_state=None)
    plan = bias_variance_plan(candidates, setup)
    next(plan)
    with pytest.raises(FitError, match="All 5 fits failed"):
        plan.send([Outcome("k", error=Failure("raised", "no"))] * 5)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (Ridge(), {"rounds": 1}, "rounds"),
        (Ridge(), {"rounds": 2.5}, "rounds"),
        (Ridge(), {"loss": "mse"}, "'auto', 'squared' or '0-1'"),
        (Ridge(), {"loss": "0-1"}, "is a regression"),
        (Ridge(), {"noise": -1.0}, "noise"),
        (Ridge(), {"noise": True}, "noise"),
        (Ridge(), {"X_test": XD}, "both X_test and y_test"),
        (Ridge(), {"y_test": yd}, "both X_test and y_test"),
        (Ridge(), {"X_test": XD[:, :3], "y_test": yd}, "columns of X"),
        (Ridge(), {"random_state": "a"}, "random_state"),
        (LogisticRegression(), {"noise": 0.1}, "omit .noise"),
        (LinearSVC(), {"loss": "squared"}, "predict_proba"),
    ],
)
def test_what_cannot_be_worked_with_is_refused_in_words(model, options, message):
    X, y = (XD, yd) if isinstance(model, Ridge) else (XI, yi)
    with pytest.raises(InvalidInput, match=message):
        bias_variance(model, X, y, **options)
