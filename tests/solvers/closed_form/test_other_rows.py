"""Classifiers with linear scores on many sets of rows, each against plain fitting."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from tests.solvers.cases import (
    DESIGNS,
    assert_sets_equal_plain,
    classed,
    every_design,
    numbers,
    sets_case,
    sets_fits,
    troubled_tables,
)

from truefit._core.data import Data
from truefit._solvers.closed_form.gaussian_nb import NaiveBayesSetsSolver
from truefit._solvers.closed_form.lda import DiscriminantSetsSolver
from truefit._solvers.closed_form.other_rows import WIDEST
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract


class OwnBayes(GaussianNB):
    pass


class OwnDiscriminant(LinearDiscriminantAnalysis):
    pass


class _ClassSets(SolverContract):
    usual: type
    own: type
    others: tuple = ()
    wrong: tuple = ()

    def make_reference(self):
        return PlainSolver()

    def more_cases(self):
        return []

    def cases(self):
        X, y = numbers(60, 3)
        plain = self.usual()
        return [
            *every_design(plain),
            *every_design(plain, classes=4),
            sets_case("priors", self.usual(priors=[0.9, 0.1])),
            sets_case("labels alone", plain, responses=("predict",)),
            sets_case("other labels", plain, labels=y[::-1].copy()),
            sets_case("whole numbers", plain, X=np.round(9 * X).astype(np.int16), y=(y == "bee") * 5),
            sets_case("a frame", plain, X=pd.DataFrame(X)),
            sets_case("columns first", plain, X=np.asfortranarray(X)),
            sets_case("one column", plain, X=X[:, :1]),
            sets_case("far from 0", plain, X=X + 1e3),
            *self.more_cases(),
        ]

    def failing(self):
        lone = np.where(np.arange(60) == 3, "cat", numbers(60, 3)[1])  # without variance nothing is certain
        return [sets_case("a class of one", self.usual(), y=lone)]

    def not_for_it(self):
        X, y = numbers(60, 3)
        plain = self.usual()
        return [
            sets_case("a subclass", self.own()),
            sets_case("other parameters", *self.others),
            sets_case("parameters that are wrong", *self.wrong),
            sets_case("priors of other classes", self.usual(priors=[0.2, 0.3, 0.5]), self.usual(priors=[0.2, 0.2])),
            sets_case("single precision", plain, X=X.astype(np.float32)),
            sets_case("sparse", plain, X=sparse.csr_array(X)),
            sets_case("missing values", plain, X=np.where(X > 1.5, np.nan, X)),
            sets_case("weights", plain, weight=np.arange(1.0, 61.0)),
            sets_case("what is not said", plain, responses=("predict", "decision_function")),
            sets_case("labels that the table does not have", plain, labels=np.where(y == "bee", "fox", y)),
        ]


class TestNaiveBayesSetsSolver(_ClassSets):
    usual, own = GaussianNB, OwnBayes
    wrong = GaussianNB(var_smoothing=-1), GaussianNB(var_smoothing="1")

    def make_solver(self):
        return NaiveBayesSetsSolver()

    def more_cases(self):
        constant = np.c_[numbers(60, 3)[0], np.ones(60)]
        return [
            sets_case("smoothed", GaussianNB(var_smoothing=0.1), GaussianNB(), GaussianNB(var_smoothing=0)),
            sets_case("constant", GaussianNB(), X=constant),
        ]


class TestDiscriminantSetsSolver(_ClassSets):
    usual, own = LinearDiscriminantAnalysis, OwnDiscriminant
    others = (
        LinearDiscriminantAnalysis(solver="lsqr"),
        LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
        LinearDiscriminantAnalysis(n_components=1),
    )
    wrong = LinearDiscriminantAnalysis(tol=-1), LinearDiscriminantAnalysis(solver="qr")

    def make_solver(self):
        return DiscriminantSetsSolver()

    def more_cases(self):
        X = numbers(60, 3)[0]
        constant, collinear = np.c_[X, np.ones(60)], np.c_[X, X[:, 0] + X[:, 1]]
        return [
            sets_case("constant", LinearDiscriminantAnalysis(), X=constant),
            sets_case("collinear", LinearDiscriminantAnalysis(), X=collinear),
        ]


def test_tables_on_which_nothing_would_be_certain_are_left_alone():
    X, y = load_digits(return_X_y=True)  # some pixels are never set
    data = Data(X[:500], y[:500], task="classification")
    splits = DESIGNS[0](500, np.random.default_rng(0))
    assert NaiveBayesSetsSolver().claim(sets_fits(data, [GaussianNB()], splits), data) == []


def test_wide_tables_are_left_alone():
    X, y = numbers(60, WIDEST + 1)
    data = Data(X, y, task="classification")
    splits = DESIGNS[0](60, np.random.default_rng(0))
    assert NaiveBayesSetsSolver().claim(sets_fits(data, [GaussianNB()], splits), data) == []


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("design", DESIGNS)
def test_common_tables_need_hardly_a_refit(load, design):
    X, y = load(return_X_y=True)
    data = Data(X, y, task="classification")
    splits = design(data.n, np.random.default_rng(1))
    for solver, estimator, least in (
        (NaiveBayesSetsSolver(), GaussianNB(), 1.0),
        (DiscriminantSetsSolver(), LinearDiscriminantAnalysis(), 0.6),  # columns are close to collinear
    ):
        answered = assert_sets_equal_plain(solver, data, [estimator], splits)
        assert answered >= least * len(splits), solver.name


@given(
    X=troubled_tables(),
    classes=st.integers(2, 4),
    seed=st.integers(0, 2**32),
    signal=st.sampled_from([0.0, 1.0, 1e3]),
    design=st.sampled_from(DESIGNS),
    smoothing=st.sampled_from([1e-9, 0.0, 0.1]),
)
@settings(max_examples=60)
def test_moments_equal_plain_fitting(X, classes, seed, signal, design, smoothing):
    data, splits = classed(X, classes, seed, signal), design(len(X), np.random.default_rng(seed))
    bayes = [GaussianNB(var_smoothing=smoothing), GaussianNB()]
    assert_sets_equal_plain(NaiveBayesSetsSolver(), data, bayes, splits)


@given(
    X=troubled_tables(),
    classes=st.integers(2, 4),
    seed=st.integers(0, 2**32),
    signal=st.sampled_from([0.0, 1.0, 1e3]),
    design=st.sampled_from(DESIGNS),
    tol=st.sampled_from([1e-4, 0.0, 0.3]),
)
@settings(max_examples=60)
def test_discriminants_equal_plain_fitting(X, classes, seed, signal, design, tol):
    data, splits = classed(X, classes, seed, signal), design(len(X), np.random.default_rng(seed))
    assert_sets_equal_plain(DiscriminantSetsSolver(), data, [LinearDiscriminantAnalysis(tol=tol)], splits)
