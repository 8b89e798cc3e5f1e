import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
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
from truefit._core.rows import Rows
from truefit._solvers.closed_form.lda import DiscriminantSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract

BOTH = ("predict", "predict_proba")
LDA = LinearDiscriminantAnalysis


class OwnAnalysis(LDA):
    pass


class TestDiscriminantSolver(SolverContract):
    def make_solver(self):
        return DiscriminantSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = numbers()
        wide, wide_y = numbers(n=30, p=20)
        return [
            label_case("two classes", LDA(), LDA(tol=0.0), LDA(store_covariance=True), responses=BOTH),
            label_case("five classes", LDA(), classes=5, responses=BOTH),
            label_case("priors", LDA(priors=[0.2, 0.8]), responses=BOTH),
            label_case("priors of three", LDA(priors=(0.2, 0.2, 0.6)), classes=3, responses=BOTH),
            label_case("more classes than columns", LDA(), X=X[:, :2], y=numbers(classes=5)[1], responses=BOTH),
            label_case("whole numbers as labels", LDA(), y=(y == "bee").astype(np.int8) - 1),
            label_case("whole numbers", LDA(), X=np.round(3 * X).astype(np.int16), responses=BOTH),
            label_case("columns of other scales", LDA(), X=X * [1e-4, 1.0, 1e4, 1e8] + [0, 3, 0, 1e8]),
            label_case("a column twice", LDA(), X=np.c_[X, X[:, 0]], responses=BOTH),
            label_case("a column from others", LDA(), X=np.c_[X, X @ [1, 2, 0, 3]], classes=3, responses=BOTH),
            label_case("columns that do not vary", LDA(), X=np.c_[X, np.zeros(60), np.full(60, 7.0)], responses=BOTH),
            label_case("one column", LDA(), X=X[:, :1], responses=BOTH),
            label_case("hardly more rows than columns", LDA(), X=wide, y=wide_y, folds=5, responses=BOTH),
            label_case("columns first", LDA(), X=np.asfortranarray(X), responses=BOTH),
            label_case("a frame", LDA(), X=pd.DataFrame(X), responses=BOTH),
        ]

    def not_for_it(self):
        X, _ = numbers()
        gap = X.copy()
        gap[0, 0] = np.nan
        return [
            label_case("other estimators", QuadraticDiscriminantAnalysis(), OwnAnalysis()),
            label_case("other solvers", LDA(solver="lsqr"), LDA(solver="eigen"), LDA(solver="lsqr", shrinkage="auto")),
            label_case("one label vector", LDA(), others=[]),
            label_case("parameters that are wrong", LDA(tol=-1), LDA(store_covariance="no"), LDA(solver="none")),
            label_case("parameters that do not go together", LDA(shrinkage=0.5), LDA(n_components=2)),
            label_case("single precision", LDA(), X=X.astype(np.float32)),
            label_case("sparse", LDA(), X=sparse.csr_array(X)),
            label_case("missing values", LDA(), X=gap),
            label_case("more columns than rows", LDA(), X=numbers(n=20, p=30)[0], y=numbers(n=20)[1]),
            label_case("decisions", LDA(), responses=("decision_function",)),
        ]

    def failing(self):
        X, _ = numbers()
        return [
            label_case("priors of other classes", LDA(priors=[0.5, -0.5, 1.0]), classes=3),
            label_case("nothing varies", LDA(), X=np.zeros_like(X)),
        ]


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine, load_digits])
def test_built_in_tables_need_no_refit(load):
    X, y = load(return_X_y=True)
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, LDA(), [None, *flipped(y, 5)], BOTH)
    assert set(assert_sweep_equals_plain(DiscriminantSolver(), fits, data)) == {"discriminant"}


def test_by_hand():
    # Means 1 and 5, variance within classes (1 + 1) / 2 = 1: the lead of the second class is 4 (x - 3).
    data = Data(np.array([[0.0], [2.0], [4.0], [6.0]]), [0, 0, 1, 1], task="classification")
    fits = sweep_fits(data, LDA(), [None, np.array([1, 1, 0, 0])], ("predict_proba",))
    [job] = DiscriminantSolver().claim(fits, data)
    first, second = (outcome.answer(data, Rows.all(4), "predict_proba") for outcome in job.run(data))
    np.testing.assert_allclose(first[:, 1], 1 / (1 + np.exp(-4 * (data.X[:, 0] - 3))), rtol=1e-12)
    np.testing.assert_allclose(second, first[:, ::-1], rtol=1e-10)


def test_what_rounding_decides_is_left_to_plain_fitting():
    X, y = numbers()
    noise = np.random.default_rng(1).normal(size=60)
    near_limit = np.c_[X, X[:, 0] + 1.2e-4 * noise]  # varies about as little as what is dropped
    odd_constant = np.c_[X, np.full(60, 0.1)]  # its mean is not exactly 0.1
    constant = np.c_[X, np.zeros(60)]  # without a limit its singular value counts if it is not exactly 0
    for table, tol in ((near_limit, 1e-4), (odd_constant, 1e-4), (constant, 0.0)):
        data = Data(table, y, task="classification")
        fits = sweep_fits(data, LDA(tol=tol), [None, *flipped(y)])
        assert set(assert_sweep_equals_plain(DiscriminantSolver(), fits, data)) == {"plain"}


def test_a_tie_is_left_to_plain_fitting():
    data = Data(np.array([[-2.0], [-1.0], [1.0], [2.0], [0.0]]), [0, 0, 1, 1, 1], task="classification")
    vectors, train = [None, np.array([1, 1, 0, 0, 0])], Rows.of(range(4))
    for asked, maker in ((Rows.all(5), "plain"), (train, "discriminant")):
        fits = sweep_fits(data, LDA(), vectors, train=train, asked=asked)
        assert assert_sweep_equals_plain(DiscriminantSolver(), fits, data) == [maker, maker]


def test_classes_whose_means_lie_on_a_line_are_left_to_plain_fitting():
    # What is left across the line is rounding, and dropped or not by it.
    X = np.array([[x, v] for x in (0.0, 1.0, 2.0) for v in (-1.0, 1.0, -1.0, 1.0)]) + np.tile(
        [[0.1, 0], [-0.1, 0]], (6, 1)
    )
    y = np.repeat([0, 1, 2], 4)
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, LDA(), [None, 2 - y], BOTH)
    assert set(assert_sweep_equals_plain(DiscriminantSolver(), fits, data)) == {"plain"}


def test_rows_far_off_a_plane_that_training_rows_lie_in():
    X, y = numbers(n=80)
    X = np.c_[X, X[:, 0]]
    X[60:, 4] = -5.0
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, LDA(), [None, *flipped(y)], BOTH, train=Rows.of(range(60)), asked=Rows.all(80))
    assert set(assert_sweep_equals_plain(DiscriminantSolver(), fits, data)) == {"discriminant"}


@given(troubled_tables(), sweeps())
@settings(max_examples=60)
def test_what_is_trusted_equals_plain_fitting(table, sweep):
    sweep.check(DiscriminantSolver(), table, LDA(tol=1e-4 if sweep.smoothing else 0.0), BOTH)


@pytest.mark.slow
@given(troubled_tables(), sweeps())
@settings(max_examples=3000)
def test_what_is_trusted_equals_plain_fitting_at_depth(table, sweep):
    sweep.check(DiscriminantSolver(), table, LDA(tol=1e-4 if sweep.smoothing else 0.0), BOTH)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20_000, 200_000])
def test_rounding_of_long_sums_stays_within_bounds(n):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    tables = [rng.normal(size=(n, 5)) + 100, (rng.random((n, 5)) < 0.3) * 1.0, rng.choice([0.1, 0.3], (n, 5))]
    for X in tables:
        data = Data(X, y, task="classification")
        fits = sweep_fits(data, LDA(), [None, y[::-1].copy()], BOTH)
        assert set(assert_sweep_equals_plain(DiscriminantSolver(), fits, data)) == {"discriminant"}
