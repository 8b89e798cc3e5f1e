import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from tests.solvers.cases import (
    DESIGNS,
    assert_sets_equal_plain,
    every_design,
    folds,
    sets_case,
    sets_fits,
    troubled_tables,
)

from truefit._core.data import Data
from truefit._solvers.closed_form.linear_row_sets import LinearSetsSolver
from truefit._solvers.closed_form.row_sets import MOST_COLUMNS
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverContract

ALONE = ("predict",)


class OwnRidge(Ridge):
    pass


def table(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + rng.normal(size=n) + 3


def case(name, *estimators, X=None, y=None, task="regression", **options):
    usual = table()
    X, y = usual[0] if X is None else X, usual[1] if y is None else y
    return sets_case(name, *estimators, X=X, y=y, task=task, responses=ALONE, **options)


class TestLinearSetsSolver(SolverContract):
    def make_solver(self):
        return LinearSetsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = table()
        return [
            *every_design(Ridge(), LinearRegression(), X=X, y=y, task="regression", responses=ALONE),
            *every_design(Ridge(solver="svd"), Ridge(0.1), X=X, y=y, task="regression", responses=ALONE),
            case("ridge", Ridge(), Ridge(alpha=0.01, fit_intercept=False), Ridge(alpha=np.float64(100.0))),
            case("ridge by SVD", Ridge(solver="svd"), Ridge(alpha=0, solver="svd", fit_intercept=False)),
            case("ridge by name", Ridge(solver="cholesky", random_state=3, copy_X=False)),
            case("no penalty", Ridge(alpha=0), LinearRegression(), LinearRegression(fit_intercept=False, n_jobs=2)),
            case("whole numbers", Ridge(), y=np.round(y).astype(np.int32)),
            case("columns of whole numbers", Ridge(), X=np.round(9 * X).astype(np.int16)),
            case("single precision labels", LinearRegression(), y=y.astype(np.float32)),
            case("other labels", Ridge(), labels=y[::-1].copy()),
            case("one column", Ridge(), LinearRegression(), X=X[:, :1]),
            case("a frame", Ridge(), LinearRegression(), X=pd.DataFrame(X)),
            case("columns first", Ridge(), X=np.asfortranarray(X)),
            case("columns of other scales", Ridge(), LinearRegression(), X=X * [1e-2, 1.0, 1e2]),
            case("columns of other scales, penalised", Ridge(), X=X * [1e-4, 1.0, 1e4]),
            case("class labels", Ridge(), y=np.arange(len(X)) % 2, task="classification"),
            case("collinear, penalised", Ridge(), X=np.c_[X, X[:, 0] + X[:, 1]]),
        ]

    def not_for_it(self):
        X, y = table()
        gap = X.copy()
        gap[0, 0] = np.nan
        return [
            case("other estimators", Lasso(), OwnRidge(), make_pipeline(MinMaxScaler(), Ridge())),
            case("other solvers", *(Ridge(solver=s) for s in ("lsqr", "sag", "saga", "sparse_cg"))),
            case("positive", Ridge(positive=True), LinearRegression(positive=True)),
            case("a penalty for each target", Ridge(alpha=[1.0]), Ridge(alpha=np.array([1.0]))),
            case("parameters that are wrong", Ridge(-1), Ridge("1"), Ridge(max_iter=0), Ridge(random_state="a")),
            case("weights", Ridge(), weight=np.arange(1.0, len(X) + 1)),
            case("several targets", Ridge(), y=np.c_[y, y]),
            case("single precision", Ridge(), X=X.astype(np.float32)),
            case("sparse", Ridge(), X=sparse.csr_array(X)),
            case("missing values", Ridge(), X=gap),
            case("more columns than rows", Ridge(), X=table(60, 62)[0]),
            case("collinear", LinearRegression(), X=np.c_[X, X[:, 0] + X[:, 1]]),
            case("many columns", Ridge(), X=table(300, MOST_COLUMNS + 1)[0], y=table(300, 1)[1]),
        ]

    def failing(self):
        X, _ = table()
        return [
            case("collinear", Ridge(0), X=np.c_[X, X[:, 0] + X[:, 1]]),
            case("all but collinear", Ridge(1e-10), X=np.c_[X, X[:, 0] + 1e-9 * X[:, 1]]),
            case("columns of very large and other scales", LinearRegression(), X=X * [1e88, 1e94, 1e97]),
            case("nothing but zeros", Ridge(), X=np.zeros_like(X)),
            case("beyond all bounds", Ridge(), X=X * 1e200),
            case("a constant target", Ridge(), LinearRegression(), y=np.full(len(X), 1 / 3)),
            case("hardly more rows than columns", Ridge(), LinearRegression(), X=table(60, 30)[0]),
        ]


@pytest.mark.parametrize("design", DESIGNS)
def test_diabetes_needs_no_refit(design):
    for scaled in (True, False):
        X, y = load_diabetes(return_X_y=True, scaled=scaled)
        data = Data(X, y, task="regression")
        splits = design(data.n, np.random.default_rng(0))
        candidates = [Ridge(1.0), Ridge(0.001), LinearRegression()]
        assert assert_sets_equal_plain(LinearSetsSolver(), data, candidates, splits, ALONE) == 3 * len(splits)


@pytest.mark.parametrize(("penalties", "claimed"), [(5, True), (6, False)])
def test_more_penalties_than_sets_are_left_to_their_path(penalties, claimed):
    X, y = table()
    data = Data(X, y, task="regression")
    fits = sets_fits(data, [Ridge(alpha=1.0 + i) for i in range(penalties)], folds(60, np.random.default_rng(0)), ALONE)
    assert bool(LinearSetsSolver().claim(fits, data)) is claimed


def test_a_prediction_near_0_is_fitted_plainly():
    X, _ = table()
    data = Data(X, X[:, 0] + X[:, 1] - X[7, 0] - X[7, 1], task="regression")
    fits = sets_fits(data, [LinearRegression()], folds(data.n, np.random.default_rng(0)), ALONE)
    [job] = LinearSetsSolver().claim(fits, data)
    # What is said of the row is rounding and nothing else.
    assert [outcome.solver == "plain" for outcome in job.run(data)] == [7 not in fit.train for fit in fits]


def test_a_ridge_whose_prediction_is_near_0_is_worked_out_step_by_step():
    X, _ = table()
    y = X[:, 0] + X[:, 1] - X[7, 0] - X[7, 1]
    data = Data(X, y, task="regression")
    for ridge in (Ridge(1e-9), Ridge(1e-9, solver="svd")):
        fits = sets_fits(data, [ridge], folds(data.n, np.random.default_rng(0)), ALONE)
        [job] = LinearSetsSolver().claim(fits, data)
        for fit, outcome in zip(fits, job.run(data), strict=True):
            assert outcome.solver == "linear sets"
            if 7 not in fit.train:
                rows = fit.asks[0].rows
                expected = fit_plain(fit, data).answer(data, rows)
                assert outcome.answer(data, rows).tobytes() == expected.tobytes()


@given(
    X=troubled_tables(),
    seed=st.integers(0, 2**32),
    offset=st.sampled_from([0.0, 3.0, 1e6]),
    noise=st.sampled_from([0.0, 1e-6, 1.0]),
    intercept=st.booleans(),
    alphas=st.lists(st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 1e6]), min_size=1, max_size=3, unique=True),
    route=st.sampled_from(["auto", "svd"]),
    design=st.sampled_from(DESIGNS),
)
@settings(max_examples=60)
def test_equals_plain_fitting(X, seed, offset, noise, intercept, alphas, route, design):
    rng = np.random.default_rng(seed)
    signal = X @ rng.normal(size=X.shape[1])
    y = signal / (np.abs(signal).max() or 1) + noise * rng.normal(size=len(X)) + offset
    data, splits = Data(X, y, task="regression"), design(len(X), rng)
    candidates = [Ridge(alpha, solver=route, fit_intercept=intercept) for alpha in alphas]
    candidates.append(LinearRegression(fit_intercept=intercept))
    assert_sets_equal_plain(LinearSetsSolver(), data, candidates, splits, ALONE)
