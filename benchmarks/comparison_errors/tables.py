"""Real tables: a population of rows, samples of it, and true errors on its other rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.comparison_errors.learners import nearest, squared_distances
from benchmarks.comparison_errors.settings import DESIGNS, LEVEL, PARTITIONS
from benchmarks.comparison_errors.statistics import (
    against,
    against_best,
    against_best_of_all_pairs,
    all_tests,
    losses_of,
    partitions_of,
    scored,
)
from benchmarks.coverage.learners import NaiveBayes, RidgeRegressor
from benchmarks.real_table import table_file

#: Table: the positive class.
TABLES = {"adult": ">50K", "bank_marketing": "yes", "connect4": "win"}
POPULATION, SAMPLE, TRAINED, TRUTHS, SAMPLES = 15_000, 400, 360, 150, 200
ALPHAS, NEIGHBOURS, DEPTHS = (1.0, 10.0, 100.0, 1000.0), (5, 9, 15, 25), (1, 2, 4)
NAMES = (
    *(f"ridge {alpha:g}" for alpha in ALPHAS),
    *(f"{k} neighbours" for k in NEIGHBOURS),
    "naive Bayes",
    *(f"tree of depth {depth}" for depth in DEPTHS),
)


@cache
def population(name, folder):
    """Return 15,000 rows of a table: standardised numbers, categories of at least 1% of the rows, a class of two."""
    frame = pd.read_parquet(table_file(folder, name)).sample(POPULATION, random_state=0)
    y = (frame.pop(frame.columns[-1]).astype(str) == TABLES[name]).to_numpy().astype(int)
    columns = []
    for each in frame:
        column = frame[each]
        if column.dtype == "category":
            codes = pd.get_dummies(column.astype(str)).to_numpy(float)
            columns.append(codes[:, codes.mean(axis=0) >= 0.01])
        else:
            values = column.fillna(column.median()).to_numpy(float)[:, None]
            columns.append((values - values.mean()) / values.std())
    return np.hstack(columns), y


def learned(X, y, others, distances):
    """Return the predictions of all learners for other rows, given the squared distances to the training rows."""
    found = [RidgeRegressor(alpha).fit(X, 2.0 * y - 1).predict(others) > 0 for alpha in ALPHAS]
    votes = y[nearest(distances, max(NEIGHBOURS))].cumsum(axis=1)
    found += [2 * votes[:, k - 1] > k for k in NEIGHBOURS]
    found.append(NaiveBayes().fit(X, y).predict(others))
    narrow, wide = X.astype(np.float32), others.astype(np.float32)
    for depth in DEPTHS:
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
        found.append(tree.fit(narrow, y, check_input=False).predict(wide, check_input=False))
    return np.stack(found).astype(int)


def true_errors(table, folder, repetition):
    """Fit on rows of the population, and return the errors on its other rows: a line of the store."""
    X, y = population(table, folder)
    order = np.random.default_rng([8, list(TABLES).index(table), repetition]).permutation(POPULATION)
    train, others = order[:TRAINED], order[TRAINED:]
    found = learned(X[train], y[train], X[others], squared_distances(X[train], X[others]))
    errors = (found != y[others]).mean(axis=1)
    return {"kind": "truth", "setting": table, "repetition": repetition, "errors": errors.tolist()}


def real_sample(table, folder, repetition):
    """Return what the tests find in a sample of a real table: a line of the store."""
    X, y = population(table, folder)
    rng = np.random.default_rng([19, list(TABLES).index(table), repetition])
    rows = rng.choice(POPULATION, SAMPLE, replace=False)
    X, y = X[rows], y[rows]
    distances = squared_distances(X, X)
    line = {"kind": "real", "setting": table, "repetition": repetition}
    for k, most in PARTITIONS.items():
        partitions = partitions_of(y, rng, k, most, "classification")
        predicted = np.empty((most, len(NAMES), SAMPLE), dtype=int)
        for run, folds in enumerate(partitions):
            for train, test in ((folds != fold, folds == fold) for fold in range(k)):
                predicted[run][:, test] = learned(X[train], y[train], X[test], distances[np.ix_(test, train)])
        for design, (folds, repeats) in DESIGNS.items():
            if folds != k:
                continue
            losses = losses_of(predicted[:repeats], y, "classification")
            scores, contributed = scored(losses, partitions[:repeats], k, "error")
            best = int(np.argmin(scores.mean(axis=1)))
            for test, tested in all_tests(scores, contributed, k, "error").items():
                i, j = np.triu_indices(len(NAMES), 1)
                signs = np.where(tested.p(i, j) <= LEVEL, np.sign(tested.means[i, j]), 0).astype(int)
                different, _ = against_best(tested, best)
                by_holm, _ = against(tested, best)
                strict = against_best_of_all_pairs(tested, best)
                line[f"{design}|error|{test}"] = {
                    "signs": signs.tolist(), "best": best,
                    "worse": np.flatnonzero(different).tolist(), "strict": np.flatnonzero(strict).tolist(),
                    "holm": np.flatnonzero(by_holm).tolist(),
                }  # fmt: skip
    return line
