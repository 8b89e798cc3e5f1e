"""Honest tuned assessment: a search, its nested estimate, Agghoo and its cross-test, by hand and from one Engine.

    TRUEFIT_DATA=DIR python -m benchmarks honest_tuned

30 trees on 8,000 rows of Adult, with columns encoded beforehand, so that only fits can be shared. By hand all four are
written with scikit-learn, in two processes: on the folds of the Engine, where the results must be equal, and with the
usual five inner folds in each of five. The limit is the time of the distinct fits alone, without overhead.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks.real_table import real_table
from benchmarks.table import Row, show
from truefit import AgghooClassifier, Engine, HonestSearchCV, cross_test

K, JOBS, ROWS = 5, 2, 8000
TREE = DecisionTreeClassifier(random_state=0)
GRID = {"max_depth": [4, 6, 8, 12, 16, None], "min_samples_leaf": [1, 3, 10, 30, 100]}
CANDIDATES = [clone(TREE).set_params(**point) for point in ParameterGrid(GRID)]
OUTER = StratifiedKFold(K, shuffle=True, random_state=0)


@dataclass(frozen=True)
class Answers:
    """What all four say: scores of the search, nested scores, Agghoo's labels, its risks by fold."""

    searched: np.ndarray
    nested: np.ndarray
    labels: np.ndarray
    risks: np.ndarray

    def apart(self, other):
        """The largest difference; the share of labels that differ counts as one."""
        return max(
            np.abs(self.searched - other.searched).max(),
            np.abs(self.nested - other.nested).max(),
            np.mean(self.labels != other.labels),
            np.abs(self.risks - other.risks).max(),
        )


def fitted(candidate, X, y, train, validation):
    model = clone(candidate).fit(X[train], y[train])
    return model.score(X[validation], y[validation]), model


class ByHand:
    """The four, written with scikit-learn; fits are counted."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.folds = list(OUTER.split(X, y))
        self.seconds, self.fits = {}, {}

    def timed(self, name, work, fits):
        start = time.perf_counter()
        found = work()
        self.seconds[name], self.fits[name] = time.perf_counter() - start, fits
        return found

    def search(self):
        search = GridSearchCV(TREE, GRID, cv=self.folds, n_jobs=JOBS).fit(self.X, self.y)
        return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(K)])

    def nested(self, inner):
        scores = []
        for (train, test), splits in zip(self.folds, inner, strict=True):
            search = GridSearchCV(TREE, GRID, cv=splits, n_jobs=JOBS).fit(self.X[train], self.y[train])
            scores.append(search.score(self.X[test], self.y[test]))
        return np.array(scores)

    def agghoo(self, X, y, splits):
        members = []
        for train, validation in splits:
            tried = Parallel(JOBS)(delayed(fitted)(each, X, y, train, validation) for each in CANDIDATES)
            members.append(tried[int(np.argmax([score for score, _ in tried]))][1])
        return members

    def labels(self, members, X):
        return members[0].classes_[np.mean([member.predict_proba(X) for member in members], axis=0).argmax(axis=1)]

    def cross_test(self, inner):
        risks = []
        for (train, test), splits in zip(self.folds, inner, strict=True):
            members = self.agghoo(self.X[train], self.y[train], splits)
            risks.append(np.mean(self.labels(members, self.X[test]) != self.y[test]))
        return np.array(risks)

    def other_folds(self):
        """For each training set the other folds of the same partition, as places in it."""
        for train, _ in self.folds:
            yield [
                (np.flatnonzero(~np.isin(train, other)), np.flatnonzero(np.isin(train, other)))
                for _, other in self.folds
                if np.isin(train, other).any()
            ]

    def five_anew(self):
        """For each training set five folds of its own."""
        for train, _ in self.folds:
            yield list(OUTER.split(self.X[train], self.y[train]))

    def all(self):
        """Everything, on shared folds and with five inside of five."""
        n = len(CANDIDATES)
        searched = self.timed("search", self.search, K * n + 1)
        labels = self.timed("agghoo", lambda: self.labels(self.agghoo(self.X, self.y, self.folds), self.X), K * n)
        answers = []
        for name, inner, folds in (("shared", self.other_folds, K - 1), ("anew", self.five_anew, K)):
            nested = self.timed(f"nested {name}", lambda inner=inner: self.nested(inner()), K * (folds * n + 1))
            risks = self.timed(f"tested {name}", lambda inner=inner: self.cross_test(inner()), K * folds * n)
            answers.append(Answers(searched, nested, labels, risks))
        return answers

    def of(self, name):
        """Seconds and fits of all four, with the inner folds that are named."""
        parts = ("search", "agghoo", f"nested {name}", f"tested {name}")
        return sum(self.seconds[part] for part in parts), sum(self.fits[part] for part in parts)


def by_engine(X, y, engine):
    agghoo = AgghooClassifier(TREE, GRID, cv=OUTER, scoring="accuracy", engine=engine).fit(X, y)
    risks = cross_test(agghoo, X, y, cv=OUTER, metric="error").fold_risks
    search = HonestSearchCV(TREE, GRID, cv=OUTER, engine=engine).fit(X, y)
    scores = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(K)])
    return Answers(scores, search.assessment_.fold_scores, agghoo.predict(X), risks)


def rows():
    X, y = real_table("adult", ROWS)
    X, n = pd.get_dummies(X).to_numpy(np.float32), len(CANDIDATES)  # as trees have it
    Parallel(JOBS)(delayed(fitted)(TREE, X, y, np.arange(50), np.arange(50)) for _ in range(JOBS))  # workers are up
    hand = ByHand(X, y)
    shared, anew = hand.all()
    with Engine(workers=JOBS, progress=False) as engine:
        HonestSearchCV(TREE, {"max_depth": [1, 2]}, cv=2, engine=engine).fit(X[:90], y[:90])  # and so are ours
        before = engine.stats.run, engine.stats.asked, engine.stats.seconds, engine.stats.refitted
        start = time.perf_counter()
        ours = by_engine(X, y, engine)
        own = time.perf_counter() - start
        stats = engine.stats
        run, asked = stats.run - before[0], stats.asked - before[1]
        limit = (stats.seconds - before[2]) / JOBS
        refitted = stats.refitted - before[3]
    (peer, by_hand), (usual, by_usual) = hand.of("shared"), hand.of("anew")
    print(f"  {n} candidates: 15N+1 = {15 * n + 1} fits at most, run {run} and {refitted} again")
    for name, each in (("five inside of five", anew), ("shared folds", shared), ("one Engine", ours)):
        print(f"  {name:20s} nested accuracy {each.nested.mean():.4f}, cross-tested risk {each.risks.mean():.4f}")
    yield Row(f"on shared folds by hand, {by_hand:,} fits", peer, own, asked, run, ours.apart(shared), 2.7)
    yield Row(f"five folds inside of five by hand, {by_usual:,} fits", usual, own, asked, run, None, 3.2)
    yield Row(f"the limit: distinct fits on {JOBS} workers", limit, own, asked, run, None, 1 / 1.25)


def main():
    show(rows())


if __name__ == "__main__":
    main()
