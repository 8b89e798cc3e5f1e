"""Curves of samples of a source, and the errors of models of more rows; each a line of a file that is resumed."""

from __future__ import annotations

import json
import time
import warnings
import zlib

import numpy as np

from benchmarks.curve_intervals.sources import PARTS, SHARE, rows_of
from benchmarks.store import lines_of
from truefit import Engine, learning_curve

#: Multiples of a sample's rows at which the error is known; the farthest where the constants are learnt.
FACTORS, FARTHEST = (1.0, 1.25, 2.0, 4.0, 8.0), 20.0
FOLDS, DRAWS, TEST_ROWS, REPETITIONS = 5, 6, 2000, 10


def truths(source, learner, n, folder, *, far):
    """Return the mean error of models of more rows than a sample has, over training sets drawn at random."""
    X, y = rows_of(source, folder)
    random = np.random.default_rng([zlib.crc32(f"{source.name} {learner}".encode()), n])
    factors = (*FACTORS, FARTHEST) if far and 1.5 * FARTHEST * n <= len(y) else FACTORS
    sizes = [round((1 - 1 / FOLDS) * factor * n) for factor in factors]
    each = {factor: [] for factor in factors}
    for _ in range(DRAWS):
        order = random.permutation(len(y))
        # The same for all sizes, so that their noise is not in the difference of two errors.
        test = order[sizes[-1] : sizes[-1] + TEST_ROWS]
        for factor, rows in zip(factors, sizes, strict=True):
            predicted = source.learners[learner].fit(X[order[:rows]], y[order[:rows]]).predict(X[test])
            each[factor].append(_losses(source, y[test], predicted))
    return {
        factor: {name: float(np.mean([one[name] for one in found])) for name in source.metrics}
        for factor, found in each.items()
    }


def _losses(source, y, predicted):
    if source.classes:
        return {"error": np.mean(predicted != y)}
    off = predicted - y
    return {"mse": np.mean(off**2), "rmse": np.mean(off**2) ** 0.5, "mae": np.mean(np.abs(off))}


def curves(source, learner, n, repetition, folder):
    """Return the measured curve of a sample, by metric."""
    X, y = rows_of(source, folder)
    # All learners see the same samples.
    random = np.random.default_rng([zlib.crc32(source.name.encode()), n, repetition])
    chosen = random.permutation(len(y))[:n]
    engine, found = Engine(), {}
    for metric in source.metrics:
        # A curve that never stops: all rows of the sample are measured.
        curve = learning_curve(
            *(source.learners[learner], X[chosen], y[chosen]),
            cv=FOLDS, metric=metric, tolerance=1e-12, random_state=0, engine=engine,
        )  # fmt: skip
        measured = curve._measured
        found[metric] = {
            "sizes": measured.sizes.tolist(),
            "errors": measured.errors.tolist(),
            "covariance": measured.covariance.tolist(),
            "baseline": measured.baseline,
        }
    return found


def finished(store):
    """Return the lines of a file by what they are of."""
    return {_key(line): line for line in lines_of(store)}


def _key(line):
    return line["source"], line["learner"], line["n"], line.get("repetition")


def run(part, store, folder, *, repetitions=REPETITIONS, minutes=None):
    """Measure what the file lacks, repetition by repetition, so that a run cut short is even over the sources."""
    known, ends = finished(store), None if minutes is None else time.monotonic() + 60 * minutes
    settings = [(source, learner, n) for source in PARTS[part] for n in source.sizes for learner in source.learners]
    with store.open("a") as file:
        for repetition in (None, *range(repetitions)):
            for source, learner, n in settings:
                line = {"source": source.name, "learner": learner, "n": n, "repetition": repetition}
                # Where a table has only one size, it has the samples of both.
                wanted = 2 * repetitions // len(source.sizes) if part == "check" else repetitions
                again = [repetition] if repetition is None else range(repetition, wanted, repetitions)
                for each in again:
                    line["repetition"] = each
                    if _key(line) in known:
                        continue
                    if ends is not None and time.monotonic() > ends:
                        return
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        if each is None:
                            line["truths"] = truths(source, learner, n, folder, far=part == "learn")
                        else:
                            line["curves"] = curves(source, learner, n, each, folder)
                    file.write(json.dumps(line) + "\n")
                    file.flush()


def samples_fit(source, folder):
    """Whether the largest samples leave rows enough for eight times as many and a test."""
    return max(source.sizes) * SHARE <= len(rows_of(source, folder)[1])
