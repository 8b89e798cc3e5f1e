"""Two workers against one on fits that keep the processor busy."""

from __future__ import annotations

import time

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.table import Row, show
from truefit import Engine, assess


def rows():
    X, y = make_classification(2000, 20, n_informative=10, random_state=0)
    forest = RandomForestClassifier(60)
    seconds, estimates = {}, []
    for workers in (1, 2):
        with Engine(workers=workers, timeout=600) as engine:  # with a time limit one worker is a process too
            assess(RandomForestClassifier(1), X, y, cv=2, engine=engine)
            start = time.perf_counter()
            estimates.append(assess(forest, X, y, cv=10, repeats=5, engine=engine).estimate)
            seconds[workers] = time.perf_counter() - start
    stats, apart = engine.stats, abs(estimates[0] - estimates[1])
    yield Row("50 fits of a forest, one worker against two", seconds[1], seconds[2], stats.asked, stats.run, apart)


def main():
    show(rows())


if __name__ == "__main__":
    main()
