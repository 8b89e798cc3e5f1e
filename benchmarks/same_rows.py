"""The same rows with other labels, as Perturbed Model Validation needs them: solvers against a refit for each.

First the solvers alone: eleven label vectors, with shares of flipped labels from 0 to 0.5; every model predicts the
labels of its training rows. Then all of ``truefit.perturb`` (noise, keys, store, rates; no cross-validation), with ten
draws at ten levels and the table itself, against a loop that fits and scores on given label vectors.

Times are CPU seconds of the round with the median ratio. Of slow refits only some are timed. The difference is the
share of labels that differ, or the difference of accuracies.
"""

from __future__ import annotations

import statistics
import time
from copy import copy

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

from benchmarks.claimed_job import claimed_job
from benchmarks.table import Row, show
from truefit import Engine, perturb
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._methods.perturbation.noise import FlippedLabels

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
    return claimed_job(fits, data)


def spent(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def median(rounds):
    """Of what refitting took and what we did in each round, those of the median ratio."""
    return sorted(rounds, key=lambda pair: pair[0] / pair[1])[len(rounds) // 2]


def compare(name, estimator, data, target, rounds, every=1):
    """``every``: only every so many refits are timed, for all of them."""
    vectors, rows = flips(data.y), Rows.all(data.n)
    job = job_for(estimator, data, vectors)
    timed, seconds = vectors[::every], []
    for _ in range(rounds):
        refits, slow = spent(lambda: [clone(estimator).fit(data.X, y).predict(data.X) for y in timed])
        table = copy(data)  # another table, so that nothing is known of it from the last round
        outcomes, fast = spent(lambda table=table: job.run(table))
        seconds.append((slow * len(vectors) / len(timed), fast))
    labels = [outcome.answer(data, rows) for outcome in outcomes]
    apart = max(float(np.mean(ours != theirs)) for ours, theirs in zip(labels[::every], refits, strict=True))
    plain = sum(outcome.solver == "plain" for outcome in outcomes)
    return Row(f"{name}, n={data.n:,}", *median(seconds), len(vectors), max(plain, job.work), apart, target)


def compare_through_perturb(name, estimator, data, target, rounds, every=1):
    """The same for a call of ``perturb`` as a user makes it."""
    X, y = data.X, data.y
    noise, seconds = FlippedLabels(data), []
    for _ in range(rounds):
        engine = Engine(progress=False)
        result, fast = spent(lambda engine=engine: perturb(estimator, X, y, cv=None, engine=engine))
        cells = result.curves.query("level > 0 or repeat == 0")  # the table itself is the same in each repeat
        timed = [noise.at(cell.repeat, cell.level).truth for cell in cells[::every].itertuples()]
        accuracies, slow = spent(lambda timed=timed: [clone(estimator).fit(X, y).score(X, y) for y in timed])
        seconds.append((slow * len(cells) / len(timed), fast))
    apart = float(np.abs(cells["value"].to_numpy()[::every] - accuracies).max())
    stats = engine.stats
    return Row(f"perturb, {name}, n={data.n:,}", *median(seconds), stats.asked, stats.run, apart, target)


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


def rows():
    with threadpool_limits(1):  # as an engine has it
        for n in (2000, 10_000):
            data = some_data(n)
            frame = with_words(data)
            large = n > 5000
            yield compare("GaussianNB()", GaussianNB(), data, 20, 31)
            yield compare("RidgeClassifier()", RidgeClassifier(), data, 20, 31)
            yield compare("LinearDiscriminantAnalysis()", LinearDiscriminantAnalysis(), data, 30, 31)
            rounds, every = (1, 5) if large else (5, 1)
            yield compare("KNeighborsClassifier()", KNeighborsClassifier(), data, 8, rounds, every)
            yield compare("SVC()", SVC(), data, 2, 1 if large else 3, every=5)
            tree = encoded(DecisionTreeClassifier(max_depth=5, random_state=0))
            yield compare("one-hot, RidgeClassifier()", encoded(RidgeClassifier()), frame, 2, 3)
            yield compare("one-hot, a tree of depth 5", tree, frame, 2, 3)
            share = share_of_first_steps(tree, frame)
            print(
                f"  n={n:,}: of the tree's refits the steps before it are {share:.0%}: {1 / (1 - share):.1f}x at most"
            )
            yield compare_through_perturb("GaussianNB()", GaussianNB(), data, 5, 7)
            yield compare_through_perturb("RidgeClassifier()", RidgeClassifier(), data, 5, 7)
            yield compare_through_perturb("LinearDiscriminantAnalysis()", LinearDiscriminantAnalysis(), data, 5, 7)
            yield compare_through_perturb(
                "KNeighborsClassifier()", KNeighborsClassifier(), data, 5, 1, 50 if large else 5
            )


def main():
    show(rows())


if __name__ == "__main__":
    main()
