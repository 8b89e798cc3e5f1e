from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from tests.solvers.sets_case import assert_sets_equal_plain, bootstrap, curve, folds, sets_case, sets_fits, triangle
from tests.solvers.tables import troubled_tables

from truefit._core.data import Data
from truefit._core.rows import Rows
from truefit._core.task import Ask
from truefit._solvers.kernel_sets import KernelSetsSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract

ALONE = ("predict",)


class OwnRidge(KernelRidge):
    pass


def ten_folds(n, rng):
    return folds(n, rng, 12)


def repeated_ten_folds(n, rng):
    return [split for _ in range(2) for split in folds(n, rng, 10)]


def large_triangle(n, rng):
    return triangle(n, rng, 12)


DESIGNS = ten_folds, repeated_ten_folds, large_triangle


def process(kernel=None, **options):
    return GaussianProcessRegressor(RBF() if kernel is None else kernel, **{"alpha": 0.1, "optimizer": None, **options})


def table(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + 0.1 * rng.normal(size=n) + 8


def case(name, *estimators, X=None, y=None, task="regression", design=ten_folds, **options):
    usual = table()
    X, y = usual[0] if X is None else X, usual[1] if y is None else y
    return sets_case(name, *estimators, X=X, y=y, task=task, design=design, responses=ALONE, **options)


class TestKernelSetsSolver(SolverContract):
    def make_solver(self):
        return KernelSetsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = table()
        kinds = ("rbf", "poly", "laplacian", "cosine")
        return [
            *(case(design.__name__, KernelRidge(kernel="rbf"), process(), design=design) for design in DESIGNS),
            *(case(kind, KernelRidge(kernel=kind, gamma=0.1)) for kind in kinds),
            case("noise", process(RBF() + WhiteKernel(0.1)), process(ConstantKernel(2.0) * Matern() + DotProduct())),
            case("normalised", process(normalize_y=True), process(RBF() + WhiteKernel(0.1), normalize_y=True)),
            case("nothing to optimise", process(RBF(1.0, "fixed"), optimizer="fmin_l_bfgs_b")),
            case("whole numbers", KernelRidge(kernel="rbf"), X=np.round(2 * X).astype(np.int16)),
            case("a frame", KernelRidge(kernel="rbf"), X=pd.DataFrame(X)),
            case("other labels", KernelRidge(kernel="rbf"), labels=y[::-1].copy()),
        ]

    def not_for_it(self):
        X, y = table()
        return [
            case("too few to pay", KernelRidge(kernel="rbf"), design=folds),
            case("rows drawn again", KernelRidge(kernel="rbf"), design=bootstrap),
            case("samples", KernelRidge(kernel="rbf"), design=curve),
            case("a subclass", OwnRidge(kernel="rbf")),
            case("other kernels", KernelRidge(kernel="sigmoid"), KernelRidge(kernel=np.dot)),
            case("no more dimensions than columns", KernelRidge()),
            case("optimised", GaussianProcessRegressor(RBF())),
            case("parameters that are wrong", KernelRidge(kernel="rbf", alpha=-1), KernelRidge(kernel="rbf", gamma=-1)),
            case("a penalty for each row", KernelRidge(kernel="rbf", alpha=np.ones(1)), process(alpha=np.ones(55))),
            case("weights", KernelRidge(kernel="rbf"), weight=np.arange(1.0, 61.0)),
            case("several targets", KernelRidge(kernel="rbf"), y=np.c_[y, y]),
            case("sparse", KernelRidge(kernel="rbf"), X=sparse.csr_array(X)),
            case("missing values", KernelRidge(kernel="rbf"), X=np.where(X > 2, np.nan, X)),
        ]

    def failing(self):
        X, _ = table()
        return [
            case("not positive definite", KernelRidge(kernel="rbf", alpha=0), process(alpha=0.0, kernel=DotProduct())),
            case(
                "hardly any penalty",
                KernelRidge(kernel="rbf", alpha=1e-12),
                process(alpha=1e-10),
                X=np.repeat(X[:20], 3, axis=0),
            ),
        ]


def test_rows_that_are_trained_on_are_not_answered():
    data = Data(*table(), task="regression")
    fits = sets_fits(data, [KernelRidge(kernel="rbf")], ten_folds(data.n, np.random.default_rng(0)), ALONE)
    assert len(KernelSetsSolver().claim(fits, data)) == 1
    trained_on = [replace(fit, asks=(*fit.asks, Ask(Rows.of(fit.train.index[:1])))) for fit in fits]
    assert KernelSetsSolver().claim(trained_on, data) == []
    some = [replace(fit, asks=(Ask(Rows.of(fit.train.listed[1:3])),)) for fit in fits]
    [job] = KernelSetsSolver().claim(some, data)
    plain = [outcome for one in PlainSolver().claim(some, data) for outcome in one.run(data)]
    for fit, mine, theirs in zip(some, job.run(data), plain, strict=True):
        rows = fit.asks[0].rows
        np.testing.assert_allclose(mine.answer(data, rows), theirs.answer(data, rows), rtol=1e-8)


def test_diabetes_needs_hardly_a_refit():
    X, y = load_diabetes(return_X_y=True)
    data = Data(X[:250], y[:250], task="regression")
    splits = ten_folds(data.n, np.random.default_rng(0))
    for estimator in (KernelRidge(kernel="rbf"), process(RBF(0.1) + WhiteKernel(0.5))):
        assert assert_sets_equal_plain(KernelSetsSolver(), data, [estimator], splits, ALONE) >= 11


@given(
    X=troubled_tables(most_rows=60),
    seed=st.integers(0, 2**32),
    offset=st.sampled_from([0.0, 3.0, 1e6]),
    noise=st.sampled_from([0.0, 1e-6, 1.0]),
    alpha=st.sampled_from([1e-10, 1e-6, 1e-3, 1.0, 1e6]),
    kernel=st.sampled_from(["rbf", "poly", "laplacian", "cosine"]),
    normalise=st.booleans(),
    design=st.sampled_from(DESIGNS),
)
@settings(max_examples=40)
def test_equals_plain_fitting(X, seed, offset, noise, alpha, kernel, normalise, design):
    rng = np.random.default_rng(seed)
    signal = X @ rng.normal(size=X.shape[1])
    y = signal / (np.abs(signal).max() or 1) + noise * rng.normal(size=len(X)) + offset
    data, splits = Data(X, y, task="regression"), design(len(X), rng)
    solver = KernelSetsSolver()
    assert_sets_equal_plain(solver, data, [KernelRidge(alpha=alpha, kernel=kernel)], splits, ALONE)
    scale = float(np.abs(X).mean()) or 1.0
    processes = process(RBF(scale), alpha=alpha, normalize_y=normalise), process(Matern(scale) + WhiteKernel(alpha))
    for one in processes:
        assert_sets_equal_plain(solver, data, [one], splits, ALONE)
