import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from tests.solvers.cases import (
    assert_same_bits,
    assert_sweep_equals_plain,
    flipped,
    label_case,
    numbers,
    sweep_fits,
    sweeps,
    troubled_tables,
)

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.closed_form.ridge import RidgeSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverContract, assert_equal_answers

BOTH = ("predict", "decision_function")


class OwnRidge(RidgeClassifier):
    pass


class OwnRegression(Ridge):
    pass


ALONG = [RidgeClassifier(alpha) for alpha in (0, 0.01, 1.0, 100)]
RIDGES = [Ridge(alpha, solver=solver) for solver in ("auto", "svd", "cholesky") for alpha in (0.1, 1, 1e4)]


def targets(others):
    """A regression, with as many other target vectors."""
    rng = np.random.default_rng(0)
    first, *rest = (rng.normal(size=60) for _ in range(others + 1))
    return {"task": "regression", "y": first, "others": rest}


class TestRidgeSolver(SolverContract):
    def make_solver(self):
        return RidgeSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, _ = numbers()
        wide, wide_y = numbers(n=20, p=40)
        plain = RidgeClassifier()
        return [
            label_case("two classes", plain, RidgeClassifier(0.01, fit_intercept=False), responses=BOTH),
            label_case("five classes", plain, RidgeClassifier(solver="svd"), classes=5, responses=BOTH),
            label_case("by name", RidgeClassifier(solver="cholesky", random_state=3, copy_X=False), responses=BOTH),
            label_case(
                "more columns than rows", plain, RidgeClassifier(solver="svd"), X=wide, y=wide_y, responses=BOTH
            ),
            label_case("no penalty", RidgeClassifier(0), RidgeClassifier(0, solver="svd"), responses=BOTH),
            label_case("collinear", plain, X=np.c_[X, X[:, 0]], responses=BOTH),
            label_case("whole numbers", plain, X=np.round(3 * X).astype(np.int16), responses=BOTH),
            label_case("one column", plain, X=X[:, :1], responses=BOTH),
            label_case("columns first", plain, X=np.asfortranarray(X), classes=3, responses=BOTH),
            label_case("a frame", plain, X=pd.DataFrame(X), responses=BOTH),
            label_case("along alpha", *ALONG, others=[], responses=BOTH),
            label_case("along alpha, many classes", *ALONG, classes=4, responses=BOTH),
            label_case("weights", RidgeClassifier(), weight=np.arange(1.0, 61.0), responses=BOTH),
            label_case("regression", *RIDGES, **targets(0)),
            label_case("regression with other targets", *RIDGES, **targets(2)),
            label_case("weighted regression", *RIDGES, weight=np.arange(60) % 3 + 0.5, **targets(1)),
            label_case("wide weighted regression", *RIDGES, X=numbers(p=80)[0], weight=np.arange(60) % 3, **targets(1)),
            label_case("a frame of all kinds", plain, X=pd.DataFrame(X).assign(n=np.arange(60))[["n"]], responses=BOTH),
        ]

    def not_for_it(self):
        X, _ = numbers()
        return [
            label_case("other estimators", RidgeClassifierCV(), OwnRidge()),
            label_case("other solvers", *(RidgeClassifier(solver=s) for s in ("lsqr", "sag", "saga", "sparse_cg"))),
            label_case("class weights", RidgeClassifier(class_weight="balanced")),
            label_case("one label vector", RidgeClassifier(), others=[]),
            label_case("positive", RidgeClassifier(positive=True)),
            label_case("parameters that are wrong", RidgeClassifier(-1), RidgeClassifier("1"), RidgeClassifier(tol=-1)),
            label_case("a penalty for each class", RidgeClassifier(alpha=[1.0])),
            label_case("a classifier of numbers", RidgeClassifier(), **targets(1)),
            label_case("a regressor of classes", Ridge(), y=np.arange(60) % 2),
            label_case("regressors that choose", RidgeCV(), OwnRegression(), **targets(1)),
            label_case("a penalty for each target", Ridge(alpha=[1.0]), Ridge(alpha=np.ones(1)), **targets(1)),
            label_case("regressors that iterate", Ridge(solver="lsqr"), Ridge(positive=True), **targets(1)),
            label_case("what regressors do not say", Ridge(), responses=("decision_function",), **targets(1)),
            label_case("missing values", Ridge(), X=np.where(X > 2, np.nan, X), **targets(1)),
            label_case("single precision", RidgeClassifier(), X=X.astype(np.float32)),
            label_case("sparse", RidgeClassifier(), X=sparse.csr_array(X)),
            label_case("what it does not say", RidgeClassifier(), responses=("predict_proba",)),
        ]


def test_by_hand():
    # X and y centred are (-2, 0, 2) and (-4/3, 2/3, 2/3): w = 4 / (8 + 1), and the intercept 1/3 - 2 w.
    data = Data(np.array([[0.0], [2.0], [4.0]]), [0, 1, 1], task="classification")
    fits = sweep_fits(data, RidgeClassifier(), [None, np.array([1, 0, 0])], ("decision_function",))
    [job] = RidgeSolver().claim(fits, data)
    first, second = (outcome.answer(data, Rows.all(3), "decision_function") for outcome in job.run(data))
    np.testing.assert_allclose(first, 1 / 3 + 4 / 9 * np.array([-2.0, 0.0, 2.0]), rtol=1e-14)
    np.testing.assert_allclose(second, -first, rtol=1e-14)


@given(
    n=st.integers(8, 200),
    p=st.integers(1, 70),
    classes=st.integers(2, 5),
    alpha=st.sampled_from([1e-3, 1.0, 1e4]),
    solver=st.sampled_from(["auto", "svd"]),
    intercept=st.booleans(),
    kind=st.sampled_from([np.ascontiguousarray, np.asfortranarray, pd.DataFrame]),
)
@settings(max_examples=40)
def test_answers_have_the_same_bits_as_plain_fitting(n, p, classes, alpha, solver, intercept, kind):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, p)) + 1, np.r_[np.arange(classes), rng.integers(0, classes, n - classes)]
    data = Data(kind(X), y, task="classification")
    ridge = RidgeClassifier(alpha, solver=solver, fit_intercept=intercept)
    train, asked = Rows.of(range(n - 1)), Rows.of(range(0, n, 2))
    assert_same_bits(RidgeSolver(), sweep_fits(data, ridge, [None, y[::-1].copy()], BOTH, train, asked), data)


@given(
    n=st.integers(8, 200),
    p=st.integers(1, 70),
    alphas=st.lists(st.sampled_from([0.0, 1e-6, 0.3, 1, 7.0, 1e6]), min_size=2, max_size=6, unique=True),
    solver=st.sampled_from(["auto", "cholesky", "svd"]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    kind=st.sampled_from([np.ascontiguousarray, np.asfortranarray, pd.DataFrame]),
)
@settings(max_examples=60)
def test_all_penalties_have_the_same_bits_as_plain_fitting(n, p, alphas, solver, intercept, weighted, kind):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, p)) + 1, rng.normal(size=n) + 5
    weight = rng.random(n) if weighted else None
    train, asks = Rows.of(range(n - 1)), (Ask(Rows.of(range(0, n, 2))),)
    data = Data(kind(X), y, task="regression", weight=weight)
    keys = Keys(data)
    ridges = [Ridge(alpha, solver=solver, fit_intercept=intercept) for alpha in alphas]
    fits = [keys.fit(FitTask(ridge, train, asks, labels)) for ridge in ridges for labels in (None, y[::-1].copy())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matrices that are close to singular without a penalty
        [job] = RidgeSolver().claim(fits, data)
        for fit, outcome in zip(fits, job.run(data), strict=True):
            assert outcome.solver == "ridge" or fit.estimator.alpha < 1e-3
            assert outcome.answers[0].values.tobytes() == fit_plain(fit, data).answers[0].values.tobytes()


@given(troubled_tables(), st.sampled_from(["auto", "svd"]), st.booleans())
@settings(max_examples=40)
def test_regression_on_troubled_tables_equals_plain_fitting(X, solver, weighted):
    rng = np.random.default_rng(len(X))
    weight = rng.random(len(X)) if weighted else None
    data = Data(X, X[:, 0] / (np.abs(X[:, 0]).max() or 1) + rng.normal(size=len(X)), task="regression", weight=weight)
    keys, rows = Keys(data), Rows.all(len(X))
    fits = [keys.fit(FitTask(Ridge(a, solver=solver), rows, (Ask(rows),))) for a in (0, 1e-9, 0.1, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for job in RidgeSolver().claim(fits, data):
            for fit, outcome in zip(job.fits, job.run(data), strict=True):
                assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


def test_a_penalty_too_small_is_left_to_plain_fitting_alone():
    X, _ = numbers()
    data = Data(np.c_[X, X[:, 0]], X[:, 1], task="regression")
    keys, rows = Keys(data), Rows.all(60)
    fits = [keys.fit(FitTask(Ridge(alpha), rows, (Ask(rows),))) for alpha in (0, 1, 2)]
    [job] = RidgeSolver().claim(fits, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [outcome.solver for outcome in job.run(data)] == ["plain", "ridge", "ridge"]


def test_digits_bit_for_bit():
    X, y = load_digits(return_X_y=True)  # some columns are 0 throughout
    data = Data(X, y, task="classification")
    assert_same_bits(RidgeSolver(), sweep_fits(data, RidgeClassifier(), [None, *flipped(y)], BOTH), data)


def test_a_matrix_that_is_close_to_singular_is_left_to_plain_fitting():
    X, y = numbers()
    data = Data(np.c_[X, X[:, 0]], y, task="classification")
    fits = sweep_fits(data, RidgeClassifier(0), [None, *flipped(y)], BOTH)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says so, in most versions
        assert set(assert_sweep_equals_plain(RidgeSolver(), fits, data)) == {"plain"}


@given(troubled_tables(), sweeps())
@settings(max_examples=40)
def test_troubled_tables_equal_plain_fitting(table, sweep):
    sweep.check(RidgeSolver(), table, RidgeClassifier(sweep.smoothing), BOTH)


@pytest.mark.slow
@given(troubled_tables(most_columns=100), sweeps(), st.sampled_from(["auto", "svd"]))
@settings(max_examples=2000)
def test_troubled_tables_equal_plain_fitting_at_depth(table, sweep, solver):
    sweep.check(RidgeSolver(), table, RidgeClassifier(sweep.smoothing, solver=solver), BOTH)
