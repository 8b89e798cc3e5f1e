"""Simulation: samples with candidates of known true errors, and what the tests find in them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from benchmarks.comparison_errors.learners import LINEAR, predictions
from benchmarks.comparison_errors.settings import (
    COUNTS,
    DESIGNS,
    EQUAL,
    LEVEL,
    MOST,
    OFTEN,
    PARTITIONS,
    UNEQUAL,
)
from benchmarks.comparison_errors.statistics import (
    all_tests,
    equivalence,
    found_different,
    losses_of,
    one_pair,
    partitions_of,
    scored,
)
from benchmarks.comparison_errors.tables import SAMPLES, TABLES, TRUTHS, real_sample, true_errors


@cache
def noises(setting):
    """Return the noise of the good candidates, and the one that makes the others worse by the planned difference."""
    if not setting.worse:
        return setting.noise, setting.noise
    rng = np.random.default_rng([7, setting.n])
    train, draws = round(0.9 * setting.n), 400
    Z, y = zip(*(setting.rows(rng, train) for _ in range(draws)), strict=True)
    E = rng.standard_normal((draws, train, 5))
    fitted, error = LINEAR[setting.learner]
    folds = np.zeros(train, dtype=int)

    def mean_error(noise):
        models = [fitted((Z[i] + noise * E[i])[None], y[i], folds - 1, 1)[0] for i in range(draws)]
        return float(np.mean([error(*model, noise)[0] for model in models]))

    good = mean_error(setting.noise)
    wanted = good + setting.worse * (1 if setting.learner == "lda" else good)
    low, high = setting.noise, 8.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_error(middle) < wanted else (low, middle)
    return setting.noise, (low + high) / 2


def drawn(setting, repetition, count, rng=None):
    """Draw the columns of each candidate, and y."""
    if rng is None:
        kind = int(bool(setting.worse))
        rng = np.random.default_rng([10 + kind, (EQUAL, UNEQUAL)[kind].index(setting), repetition])
    Z, y = setting.rows(rng, setting.n)
    good, bad = noises(setting)
    scale = np.where(np.arange(count) % 2 == 0, good, bad)[:, None, None]
    X = Z + scale * rng.standard_normal((count, *Z.shape))
    if setting.learner == "tree":  # with columns that mean nothing
        X = np.concatenate([X, rng.uniform(-1, 1, (count, setting.n, 3))], axis=2)
    return X, y, rng


def stability(setting):
    """Return how much the true difference of two candidates varies from sample to sample: a line of the store.

    Its standard deviation, over that of the difference in loss on as many new rows as the sample has.
    """
    rng, test, draws = np.random.default_rng([6, EQUAL.index(setting)]), 500, 200
    found = []
    for _ in range(draws):
        X, y, _ = drawn(replace(setting, n=setting.n + test), None, 2, rng)
        folds = (np.arange(len(y)) >= setting.n).astype(int)
        losses = losses_of(predictions(setting.learner, X, y, [folds])[0], y, setting.task)[:, 0, setting.n :]
        difference = losses[1] - losses[0]
        found.append((difference.mean(), difference.var(ddof=1)))
    means, variances = np.array(found).T
    true = max(0.0, float(np.var(means, ddof=1) - variances.mean() / test))
    ratio = math.sqrt(true * setting.n / variances.mean())
    return {"kind": "stability", "setting": setting.key, "repetition": 0, "ratio": ratio}


def measured(setting, repetition):
    """Return what the tests find in one sample: a line of the store."""
    count = MOST if repetition % setting.many == 0 else OFTEN
    X, y, rng = drawn(setting, repetition, count)
    bad = (np.arange(count) % 2 == 1) & bool(setting.worse)
    line = {"kind": "unequal" if setting.worse else "equal", "setting": setting.key, "repetition": repetition}
    by_k = {k: partitions_of(y, rng, k, repeats, setting.task) for k, repeats in PARTITIONS.items()}
    done = {k: predictions(setting.learner, X, y, partitions) for k, partitions in by_k.items()}
    for design, (k, repeats) in DESIGNS.items():
        losses = losses_of(done[k][0][:repeats], y, setting.task)
        for metric in setting.metrics:
            scores, rows = scored(losses, by_k[k][:repeats], k, metric)
            pairs = one_pair(rows, scores, k, metric)
            for test, tested in all_tests(scores, rows, k, metric).items():
                own = {"rope": equivalence(pairs[test])} if metric == "error" else {}
                if not setting.worse:
                    own["pair"] = float((tested.p(*np.triu_indices(OFTEN, 1)) <= LEVEL).mean())
                for number in (each for each in COUNTS if each <= count):
                    best = int(np.argmin(scores[:number].mean(axis=1)))
                    found = found_different(tested.first(number), best, bad[:number])
                    own |= {f"{what} {number}": value for what, value in found.items()}
                line[f"{design}|{metric}|{test}"] = own
        if setting.worse:
            (_, error), noise = LINEAR[setting.learner], np.array(noises(setting))
            models = [model for own in done[k][1][:repeats] for model in own]
            true = np.mean([error(weights[:2], constants[:2], noise) for weights, constants in models], axis=0)
            line[f"{design}|true"] = [float(true[0]), float(true[1])]
    return line


def jobs():
    """Return what is to be run, in its order: (kind, setting, repetition)."""
    planned = [("stability", each.key, 1) for each in EQUAL]
    planned += [("equal", each.key, each.repetitions) for each in EQUAL]
    planned += [("unequal", each.key, each.repetitions) for each in UNEQUAL]
    planned += [(kind, name, count) for kind, count in (("truth", TRUTHS), ("real", SAMPLES)) for name in TABLES]
    # Settings take turns, so that a run that ends early has as large a share of each.
    turns = [
        (kind != "stability", (repetition + 0.5) / count, place, (kind, key, repetition))
        for place, (kind, key, count) in enumerate(planned)
        for repetition in range(count)
    ]
    return [job for *_, job in sorted(turns)]


def line_of(kind, key, repetition, folder):
    """Run one repetition: a line of the store."""
    if kind in ("truth", "real"):
        return (true_errors if kind == "truth" else real_sample)(key, folder, repetition)
    setting = next(each for each in (*EQUAL, *UNEQUAL) if each.key == key)
    return stability(setting) if kind == "stability" else measured(setting, repetition)
