from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier
from tests.solvers.cases import BOTH, assert_equals_plain, loo_case, loo_fits, numbers

from truefit._core.data import Data
from truefit._solvers.closed_form.knn import NeighboursLooSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverContract


class OwnNeighbours(KNeighborsClassifier):
    pass


def regression(name, *estimators, **options):
    usual = {"y": np.random.default_rng(0).normal(size=40), "task": "regression", "responses": ("predict",)}
    return loo_case(name, *estimators, **(usual | options))


class TestNeighboursLooSolver(SolverContract):
    def make_solver(self):
        return NeighboursLooSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = numbers(40, 3)
        weighted = KNeighborsClassifier(4, weights="distance")
        trees = [KNeighborsClassifier(algorithm=a, metric=m) for a in ("kd_tree", "ball_tree") for m in ("l1", "l2")]
        regressors = [KNeighborsRegressor(k, weights=w) for k in (1, 5) for w in ("uniform", "distance")]
        return [
            loo_case("two classes", KNeighborsClassifier(), KNeighborsClassifier(1), weighted),
            loo_case("four classes", KNeighborsClassifier(6), weighted, classes=4),
            loo_case("many columns", KNeighborsClassifier(), weighted, X=numbers(40, 20)[0]),
            loo_case("many neighbours", KNeighborsClassifier(25), KNeighborsClassifier(38)),
            loo_case("trees", *trees),
            loo_case("labels alone", weighted, responses=("predict",)),
            loo_case("other labels", weighted, labels=y[::-1].copy()),
            loo_case("a class of one", weighted, y=np.where(np.arange(40) == 3, "cat", y)),
            loo_case("some rows that are the same", weighted, X=np.where(np.arange(40)[:, None] < 9, 1.5, X)),
            loo_case("a frame", KNeighborsClassifier(), X=pd.DataFrame(X)),
            regression("regression", *regressors, KNeighborsRegressor(metric="manhattan", algorithm="brute")),
            regression("whole numbers", *regressors, y=np.arange(40)),
        ]

    def not_for_it(self):
        X, y = numbers(40, 3)
        plain = KNeighborsClassifier()
        return [
            loo_case("other estimators", RadiusNeighborsClassifier(9), OwnNeighbours()),
            loo_case("other votes", KNeighborsClassifier(weights=np.exp), KNeighborsClassifier(weights=None)),
            loo_case("other metrics", KNeighborsClassifier(metric="cosine"), KNeighborsClassifier(metric="l1")),
            loo_case("parameters that are wrong", KNeighborsClassifier(0), KNeighborsClassifier(algorithm="tree")),
            loo_case("all the others", KNeighborsClassifier(39), KNeighborsClassifier(40)),
            loo_case("single precision", plain, X=X.astype(np.float32)),
            loo_case("sparse", plain, X=sparse.csr_array(np.round(X))),
            loo_case("missing values", plain, X=np.where(X > 1.5, np.nan, X)),
            loo_case("too few", plain, X=X[:7], y=y[:7]),
            regression("two targets", KNeighborsRegressor(), y=np.c_[X[:, 0], X[:, 1]]),
            regression("single precision targets", KNeighborsRegressor(), y=X[:, 0].astype(np.float32)),
            regression("powers below 1", KNeighborsRegressor(p=0.5, algorithm="brute")),
        ]


def test_breast_cancer_needs_no_refit():
    X, y = load_breast_cancer(return_X_y=True)
    data = Data(X, y, task="classification")
    [job] = NeighboursLooSolver().claim(loo_fits(data, KNeighborsClassifier()), data)
    outcomes = job.run(data)
    assert {outcome.solver for outcome in outcomes} == {"neighbours loo"}
    for fit, outcome in list(zip(job.fits, outcomes, strict=True))[::40]:
        expected = fit_plain(fit, data)
        for mine, theirs in zip(outcome.answers, expected.answers, strict=True):
            assert mine.values.tobytes() == theirs.values.tobytes()


def check(n, p, k, make, trouble):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, p))
    if trouble == "whole numbers":
        X = np.round(2 * X)
    elif trouble == "duplicates":
        X = X[rng.integers(n // 2, size=n)]
    elif trouble == "offset":
        X += 1e7
    elif trouble == "tiny":
        X *= 1e-160
    classifier = make.func is KNeighborsClassifier
    y = np.r_[0, 1, rng.integers(0, 3, n - 2)] if classifier else rng.normal(size=n)
    data = Data(X, y, task="classification" if classifier else "regression")
    with np.errstate(all="ignore"):
        return assert_equals_plain(NeighboursLooSolver(), data, make(k), BOTH if classifier else ("predict",))


MAKERS = st.builds(
    partial,
    st.sampled_from([KNeighborsClassifier, KNeighborsRegressor]),
    weights=st.sampled_from(["uniform", "distance"]),
    algorithm=st.sampled_from(["auto", "brute", "kd_tree", "ball_tree"]),
    metric=st.sampled_from(["minkowski", "manhattan", "chebyshev"]),
)
TROUBLES = st.sampled_from(["none", "whole numbers", "duplicates", "offset", "tiny"])


@given(n=st.integers(10, 40), p=st.integers(1, 18), k=st.integers(1, 12), make=MAKERS, trouble=TROUBLES)
@settings(max_examples=40)
def test_equals_plain_fitting(n, p, k, make, trouble):
    check(n, p, k, make, trouble)


@pytest.mark.slow
@given(n=st.integers(10, 80), p=st.integers(1, 18), k=st.integers(1, 40), make=MAKERS, trouble=TROUBLES)
@settings(max_examples=600)
def test_equals_plain_fitting_at_depth(n, p, k, make, trouble):
    check(n, p, k, make, trouble)
