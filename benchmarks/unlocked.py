"""Threads against one after the other, for learners that work outside of Python's lock, and some that do not.

A learner may be run in threads where two of them take little more than half as long. Processes are timed with their
start, as somebody waits for it who runs one thing and looks at it.
"""

from __future__ import annotations

import time
import warnings

from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, NuSVC

from benchmarks.table import Row, show
from truefit import Engine, assess
from truefit._executors.threads import ThreadExecutor

LEARNERS = [
    RandomForestClassifier(40),
    ExtraTreesClassifier(80),
    HistGradientBoostingClassifier(max_iter=30),
    SVC(),
    NuSVC(),
    MLPClassifier((20,), max_iter=15),
    LogisticRegression(C=10.0),
]


def timed(estimator, X, y, engine):
    start = time.perf_counter()
    found = assess(estimator, X, y, cv=10, engine=engine)
    return time.perf_counter() - start, found.estimate


def rows():
    warnings.simplefilter("ignore")
    X, y = make_classification(2000, 20, n_informative=10, random_state=0)
    for estimator in LEARNERS:
        alone, expected = min(timed(estimator, X, y, Engine(progress=False)) for _ in range(2))
        both = Engine(progress=False)
        both._executor = ThreadExecutor(2)
        threads, in_threads = timed(estimator, X, y, both)
        with Engine(progress=False, workers=2, timeout=600) as engine:  # with a limit it takes processes
            processes, in_processes = timed(estimator, X, y, engine)
        name, stats = type(estimator).__name__, both.stats
        apart = max(abs(expected - in_threads), abs(expected - in_processes))
        print(f"  {name}: {processes:.2f} s in two processes, their start included")
        yield Row(f"{name}, alone against two threads", alone, threads, stats.asked, stats.run, apart)


def main():
    show(rows())


if __name__ == "__main__":
    main()
