"""Classifiers whose classes are known by moments: what their leave-one-out has in common, and each against plain."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from tests.solvers.cases import assert_equals_plain, classed, loo_case, loo_fits, numbers, troubled_tables

from truefit._core.data import Data
from truefit._core.rows import Rows
from truefit._solvers.closed_form.gaussian_nb import NaiveBayesLooSolver
from truefit._solvers.closed_form.lda import DiscriminantLooSolver
from truefit._solvers.closed_form.left_out import LabelledTable
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract


class OwnBayes(GaussianNB):
    pass


class OwnDiscriminant(LinearDiscriminantAnalysis):
    pass


class _ClassLoo(SolverContract):
    usual: type
    own: type
    others: tuple = ()
    wrong: tuple = ()

    def make_reference(self):
        return PlainSolver()

    def more_cases(self):
        return []

    def cases(self):
        X, y = numbers(40, 3)
        plain = self.usual()
        return [
            loo_case("two classes", plain),
            loo_case("four classes", plain, classes=4),
            loo_case("priors", self.usual(priors=[0.9, 0.1])),
            loo_case("labels alone", plain, responses=("predict",)),
            loo_case("other labels", plain, labels=y[::-1].copy()),
            loo_case("whole numbers", plain, X=np.round(9 * X).astype(np.int16), y=(y == "bee") * 5),
            loo_case("a frame", plain, X=pd.DataFrame(X)),
            loo_case("columns first", plain, X=np.asfortranarray(X)),
            loo_case("one column", plain, X=X[:, :1]),
            loo_case("far from 0", plain, X=X + 1e3),
            loo_case("a class of one", plain, y=np.where(np.arange(40) == 3, "cat", y)),
            *self.more_cases(),
        ]

    def not_for_it(self):
        X, y = numbers(40, 3)
        plain = self.usual()
        return [
            loo_case("a subclass", self.own()),
            loo_case("other parameters", *self.others),
            loo_case("parameters that are wrong", *self.wrong),
            loo_case("priors of other classes", self.usual(priors=[0.2, 0.3, 0.5]), self.usual(priors=[0.2, 0.2])),
            loo_case("single precision", plain, X=X.astype(np.float32)),
            loo_case("sparse", plain, X=sparse.csr_array(X)),
            loo_case("missing values", plain, X=np.where(X > 1.5, np.nan, X)),
            loo_case("what is not said", plain, responses=("predict", "decision_function")),
            loo_case("too few", plain, X=X[:7], y=y[:7]),
        ]


class TestNaiveBayesLooSolver(_ClassLoo):
    usual, own = GaussianNB, OwnBayes
    wrong = GaussianNB(var_smoothing=-1), GaussianNB(var_smoothing="1")

    def make_solver(self):
        return NaiveBayesLooSolver()

    def more_cases(self):
        constant = np.c_[numbers(40, 3)[0], np.ones(40)]
        return [loo_case("smoothed", GaussianNB(var_smoothing=0.1)), loo_case("constant", GaussianNB(), X=constant)]


class TestDiscriminantLooSolver(_ClassLoo):
    usual, own = LinearDiscriminantAnalysis, OwnDiscriminant
    others = (
        LinearDiscriminantAnalysis(solver="lsqr"),
        LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
        LinearDiscriminantAnalysis(n_components=1),
    )
    wrong = LinearDiscriminantAnalysis(tol=-1), LinearDiscriminantAnalysis(solver="qr")

    def make_solver(self):
        return DiscriminantLooSolver()


SOLVERS = {
    "bayes": (NaiveBayesLooSolver(), GaussianNB()),
    "discriminant": (DiscriminantLooSolver(), LinearDiscriminantAnalysis()),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_real_tables_need_hardly_a_refit(name, load):
    solver, estimator = SOLVERS[name]
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:140]
    data = Data(X[rows], y[rows], task="classification")
    assert assert_equals_plain(solver, data, estimator) > 0.8 * data.n


def test_rows_asked_for_may_be_some():
    X, y = numbers(60, 3)
    data = Data(X, y, task="classification")
    for solver, estimator in SOLVERS.values():
        [job] = solver.claim(loo_fits(data, estimator), data)
        [some] = solver.claim(loo_fits(data, estimator, rows=range(59, 30, -2)), data)
        whole = {outcome.key: outcome for outcome in job.run(data)}
        for i, outcome in zip(range(59, 30, -2), some.run(data), strict=True):
            theirs = whole[outcome.key].answer(data, Rows.of([i]), "predict_proba")
            np.testing.assert_allclose(outcome.answer(data, Rows.of([i]), "predict_proba"), theirs, rtol=1e-12)


def test_work_is_done_in_stretches(monkeypatch):
    monkeypatch.setattr("truefit._solvers.closed_form.left_out.WORK_BYTES", 8 * 2 * 3 * 7)
    X, y = numbers(40, 3)
    for solver, estimator in SOLVERS.values():
        assert assert_equals_plain(solver, Data(X, y, task="classification"), estimator) == 40


def test_means_of_classes():
    X, codes = np.array([[1.0], [5.0], [3.0]]), np.array([0, 1, 0])
    table = LabelledTable(X, codes, np.array([2, 1]))
    assert table.means.tolist() == [[2.0], [5.0]]
    assert table.members(0).tolist() == [[-1.0], [1.0]]
    np.testing.assert_allclose(np.exp(table.log_shares(None, np.array([0, 2]))), [[0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(np.exp(table.log_shares([0.25, 0.75], np.arange(3))), [[0.25], [0.75]])


def estimators():
    smoothing, priors = st.sampled_from([1e-9, 0.0, 0.1]), st.sampled_from([None, [0.2, 0.3, 0.5]])
    return st.one_of(
        st.builds(GaussianNB, var_smoothing=smoothing, priors=priors),
        st.builds(LinearDiscriminantAnalysis, tol=st.sampled_from([1e-4, 1e-2]), priors=priors),
    )


def check(X, estimator, seed, signal):
    [solver] = [solver for solver, one in SOLVERS.values() if type(one) is type(estimator)]
    with np.errstate(all="ignore"):
        assert_equals_plain(solver, classed(X, 3, seed, signal), estimator)


@given(
    troubled_tables(most_rows=40, most_columns=6), estimators(), st.integers(0, 99), st.sampled_from([0.0, 1.0, 1e3])
)
@settings(max_examples=40)
def test_troubled_tables_equal_plain_fitting(X, estimator, seed, signal):
    check(X, estimator, seed, signal)


@pytest.mark.slow
@given(troubled_tables(most_rows=60), estimators(), st.integers(0, 2**32), st.sampled_from([0.0, 1.0, 1e3]))
@settings(max_examples=800)
def test_troubled_tables_equal_plain_fitting_at_depth(X, estimator, seed, signal):
    check(X, estimator, seed, signal)
