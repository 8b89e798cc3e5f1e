import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, f_regression, mutual_info_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.pipelines.step_paths import StepPathSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.registry import all_solvers
from truefit.testing.solver_contract import SolverCase, SolverContract

XD, yd = (part[:90] for part in load_diabetes(return_X_y=True))
XW, yw = load_wine(return_X_y=True)
BOTH = ("predict", "predict_proba")


class OwnPCA(PCA):
    pass


def sizes(make, last, counts=(1, 3, 6), **params):
    return [make_pipeline(make(count, **params), last) for count in counts]


def best(count, **params):
    return SelectKBest(k=count, **params)


def the_solver():
    [solver] = [offer.solver for offer in all_solvers() if offer.name == "step paths"]
    return solver


class TestStepPathSolver(SolverContract):
    def make_solver(self):
        return the_solver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        tree, frame = DecisionTreeRegressor(max_depth=4), pd.DataFrame(XD, columns=[f"x{j}" for j in range(10)])
        of_classes = {"task": "classification", "responses": BOTH}
        labels = np.random.default_rng(0).permutation(yw)
        return [
            SolverCase("components", sizes(PCA, tree), XD, yd),
            SolverCase("all components", sizes(PCA, Ridge(), (2, None)), XD, yd),
            SolverCase("whitened", sizes(PCA, KNeighborsRegressor(), whiten=True, svd_solver="full"), XD, yd),
            SolverCase("by covariance", sizes(PCA, tree, svd_solver="covariance_eigh"), XD, yd),
            SolverCase("classes", sizes(PCA, GaussianNB()), XW, yw, **of_classes),
            SolverCase("other labels", sizes(PCA, DecisionTreeClassifier()), XW, yw, labels=labels, **of_classes),
            SolverCase("best columns", sizes(best, tree, score_func=f_regression), XD, yd),
            SolverCase("all columns", sizes(best, Ridge(), (2, "all"), score_func=f_regression), XD, yd),
            SolverCase("best for classes", sizes(best, KNeighborsClassifier()), XW, yw, **of_classes),
            SolverCase("a frame", sizes(PCA, tree), frame, yd),
            SolverCase("best of a frame", sizes(best, tree, score_func=f_regression), frame, yd),
            SolverCase("weights", sizes(PCA, Ridge()), XD, yd, weight=np.arange(90) % 3 + 0.5),
            SolverCase(
                "more steps",
                [make_pipeline(PCA(k), StandardScaler(), Ridge(a)) for k in (2, 5) for a in (1, 9)],
                XD,
                yd,
            ),
        ]

    def not_for_it(self):
        wide = np.random.default_rng(0).normal(size=(90, 95))
        return [
            SolverCase("one size", sizes(PCA, Ridge(), (3,)), XD, yd),
            SolverCase("own class", sizes(OwnPCA, Ridge()), XD, yd),
            SolverCase("approximations", sizes(PCA, Ridge(), svd_solver="randomized"), XD, yd),
            SolverCase("other approximations", sizes(TruncatedSVD, Ridge()), XD, yd),
            SolverCase("shares of variance", sizes(PCA, Ridge(), (0.5, 0.9, "mle")), XD, yd),
            SolverCase("sizes that are wrong", sizes(PCA, Ridge(), (0, 11, -1)), XD, yd),
            SolverCase("in place", sizes(PCA, Ridge(), copy=False), XD, yd),
            SolverCase("more columns than rows", sizes(PCA, Ridge()), wide, yd),
            SolverCase("sparse", sizes(PCA, Ridge()), sparse.csr_array(XD), yd),
            SolverCase("other settings", [make_pipeline(PCA(k, whiten=k > 2), Ridge()) for k in (2, 3)], XD, yd),
        ]

    def failing(self):
        return [SolverCase("missing values", sizes(PCA, Ridge()), np.where(XD > 0.1, np.nan, XD), yd)]


@given(
    n=st.integers(12, 130),
    p=st.integers(2, 12),
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=4, unique=True),
    solver=st.sampled_from(["auto", "full", "covariance_eigh"]),
    whiten=st.booleans(),
    kind=st.sampled_from([np.ascontiguousarray, np.asfortranarray, pd.DataFrame, np.float32]),
)
@settings(max_examples=40)
def test_components_have_the_same_bits_as_plain_fitting(n, p, sizes, solver, whiten, kind):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 3
    data = Data(kind(X), rng.normal(size=n), task="regression")
    keys, train, asks = Keys(data), Rows.of(range(n - 2)), (Ask(Rows.all(n)),)
    first = {k: PCA(min(k, p), svd_solver=solver, whiten=whiten) for k in sizes}
    last = KNeighborsRegressor(1)
    fits = [keys.fit(FitTask(make_pipeline(step, last), train, asks)) for step in first.values()]
    fits = list({fit.key: fit for fit in fits}.values())
    for job in the_solver().claim(fits, data):
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert outcome.solver == "step paths"
            assert outcome.answers[0].values.tobytes() == fit_plain(fit, data).answers[0].values.tobytes()


def test_components_that_would_be_approximated_are_left_alone():
    X = np.random.default_rng(0).normal(size=(600, 70))
    data = Data(X, X[:, 0], task="regression")
    keys, rows = Keys(data), Rows.all(600)
    fits = [keys.fit(FitTask(make_pipeline(PCA(k), Ridge()), rows, (Ask(rows),))) for k in (3, 9, 60, 70)]
    [job] = the_solver().claim(fits, data)
    assert [fit.estimator.steps[0][1].n_components for fit in job.fits] == [60, 70]


def test_chance_in_a_ranking_is_the_same_for_all(monkeypatch):
    calls = []

    def score(X, y):
        calls.append(1)
        return mutual_info_regression(X, y, random_state=0)

    data = Data(XD, yd, task="regression")
    keys, rows = Keys(data), Rows.all(90)
    fits = [
        keys.fit(FitTask(make_pipeline(SelectKBest(score, k=k), Ridge()), rows, (Ask(rows),))) for k in range(1, 10)
    ]
    [job] = the_solver().claim(fits, data)
    job.run(data)
    assert len(calls) == 1


@pytest.mark.parametrize("scaled", [True, False])
def test_through_the_engine(scaled):
    before = (StandardScaler(),) if scaled else ()
    candidates = {
        f"{k} {C}": make_pipeline(*before, PCA(k), LogisticRegression(C=C, max_iter=2000))
        for k in (2, 5)
        for C in (1, 9)
    }
    ours, theirs = (
        assess(candidates, XW, yw, cv=3, engine=Engine(solvers=solvers, progress=False)).split_scores("log_loss")
        for solvers in ("auto", "plain")
    )
    for name in candidates:
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_a_solver_needs_no_other_than_plain():
    solver = StepPathSolver((PlainSolver(),))
    case = SolverCase("", sizes(PCA, Ridge()), XD, yd)
    data = case.data()
    assert len(solver.claim(case.fits(data), data)) == case.folds
