"""Learners behind a StandardScaler on many sets of rows: each set has a scaler of its own, as in plain fitting."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from tests.solvers.cases import (
    DESIGNS,
    all_left_out,
    assert_equals_plain,
    assert_sets_equal_plain,
    classed,
    every_design,
    loo_case,
    numbers,
    sets_case,
    troubled_tables,
)

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._solvers.closed_form.gaussian_nb import NaiveBayesSetsSolver
from truefit._solvers.closed_form.knn_row_sets import ScaledNeighboursSolver
from truefit._solvers.closed_form.lda import DiscriminantSetsSolver
from truefit._solvers.closed_form.linear_row_sets import LinearSetsSolver
from truefit._solvers.closed_form.other_rows import learner_of
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract


def scaled(learner):
    return make_pipeline(StandardScaler(), learner)


def targets(X, seed=0):
    """Targets that are a linear function of a table, and noise."""
    rng = np.random.default_rng(seed)
    size = X.std(axis=0)
    return (
        3 + (X - X.mean(axis=0)) @ (rng.normal(size=X.shape[1]) / np.where(size > 0, size, 1)) + rng.normal(size=len(X))
    )


class _Scaled(SolverContract):
    """What holds of any learner behind a scaler."""

    make_solver: type
    learner: type
    wrong: tuple = ()

    def make_reference(self):
        return PlainSolver()

    def table(self):
        return numbers(60, 3)

    def options(self):
        return {}

    def designs(self, plain):
        return every_design(plain, **self.options())

    def case(self, name, *pipelines, X=None, **options):
        return sets_case(name, *pipelines, X=X, **{**self.options(), **options})

    def cases(self):
        X = self.table()[0]
        plain = scaled(self.learner())
        return [
            *self.designs(plain),
            self.case("a frame", plain, X=pd.DataFrame(X, columns=list("abc"))),
            self.case("whole numbers", plain, X=np.round(9 * X).astype(np.int16)),
            self.case("scales", plain, X=X * [1e-6, 1.0, 1e6]),
            self.case("far from 0", plain, X=X + 1e4),
            self.case("a constant column", plain, X=np.c_[X, np.full(60, 7.0)]),
            self.case("a step that does nothing", Pipeline([("a", "passthrough"), *plain.steps])),
        ]

    def not_for_it(self):
        X = self.table()[0]
        learner = self.learner()
        return [
            self.case("other scalers", make_pipeline(MinMaxScaler(), learner)),
            self.case("a part of a scaler", make_pipeline(StandardScaler(with_mean=False), learner)),
            self.case("more steps", make_pipeline(StandardScaler(), PCA(2), learner)),
            self.case("a cache", make_pipeline(StandardScaler(), learner, memory="/nowhere")),
            self.case("weights", scaled(learner), weight=np.arange(1.0, 61.0)),
            self.case("single precision", scaled(learner), X=X.astype(np.float32)),
            self.case("parameters that are wrong", *map(scaled, self.wrong)),
        ]


class TestScaledGaussianNB(_Scaled):
    make_solver, learner = NaiveBayesSetsSolver, GaussianNB
    wrong = (GaussianNB(var_smoothing=-1),)


class TestScaledDiscriminant(_Scaled):
    make_solver, learner = DiscriminantSetsSolver, LinearDiscriminantAnalysis
    wrong = (LinearDiscriminantAnalysis(tol=-1),)


class _ScaledNeighbours(_Scaled):
    """Neighbours, of which only leave-one-out is for this solver."""

    def make_solver(self):
        return ScaledNeighboursSolver()

    def designs(self, plain):
        return [self.case("leave-one-out", plain)]

    def case(self, name, *pipelines, X=None, **options):
        return loo_case(name, *pipelines, X=self.table()[0] if X is None else X, **{**self.options(), **options})

    def options(self):
        return {"y": self.table()[1]}

    def cases(self):
        return [case for case in super().cases() if case.name != "whole numbers"]  # which have ties

    def not_for_it(self):
        plain = scaled(self.learner())
        return [*super().not_for_it(), sets_case("folds", plain, **self.options())]


class TestScaledNeighboursClassifier(_ScaledNeighbours):
    learner = KNeighborsClassifier
    wrong = KNeighborsClassifier(n_neighbors=0), KNeighborsClassifier(weights="none")

    def cases(self):
        return [*super().cases(), self.case("by distance", scaled(KNeighborsClassifier(3, weights="distance")))]

    def not_for_it(self):
        others = KNeighborsClassifier(metric="manhattan"), KNeighborsClassifier(weights=np.sqrt)
        return [*super().not_for_it(), self.case("other distances", *map(scaled, others))]


class _ScaledRegressor(_Scaled):
    def options(self):
        return {"task": "regression", "responses": ("predict",), "y": targets(self.table()[0])}


class TestScaledRidge(_ScaledRegressor):
    make_solver, learner = LinearSetsSolver, Ridge
    wrong = Ridge(alpha=-1), Ridge(solver="sag"), Ridge(fit_intercept=False)

    def cases(self):
        penalties = [scaled(Ridge(alpha=alpha)) for alpha in (0.0, 0.1, 100.0)]
        return [*super().cases(), self.case("penalties", *penalties), self.case("by SVD", scaled(Ridge(solver="svd")))]


class TestScaledLinearRegression(_ScaledRegressor):
    make_solver, learner = LinearSetsSolver, LinearRegression
    wrong = LinearRegression(positive=True), LinearRegression(fit_intercept=False)


class TestScaledNeighboursRegressor(_ScaledNeighbours):
    learner = KNeighborsRegressor

    def options(self):
        return {"task": "regression", "responses": ("predict",), "y": targets(self.table()[0])}


CLASSIFIERS = [
    (NaiveBayesSetsSolver(), GaussianNB()),
    (DiscriminantSetsSolver(), LinearDiscriminantAnalysis()),
    (ScaledNeighboursSolver(), KNeighborsClassifier()),
]
REGRESSORS = [
    (LinearSetsSolver(), Ridge()),
    (LinearSetsSolver(), LinearRegression()),
    (ScaledNeighboursSolver(), KNeighborsRegressor()),
]


@pytest.mark.parametrize("load", [load_wine, pytest.param(load_breast_cancer, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("solver", "learner"), CLASSIFIERS)
def test_leave_one_out_of_real_tables_needs_hardly_a_refit(load, solver, learner):
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:120]
    data = Data(X[rows], y[rows], task="classification")
    assert assert_equals_plain(solver, data, scaled(learner)) > 0.8 * data.n


@pytest.mark.parametrize(("solver", "learner"), REGRESSORS)
def test_leave_one_out_of_a_regression_needs_hardly_a_refit(solver, learner):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    data = Data(X[:120], y[:120], task="regression")
    assert assert_equals_plain(solver, data, scaled(learner), responses=("predict",)) > 0.8 * data.n


def test_assess_answers_leave_one_out_of_a_pipeline_as_one_fit():
    X, y = load_wine(return_X_y=True)
    for learner in (GaussianNB(), LinearDiscriminantAnalysis(), KNeighborsClassifier()):
        engine = Engine(progress=False)
        ours = assess(scaled(learner), X, y, design="loo", metric="accuracy", engine=engine)
        assert engine.stats.run == 1
        theirs = cross_val_predict(scaled(learner), X, y, cv=LeaveOneOut())
        assert ours.estimate == pytest.approx((theirs == y).mean(), abs=1e-12)


def test_a_column_that_only_one_row_varies_is_fitted_plainly_without_it():
    X, y = numbers(60, 3)
    X = np.c_[X, np.arange(60) == 7]
    data = Data(X, y, task="classification")
    for solver, learner in CLASSIFIERS[1:]:  # naive Bayes has a class without variance then, and claims nothing
        assert assert_equals_plain(solver, data, scaled(learner)) == 59
    data = Data(X, targets(X), task="regression")
    for solver, learner in REGRESSORS:
        assert 50 <= assert_equals_plain(solver, data, scaled(learner), responses=("predict",)) <= 59


def test_where_hardly_a_row_is_certain_leave_one_out_is_left_to_single_fits():
    X, y = np.repeat(np.arange(30.0)[:, None], 2, axis=0), np.arange(60) % 2  # every row comes twice
    data = Data(np.c_[X, X**2], y, task="classification")
    [job] = ScaledNeighboursSolver().claim([all_left_out(data, scaled(KNeighborsClassifier(4)))], data)
    [outcome] = job.run(data)
    assert not outcome.answers
    assert outcome.error is None


def test_learners_are_those_behind_a_whole_scaler():
    ridge = Ridge()
    assert learner_of(scaled(ridge)) == (ridge, True)
    for other in (ridge, make_pipeline(StandardScaler(with_std=False), ridge), make_pipeline(scaled(ridge))):
        assert learner_of(other) == (other, False)


tables = {
    "X": troubled_tables(),
    "seed": st.integers(0, 2**32),
    "signal": st.sampled_from([0.0, 1.0, 1e3]),
    "design": st.sampled_from(DESIGNS),
}


def check_classifiers(X, seed, signal, design):
    data, splits = classed(X, 3, seed, signal), design(len(X), np.random.default_rng(seed))
    for solver, learner in CLASSIFIERS:
        assert_sets_equal_plain(solver, data, [scaled(learner)], splits)
    if len(X) < 30:
        assert_equals_plain(CLASSIFIERS[seed % 3][0], data, scaled(CLASSIFIERS[seed % 3][1]))


def check_regressors(X, seed, signal, design):
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        y = signal * X[:, 0] / (np.abs(X[:, 0]).max() or 1) + rng.normal(size=len(X)) + rng.choice([0, 5])
    data, splits = Data(X, y, task="regression"), design(len(X), rng)
    for solver, learner in (*REGRESSORS, (LinearSetsSolver(), Ridge(alpha=10.0 ** rng.integers(-9, 6)))):
        assert_sets_equal_plain(solver, data, [scaled(learner)], splits, ("predict",))
    if len(X) < 30:
        assert_equals_plain(REGRESSORS[seed % 3][0], data, scaled(REGRESSORS[seed % 3][1]), ("predict",))


@given(**tables)
@settings(max_examples=25)
def test_classifiers_on_troubled_tables_equal_plain_fitting(X, seed, signal, design):
    with np.errstate(all="ignore"):
        check_classifiers(X, seed, signal, design)


@given(**tables)
@settings(max_examples=25)
def test_regressors_on_troubled_tables_equal_plain_fitting(X, seed, signal, design):
    with np.errstate(all="ignore"):
        check_regressors(X, seed, signal, design)


@pytest.mark.slow
@given(**tables)
@settings(max_examples=500)
def test_troubled_tables_equal_plain_fitting_at_depth(X, seed, signal, design):
    with np.errstate(all="ignore"):
        check_classifiers(X, seed, signal, design)
        check_regressors(X, seed, signal, design)
