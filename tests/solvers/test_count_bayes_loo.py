import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from tests.solvers.label_case import numbers
from tests.solvers.left_out_case import assert_equals_plain, loo_case

from truefit._core.data import Data
from truefit._solvers.count_bayes_loo import CountBayesLooSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract

KINDS = (MultinomialNB, ComplementNB, BernoulliNB)


class OwnBayes(MultinomialNB):
    pass


def counts(n=40, p=5, seed=0):
    return np.random.default_rng(seed).poisson(2.0, size=(n, p))


def case(name, *estimators, X=None, **options):
    return loo_case(name, *estimators, X=counts() if X is None else X, **options)


class TestCountBayesLooSolver(SolverContract):
    def make_solver(self):
        return CountBayesLooSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        y = numbers(40, 3)[1]
        every = [kind() for kind in KINDS]
        return [
            case("two classes", *every),
            case("four classes", *every, classes=4),
            case("floats", *every, X=counts().astype(np.float64)),
            case("smoothed", *(kind(alpha=0.1) for kind in KINDS)),
            case("priors", *(kind(class_prior=[0.9, 0.1]) for kind in KINDS), MultinomialNB(fit_prior=False)),
            case("normalised", ComplementNB(norm=True)),
            case("above a limit", BernoulliNB(binarize=1.5)),
            case("any numbers above a limit", BernoulliNB(), X=numbers(40, 3)[0]),
            case("as they are", BernoulliNB(binarize=None), X=counts() % 2),
            case("other labels", *every, labels=y[::-1].copy()),
            case("a class of one", *every, y=np.where(np.arange(40) == 3, "cat", y)),
        ]

    def not_for_it(self):
        X = counts().astype(np.float64)
        return [
            case("other estimators", CategoricalNB(), OwnBayes()),
            case("not whole", MultinomialNB(), ComplementNB(), BernoulliNB(binarize=None), X=X + 0.5),
            case("negative", MultinomialNB(), ComplementNB(), X=X - 3),
            case("smoothed by column", MultinomialNB(alpha=np.ones(5))),
            case("smoothed too little", MultinomialNB(alpha=0, force_alpha=False)),
            case("parameters that are wrong", MultinomialNB(alpha=-1), ComplementNB(norm=3), BernoulliNB(binarize="a")),
            case("priors of other classes", MultinomialNB(class_prior=[0.2, 0.3, 0.5])),
            case("sparse", *(kind() for kind in KINDS), X=sparse.csr_array(X)),
            case("weights", *(kind() for kind in KINDS), weight=np.arange(1.0, 41.0)),
            case("missing values", BernoulliNB(), X=np.where(X > 4, np.nan, X)),
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_digits_need_no_refit(kind):
    X, y = load_digits(return_X_y=True)
    data = Data(X[:150], y[:150], task="classification")
    assert assert_equals_plain(CountBayesLooSolver(), data, kind()) == data.n


@given(
    n=st.integers(10, 50),
    p=st.integers(1, 30),
    kind=st.sampled_from(KINDS),
    alpha=st.sampled_from([0.0, 1e-10, 1e-3, 1, 50.0]),
    mean=st.sampled_from([0.1, 2.0, 1e5]),
    classes=st.integers(2, 4),
)
@settings(max_examples=40)
def test_equals_plain_fitting(n, p, kind, alpha, mean, classes):
    rng = np.random.default_rng(n * p)
    X, y = rng.poisson(mean, size=(n, p)), np.r_[np.arange(classes), rng.integers(0, classes, n - classes)]
    with np.errstate(all="ignore"):
        assert_equals_plain(CountBayesLooSolver(), Data(X, y, task="classification"), kind(alpha=alpha))
