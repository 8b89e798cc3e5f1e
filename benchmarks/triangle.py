"""HonestSearchCV against GridSearchCV plus GridSearchCV inside cross_validate, on the same folds with equal n_jobs.

Sharing saves a third to two fifths of the work, since the shared fits are the smaller ones. It saves less for models
that predict as slowly as they fit (nearest neighbours, kernel machines): both sides predict equally many rows.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold

from benchmarks.table import Row, show
from truefit import Engine, HonestSearchCV

K, JOBS = 5, 2
GRID = {"max_features": [2, 8, 32], "min_samples_leaf": [1, 3, 10]}
FOREST = RandomForestClassifier(40, random_state=0)


def by_scikit_learn(X, y, cv):
    folds = np.empty(len(X), dtype=int)
    for fold, (_, test) in enumerate(cv.split(X, y)):
        folds[test] = fold
    search = GridSearchCV(FOREST, GRID, cv=cv, n_jobs=JOBS).fit(X, y)
    scores = []
    for fold in range(K):
        train = folds != fold
        inner = GridSearchCV(FOREST, GRID, cv=PredefinedSplit(folds[train]), n_jobs=JOBS).fit(X[train], y[train])
        scores.append(inner.score(X[~train], y[~train]))
    return search, np.array(scores)


def rows():
    X, y = load_digits(return_X_y=True)
    cv = StratifiedKFold(K, shuffle=True, random_state=0)
    n = len(GRID["max_features"]) * len(GRID["min_samples_leaf"])
    GridSearchCV(FOREST, {"max_depth": [1]}, cv=2, n_jobs=JOBS).fit(X[:50], y[:50])  # scikit-learn's workers are up
    start = time.perf_counter()
    theirs, their_scores = by_scikit_learn(X, y, cv)
    peer = time.perf_counter() - start
    with Engine(workers=JOBS) as engine:
        HonestSearchCV(FOREST, {"max_depth": [1]}, cv=2, engine=engine).fit(X[::9], y[::9])  # and so are ours
        before, asked = engine.stats.run, engine.stats.asked
        start = time.perf_counter()
        ours = HonestSearchCV(FOREST, GRID, cv=cv, engine=engine).fit(X, y)
        own = time.perf_counter() - start
        fits, asked = engine.stats.run - before, engine.stats.asked - asked
    same_choice = ours.best_params_ == theirs.best_params_
    print(f"  equal choices: {same_choice}; at most 15N+1 = {15 * n + 1} fits: {fits <= 15 * n + 1}")
    apart = float(np.abs(ours.assessment_.fold_scores - their_scores).max())
    case = f"search and nested estimate, K={K}, N={n} forests, {25 * n + 6} fits by hand"
    yield Row(case, peer, own, asked, fits, apart)


def main():
    show(rows())


if __name__ == "__main__":
    main()
