"""Leave-one-out: closed forms against a refit for each row, alone, as a job of the engine, and through ``assess``.

Refits are timed on some of the rows and scaled to all. The closed form alone is the solver's computation for all rows;
the job includes the outcomes, one per row; ``assess`` is the whole call with its estimate, against scikit-learn's
``cross_validate``. Times are CPU seconds, the minimum of several rounds.
"""

from __future__ import annotations

import resource
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from threadpoolctl import threadpool_limits

from benchmarks.claimed_job import claimed_job
from benchmarks.table import Row, show
from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows

#: An estimator, and how many times faster than refits the solver alone is to be.
CASES = [
    (Ridge(), 1000),
    (LinearRegression(), 1000),
    (LinearDiscriminantAnalysis(), 1000),
    (GaussianNB(), 1000),
    (KNeighborsClassifier(), 200),
    (KNeighborsRegressor(), 200),
    (KernelRidge(kernel="rbf", gamma=0.1), 100),
    (GaussianProcessRegressor(RBF(3.0), alpha=0.1, optimizer=None), 300),
]
#: How many times faster than ``cross_validate`` all that a user waits for is to be.
THROUGH_ASSESS = 100
SAMPLE = 50


def table_for(estimator, n, p=10):
    if hasattr(estimator, "predict_proba"):
        X, y = make_classification(n, p, n_informative=p // 2, n_redundant=0, flip_y=0.1, random_state=0)
        return Data(X, y, task="classification")
    X, y = make_regression(n, p, n_informative=p // 2, noise=10.0, random_state=0)
    return Data(X, y / y.std() + 3, task="regression")


def loo_fits(estimator, data):
    keys, asked = Keys(data), ["predict", "predict_proba"] if data.task == "classification" else ["predict"]
    rows = [Rows.of([i]) for i in range(data.n)]
    tasks = (FitTask(estimator, Rows.without(data.n, i), tuple(Ask(rows[i], r) for r in asked)) for i in range(data.n))
    return [keys.fit(task) for task in tasks]


def job_for(estimator, data):
    fits = loo_fits(estimator, data)
    return claimed_job(fits, data)


def least(work, rounds):
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def refits(estimator, data, rows):
    answers = []
    for i in rows:
        rest = np.delete(np.arange(data.n), i)
        model = clone(estimator).fit(data.X[rest], data.y[rest])
        answers.append(model.predict(data.X[i : i + 1])[0])
        if data.task == "classification":
            answers[-1] = answers[-1], model.predict_proba(data.X[i : i + 1])[0]
    return answers


def difference(outcomes, answers, data, rows):
    """The largest relative difference; infinite where labels differ."""
    largest = 0.0
    for i, expected in zip(rows, answers, strict=True):
        one = Rows.of([i])
        if data.task == "classification":
            if outcomes[i].answer(data, one)[0] != expected[0]:
                return np.inf
            shares = outcomes[i].answer(data, one, "predict_proba")[0]
            largest = max(largest, np.abs(shares - expected[1]).max())
        else:
            largest = max(largest, abs(outcomes[i].answer(data, one)[0] / expected - 1))
    return largest


def compare(estimator, target, n=1000):
    data = table_for(estimator, n)
    sample = np.arange(0, n, n // SAMPLE)
    few = 10 if isinstance(estimator, KernelRidge | GaussianProcessRegressor) else SAMPLE
    sample = sample[:: SAMPLE // few]
    times = n / len(sample)
    answers, slow = least(lambda: refits(estimator, data, sample), 3)
    job, everything = job_for(estimator, data), np.arange(n)
    _, alone = least(lambda: job.solver.left_out(estimator, data.y, data, everything), 25)
    outcomes, fast = least(lambda: job.run(data), 5)
    plain = sum(outcome.solver == "plain" for outcome in outcomes)
    splits = [(np.delete(everything, i), np.array([i])) for i in sample]
    scoring = "accuracy" if data.task == "classification" else "neg_mean_squared_error"
    _, theirs = least(lambda: cross_validate(estimator, data.X, data.y, cv=splits, scoring=scoring), 3)
    engine, ours = least(lambda: assessed(estimator, data), 3)
    name = type(estimator).__name__
    slow, theirs = slow * times, theirs * times
    apart = difference(outcomes, answers, data, sample)
    print(f"  {name}: as a job {1e3 * fast:.1f} ms, {slow / fast:.0f}x; rows that were refitted {plain}")
    yield Row(f"{name}, the closed form alone", slow, alone, n, 1, apart, target)
    yield Row(f"{name}, through assess", theirs, ours, engine.stats.asked, engine.stats.run, apart, THROUGH_ASSESS)


def assessed(estimator, data):
    engine = Engine(progress=False)
    assess(estimator, data.X, data.y, design="loo", engine=engine).summary()
    return engine


def at_length(estimator, n=100_000, p=10):
    data = table_for(estimator, n, p)
    engine = Engine(progress=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result, seconds = least(lambda: assess(estimator, data.X, data.y, design="loo", engine=engine), 1)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"  {type(estimator).__name__:30s} {seconds:6.1f} s, at most {after:.0f} MB in memory, {before:.0f} before, "
        f"fits requested {engine.stats.asked}, run {engine.stats.run}; estimate {result.estimate:.4f}",
        flush=True,
    )


def rows():
    warnings.simplefilter("ignore")
    with threadpool_limits(1):  # as an engine has it
        for estimator, target in CASES:
            yield from compare(estimator, target)
        print("  n=100000, p=10, through assess, to take at most 30 s and 1024 MB")
        at_length(Ridge())
        at_length(GaussianNB())


def main():
    show(rows())


if __name__ == "__main__":
    main()
