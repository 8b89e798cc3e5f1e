"""Studies: the losses of all fits of a selection, and the true error of what it selects."""

from __future__ import annotations

import base64
import time
import warnings
import zlib
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.winner_intervals.sources import candidates, drawn, task_of

FOLDS, REPEATS = 5, 3


@dataclass(frozen=True)
class Losses:
    """Losses of all candidates, with the rows in the order of the folds of the first partition.

    ``triangle[a, b]`` are those on fold a of the fits without the folds a and b, of shape (rows of a fold, candidates);
    ``triangle[a, a]`` those of the fits without fold a. ``repeats`` are the out-of-fold losses of all rows in each of
    the partitions, the first included, and ``folds`` tells in which fold of a partition a row is.
    """

    triangle: np.ndarray
    repeats: np.ndarray
    folds: np.ndarray
    zero_one: bool

    @property
    def n(self):
        return self.repeats.shape[1]

    @cached_property
    def best(self):
        """The candidate that one partition selects."""
        return int(self.repeats[0].sum(axis=0).argmin())

    @cached_property
    def best_of_repeats(self):
        """The candidate that all partitions together select."""
        return int(self.repeats.sum(axis=(0, 1)).argmin())


def fitted_losses(models, X, y, seed, zero_one):
    """Fit every candidate without each fold of three partitions, and without each two folds of the first."""
    kind = StratifiedKFold if zero_one else KFold
    folds = np.empty((REPEATS, len(y)), dtype=int)
    for repeat in range(REPEATS):
        splitter = kind(FOLDS, shuffle=True, random_state=REPEATS * seed + repeat)
        for fold, (_, test) in enumerate(splitter.split(X, y)):
            folds[repeat, test] = fold
    places = [np.flatnonzero(folds[0] == fold) for fold in range(FOLDS)]
    triangle = np.empty((FOLDS, FOLDS, len(y) // FOLDS, len(models)))
    repeats = np.empty((REPEATS, len(y), len(models)))

    def losses(model, without, *tested):
        fit = clone(model).fit(X[~without], y[~without])
        predicted = fit.predict(X[np.concatenate(tested)])
        return np.split(loss(predicted, y[np.concatenate(tested)], zero_one), len(tested))

    for c, model in enumerate(models):
        for repeat in range(REPEATS):
            for fold in range(FOLDS):
                without = folds[repeat] == fold
                (repeats[repeat, without, c],) = losses(model, without, np.flatnonzero(without))
        for a, b in combinations(range(FOLDS), 2):
            without = np.isin(folds[0], (a, b))
            triangle[a, b, :, c], triangle[b, a, :, c] = losses(model, without, places[a], places[b])
    for fold in range(FOLDS):
        triangle[fold, fold] = repeats[0, places[fold]]
    order = np.concatenate(places)
    return Losses(triangle, repeats[:, order], folds[:, order], zero_one)


def loss(predicted, truths, zero_one):
    return (predicted != truths).astype(float) if zero_one else np.square(predicted - truths)


def study(arm, source, rows, seed, folder):
    """Run one study: a line of the store."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    zero_one = task_of(source) == "classification"
    models = candidates(task_of(source), arm == "many")
    sample = drawn(source, rows, seed, folder)
    with threadpool_limits(1), sklearn.config_context(assume_finite=True):
        found = fitted_losses(models, sample.X, sample.y, seed, zero_one)

        def judged(candidate):
            predicted = clone(models[candidate]).fit(sample.X, sample.y).predict(sample.others)
            each = loss(predicted, sample.truths, zero_one)
            return float(each.mean() + sample.noise_variance), float(each.std() / np.sqrt(len(each)))

        truths = {candidate: judged(candidate) for candidate in {found.best, found.best_of_repeats}}
    truth, truth_se = truths[found.best]
    return {
        "arm": arm,
        "source": source,
        "rows": rows,
        "seed": seed,
        "zero_one": zero_one,
        "candidates": len(models),
        "best": type(models[found.best]).__name__,
        "truth": truth,
        "truth_se": truth_se,
        "truth_of_repeats": truths[found.best_of_repeats][0],
        "triangle": _packed(found.triangle, zero_one),
        "repeats": _packed(found.repeats[1:], zero_one),
        "folds": ["".join(map(str, each)) for each in found.folds],
        "cpu_seconds": round(time.process_time() - began, 2),
    }


def losses_of(line):
    """Return the losses of a line of the store."""
    n, count, zero_one = line["rows"], line["candidates"], line["zero_one"]
    triangle = _unpacked(line["triangle"], (FOLDS, FOLDS, n // FOLDS, count), zero_one)
    first = triangle[np.arange(FOLDS), np.arange(FOLDS)].reshape(1, n, count)
    others = _unpacked(line["repeats"], (REPEATS - 1, n, count), zero_one)
    folds = np.array([[int(digit) for digit in each] for each in line["folds"]])
    return Losses(triangle, np.concatenate([first, others]), folds, zero_one)


def _packed(losses, zero_one):
    raw = np.packbits(losses.astype(bool)) if zero_one else losses.astype(np.float32)
    return base64.b64encode(zlib.compress(raw.tobytes())).decode()


def _unpacked(text, shape, zero_one):
    raw = zlib.decompress(base64.b64decode(text))
    if zero_one:
        return np.unpackbits(np.frombuffer(raw, np.uint8), count=int(np.prod(shape))).reshape(shape).astype(float)
    return np.frombuffer(raw, np.float32).reshape(shape).astype(float)
