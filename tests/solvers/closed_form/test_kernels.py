import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.kernel_ridge import KernelRidge
from tests.solvers.cases import assert_equals_plain, loo_case, troubled_tables

from truefit._core.data import Data
from truefit._solvers.closed_form.kernels import InverseKernel, KernelLooSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract


class OwnRidge(KernelRidge):
    pass


def table(n=24, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + rng.normal(size=n) + 3


def case(name, *estimators, **options):
    X, y = table()
    return loo_case(name, *estimators, **({"X": X, "y": y, "task": "regression", "responses": ("predict",)} | options))


def process(kernel, alpha=0.1, **options):
    return GaussianProcessRegressor(kernel, alpha=alpha, **({"optimizer": None} | options))


class TestKernelLooSolver(SolverContract):
    def make_solver(self):
        return KernelLooSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = table()
        ridges = [KernelRidge(0.5, kernel=k) for k in ("linear", "rbf", "poly", "polynomial", "laplacian", "cosine")]
        sums = 2.0 * RBF(2.0) + WhiteKernel(0.1), Matern() * ConstantKernel(3.0), RationalQuadratic() + DotProduct()
        return [
            case("ridge", *ridges),
            case(
                "other parameters", KernelRidge(2, kernel="rbf", gamma=3), KernelRidge(kernel="poly", degree=2, coef0=0)
            ),
            case("processes", *(process(kernel) for kernel in sums), process(None, 1)),
            case("periodic", process(ExpSineSquared() + WhiteKernel(0.5), 0.0), X=X[:, :1]),
            case("normalised", *(process(kernel, normalize_y=True) for kernel in sums)),
            case("nothing to optimise", process(RBF(1.0, "fixed"), optimizer="fmin_l_bfgs_b")),
            case("powers", process((RBF(1.0) + ConstantKernel(1.0)) ** 2)),
            case("other labels", KernelRidge(), process(RBF()), labels=y[::-1].copy()),
            case("whole numbers", KernelRidge(), X=np.round(9 * X).astype(np.int32), y=np.round(y)),
            case("a frame", KernelRidge(), process(RBF()), X=pd.DataFrame(X)),
            case("columns first", KernelRidge(), process(RBF()), X=np.asfortranarray(X)),
            case("far from 0", KernelRidge(10, kernel="rbf"), process(RBF()), X=X + 100),
        ]

    def not_for_it(self):
        X, y = table()
        plain = KernelRidge()
        return [
            case("other kernels", KernelRidge(kernel="sigmoid"), KernelRidge(kernel=np.dot), OwnRidge()),
            case("a matrix", KernelRidge(kernel="precomputed"), X=X @ X.T),
            case("a penalty for each row", KernelRidge(alpha=[1.0]), process(RBF(), alpha=np.ones(24))),
            case("parameters that are wrong", KernelRidge(-1), KernelRidge(gamma="a"), process(RBF(), normalize_y=2)),
            case("optimised", GaussianProcessRegressor(), GaussianProcessRegressor(RBF(), alpha=1.0)),
            case("kernels that are not known", process(PairwiseKernel()), process(CompoundKernel([RBF()]))),
            case("weights", plain, weight=np.arange(1.0, 25.0)),
            case("two targets", plain, y=np.c_[y, y]),
            case("single precision", plain, X=X.astype(np.float32)),
            case("single precision targets", plain, y=y.astype(np.float32)),
            case("sparse", plain, X=sparse.csr_array(X)),
            case("missing values", plain, X=np.where(X > 1.5, np.nan, X)),
            case("class labels", plain, y=np.arange(24) % 2, task="classification"),
            case("too few", plain, X=X[:7], y=y[:7]),
        ]

    def failing(self):
        return [case("no penalty", KernelRidge(0), process(DotProduct(), alpha=0.0))]


def test_diabetes_needs_no_refit():
    X, y = load_diabetes(return_X_y=True)
    data = Data(X[:120] * 20, y[:120], task="regression")
    for estimator in (KernelRidge(kernel="rbf"), process(RBF(3.0), 0.5), process(RBF(3.0), 0.5, normalize_y=True)):
        assert assert_equals_plain(KernelLooSolver(), data, estimator, ("predict",)) == data.n


def test_a_matrix_close_to_singular_is_left_to_plain_fitting():
    X = np.linspace(0, 1, 40)[:, None]
    data = Data(X, np.sin(X[:, 0]), task="regression")
    assert assert_equals_plain(KernelLooSolver(), data, process(RBF(), 1e-10), ("predict",)) == 0


def test_a_matrix_that_is_not_definite_is_refused():
    with pytest.raises(ValueError, match="positive definite"):
        InverseKernel(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.0, 1)


def estimators():
    alphas = st.sampled_from([1e-10, 1e-4, 0.1, 10.0])
    ridges = st.builds(
        KernelRidge,
        alphas,
        kernel=st.sampled_from(["linear", "rbf", "poly", "laplacian", "cosine"]),
        gamma=st.sampled_from([None, 0.01, 5.0]),
        degree=st.sampled_from([1, 2.0, 3]),
    )
    kernel = st.sampled_from([RBF(), 3.0 * RBF(0.3), Matern(nu=1.5), DotProduct(), RBF() * WhiteKernel() + Matern(9.0)])
    return st.one_of(ridges, st.builds(process, kernel, alphas, normalize_y=st.booleans()))


def check(X, estimator, seed, offset):
    rng = np.random.default_rng(seed)
    y = X[:, 0] / (np.abs(X[:, 0]).max() or 1) + rng.normal(size=len(X)) + offset
    with np.errstate(all="ignore"):
        assert_equals_plain(KernelLooSolver(), Data(X, y, task="regression"), estimator, ("predict",))


@given(troubled_tables(most_rows=30), estimators(), st.integers(0, 99), st.sampled_from([0.0, 1e4]))
@settings(max_examples=40)
def test_troubled_tables_equal_plain_fitting(X, estimator, seed, offset):
    check(X, estimator, seed, offset)


@pytest.mark.slow
@given(troubled_tables(), estimators(), st.integers(0, 2**32), st.sampled_from([0.0, 1e4]))
@settings(max_examples=400)
def test_troubled_tables_equal_plain_fitting_at_depth(X, estimator, seed, offset):
    check(X, estimator, seed, offset)
