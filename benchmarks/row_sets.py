"""Many sets of the same rows: solvers against a refit for each, alone and through ``assess``.

Folds, repeated folds, the triangle (all rows but one fold, and but two) and bootstrap samples of one learner. First the
solver alone, answering the labels and probabilities, or the predictions, of the rows that each set leaves out; then all
of ``assess``, with the engine's solvers and with plain fitting only. Seconds are those of the processor, and the ratio
is the median over rounds in which both sides are timed one after the other, so that a busy machine slows down both. The
difference is the largest of any answer, relative to itself; infinite where labels differ.

With an argument, the number of rows: ``python -m benchmarks.row_sets 300``.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.plain import fit_plain
from truefit._solvers.registry import all_solvers

CLASSIFIERS = (GaussianNB(), LinearDiscriminantAnalysis())
REGRESSORS = (LinearRegression(), Ridge())
#: What ``assess`` is called with for each design.
DESIGNS = {
    "10-fold": {"k": 10},
    "10 x 10-fold": {"k": 10, "repeats": 10},
    "triangle, K=10": {"k": 10, "design": "nested"},
    "bootstrap, B=200": {"design": "bootstrap", "repeats": 200},
}
#: Refits that are timed, for all of them.
SAMPLE = 20


def table_for(estimator, n, p=20):
    if estimator in REGRESSORS:
        X, y = make_regression(n, p, n_informative=p // 2, noise=10.0, random_state=0)
        return Data(X, y / y.std() + 3, task="regression")
    X, y = make_classification(n, p, n_informative=p // 2, n_redundant=0, flip_y=0.1, random_state=0)
    return Data(X, y, task="classification")


def left_out(n, design):
    """The training rows of a design, and those that they leave out."""
    rng = np.random.default_rng(0)
    if design.startswith("bootstrap"):
        samples = [rng.integers(n, size=n) for _ in range(200)]
        return [(Rows.of(sample), Rows.of(np.setdiff1d(np.arange(n), sample))) for sample in samples]
    splits = []
    for _ in range(10 if design.startswith("10 x") else 1):
        fold = rng.permutation(np.arange(n) % 10)
        pairs = (
            [(i, j) for i in range(10) for j in range(i, 10)]
            if design.startswith("tri")
            else [(i, i) for i in range(10)]
        )
        rows = [np.flatnonzero((fold == i) | (fold == j)) for i, j in pairs]
        splits += [(Rows.without(n, some), Rows.of(some)) for some in rows]
    return splits


def shared_job(fits, data):
    """The job of the solver that answers all fits together; None where they are fitted one by one."""
    for solver in all_solvers():
        jobs = solver.claim(fits, data)
        if jobs:
            return jobs[0] if len(jobs) == 1 else None
    return None


def spent(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def difference(outcomes, refits, fits, data):
    largest = 0.0
    for one, other, fit in zip(outcomes, refits, fits, strict=True):
        for ask in fit.asks:
            mine, theirs = (each.answer(data, ask.rows, ask.response) for each in (one, other))
            if theirs.dtype.kind != "f" or (data.task == "classification" and ask.response == "predict"):
                largest = largest if np.array_equal(mine, theirs) else np.inf
            else:
                some = np.abs(theirs) > 1e-300
                largest = max(largest, np.abs(mine[some] / theirs[some] - 1).max(initial=0))
    return largest


def compare(estimator, design, n, rounds):
    data = table_for(estimator, n)
    responses = ("predict", "predict_proba") if data.task == "classification" else ("predict",)
    keys, splits = Keys(data), left_out(n, design)
    fits = [keys.fit(FitTask(estimator, train, tuple(Ask(rows, r) for r in responses))) for train, rows in splits]
    job = shared_job(fits, data)
    if job is None:
        print(f"  {type(estimator).__name__:30s} {design:16s} left to plain fitting", flush=True)
        return
    some = job.fits[:: max(1, len(fits) // SAMPLE)]
    alone, called = [], []
    X, y = data.X, data.y
    for _ in range(rounds):
        refits, slow = spent(lambda: [fit_plain(fit, data) for fit in some])
        outcomes, fast = spent(lambda: job.run(data))
        alone.append((slow * len(fits) / len(some), fast))
        plain, theirs = spent(lambda: assess(estimator, X, y, engine=_engine("plain"), **DESIGNS[design]).estimate)
        ours, mine = spent(lambda: assess(estimator, X, y, engine=_engine("auto"), **DESIGNS[design]).estimate)
        called.append((theirs, mine))
    by_key = {outcome.key: outcome for outcome in outcomes}
    apart = difference([by_key[fit.key] for fit in some], refits, some, data)
    plainly = sum(outcome.solver == "plain" for outcome in outcomes)
    cells = [
        f"{1e3 * statistics.median(column):9.1f}" for pairs in (alone, called) for column in zip(*pairs, strict=True)
    ]
    ratios = [statistics.median(slow / fast for slow, fast in pairs) for pairs in (alone, called)]
    print(
        f"  {type(estimator).__name__:30s} {design:16s} {cells[0]} {cells[1]} {ratios[0]:6.1f}x {cells[2]} {cells[3]} "
        f"{ratios[1]:6.1f}x {plainly:4d} of {len(fits):4d} {apart:10.1e} {abs(ours / plain - 1):10.1e}",
        flush=True,
    )


def _engine(solvers):
    return Engine(solvers=solvers, progress=False)


def main():
    warnings.simplefilter("ignore")
    n = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 1000
    with threadpool_limits(1):  # as an engine has it
        print(
            f"  n={n}, p=20{'':36s} {'refits ms':>9s} {'solver ms':>9s} {'ratio':>7s} {'plain ms':>9s} "
            f"{'assess ms':>9s} {'ratio':>7s} {'refitted':>12s} {'difference':>10s} {'estimate':>10s}"
        )
        for estimator in (*CLASSIFIERS, *REGRESSORS):
            for design in DESIGNS:
                compare(estimator, design, n, 5)


if __name__ == "__main__":
    main()
