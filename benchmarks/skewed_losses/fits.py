"""Fits: the held-out losses of a sample under each design, and the true error of the model trained on all its rows."""

from __future__ import annotations

import os

import numpy as np
from sklearn.base import clone

from benchmarks.skewed_losses.rows import draw, true_losses
from benchmarks.skewed_losses.settings import CHEAP

#: Repetitions in one file of the store.
CHUNK = 25
FOLDS, TRIANGLE_FOLDS, REPEATS = 10, 5, 3
#: Designs of many fits are not run at the largest size.
MOST_ROWS_OF_DESIGNS = 100


def folds(n, k):
    """Fold of each row; the rows are in random order."""
    return np.arange(n) * k // n


def out_of_fold(learner, X, y, fold, answer):
    """Held-out answers of all rows, each by the fit without its fold."""
    found = np.empty(len(y))
    for each in np.unique(fold):
        out = fold == each
        found[out] = answer(clone(learner).fit(X[~out], y[~out]), X[out], y[out])
    return found


def residual(model, X, y):
    return y - model.predict(X)


def log_loss(model, X, y):
    """Minus the log-probability of the true class."""
    if len(model.classes_) < 2:
        return np.where(y == model.classes_[0], 0.0, 36.0)
    return -np.log(np.clip(model.predict_proba(X)[np.arange(len(y)), y], 2.3e-16, 1.0))


def triangle(learner, X, y, fold):
    """Residuals of each row by the fit without its fold, and by each fit without it and another."""
    k = int(fold.max()) + 1
    singles, pairs = np.empty(len(y)), np.empty((k - 1, len(y)))
    for a in range(k):
        singles[fold == a] = residual(clone(learner).fit(X[fold != a], y[fold != a]), X[fold == a], y[fold == a])
        for b in range(a + 1, k):
            model = clone(learner).fit(X[(fold != a) & (fold != b)], y[(fold != a) & (fold != b)])
            pairs[b - 1, fold == a] = residual(model, X[fold == a], y[fold == a])
            pairs[a, fold == b] = residual(model, X[fold == b], y[fold == b])
    return singles, pairs


def chunk(source, n, start, count, folder, store):
    """Compute some repetitions of a source and a size, and write them to the store."""
    found: dict[str, list] = {}

    def keep(name, value):
        found.setdefault(name, []).append(value)

    answer = log_loss if source.classes else residual
    for repetition in range(start, start + count):
        (X, y), test, rng = draw(source, n, repetition, folder)
        keep("y", y)
        keep("variance", np.var(test[1]))
        for name, learner in source.learners.items():
            keep(f"{name}/kfold", out_of_fold(learner, X, y, folds(n, FOLDS), answer))
            model = clone(learner).fit(X, y)
            if source.classes:
                losses = log_loss(model, *test)
                truth = losses.mean(), np.mean((1 - np.exp(-losses)) ** 2)
            else:
                truth = true_losses(source, test, model.predict(test[0]))
            keep(f"{name}/truth", truth)
        if source.designs and n <= MOST_ROWS_OF_DESIGNS:
            orders = [rng.permutation(n) for _ in range(REPEATS)]
            for name in CHEAP:
                learner = source.learners[name]
                singles, pairs = triangle(learner, X, y, folds(n, TRIANGLE_FOLDS))
                keep(f"{name}/singles", singles)
                keep(f"{name}/pairs", pairs)
                keep(
                    f"{name}/repeats",
                    [out_of_fold(learner, X[o], y[o], folds(n, FOLDS), answer) for o in orders],
                )
    # Half precision is a thousandth of a loss; truths are kept as they are.
    arrays = {
        name: np.array(each, dtype=np.float64 if name.endswith(("truth", "variance")) else np.float16)
        for name, each in found.items()
    }
    path = file_of(store, source, n, start)
    part = path.with_suffix(".part.npz")
    np.savez_compressed(part, **arrays)
    os.replace(part, path)
    return path.name


def file_of(store, source, n, start):
    return store / f"{source.name}-{n}-{start:04d}.npz"
