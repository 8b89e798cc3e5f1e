"""Classifiers with linear scores on many sets of rows, each against plain fitting."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from tests.solvers.label_case import numbers
from tests.solvers.left_out_case import classed
from tests.solvers.sets_case import DESIGNS, assert_sets_equal_plain, every_design, sets_case, sets_fits
from tests.solvers.tables import troubled_tables

from truefit._core.data import Data
from truefit._solvers.centroid_sets import CentroidSetsSolver
from truefit._solvers.count_bayes_sets import CountBayesSetsSolver
from truefit._solvers.discriminant_sets import DiscriminantSetsSolver
from truefit._solvers.naive_bayes_sets import NaiveBayesSetsSolver
from truefit._solvers.plain import PlainSolver
from truefit._solvers.quadratic_sets import QuadraticSetsSolver
from truefit._solvers.scored_sets import WIDEST
from truefit.testing.solver_contract import SolverContract


class OwnBayes(GaussianNB):
    pass


class OwnDiscriminant(LinearDiscriminantAnalysis):
    pass


class OwnQuadratic(QuadraticDiscriminantAnalysis):
    pass


class OwnCentroid(NearestCentroid):
    pass


class OwnCounts(MultinomialNB):
    pass


class _ClassSets(SolverContract):
    usual: type
    own: type
    others: tuple = ()
    wrong: tuple = ()
    far = 1e3

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
            sets_case("far from 0", plain, X=X + self.far),
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


class TestCentroidSetsSolver(_ClassSets):
    usual, own = NearestCentroid, OwnCentroid
    others = NearestCentroid(metric="manhattan"), NearestCentroid(shrink_threshold=0.1)
    wrong = NearestCentroid(priors="even"), NearestCentroid(metric="l2")
    far = 10  # farther away distances are as rounding has them

    def make_solver(self):
        return CentroidSetsSolver()

    def more_cases(self):
        return [
            *every_design(NearestCentroid(priors="empirical")),
            sets_case("even shares", NearestCentroid(priors="empirical"), y=np.arange(60) % 2),
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


class TestQuadraticSetsSolver(_ClassSets):
    usual, own = QuadraticDiscriminantAnalysis, OwnQuadratic
    others = QuadraticDiscriminantAnalysis(solver="eigen"), QuadraticDiscriminantAnalysis(shrinkage=0.1)
    wrong = QuadraticDiscriminantAnalysis(tol=-1), QuadraticDiscriminantAnalysis(reg_param=2)

    def make_solver(self):
        return QuadraticSetsSolver()

    def more_cases(self):
        usual = QuadraticDiscriminantAnalysis()
        return [
            sets_case("regularised", QuadraticDiscriminantAnalysis(reg_param=0.3), usual),
            sets_case("other scales", usual, X=numbers(60, 3)[0] * [1.0, 1e2, 1e3]),
        ]


KINDS = (MultinomialNB, ComplementNB, BernoulliNB)


def counts(n=60, p=5, seed=0):
    return np.random.default_rng(seed).poisson(2.0, size=(n, p))


def counted(name, *estimators, X=None, **options):
    return sets_case(name, *estimators, X=counts() if X is None else X, **options)


class TestCountBayesSetsSolver(SolverContract):
    def make_solver(self):
        return CountBayesSetsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        y = numbers(60, 3)[1]
        every = [kind() for kind in KINDS]
        return [
            *every_design(*every, X=counts()),
            *every_design(*every, X=counts(), classes=4),
            counted("floats", *every, X=counts().astype(np.float64)),
            counted("smoothed", *(kind(alpha=alpha) for kind in KINDS for alpha in (0.1, 3))),
            counted("priors", *(kind(class_prior=[0.9, 0.1]) for kind in KINDS), MultinomialNB(fit_prior=False)),
            counted("normalised", ComplementNB(norm=True)),
            counted("above a limit", BernoulliNB(binarize=1.5)),
            counted("any numbers above a limit", BernoulliNB(), X=numbers(60, 3)[0]),
            counted("as they are", BernoulliNB(binarize=None), X=counts() % 2),
            counted("other labels", *every, labels=y[::-1].copy()),
            counted("a class of one", *every, y=np.where(np.arange(60) == 3, "cat", y)),
        ]

    def not_for_it(self):
        X = counts().astype(np.float64)
        return [
            counted("other estimators", CategoricalNB(), OwnCounts()),
            counted("not whole", MultinomialNB(), ComplementNB(), BernoulliNB(binarize=None), X=X + 0.5),
            counted("negative", MultinomialNB(), ComplementNB(), X=X - 3),
            counted("smoothed by column", MultinomialNB(alpha=np.ones(5))),
            counted("smoothed too little", MultinomialNB(alpha=0, force_alpha=False)),
            counted(
                "parameters that are wrong", MultinomialNB(alpha=-1), ComplementNB(norm=3), BernoulliNB(binarize="a")
            ),
            counted("priors of other classes", MultinomialNB(class_prior=[0.2, 0.3, 0.5])),
            counted("sparse", *(kind() for kind in KINDS), X=sparse.csr_array(X)),
            counted("weights", *(kind() for kind in KINDS), weight=np.arange(1.0, 61.0)),
            counted("missing values", BernoulliNB(), X=np.where(X > 4, np.nan, X)),
        ]


def test_tables_on_which_nothing_would_be_certain_are_left_alone():
    X, y = load_digits(return_X_y=True)  # some pixels are never set
    data = Data(X[:500], y[:500], task="classification")
    splits = DESIGNS[0](500, np.random.default_rng(0))
    for solver, estimator in ((NaiveBayesSetsSolver(), GaussianNB()), (CentroidSetsSolver(), NearestCentroid())):
        assert solver.claim(sets_fits(data, [estimator], splits), data) == []


def test_wide_tables_are_left_alone():
    X, y = numbers(60, WIDEST + 1)
    data = Data(X, y, task="classification")
    splits = DESIGNS[0](60, np.random.default_rng(0))
    assert NaiveBayesSetsSolver().claim(sets_fits(data, [GaussianNB()], splits), data) == []


def test_counts_that_add_up_to_too_much_are_fitted_plainly():
    X = counts().astype(np.float64)
    X[0, 0] = 2.0**46
    data = Data(X, numbers(60, 3)[1], task="classification")
    splits = [
        (train.of(np.repeat(train.index, 40)), asked) for train, asked in DESIGNS[0](60, np.random.default_rng(0))
    ]
    assert assert_sets_equal_plain(CountBayesSetsSolver(), data, [MultinomialNB()], splits[:1] * 4) == 0
    assert assert_sets_equal_plain(CountBayesSetsSolver(), data, [MultinomialNB()], splits) == 0


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("design", DESIGNS)
def test_common_tables_need_hardly_a_refit(load, design):
    X, y = load(return_X_y=True)
    data = Data(X, y, task="classification")
    splits = design(data.n, np.random.default_rng(1))
    for solver, estimator, least in (
        (NaiveBayesSetsSolver(), GaussianNB(), 1.0),
        (CentroidSetsSolver(), NearestCentroid(), 0.8),
        (DiscriminantSetsSolver(), LinearDiscriminantAnalysis(), 0.6),  # columns are close to collinear
    ):
        answered = assert_sets_equal_plain(solver, data, [estimator], splits)
        assert answered >= least * len(splits), solver.name


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_standardised_tables_need_no_refit(load):
    X, y = load(return_X_y=True)
    data = Data((X - X.mean(axis=0)) / X.std(axis=0), y, task="classification")
    splits = DESIGNS[0](data.n, np.random.default_rng(1))
    quadratic = QuadraticDiscriminantAnalysis(reg_param=0.1)
    assert assert_sets_equal_plain(QuadraticSetsSolver(), data, [quadratic], splits) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_digits_need_no_refit(kind):
    X, y = load_digits(return_X_y=True)
    data = Data(X[:300], y[:300], task="classification")
    splits = DESIGNS[0](300, np.random.default_rng(0))
    assert assert_sets_equal_plain(CountBayesSetsSolver(), data, [kind()], splits) == 5


@given(
    X=troubled_tables(),
    classes=st.integers(2, 4),
    seed=st.integers(0, 2**32),
    signal=st.sampled_from([0.0, 1.0, 1e3]),
    design=st.sampled_from(DESIGNS),
    smoothing=st.sampled_from([1e-9, 0.0, 0.1]),
    priors=st.sampled_from(["uniform", "empirical"]),
)
@settings(max_examples=60)
def test_moments_equal_plain_fitting(X, classes, seed, signal, design, smoothing, priors):
    data, splits = classed(X, classes, seed, signal), design(len(X), np.random.default_rng(seed))
    bayes = [GaussianNB(var_smoothing=smoothing), GaussianNB()]
    assert_sets_equal_plain(NaiveBayesSetsSolver(), data, bayes, splits)
    assert_sets_equal_plain(CentroidSetsSolver(), data, [NearestCentroid(priors=priors)], splits)


@given(
    X=troubled_tables(),
    classes=st.integers(2, 4),
    seed=st.integers(0, 2**32),
    signal=st.sampled_from([0.0, 1.0, 1e3]),
    design=st.sampled_from(DESIGNS),
    tol=st.sampled_from([1e-4, 0.0, 0.3]),
    shares=st.lists(st.sampled_from([0.0, 1e-9, 0.1, 1.0]), min_size=1, max_size=2, unique=True),
)
@settings(max_examples=60)
def test_discriminants_equal_plain_fitting(X, classes, seed, signal, design, tol, shares):
    data, splits = classed(X, classes, seed, signal), design(len(X), np.random.default_rng(seed))
    assert_sets_equal_plain(DiscriminantSetsSolver(), data, [LinearDiscriminantAnalysis(tol=tol)], splits)
    quadratic = [QuadraticDiscriminantAnalysis(tol=tol, reg_param=share) for share in shares]
    assert_sets_equal_plain(QuadraticSetsSolver(), data, quadratic, splits)


@given(
    n=st.integers(12, 60),
    p=st.integers(1, 30),
    kind=st.sampled_from(KINDS),
    alphas=st.lists(st.sampled_from([0.0, 1e-10, 1e-3, 1, 50.0]), min_size=1, max_size=2, unique=True),
    mean=st.sampled_from([0.1, 2.0, 1e5]),
    classes=st.integers(2, 4),
    design=st.sampled_from(DESIGNS),
)
@settings(max_examples=40)
def test_counts_equal_plain_fitting(n, p, kind, alphas, mean, classes, design):
    rng = np.random.default_rng(n * p)
    X, y = rng.poisson(mean, size=(n, p)), np.r_[np.arange(classes), rng.integers(0, classes, n - classes)]
    data = Data(X, y, task="classification")
    with np.errstate(all="ignore"):
        assert_sets_equal_plain(CountBayesSetsSolver(), data, [kind(alpha=alpha) for alpha in alphas], design(n, rng))
