"""Rows of a repetition: some of a table for training, others for the truth; or drawn from a generator."""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from benchmarks.coverage.generators import GENERATORS
from benchmarks.skewed_losses.settings import DRAWN

#: Rows on which the true error of a model is measured, at most.
TEST_ROWS = 10_000
#: Values of a text column that are rarer share one indicator.
RARE = 0.01


def encoded(frame):
    """Numbers as they are, scaled, with missing values at the median; an indicator for each frequent text value."""
    columns = []
    for name in frame:
        values = frame[name]
        if values.dtype.kind in "iuf":
            numbers = values.to_numpy(float)
            numbers = np.where(np.isnan(numbers), np.nanmedian(numbers), numbers)
            columns.append((numbers - numbers.mean()) / (numbers.std() or 1.0))
        else:
            text = values.astype(str)
            counts = text.value_counts(normalize=True)
            columns += [(text == each).to_numpy(float) for each in counts.index[1:] if counts[each] >= RARE]
    return np.column_stack(columns)


@cache
def table(name, folder):
    """Features and target of a source, the target scaled."""
    at, target = name.split(".")
    saved = folder / f"{name}.npz"
    if saved.is_file():
        with np.load(saved) as found:
            return found["X"], found["y"]
    if at == "diabetes":
        return scaled(*load_diabetes(return_X_y=True))
    frame = pd.read_parquet(folder / f"{at}.parquet")
    y = frame.pop(target)
    if y.dtype.kind not in "iuf":
        return encoded(frame), (y.astype(str) == sorted(y.astype(str).unique())[-1]).to_numpy(int)
    return scaled(encoded(frame), y.to_numpy(float))


def scaled(X, y):
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def draw(source, n, repetition, folder):
    """Training rows, test rows, and a random state; of the name, the size and the repetition alone."""
    seed = np.random.SeedSequence([zlib.crc32(source.name.encode()), n, repetition])
    rng = np.random.default_rng(seed)
    if source.name in DRAWN:
        train, test = DRAWN[source.name](rng, n), DRAWN[source.name](rng, TEST_ROWS)
    else:
        X, y = table(source.name, folder)
        order = rng.permutation(len(y))
        kept, rest = order[:n], order[n : n + TEST_ROWS]
        train, test = (X[kept], y[kept]), (X[rest], y[rest])
    return train, test, rng


def true_losses(source, test, predicted):
    """Mean squared and mean absolute error of a model, without the noise of the test rows where it is known."""
    X, y = test
    squared = np.mean((predicted - y) ** 2)
    known = GENERATORS.get(source.name)
    if known is not None:
        squared = np.mean((predicted - known.signal(X)) ** 2) + known.noise_variance
    return squared, np.mean(np.abs(predicted - y))
