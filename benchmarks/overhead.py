"""5,000 trivial fits through assess against scikit-learn's cross_validate, serial, on the same splits.

truefit also computes probabilities and an interval. The fastest of several rounds counts on each side.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB

from benchmarks.table import Row, show
from truefit import Engine, assess


def rows(rounds=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=1000, random_state=0)
    peers, owns = [], []
    for _ in range(rounds):  # in turns, so that a busy moment of the machine hits both
        start = time.perf_counter()
        theirs = cross_validate(GaussianNB(), X, y, cv=cv)["test_score"].mean()
        peers.append(time.perf_counter() - start)
        start = time.perf_counter()
        engine = Engine(progress=False)
        ours = assess(GaussianNB(), X, y, cv=cv, metric="accuracy", engine=engine).estimate
        owns.append(time.perf_counter() - start)
    stats = engine.stats
    yield Row("5,000 fits of GaussianNB on 200 x 5", min(peers), min(owns), stats.asked, stats.run, abs(ours - theirs))


def main():
    show(rows())


if __name__ == "__main__":
    main()
