import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.closed_form.left_out import SMALLEST_GROUP
from truefit._solvers.closed_form.ridge import LinearLooSolver, problem_of
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.registry import all_solvers
from truefit.testing.solver_contract import SolverCase, SolverContract, assert_equal_answers


class OwnRidge(Ridge):
    pass


def table(n=24, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=p) + rng.normal(size=n) + 3


def loo_case(name, *estimators, X=None, y=None, **options):
    usual = table()
    return SolverCase(name, estimators, usual[0] if X is None else X, usual[1] if y is None else y, folds=0, **options)


class TestLinearLooSolver(SolverContract):
    def make_solver(self):
        return LinearLooSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = table()
        wide, wide_y = table(n=20, p=40)
        return [
            loo_case("ridge", Ridge(), Ridge(alpha=0.01, fit_intercept=False), Ridge(alpha=np.float64(100.0))),
            loo_case("ridge by SVD", Ridge(solver="svd"), Ridge(alpha=0, solver="svd", fit_intercept=False)),
            loo_case("ridge by name", Ridge(solver="cholesky", random_state=3, copy_X=False)),
            loo_case("no penalty", Ridge(alpha=0), LinearRegression(), LinearRegression(fit_intercept=False, n_jobs=2)),
            loo_case("more columns than rows", Ridge(), Ridge(fit_intercept=False, solver="svd"), X=wide, y=wide_y),
            loo_case("as many columns as rows", Ridge(), X=table(12, 12)[0], y=table(12, 12)[1]),
            loo_case("whole numbers", Ridge(), y=np.round(y).astype(np.int32)),
            loo_case("single precision labels", LinearRegression(), y=y.astype(np.float32)),
            loo_case("other labels", Ridge(), labels=y[::-1].copy()),
            loo_case("one column", Ridge(), LinearRegression(), X=X[:, :1]),
            loo_case("columns first", Ridge(), X=np.asfortranarray(X)),
            loo_case("a row of leverage 1", Ridge(1e-12), LinearRegression(), X=np.c_[X, np.eye(len(X))[0]]),
            loo_case("columns of other scales", Ridge(), LinearRegression(), X=X * [1e-2, 1.0, 1e2]),
            loo_case("columns of other scales, penalised", Ridge(), X=X * [1e-4, 1.0, 1e4]),
            loo_case("class labels", Ridge(), y=np.arange(len(X)) % 2, task="classification"),
        ]

    def not_for_it(self):
        X, y = table()
        gap = X.copy()
        gap[0, 0] = np.nan
        return [
            loo_case("other estimators", Lasso(), OwnRidge(), make_pipeline(StandardScaler(), Ridge())),
            loo_case("other solvers", *(Ridge(solver=s) for s in ("lsqr", "sag", "saga", "sparse_cg"))),
            loo_case("positive", Ridge(positive=True), LinearRegression(positive=True)),
            loo_case("a penalty for each target", Ridge(alpha=[1.0]), Ridge(alpha=np.array([1.0]))),
            loo_case("parameters that are wrong", Ridge(-1), Ridge("1"), Ridge(max_iter=0), Ridge(random_state="a")),
            loo_case("other parameters that are wrong", Ridge(fit_intercept="yes"), Ridge(tol=-1), Ridge(np.nan)),
            loo_case("weights", Ridge(), weight=np.arange(1.0, len(X) + 1)),
            loo_case("several targets", Ridge(), y=np.c_[y, y]),
            loo_case("single precision", Ridge(), X=X.astype(np.float32)),
            loo_case("sparse", Ridge(), X=sparse.csr_array(X)),
            loo_case("a frame", Ridge(), X=pd.DataFrame(X)),
            loo_case("missing values", Ridge(), X=gap),
            loo_case("too few", Ridge(), X=X[: SMALLEST_GROUP - 1], y=y[: SMALLEST_GROUP - 1]),
            loo_case("collinear", LinearRegression(), Ridge(0), X=np.c_[X, X[:, 0] + X[:, 1]]),
            loo_case("all but collinear", Ridge(1e-10), X=np.c_[X, X[:, 0] + 1e-9 * X[:, 1]]),
            loo_case("more columns than rows, no penalty", LinearRegression(), Ridge(0), X=table(24, 30)[0]),
            loo_case("nothing but zeros", Ridge(), X=np.zeros_like(X)),
            loo_case("beyond all bounds", Ridge(), X=X * 1e200),
            SolverCase("folds", [Ridge()], X, y, folds=12),
        ]


def loo_fits(data, *estimators):
    keys = Keys(data)
    return [
        keys.fit(FitTask(estimator, Rows.without(data.n, i), (Ask(Rows.of([i])),)))
        for estimator in estimators
        for i in range(data.n)
    ]


def test_only_what_is_asked_on_the_row_left_out_is_claimed():
    X, y = table()
    data, solver = Data(X, y, task="regression"), LinearLooSolver()
    fits = loo_fits(data, Ridge())
    elsewhere = [replace(fit, asks=(Ask(Rows.of([(i + 1) % data.n])),)) for i, fit in enumerate(fits)]
    more = [replace(fit, asks=(Ask(Rows.of([i, 0] if i else [0, 1])),)) for i, fit in enumerate(fits)]
    nothing = [replace(fit, asks=()) for fit in fits]
    at_hand = [replace(fit, model=Ridge()) for fit in fits]
    kept = [replace(fit, keep_model=True) for fit in fits]
    explicit = [replace(fit, train=Rows.of(fit.train.index)) for fit in fits]
    for others in (elsewhere, more, nothing, at_hand, kept, explicit):
        assert solver.claim(others, data) == []
    assert len(solver.claim(fits, data)) == 1


def test_a_row_may_be_asked_for_as_all_but_the_others():
    X, y = table()
    data = Data(X, y, task="regression")
    fits = loo_fits(data, Ridge())
    fits = [replace(f, asks=(Ask(Rows.without(data.n, f.train.index)),)) for f in fits]
    [job] = LinearLooSolver().claim(fits, data)
    assert job.run(data)[5].answer(data, Rows.of([5])).shape == (1,)


def test_one_job_for_each_candidate_and_labels():
    X, y = table()
    data = Data(X, y, task="regression")
    keys, other = Keys(data), y[::-1].copy()
    fits = loo_fits(data, Ridge(), Ridge(2.0), LinearRegression(), Lasso())
    fits += [keys.fit(FitTask(Ridge(), f.train, f.asks, other)) for f in fits[: data.n]]
    jobs = LinearLooSolver().claim(fits, data)
    assert [len(job.fits) for job in jobs] == [data.n] * 4
    assert {job.work for job in jobs} == {1}


def test_rows_that_cannot_be_trusted_are_refitted_alone():
    X, y = table()
    X[:, 0] = np.eye(len(X))[0]  # the first row all but determines its own fit
    data = Data(X, y, task="regression")
    [job] = LinearLooSolver().claim(loo_fits(data, LinearRegression()), data)
    outcomes = job.run(data)
    assert [i for i, outcome in enumerate(outcomes) if outcome.solver == "plain"] == [0]
    for fit, outcome in zip(job.fits, outcomes, strict=True):
        assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


def test_fits_that_differ_by_repeat_are_all_answered():
    X, y = table()
    data, ridge = Data(X, y, task="regression"), Ridge()
    keys = Keys(data)
    tasks = [
        FitTask(ridge, Rows.without(data.n, i), (Ask(Rows.of([i])),), repeat=r) for r in range(2) for i in range(8)
    ]
    [job] = LinearLooSolver().claim([keys.fit(task) for task in tasks], data)
    first, second = job.run(data)[:8], job.run(data)[8:]
    for i in range(8):
        assert first[i].key != second[i].key
        assert first[i].answers[0].values.tobytes() == second[i].answers[0].values.tobytes()


def test_time_is_shared_out(monkeypatch):
    X, y = table()
    data = Data(X, y, task="regression")
    [job] = LinearLooSolver().claim(loo_fits(data, Ridge()), data)
    clock = iter([10.0, 12.4])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert [outcome.fit_seconds for outcome in job.run(data)] == pytest.approx([0.1] * data.n)


def test_values_are_views_of_one_array():
    X, y = table(n=200)
    data = Data(X, y, task="regression")
    [job] = LinearLooSolver().claim(loo_fits(data, Ridge()), data)
    answers = [outcome.answers[0] for outcome in job.run(data) if outcome.solver == "linear loo"]
    assert len({id(answer.values.base) for answer in answers}) == 1
    assert {id(answer.tokens.base) for answer in answers} == {id(data.tokens)}


def test_pages_of_a_mapped_table_are_let_go():
    X, y = table()
    data = Data(X, y, task="regression")
    released = []
    data.release = lambda: released.append(1)
    [job] = LinearLooSolver().claim(loo_fits(data, Ridge()), data)
    assert len(released) == 1
    job.run(data)
    assert len(released) == 2


def test_diabetes_needs_no_refit():
    for scaled in (True, False):
        X, y = load_diabetes(return_X_y=True, scaled=scaled)
        data = Data(X, y, task="regression")
        fits = loo_fits(data, LinearRegression(), Ridge(1.0), Ridge(0.001))
        outcomes = [outcome for job in LinearLooSolver().claim(fits, data) for outcome in job.run(data)]
        assert len(outcomes) == 3 * data.n
        assert {outcome.solver for outcome in outcomes} == {"linear loo"}
        for i in (0, 100, 500, 1000):
            assert_equal_answers(outcomes[i], fit_plain(fits[i], data), fits[i], data)


def test_problem_of_reads_the_estimator():
    assert problem_of(Ridge(2, solver="svd")).route == "svd"
    assert problem_of(Ridge(2)).alpha == 2.0
    assert problem_of(LinearRegression(tol=1e-3, fit_intercept=False)).tol == 1e-3
    assert problem_of(clone(LinearRegression(tol=-1.0))) is None
    assert problem_of(Ridge(True)) is None


def test_solvers_claim_in_order_and_plain_takes_the_rest():
    X, y = table()
    data = Data(X, y, task="regression")
    left = [*loo_fits(data, Ridge()), *loo_fits(data, Lasso())[:2]]
    taken = {}
    for solver in all_solvers():
        jobs = solver.claim(left, data)
        ours = {id(fit) for job in jobs for fit in job.fits}
        taken[solver.name] = len(ours)
        left = [fit for fit in left if id(fit) not in ours]
    assert {name: number for name, number in taken.items() if number} == {"linear loo": data.n, "plain": 2}
    assert list(taken)[-1] == "plain"
