"""The same rows with other labels, as Perturbed Model Validation asks for them: solvers against a refit for each.

Eleven label vectors, the share of flipped labels going from 0 to 0.5; every model says the labels of its training rows.
Seconds are those of the processor, not of the clock, and the ratio is the median over rounds in which both sides are
timed one after the other, so that a busy machine slows down both. Of refits that take long only some are timed.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from truefit.core.data import Data
from truefit.core.key import Keys
from truefit.core.rows import Rows
from truefit.core.task import Ask, FitTask
from truefit.solvers import all_solvers

LEVELS = np.linspace(0, 0.5, 11)
WORDS = [f"w{i}" for i in range(10)]


def some_data(n, p=20):
    X, y = make_classification(n, p, n_informative=p // 2, n_redundant=0, flip_y=0.1, random_state=0)
    return Data(X, y, task="classification")


def with_words(data):
    """The same with half of the columns cut into categories."""
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(data.X.shape[1])])
    for j in range(0, data.X.shape[1], 2):
        frame[f"x{j}"] = pd.qcut(frame[f"x{j}"], 10, labels=WORDS).astype(object)
    return Data(frame, data.y, task="classification")


def encoded(last):
    words = (OneHotEncoder(handle_unknown="ignore", sparse_output=False), [f"x{j}" for j in range(0, 20, 2)])
    return make_pipeline(make_column_transformer(words, remainder=StandardScaler()), last)


def flips(y):
    rng = np.random.default_rng(0)
    return [np.where(rng.random(len(y)) < level, 1 - y, y) for level in LEVELS]


def job_for(estimator, data, vectors):
    """The job in which the engine's solvers would answer all label vectors."""
    keys, rows = Keys(data), Rows.all(data.n)
    fits = [keys.fit(FitTask(estimator, rows, (Ask(rows),), y=y)) for y in vectors]
    for solver in all_solvers():
        jobs = solver.claim(fits, data)
        if jobs:
            [job] = jobs
            return job
    raise AssertionError("the last solver takes all")


def spent(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def compare(name, estimator, data, target, rounds, every=1):
    """``every``: only every so many refits are timed, for all of them."""
    vectors, rows = flips(data.y), Rows.all(data.n)
    job = job_for(estimator, data, vectors)
    timed = vectors[::every]
    ratios, refitting, solving = [], [], []
    for _ in range(rounds):
        refits, slow = spent(lambda: [clone(estimator).fit(data.X, y).predict(data.X) for y in timed])
        outcomes, fast = spent(lambda: job.run(data))
        slow *= len(vectors) / len(timed)
        ratios.append(slow / fast)
        refitting.append(slow)
        solving.append(fast)
    labels = [outcome.answer(data, rows) for outcome in outcomes]
    equal = all(np.array_equal(ours, theirs) for ours, theirs in zip(labels[::every], refits, strict=True))
    plain = sum(outcome.solver == "plain" for outcome in outcomes)
    print(
        f"  {name:28s} {1e3 * statistics.median(refitting):10.1f} {1e3 * statistics.median(solving):9.1f} "
        f"{statistics.median(ratios):7.1f}x {f'{target}x':>7s} {equal!s:>6s} {plain:14d}"
    )


def share_of_first_steps(pipeline, data, rounds=3):
    """How much of a refit is spent on what does not depend on the labels."""
    shares = []
    for _ in range(rounds):
        first, last = clone(pipeline)[:-1], clone(pipeline)[-1]
        X, fitting = spent(lambda first=first: first.fit_transform(data.X, data.y))
        _, transforming = spent(lambda first=first: first.transform(data.X))
        _, rest = spent(lambda last=last, X=X: last.fit(X, data.y).predict(X))
        shares.append((fitting + transforming) / (fitting + transforming + rest))
    return statistics.median(shares)


def main():
    with threadpool_limits(1):  # as an engine has it
        for n in (2000, 10_000):
            data = some_data(n)
            frame = with_words(data)
            large = n > 5000
            print(
                f"n={n}, p=20, 11 labels{'':7s} {'refits ms':>10s} {'solver ms':>9s} {'ratio':>8s} {'target':>7s}",
                end="",
            )
            print(f" {'equal':>6s} {'fitted plainly':>14s}")
            compare("GaussianNB()", GaussianNB(), data, 20, 31)
            compare("RidgeClassifier()", RidgeClassifier(), data, 20, 31)
            compare("LinearDiscriminantAnalysis()", LinearDiscriminantAnalysis(), data, 30, 31)
            compare(
                "KNeighborsClassifier()", KNeighborsClassifier(), data, 8, 1 if large else 5, every=5 if large else 1
            )
            compare("SVC()", SVC(), data, 2, 1 if large else 3, every=5)
            tree = encoded(DecisionTreeClassifier(max_depth=5, random_state=0))
            compare("one-hot, RidgeClassifier()", encoded(RidgeClassifier()), frame, 2, 3)
            compare("one-hot, a tree of depth 5", tree, frame, 2, 3)
            share = share_of_first_steps(tree, frame)
            print(f"  (of the tree's refits the steps before it are {share:.0%}: {1 / (1 - share):.1f}x at most)")


if __name__ == "__main__":
    main()
