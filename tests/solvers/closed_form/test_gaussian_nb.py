from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from tests.solvers.cases import (
    assert_sweep_equals_plain,
    flipped,
    label_case,
    numbers,
    sweep_fits,
    sweeps,
    troubled_tables,
)

from truefit._core.data import Data
from truefit._core.protocols import Ask
from truefit._core.rows import Rows
from truefit._solvers.closed_form.gaussian_nb import NaiveBayesSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract

BOTH = ("predict", "predict_proba")


class OwnBayes(GaussianNB):
    pass


class TestNaiveBayesSolver(SolverContract):
    def make_solver(self):
        return NaiveBayesSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = numbers()
        return [
            label_case("two classes", GaussianNB(), GaussianNB(var_smoothing=0.1), responses=BOTH),
            label_case("five classes", GaussianNB(), classes=5, responses=BOTH),
            label_case(
                "priors", GaussianNB(priors=[0.2, 0.8]), GaussianNB(priors=np.array([0.5, 0.5])), responses=BOTH
            ),
            label_case("priors of three", GaussianNB(priors=(0.2, 0.2, 0.6)), classes=3, responses=BOTH),
            label_case("whole numbers as labels", GaussianNB(), y=(y == "bee").astype(np.int8) - 1),
            label_case("floats as labels", GaussianNB(), y=(y == "bee") * 2.0),
            label_case("truth as labels", GaussianNB(), y=y == "bee"),
            label_case("whole numbers", GaussianNB(), X=np.round(3 * X).astype(np.int16), responses=BOTH),
            label_case("columns of other scales", GaussianNB(), X=X * [1e-4, 1.0, 1e4, 1e8] + [0, 3, 0, 1e8]),
            label_case("one column", GaussianNB(), X=X[:, :1], responses=BOTH),
            label_case("columns first", GaussianNB(), X=np.asfortranarray(X), responses=BOTH),
            label_case(
                "a frame", GaussianNB(), X=pd.DataFrame(X, columns=list("abcd")).assign(n=np.arange(60)), responses=BOTH
            ),
            label_case("other types of labels", GaussianNB(), y=np.arange(60) % 2, others=[np.arange(60) // 7 % 2.0]),
        ]

    def not_for_it(self):
        X, y = numbers()
        gap = X.copy()
        gap[0, 0] = np.nan
        return [
            label_case("other estimators", BernoulliNB(), OwnBayes()),
            label_case("one label vector", GaussianNB(), others=[]),
            label_case("parameters that are wrong", GaussianNB(var_smoothing=-1), GaussianNB(var_smoothing="a")),
            label_case("weights", GaussianNB(), weight=np.arange(1.0, 61.0)),
            label_case("single precision", GaussianNB(), X=X.astype(np.float32)),
            label_case("a frame with words", GaussianNB(), X=pd.DataFrame({"a": X[:, 0], "b": y})),
            label_case("names of both kinds", GaussianNB(), X=pd.DataFrame({"a": X[:, 0], 1: X[:, 1]})),
            label_case("a frame with single precision", GaussianNB(), X=pd.DataFrame(X.astype(np.float32))),
            label_case("sparse", GaussianNB(), X=sparse.csr_array(X)),
            label_case("missing values", GaussianNB(), X=gap),
            label_case("what it does not say", GaussianNB(), responses=("decision_function",)),
        ]

    def failing(self):
        return [
            label_case(
                "priors of other classes", GaussianNB(priors=[0.5, 0.5]), GaussianNB(priors=[0.5, 2.0]), classes=3
            ),
            label_case("priors that are none", GaussianNB(priors=["a", "b"])),
        ]


# The classes of iris themselves vary so little in one column that rounding cannot be excluded.
@pytest.mark.parametrize(("load", "refitted"), [(load_breast_cancer, 0), (load_iris, 1), (load_wine, 0)])
def test_built_in_tables_need_hardly_a_refit(load, refitted):
    X, y = load(return_X_y=True)
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, GaussianNB(), [None, *flipped(y, 10)], BOTH)
    makers = assert_sweep_equals_plain(NaiveBayesSolver(), fits, data)
    assert makers == ["plain"] * refitted + ["naive bayes"] * (11 - refitted)


def test_by_hand():
    # Classes {0, 2} and {10, 14}: means 1 and 12, variances 1 and 4, and 1e-9 of the variance of all, 33.75.
    data = Data(np.array([[0.0], [2.0], [10.0], [14.0]]), [0, 0, 1, 1], task="classification")
    fits = sweep_fits(data, GaussianNB(), [None, np.array([1, 1, 0, 0])], ("predict_proba",))
    [job] = NaiveBayesSolver().claim(fits, data)
    first, second = (outcome.answer(data, Rows.all(4), "predict_proba") for outcome in job.run(data))
    variances = np.array([1.0, 4.0]) + 1e-9 * 32.75
    likelihoods = np.exp(-((2 - np.array([1.0, 12.0])) ** 2) / (2 * variances)) / np.sqrt(variances)
    np.testing.assert_allclose(first[1], likelihoods / likelihoods.sum(), rtol=1e-12)
    np.testing.assert_allclose(second, first[:, ::-1], rtol=1e-12)


def test_classes_that_are_missing_and_labels_that_are_new():
    X, y = numbers(classes=3)
    data = Data(X, y, task="classification")
    without = np.where(y == "cat", "ant", y)
    new = np.where(y == "cat", "zebra", y)
    fits = sweep_fits(data, GaussianNB(), [None, without, new, without[::-1].copy(), np.full(len(y), "ant")], BOTH)
    makers = assert_sweep_equals_plain(NaiveBayesSolver(), fits, data)
    assert makers == ["naive bayes", "naive bayes", "plain", "naive bayes", "plain"]


def test_a_tie_is_left_to_plain_fitting():
    X = np.array([-2.0, -1.0, 1.0, 2.0, -2.0, -1.0, 1.0, 2.0]).reshape(-1, 1)
    same = np.repeat([0, 1], 4)
    data = Data(X, same, task="classification")
    fits = sweep_fits(data, GaussianNB(), [None, 1 - same, np.array([0, 0, 0, 1, 1, 1, 0, 1])])
    assert assert_sweep_equals_plain(NaiveBayesSolver(), fits, data) == ["plain", "plain", "naive bayes"]


def test_a_class_that_does_not_vary_is_left_to_plain_fitting():
    X, y = numbers()
    X[y == "ant", 0] = 7.0  # nothing is left of the variance but the smoothing
    data = Data(X, y, task="classification")
    makers = assert_sweep_equals_plain(NaiveBayesSolver(), sweep_fits(data, GaussianNB(), [None, *flipped(y)]), data)
    assert makers == ["plain", "naive bayes", "naive bayes", "naive bayes"]


def test_rows_may_be_trained_on_twice_and_asked_about_in_parts(monkeypatch):
    X, y = numbers()
    data = Data(X, y, task="classification")
    train = Rows.of([*range(30), *range(10, 30), 31])
    fits = sweep_fits(data, GaussianNB(), [None, *flipped(y)], BOTH, train=train, asked=Rows.of(range(5, 60)))
    assert set(assert_sweep_equals_plain(NaiveBayesSolver(), fits, data)) == {"naive bayes"}
    monkeypatch.setattr("truefit._solvers.plain.BLOCK_BYTES", 7 * data.row_bytes)
    monkeypatch.setattr("truefit._solvers.relabelled.driver.STRETCH", 4)
    monkeypatch.setattr("truefit._solvers.relabelled.driver.WORK_BYTES", 1)
    assert set(assert_sweep_equals_plain(NaiveBayesSolver(), fits, data)) == {"naive bayes"}


def test_fits_may_ask_for_different_things():
    X, y = numbers()
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, GaussianNB(), [None, *flipped(y)], ())
    some, others = Rows.of(range(10)), Rows.of(range(5, 30))
    asks = [(), (Ask(some),), (Ask(some), Ask(others, "predict_proba")), (Ask(others), Ask(others, "predict_proba"))]
    fits = [replace(fit, asks=wanted) for fit, wanted in zip(fits, asks, strict=True)]
    assert_sweep_equals_plain(NaiveBayesSolver(), fits, data)


@given(troubled_tables(), sweeps())
@settings(max_examples=60)
def test_what_is_trusted_equals_plain_fitting(table, sweep):
    sweep.check(NaiveBayesSolver(), table, GaussianNB(var_smoothing=sweep.smoothing), BOTH)


@pytest.mark.slow
@given(troubled_tables(), sweeps())
@settings(max_examples=3000)
def test_what_is_trusted_equals_plain_fitting_at_depth(table, sweep):
    sweep.check(NaiveBayesSolver(), table, GaussianNB(var_smoothing=sweep.smoothing), BOTH)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20_000, 200_000])
def test_rounding_of_long_sums_stays_within_bounds(n):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    tables = [rng.normal(size=(n, 5)) + 100, (rng.random((n, 5)) < 0.3) * 1.0, rng.choice([0.1, 0.3], (n, 5))]
    for X in [*tables, np.sort(tables[0], axis=0)]:
        data = Data(X, y, task="classification")
        assert_sweep_equals_plain(
            NaiveBayesSolver(), sweep_fits(data, GaussianNB(), [None, y[::-1].copy()], BOTH), data
        )
