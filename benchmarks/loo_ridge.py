"""Leave-one-out of ridge and least squares: the closed form against a refit for each row."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge
from threadpoolctl import threadpool_limits

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.closed_form.ridge import LinearLooSolver
from truefit._solvers.plain import PlainSolver

ESTIMATORS = {
    "Ridge()": Ridge(),
    "Ridge(solver='svd')": Ridge(solver="svd"),
    "Ridge(fit_intercept=False)": Ridge(fit_intercept=False),
    "LinearRegression()": LinearRegression(),
}


def some_data(n, p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return Data(X, X @ rng.normal(size=p) + rng.normal(size=n), task="regression")


def loo_fits(estimator, data):
    keys = Keys(data)
    return [keys.fit(FitTask(estimator, Rows.without(data.n, i), (Ask(Rows.of([i])),))) for i in range(data.n)]


def solved(solver, fits, data):
    """The outcomes, and the seconds of claiming and of solving."""
    start = time.perf_counter()
    jobs = solver.claim(fits, data)
    middle = time.perf_counter()
    outcomes = [outcome for job in jobs for outcome in job.run(data)]
    return outcomes, middle - start, time.perf_counter() - middle


def against_refits(n, p):
    data = some_data(n, p)
    print(
        f"n={n}, p={p:2d}{'':20s} {'refits s':>9s} {'closed s':>9s} {'ratio':>7s} {'largest relative difference':>28s}"
    )
    for name, estimator in ESTIMATORS.items():
        fits = loo_fits(estimator, data)
        refits, _, refit_seconds = solved(PlainSolver(), fits, data)
        closed, _, closed_seconds = min(
            (solved(LinearLooSolver(), fits, data) for _ in range(3)), key=lambda run: run[2]
        )
        ours, theirs = (np.array([one.answers[0].values[0] for one in run]) for run in (closed, refits))
        difference = np.abs(ours / theirs - 1).max()
        ratio = refit_seconds / closed_seconds
        print(f"  {name:28s} {refit_seconds:9.3f} {closed_seconds:9.4f} {ratio:6.0f}x {difference:28.1e}")


def at_length(n, p):
    data = some_data(n, p)
    print(f"n={n}, p={p:2d}{'':18s} {'claim s':>9s} {'solve s':>9s} {'peak MB':>8s} {'refitted rows':>14s}")
    for name, estimator in ESTIMATORS.items():
        fits = loo_fits(estimator, data)
        outcomes, claim_seconds, seconds = solved(LinearLooSolver(), fits, data)
        refitted = sum(outcome.solver == "plain" for outcome in outcomes)
        del outcomes
        tracemalloc.start()  # in a run of its own: it takes time
        solved(LinearLooSolver(), fits, data)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"  {name:28s} {claim_seconds:9.3f} {seconds:9.3f} {peak:8.1f} {refitted:14d}")
    print(f"  (X itself: {data.X.nbytes / 2**20:.1f} MB; an n x n matrix: {8 * n * n / 2**20:.0f} MB)")


def main():
    with threadpool_limits(1):  # as an engine has it
        against_refits(300, 10)
        at_length(20_000, 20)


if __name__ == "__main__":
    main()
