"""How often paired tests find equally good learners different, and how often they find the differences that exist.

    python -m benchmarks.comparison_errors --data FOLDER --store comparison_errors.jsonl --out docs/comparison-errors.md

Candidates are the same learner on columns of their own, which measure the same hidden columns with noise. With equal
noise all are equally good in the average over training sets; with more noise for some the true difference is known.
FOLDER (or TRUEFIT_DATA) holds the real tables as Parquet files, the target last. The tests are computed for all
candidates at once; ``--check`` compares them with ``truefit.compare``, and every run begins with it. Every finished
repetition is a line of the store: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import textwrap
import time
import warnings
from collections import Counter, defaultdict
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks.coverage.learners import (
    Discriminant,
    NaiveBayes,
    NeighbourClassifier,
    NeighbourRegressor,
    RidgeRegressor,
)
from truefit import compare
from truefit._core.errors import InvalidInput
from truefit._methods.assessment.estimate import ONE_PARTITION, REPEATED
from truefit._stats.paired import corrected_paired_t, holm, pooled_paired_t

LEVEL = 0.05
#: Name: number of folds, number of partitions.
DESIGNS = {"5-fold": (5, 1), "10-fold": (10, 1), "3 × 10-fold": (10, 3)}
TESTS = {"corrected_t": "corrected t", "pooled": "pooled"}
SIZES = (100, 400)
#: Every so many repetitions have the larger number of candidates; the tests of fewer use the first of them.
COUNTS, OFTEN, MOST = (2, 10, 70), 10, 70
ROPE = 0.01


# Candidates: the same learner on columns of their own. All are fitted at once, from arrays (candidate, row, column).


def linear_rows(rng, n):
    """Draw hidden columns and a target that is linear in them, with normal noise."""
    Z = rng.standard_normal((n, 5))
    return Z, Z @ np.ones(5) / math.sqrt(5) + rng.standard_normal(n)


def heavy_rows(rng, n):
    Z = rng.standard_normal((n, 5))
    return Z, Z @ np.ones(5) / math.sqrt(5) + rng.standard_t(3, n)


def gaussian_rows(rng, n):
    """Draw two classes with means 2 apart."""
    y = (rng.random(n) < 0.5).astype(int)
    return rng.standard_normal((n, 5)) + 2 / math.sqrt(5) * y[:, None], y


def scaled_rows(rng, n):
    """Draw the two classes so that most values are between -1 and 1."""
    Z, y = gaussian_rows(rng, n)
    return (Z - 1 / math.sqrt(5)) / 2.5, y


def xor_rows(rng, n):
    Z = rng.uniform(-1, 1, (n, 2))
    return Z, (Z[:, 0] * Z[:, 1] > 0).astype(int)


def lda(X, y, folds, k):
    """Return the weights and intercepts of linear discriminant analysis without each fold, from shared sums."""
    found = []
    for train in (folds != fold for fold in range(k)):
        own, codes = X[:, train], y[train]
        shares = np.array([1 - codes.mean(), codes.mean()])
        means = np.stack([own[:, codes == code].mean(axis=1) for code in (0, 1)], axis=1)
        centred = own - means[:, codes]
        within = centred.transpose(0, 2, 1) @ centred / len(codes)
        weights = np.linalg.solve(within, means.transpose(0, 2, 1))
        constants = np.log(shares) - 0.5 * np.einsum("ckp,cpk->ck", means, weights)
        found.append((weights[..., 1] - weights[..., 0], constants[:, 1] - constants[:, 0]))
    return found


def ridge(X, y, folds, k):
    """Return the weights and intercepts of ridge regression without each fold."""
    found = []
    for train in (folds != fold for fold in range(k)):
        own, target = X[:, train], y[train]
        centre = own.mean(axis=1)
        centred = own - centre[:, None]
        gram = centred.transpose(0, 2, 1) @ centred + np.eye(X.shape[2])
        weights = np.linalg.solve(gram, (centred.transpose(0, 2, 1) @ (target - target.mean()))[..., None])[..., 0]
        found.append((weights, target.mean() - (centre * weights).sum(axis=1)))
    return found


def linear_predictions(X, folds, models):
    """Return what the model without each row's fold predicts: (candidate, row)."""
    predicted = np.empty(X.shape[:2])
    for fold, (weights, constants) in enumerate(models):
        test = folds == fold
        predicted[:, test] = (X[:, test] @ weights[..., None])[..., 0] + constants[:, None]
    return predicted


def neighbours(X, y, partitions, k=5):
    """Return means over the k nearest rows of other folds for each partition: (partition, candidate, row)."""
    n = X.shape[1]
    found = np.empty((len(partitions), *X.shape[:2]))
    largest = max(np.bincount(folds).max() for folds in partitions)
    near = min(n - 1, largest + k)
    for place, rows in enumerate(X):
        distances = (rows**2).sum(axis=1) - 2 * rows @ rows.T
        if near < n - 1:
            order = np.argpartition(distances, near, axis=1)[:, : near + 1]
            order = np.take_along_axis(order, np.take_along_axis(distances, order, axis=1).argsort(axis=1), axis=1)
        else:
            order = distances.argsort(axis=1)
        for which, folds in enumerate(partitions):
            others = folds[order] != folds[:, None]
            nearest = others & (np.cumsum(others, axis=1) <= k)
            found[which, place] = (y[order] * nearest).sum(axis=1) / k
    return found


BINS, DEPTH = 8, 3


def binned(X):
    """Return the bins of columns between -1 and 1."""
    return np.clip(((X + 1) * (BINS / 2)).astype(int), 0, BINS - 1)


def grow(bins, y):
    """Fit a tree of fixed depth by the Gini index for each candidate; return its splits by level, and its leaves."""
    count, n, columns = bins.shape
    codes = np.eye(BINS, dtype=np.float32)[bins].reshape(count, n, -1)
    node, splits = np.zeros((count, n), dtype=int), []
    classes = np.stack([1 - y, y]).astype(np.float32)
    for level in range(DEPTH + 1):
        members = (node[:, None] == np.arange(2**level)[:, None]).astype(np.float32)
        members = (members[:, :, None] * classes).reshape(count, -1, n)
        if level == DEPTH:
            counts = members.sum(axis=2).reshape(count, -1, 2)
            return splits, (counts[..., 1] > counts[..., 0]).astype(int)
        counts = (members @ codes).reshape(count, 2**level, 2, columns, BINS)
        left = counts.cumsum(axis=-1)
        right = left[..., -1:] - left
        (a, b), (c, d) = (np.moveaxis(side, 2, 0) for side in (left, right))
        impurity = a * b / np.maximum(a + b, 1) + c * d / np.maximum(c + d, 1)
        best = impurity.reshape(count, 2**level, -1).argmin(axis=2)
        splits.append(best)
        node = 2 * node + _right(bins, best, node)
    raise AssertionError


def _right(bins, best, node):
    column, cut = np.divmod(np.take_along_axis(best, node, axis=1), BINS)
    return (np.take_along_axis(bins, column[..., None], axis=2)[..., 0] > cut).astype(int)


def descend(bins, tree):
    """Predict by fitted trees: (candidate, row)."""
    splits, leaves = tree
    node = np.zeros(bins.shape[:2], dtype=int)
    for best in splits:
        node = 2 * node + _right(bins, best, node)
    return np.take_along_axis(leaves, node, axis=1)


class Tree(ClassifierMixin, BaseEstimator):
    """The same tree as an estimator."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.tree_ = grow(binned(X[None]), codes)
        return self

    def predict(self, X):
        return self.classes_[descend(binned(X[None]), self.tree_)[0]]


def tree_predictions(X, y, partitions):
    bins, found = binned(X), []
    for folds in partitions:
        predicted = np.empty(X.shape[:2], dtype=int)
        for fold in range(folds.max() + 1):
            test = folds == fold
            predicted[:, test] = descend(bins[:, test], grow(bins[:, ~test], y[~test]))
        found.append(predicted)
    return np.stack(found)


def lda_error(weights, constants, noise):
    """True error of linear rules on the two classes, seen with noise."""
    spread = np.sqrt((weights**2).sum(axis=-1) * (1 + noise**2))
    shift = 2 / math.sqrt(5) * weights.sum(axis=-1)
    return 0.5 * (norm.cdf(constants / spread) + norm.cdf(-(constants + shift) / spread))


def ridge_error(weights, constants, noise):
    """True mean squared error of linear models, seen with noise."""
    missed = ((1 / math.sqrt(5) - weights) ** 2).sum(axis=-1)
    return 1 + missed + noise**2 * (weights**2).sum(axis=-1) + constants**2


@dataclass(frozen=True)
class Setting:
    """Rows, a learner, the noise of every other candidate; ``worse`` is the planned true difference of the rest."""

    name: str
    rows: object
    learner: str
    n: int
    noise: float
    repetitions: int
    many: int
    metrics: tuple[str, ...] = ("error",)
    worse: float = 0.0

    @property
    def key(self):
        return f"{self.name}/{self.n}" + (f"/{self.worse:g}" if self.worse else "")


_EQUAL = (
    ("LDA, similar candidates", gaussian_rows, "lda", 0.3, ("error",)),
    ("LDA, different candidates", gaussian_rows, "lda", 1.0, ("error",)),
    ("nearest neighbours", gaussian_rows, "knn", 0.5, ("error",)),
    ("tree", scaled_rows, "tree", 0.2, ("error",)),
    ("tree on XOR", xor_rows, "tree", 0.1, ("error",)),
    ("ridge", linear_rows, "ridge", 0.5, ("mse", "rmse")),
    ("ridge, heavy tails", heavy_rows, "ridge", 0.5, ("mse", "rmse")),
    ("nearest neighbours, regression", linear_rows, "knn_regression", 0.5, ("mse", "rmse")),
)
#: Planned true differences: of the error, and as a share of the mean squared error.
_WORSE = (0.005, 0.01, 0.02, 0.05, 0.10)
EQUAL = tuple(Setting(*each[:3], n, each[3], 600, 2, each[4]) for each in _EQUAL for n in SIZES)
UNEQUAL = tuple(
    Setting(name, rows, learner, n, 0.5, 300, 3, metrics, worse)
    for name, rows, learner, metrics in (
        ("LDA", gaussian_rows, "lda", ("error",)),
        ("ridge", linear_rows, "ridge", ("mse", "rmse")),
    )
    for n in SIZES
    for worse in (_WORSE if learner == "lda" else tuple(2 * each for each in _WORSE))
)


@cache
def noises(setting):
    """Return the noise of the good candidates, and the one that makes the others worse by the planned difference."""
    if not setting.worse:
        return setting.noise, setting.noise
    rng = np.random.default_rng([7, setting.n])
    train, draws = round(0.9 * setting.n), 400
    Z, y = zip(*(setting.rows(rng, train) for _ in range(draws)), strict=True)
    E = rng.standard_normal((draws, train, 5))
    fitted, error = (lda, lda_error) if setting.learner == "lda" else (ridge, ridge_error)
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


def partitions_of(y, rng, k, repeats, stratified):
    """Return the fold of each row for each partition."""
    found = []
    for _ in range(repeats):
        order = rng.permutation(len(y))
        if stratified:
            order = order[np.argsort(y[order], kind="stable")]
        folds = np.empty(len(y), dtype=int)
        folds[order] = np.arange(len(y)) % k
        found.append(folds)
    return found


def predictions(learner, X, y, partitions):
    """Return held-out predictions (partition, candidate, row), and linear models by partition."""
    if learner in ("lda", "ridge"):
        models = [(lda if learner == "lda" else ridge)(X, y, folds, folds.max() + 1) for folds in partitions]
        found = np.stack([linear_predictions(X, *each) for each in zip(partitions, models, strict=True)])
        return (found > 0 if learner == "lda" else found), models
    if learner == "tree":
        return tree_predictions(X, y, partitions), None
    found = neighbours(X, y, partitions)
    return (found > 0.5 if learner == "knn" else found), None


# Tests of all pairs at once, for losses (candidate, partition, row).


@dataclass
class Tested:
    """Mean differences of all pairs, their t values and degrees of freedom."""

    means: np.ndarray
    t: np.ndarray
    df: np.ndarray

    def p(self, i, j):
        return 2 * stdtr(self.df[i, j], -np.abs(self.t[i, j]))

    def first(self, count):
        return Tested(self.means[:count, :count], self.t[:count, :count], self.df[:count, :count])


def t_values(means, ses):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(ses > 0, means / ses, np.where(means == 0, 0.0, np.copysign(np.inf, means)))


def pooled(losses, zero_one, references):
    """Return the t test on the losses of rows for all pairs, corrected for skewness where it matters."""
    count, repeats, n = losses.shape
    factor = ONE_PARTITION if repeats == 1 else REPEATED
    sds = np.zeros((count, count))
    for run in range(repeats):
        centred = losses[:, run] - losses[:, run].mean(axis=1, keepdims=True)
        covariance = centred @ centred.T
        own = np.diag(covariance)
        variances = own[:, None] + own - 2 * covariance
        sds += np.sqrt(np.where(variances > 1e-12 * (own[:, None] + own), variances, 0.0) / (n - 1)) / repeats
    averages = losses.mean(axis=(1, 2))
    means = averages[:, None] - averages
    means[np.abs(means) < 1e-13 * np.abs(averages).max()] = 0.0
    t = t_values(means, factor * sds / math.sqrt(n))
    if not zero_one:
        for i, j in np.argwhere(may_be_significant(t, n - 1, references)):
            found = pooled_paired_t(losses[i] - losses[j], factor=factor, zero_one=False)
            t[i, j], t[j, i] = found.t, -found.t
    return Tested(means, t, np.full(t.shape, n - 1))


def corrected(scores, k, by_rows):
    """Return the corrected resampled t test for all pairs; differences without a spread are compared by rows."""
    splits = scores.shape[1]
    means, variances, spreads, largest = (np.empty((len(scores),) * 2) for _ in range(4))
    for place, own in enumerate(scores):
        d = scores - own
        means[:, place], variances[:, place] = d.mean(axis=1), d.var(axis=1, ddof=1)
        spreads[:, place], largest[:, place] = np.ptp(d, axis=1), np.abs(d).max(axis=1)
    means[np.abs(means) < 1e-13 * np.abs(scores).max()] = 0.0
    variances[spreads <= 1e-12 * np.maximum(largest, np.abs(scores).max())] = 0.0
    flat = (variances == 0) & (means != 0)
    t = t_values(means, np.sqrt((1 / splits + 1 / (k - 1)) * variances))
    return Tested(means, np.where(flat, by_rows.t, t), np.where(flat, by_rows.df, splits - 1))


def scored(losses, partitions, k, metric):
    """Return the scores of the test sets, and what each row contributes to them: for RMSE its linearisation."""
    scores, rows = np.empty((len(losses), len(partitions) * k)), losses.copy()
    for run, folds in enumerate(partitions):
        for fold in range(k):
            test, place = folds == fold, run * k + fold
            scores[:, place] = losses[:, run, test].mean(axis=1)
            if metric == "rmse":
                scores[:, place] = root = np.sqrt(scores[:, place])
                rows[:, run, test] = (root[:, None] + losses[:, run, test] / root[:, None]) / 2
    return scores, rows


def all_tests(scores, rows, k, metric):
    """Return both tests of all pairs of candidates."""
    references = {int(np.argmin(scores[:number].mean(axis=1))) for number in (*COUNTS, len(scores))}
    by_rows = pooled(rows, metric == "error", references | {0})
    return {"corrected_t": corrected(scores, k, by_rows), "pooled": by_rows}


def may_be_significant(t, df, references):
    """Return the pairs whose exact t is needed, since skewness only makes differences less significant."""
    count = len(t)
    wanted = np.zeros(t.shape, dtype=bool)
    wanted[:OFTEN, :OFTEN] = True
    for place in references:
        wanted[place] = wanted[:, place] = True
    one, all_pairs = (-stdtrit(df, LEVEL / 2 / number) for number in (1, count * (count - 1) / 2))
    return np.triu(np.abs(t) > np.where(wanted, one, all_pairs))


def against_best_of_all_pairs(tested, best):
    """Return which are significantly worse than the best if p-values count all pairs, since any could be the best."""
    count = len(tested.t)
    others = np.arange(count) != best
    p = np.where(others, tested.p(np.arange(count), best), 1.0)
    return others & (p * count * (count - 1) / 2 <= LEVEL) & (tested.means[:, best] > 0)


def found_different(tested, best, bad):
    """Return, for one number of candidates, what each choice of reference reports."""
    count = len(tested.t)
    found = {}
    for name, reference in (("best", best), ("fixed", 0)):
        others = np.flatnonzero(np.arange(count) != reference)
        significant = holm(tested.p(others, reference)) <= LEVEL
        worse = np.zeros(count, dtype=bool)
        worse[others] = significant & (tested.means[others, reference] > 0)
        either = np.zeros(count, dtype=bool)
        either[others] = significant
        if not bad.any():
            found[name] = float(either.any())
        else:
            found[name] = float(worse[bad].mean())
            found[f"{name} false"] = float((worse if name == "best" else either)[~bad].any())
    worse = against_best_of_all_pairs(tested, best)
    if not bad.any():
        found["strict"] = float(worse.any())
    else:
        found |= {"strict": float(worse[bad].mean()), "strict false": float(worse[~bad].any())}
    if not bad.any():
        i, j = np.triu_indices(count, 1)
        t, df = np.abs(tested.t[i, j]), tested.df[i, j]
        least = min(2 * stdtr(each, -t[df == each].max()) for each in np.unique(df))
        found["all"] = float(least * len(i) <= LEVEL)  # Holm's first step
    elif count <= OFTEN:
        i, j = np.triu_indices(count, 1)
        significant = holm(tested.p(i, j)) <= LEVEL
        differ, sign = bad[i] != bad[j], np.where(bad[i], 1, -1)
        found["all"] = float((significant & (sign * tested.means[i, j] > 0))[differ].mean())
        found["all false"] = float(significant[~differ].any() or (significant & (sign * tested.means[i, j] < 0)).any())
    return found


def equivalence(found):
    """Return whether the second is better, equivalent and worse with a probability of 95%, by the Bayesian test."""
    return [float(each >= 1 - LEVEL) for each in found.shares(ROPE)]


def one_pair(losses, scores, k, metric):
    """Return both tests of the second candidate against the first, by truefit's own functions."""
    repeats = losses.shape[1]
    factor = ONE_PARTITION if repeats == 1 else REPEATED
    by_rows = pooled_paired_t(losses[1] - losses[0], factor=factor, zero_one=metric == "error")
    by_folds = corrected_paired_t(np.round(scores[1] - scores[0], 12), 1 / (k - 1))
    flat = by_folds.se == 0 and by_folds.mean != 0
    return {"corrected_t": by_rows if flat else by_folds, "pooled": by_rows}


def stability(setting):
    """Return how much the true difference of two candidates varies from sample to sample: a line of the store.

    Its standard deviation, over that of the difference in loss on as many new rows as the sample has.
    """
    rng, test, draws = np.random.default_rng([6, EQUAL.index(setting)]), 500, 200
    task = "classification" if setting.metrics == ("error",) else "regression"
    found = []
    for _ in range(draws):
        X, y, _ = drawn(replace(setting, n=setting.n + test), None, 2, rng)
        folds = (np.arange(len(y)) >= setting.n).astype(int)
        losses = losses_of(predictions(setting.learner, X, y, [folds])[0], y, task)[:, 0, setting.n :]
        difference = losses[1] - losses[0]
        found.append((difference.mean(), difference.var(ddof=1)))
    means, variances = np.array(found).T
    true = max(0.0, float(np.var(means, ddof=1) - variances.mean() / test))
    ratio = math.sqrt(true * setting.n / variances.mean())
    return {"kind": "stability", "setting": setting.key, "repetition": 0, "ratio": ratio}


def losses_of(predicted, y, task):
    """Return losses (candidate, partition, row)."""
    found = predicted != y if task == "classification" else (predicted - y) ** 2
    return np.ascontiguousarray(found.transpose(1, 0, 2)).astype(float)


def measured(setting, repetition):
    """Return what the tests find in one sample: a line of the store."""
    count = MOST if repetition % setting.many == 0 else OFTEN
    X, y, rng = drawn(setting, repetition, count)
    task = "classification" if setting.metrics == ("error",) else "regression"
    bad = (np.arange(count) % 2 == 1) & bool(setting.worse)
    line = {"kind": "unequal" if setting.worse else "equal", "setting": setting.key, "repetition": repetition}
    by_k = {k: partitions_of(y, rng, k, repeats, task == "classification") for k, repeats in ((5, 1), (10, 3))}
    done = {k: predictions(setting.learner, X, y, partitions) for k, partitions in by_k.items()}
    for design, (k, repeats) in DESIGNS.items():
        losses = losses_of(done[k][0][:repeats], y, task)
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
            error, noise = (lda_error, ridge_error)[task == "regression"], noises(setting)
            true = np.array(
                [[error(w[:2], b[:2], np.array(noise)) for w, b in models] for models in done[k][1][:repeats]]
            ).mean(axis=(0, 1))
            line[f"{design}|true"] = [float(true[0]), float(true[1])]
    return line


# Real tables: a population of rows, samples of it, and true errors on the other rows.

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
#: Pairs whose true errors differ by less than the first are equally good; from the second on they clearly differ.
NEAR, CLEAR = 0.002, 0.02


@cache
def population(name, folder):
    """Return 15,000 rows of a table: standardised numbers, categories of at least 1% of the rows, a class of two."""
    file = folder / f"{name}.parquet"
    if not file.is_file():
        raise InvalidInput(f"The folder of tables must hold {file.name}. There is none in {folder}. Check --data.")
    frame = pd.read_parquet(file).sample(POPULATION, random_state=0)
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
    most = max(NEIGHBOURS)
    order = np.argpartition(distances, most, axis=1)[:, : most + 1]
    order = np.take_along_axis(order, np.take_along_axis(distances, order, axis=1).argsort(axis=1), axis=1)
    votes = y[order].cumsum(axis=1)
    found += [2 * votes[:, k - 1] > k for k in NEIGHBOURS]
    found.append(NaiveBayes().fit(X, y).predict(others))
    narrow, wide = X.astype(np.float32), others.astype(np.float32)
    for depth in DEPTHS:
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
        found.append(tree.fit(narrow, y, check_input=False).predict(wide, check_input=False))
    return np.stack(found).astype(int)


def squared_distances(X, others):
    return (X**2).sum(axis=1) - 2 * others @ X.T


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
    for k, most in ((5, 1), (10, 3)):
        partitions = partitions_of(y, rng, k, most, True)
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
            others = [place for place in range(len(NAMES)) if place != best]
            for test, tested in all_tests(scores, contributed, k, "error").items():
                i, j = np.triu_indices(len(NAMES), 1)
                signs = np.where(tested.p(i, j) <= LEVEL, np.sign(tested.means[i, j]), 0).astype(int)
                worse = np.array(others)[holm(tested.p(others, best)) <= LEVEL]
                own = {"signs": signs.tolist(), "best": best, "worse": worse.tolist()}
                own["strict"] = np.flatnonzero(against_best_of_all_pairs(tested, best)).tolist()
                line[f"{design}|error|{test}"] = own
    return line


# Whether all this is what truefit.compare computes.


class OnColumns(BaseEstimator):
    """A learner on some of the columns."""

    def __init__(self, learner=None, start=0, stop=1):
        self.learner = learner
        self.start = start
        self.stop = stop

    def fit(self, X, y):
        self.model_ = clone(self.learner).fit(X[:, self.start : self.stop], y)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X[:, self.start : self.stop])

    def __sklearn_tags__(self):
        return self.learner.__sklearn_tags__()


LEARNERS = {
    "lda": Discriminant(),
    "knn": NeighbourClassifier(),
    "tree": Tree(),
    "ridge": RidgeRegressor(),
    "knn_regression": NeighbourRegressor(),
}
#: Candidates of the check.
CHECKED = 4


def check(repetitions=1):
    """Compare the tests with those of ``truefit.compare`` on the same rows and folds; return how many p-values."""
    compared, cases = 0, {(each.learner, each.n, each.metrics): each for each in EQUAL}
    for setting, repetition in product(cases.values(), range(repetitions)):
        X, y, _ = drawn(setting, repetition, CHECKED)
        width = X.shape[2]
        models = {f"{c}": OnColumns(LEARNERS[setting.learner], c * width, (c + 1) * width) for c in range(CHECKED)}
        for (k, repeats), metric in product(DESIGNS.values(), setting.metrics):
            compared += _checked(setting, models, X, y, k, repeats, metric)
    return compared


def _checked(setting, models, X, y, k, repeats, metric):
    table, names, compared, tests = np.hstack(list(X)), list(models), 0, None
    for test, reference in product(("corrected_t", "auto", "pooled"), (None, "all", "0")):
        found = compare(models, table, y, cv=k, repeats=repeats, metric=metric, test=test, reference=reference)
        if tests is None:
            partitions = np.empty((repeats, len(y)), dtype=int)
            for place, split in enumerate(found.assessment.splits):
                partitions[place // k, split.test.index] = place % k
            predicted, _ = predictions(setting.learner, X, y, list(partitions))
            task = "classification" if metric == "error" else "regression"
            scores, rows = scored(losses_of(predicted, y, task), partitions, k, metric)
            tests = all_tests(scores, rows, k, metric)
        means = scores.mean(axis=1)
        assert means[names.index(found.best)] <= means.min() * (1 + 1e-12), "another candidate is the best"
        tested = tests["pooled" if test == "pooled" else "corrected_t"]
        i = [names.index(pair.candidate) for pair in found.pairs]
        j = [names.index(pair.reference) for pair in found.pairs]
        p = tested.p(i, j)
        theirs = np.array([[pair.found.p, pair.p_adjusted, pair.found.mean] for pair in found.pairs]).T
        # The exact p-value is computed where a difference may be significant; elsewhere it is at most the exact one.
        exact = (p <= LEVEL) | (metric == "error") | (test != "pooled")
        ours = (p[exact], tested.means[i, j])
        for one, other in zip(ours, (theirs[0][exact], theirs[2]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)
        assert (theirs[0][~exact] > LEVEL).all(), "a significant difference was missed"
        assert ((holm(p) <= LEVEL) == (theirs[1] <= LEVEL)).all(), "adjusted p-values differ"
        compared += len(p)
    return compared


# The run, and its page.


def jobs():
    """Return what is to be run, in its order: (kind, setting, repetition)."""
    planned = [("stability", each.key, 1) for each in EQUAL]
    planned += [("equal", each.key, each.repetitions) for each in EQUAL]
    planned += [("unequal", each.key, each.repetitions) for each in UNEQUAL]
    planned += [(kind, name, count) for kind, count in (("truth", TRUTHS), ("real", SAMPLES)) for name in TABLES]
    # Settings take turns, so that a run that ends early has as large a share of each.
    found = [((r + 0.5) / count, place, kind, key, r) for place, (kind, key, count) in enumerate(planned)
             for r in range(count)]  # fmt: skip
    stable_first = sorted(found, key=lambda each: (each[2] != "stability", *each[:2]))
    return [each[2:] for each in stable_first]


def job(kind, key, repetition, folder):
    """Run one repetition: a line of the store."""
    if kind in ("truth", "real"):
        return (true_errors if kind == "truth" else real_sample)(key, folder, repetition)
    setting = next(each for each in (*EQUAL, *UNEQUAL) if each.key == key)
    return stability(setting) if kind == "stability" else measured(setting, repetition)


def _one_thread():
    threadpool_limits(1)
    warnings.simplefilter("ignore")


def stored(store):
    """Return the lines of the store; one that was cut short is run again."""
    lines = []
    for text in store.read_text().splitlines() if store.exists() else ():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def run(folder, store, workers, minutes):
    """Run what is missing; every finished repetition is appended to the store."""
    end = time.monotonic() + 60 * minutes
    known = {(line["kind"], line["setting"], line["repetition"]) for line in stored(store)}
    todo = iter([each for each in jobs() if each not in known])
    with ProcessPoolExecutor(workers, initializer=_one_thread) as pool, store.open("a") as lines:
        running = {pool.submit(job, *each, folder) for each in islice(todo, 2 * workers)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                lines.write(json.dumps(each.result()) + "\n")
                lines.flush()
            if time.monotonic() < end:
                running |= {pool.submit(job, *each, folder) for each in islice(todo, len(done))}


class Rates:
    """Values by setting, design, metric, test and what was counted."""

    def __init__(self, lines):
        self.values = defaultdict(list)
        for line in lines:
            for key, own in line.items():
                if "|" not in key or line["kind"] == "real":
                    continue
                items = own.items() if isinstance(own, dict) else [("", own)]
                for what, value in items:
                    self.values[line["setting"], *key.split("|"), what].append(value)

    def of(self, *key):
        """Return the mean, its standard error, and the number of repetitions."""
        found = np.array(self.values.get(key, []), dtype=float)
        if not len(found):
            return math.nan, math.nan, 0
        return float(found.mean(axis=0)), float(found.std(axis=0)) / math.sqrt(len(found)), len(found)


#: Learners, by how much their fits vary with the training rows.
GROUPS = {"linear, neighbours": "lda, ridge, knn, knn_regression", "tree": "tree", "tree on XOR": "tree on XOR"}
#: What is counted of equally good candidates.
WHAT = {
    "pair": "one comparison",
    "best 2": "best of 2",
    "best 10": "best of 10",
    "best 70": "best of 70",
    "strict 10": "best of 10, for all pairs",
    "strict 70": "best of 70, for all pairs",
    "fixed 10": "fixed, 10",
    "fixed 70": "fixed, 70",
    "all 10": "all pairs of 10",
    "all 70": "all pairs of 70",
}


def percent(value, digits=1):
    return "–" if math.isnan(value) else f"{100 * value:.{digits}f}"


def exceeds(rates, *key):
    """Whether a rate is above 5% by more than two standard errors of a rate of 5%."""
    rate, se, count = rates.of(*key)
    return count > 0 and rate > LEVEL + 2 * (se if key[-1] == "pair" else math.sqrt(LEVEL * (1 - LEVEL) / count))


def cases(settings):
    return [(setting, metric) for setting in settings for metric in setting.metrics]


def table(header, lines, left=1):
    aligned = "|" + "---|" * left + "---:|" * (len(header) - left)
    return "\n".join(["| " + " | ".join(header) + " |", aligned, *("| " + " | ".join(each) + " |" for each in lines)])


def keys_of(group, what, tests=TESTS, designs=DESIGNS):
    """Return the keys of what is counted of equally good candidates of a group of learners."""
    own = [
        (each, metric)
        for each, metric in cases(EQUAL)
        if (each.name if each.learner == "tree" else each.learner) in GROUPS[group].split(", ")
    ]
    return [
        (each.key, design, metric, test, what)
        for (each, metric), design, test in product(own, designs, tests)
    ]  # fmt: skip


def overall(rates, *args, **options):
    """Return the mean and the highest rate over settings."""
    found = [rates.of(*key)[0] for key in keys_of(*args, **options)]
    return float(np.mean(found)), max(found)


def targets(rates):
    """Return the table of targets: the highest rate, and the settings that exceed it."""
    lines = []
    for group, (test, title), (what, name) in product(GROUPS, TESTS.items(), WHAT.items()):
        keys = keys_of(group, what, [test])
        found = {key: rates.of(*key)[0] for key in keys}
        top = max(found, key=found.get)
        above = sum(exceeds(rates, *key) for key in keys)
        mean = float(np.mean(list(found.values())))
        verdict = "met" if not above else f"**missed** in {above} of {len(keys)}"
        lines.append([group, title, name, percent(mean), percent(found[top]), f"{top[0]}, {top[1]}", verdict])
    return table(["learners", "test", "what", "mean", "highest", "where", "at most 5%"], lines, left=3)


def by_design(rates):
    lines = []
    for group, design, (test, title) in product(GROUPS, DESIGNS, TESTS.items()):
        cells = []
        for what in WHAT:
            mean, highest = overall(rates, group, what, tests=[test], designs=[design])
            cells.append(f"{percent(mean)} [{percent(highest)}]")
        lines.append([group, design, title, *cells])
    return table(["learners", "design", "test", *WHAT.values()], lines, left=3)


def every_setting(rates, ratios):
    lines = []
    for (setting, metric), (design, (test, title)) in product(cases(EQUAL), product(DESIGNS, TESTS.items())):
        cells = []
        for what in WHAT:
            rate, se, _ = rates.of(setting.key, design, metric, test, what)
            mark = "**" if exceeds(rates, setting.key, design, metric, test, what) else ""
            cells.append(f"{mark}{percent(rate)}{mark} ({percent(se)})")
        ratio = f"{ratios[setting.key]:.1f}"
        lines.append([setting.name, f"{setting.n}", ratio, metric, design, title, *cells])
    return table(["learner", "n", "instability", "metric", "design", "test", *WHAT.values()], lines)


def true_difference(rates, setting):
    good, bad = np.mean(rates.values[setting.key, "10-fold", "true", ""], axis=0)
    return (bad - good) / (1 if setting.learner == "lda" else good)


def power(rates, what):
    """Return the power with 2, 10 and 70 candidates, or how often an equally good one is found worse."""
    lines = []
    for setting, metric in cases(UNEQUAL):
        cells = []
        for design, test in product(DESIGNS, TESTS):
            numbers = [n for n in COUNTS if (setting.key, design, metric, test, f"{what} {n}") in rates.values]
            found = [rates.of(setting.key, design, metric, test, f"{what} {n}")[0] for n in numbers]
            cells.append(" / ".join(percent(each, 0) for each in found))
        lines.append([setting.name, metric, f"{setting.n}", percent(true_difference(rates, setting)), *cells])
    tests = [f"{design}, {title}" for design, title in product(DESIGNS, TESTS.values())]
    return table(["learner", "metric", "n", "true difference", *tests], lines, left=2)


def rope(rates):
    lines = []
    for setting in (*EQUAL, *UNEQUAL):
        if setting.metrics != ("error",):
            continue
        cells = []
        for design, test in product(DESIGNS, TESTS):
            found = np.mean(rates.values[setting.key, design, "error", test, "rope"], axis=0)
            cells.append(" / ".join(percent(each, 0) for each in (found[1], found[0], found[2])))
        true = 0.0 if not setting.worse else true_difference(rates, setting)
        lines.append([setting.name, f"{setting.n}", percent(true), *cells])
    tests = [f"{design}, {title}" for design, title in product(DESIGNS, TESTS.values())]
    return table(["learner", "n", "true difference", *tests], lines)


def mean_of(values):
    return float(np.mean(values)) if np.size(values) else math.nan


def real_rates(lines, name, design, test):
    """Return what a test finds in the samples of a real table, by the true errors of the pair."""
    true = [line["errors"] for line in lines if line["kind"] == "truth" and line["setting"] == name]
    own = [
        line[f"{design}|error|{test}"] for line in lines if line["kind"] == "real" and line["setting"] == name
    ]  # fmt: skip
    mean, (i, j) = np.mean(true, axis=0), np.triu_indices(len(NAMES), 1)
    difference, signs = mean[i] - mean[j], np.array([each["signs"] for each in own])
    near, clear = np.abs(difference) < NEAR, np.abs(difference) >= 0.05
    middle = (np.abs(difference) >= CLEAR) & ~clear
    shares, right = (signs[:, near] != 0).mean(axis=1), signs * np.sign(difference)
    return {
        "near": int(near.sum()), "significant": float(shares.mean()), "se": float(shares.std() / math.sqrt(len(own))),
        "highest": float((signs[:, near] != 0).mean(axis=0).max()),
        "middle": int(middle.sum()), "middle found": mean_of(right[:, middle] > 0),
        "clear": int(clear.sum()), "clear found": mean_of(right[:, clear] > 0),
        "wrong": mean_of(right[:, middle | clear] < 0),
    } | {
        rule: mean_of([any(mean[each["best"]] >= mean[worse] for worse in each[rule]) for each in own])
        for rule in ("worse", "strict")
    }  # fmt: skip


def real(lines):
    """Return the tables about real tables: what the tests find, and the true errors."""
    found, errors = [], []
    for name in TABLES:
        true = np.array([line["errors"] for line in lines if line["kind"] == "truth" and line["setting"] == name])
        ses = true.std(axis=0) / math.sqrt(len(true))
        errors.append([name, *(f"{percent(e)} ({percent(se)})" for e, se in zip(true.mean(axis=0), ses, strict=True))])
        for design, (test, title) in product(DESIGNS, TESTS.items()):
            own = real_rates(lines, name, design, test)
            found.append([
                name, design, title, f"{own['near']}", f"{percent(own['significant'])} ({percent(own['se'])})",
                percent(own["highest"]), f"{own['middle']}", percent(own["middle found"], 0), f"{own['clear']}",
                percent(own["clear found"], 0), percent(own["wrong"], 2), percent(own["worse"]), percent(own["strict"]),
            ])  # fmt: skip
    header = ["table", "design", "test", "near pairs", "significant", "highest", "pairs of 2 to 5", "significant"]
    header += ["pairs of 5 or more", "significant", "wrong direction", "false against the best"]
    header += ["adjusted for all pairs"]
    return table(header, found, left=3), table(["table", *NAMES], errors)


COMMAND = (
    "    python -m benchmarks.comparison_errors --data FOLDER --store comparison_errors.jsonl "
    "--out docs/comparison-errors.md"
)
FIXED = """\
## What was fixed beforehand

Settings, learners, sizes, numbers of candidates, planned differences and the target below were fixed before any test
was computed. Settings take turns until the time is up, and every repetition that was run is counted: {count:,} of
{planned:,}. They are at least {repetitions}. At a rate of 5% the standard error is {se:.1f} points for equally good
candidates, and {se70:.1f} for 70 of them. The learners were grouped afterwards. A study compares the candidates that
racing has not dropped; racing was not simulated.

**Equally good candidates.** Each candidate is the same learner on columns of its own. These measure the same hidden
columns with independent noise, so the losses of the candidates are correlated, and in the average over training sets
all are equally good. A significant difference is a false positive. The number of rows n is 100 or 400. *Similar* and
*different* candidates have columns with noise of 0.3 and 1.0 times the spread of the hidden ones. *Instability* is the
standard deviation, over samples, of the true difference between two fitted candidates, divided by that of their mean
difference in loss on n rows.

**Unequal candidates.** Every other candidate has more noise, so that its error is worse by about 0.5, 1, 2, 5 or 10
points, or its mean squared error by 1%, 2%, 4%, 10% or 20%. The *true difference* is computed from the fitted models
and the known distribution.

**Tests.** `test="corrected_t"` (`"auto"` is the same without groups) and `test="pooled"`, which a study uses;
`compare` has no other, and McNemar's test is not offered. Significant is an adjusted p-value (Holm) of at most 5%.
*Best of m* is what `compare` prints with `reference=None`: the candidate with the best estimate against the others.
*Fixed* is a reference that was named beforehand, *all pairs* is `reference="all"`. *Best of m, for all pairs* is not
offered: against the best, with p-values multiplied by the number of all pairs, m (m - 1) / 2, since any candidate
could have been the best; it was added after a trial of two repetitions. Rates are shares of comparisons for *one
comparison*, and otherwise shares of studies with at least one false positive. 70 candidates are run in every second
repetition (equally good) or every third (unequal).

**Target.** At most 5%. A setting misses it if its rate is above 5% by more than two standard errors; of settings with a
rate of exactly 5%, about 2% would.

The tests are computed for all candidates at once. That they are those of `truefit.compare` was checked in the same run
on rows and folds of every learner, size, metric, design and kind of reference: {checked:,} p-values and the decisions
after adjustment agree."""


CONCLUSION = """\
Does `truefit.compare` find differences that are not there, and does it find those that are? Rates are means over
settings, with the highest setting in brackets.

- **One comparison that was fixed beforehand keeps 5%, or nearly,** for linear models and nearest neighbours:
  corrected t {pair_t}, pooled {pair_p}, of which {pairabove} of {pairsettings} settings miss 5%. For trees, whose
  fits vary more with the training rows, the rates are {tree_t} and {tree_p}, and for trees on XOR, the most unstable
  setting, {xor_t} and {xor_p}.
- **Against the best of several candidates 5% is missed.** This is what `reference=None` and a study print. With 10
  equally good linear models or neighbours, at least one is found significantly worse in {best10_t} of studies by the
  corrected t and {best10_p} by the pooled test; with 70 in {best70_t} and {best70_p}. Holm's method adjusts for the
  m - 1 tests, but not for the selection of the best among m. For trees it is worse: with 70, {treebest70_t} and
  {treebest70_p}.
- **All pairs keep 5%** for linear models and neighbours: with 10 candidates {all10_t} and {all10_p}, with 70 {all70_t}
  and {all70_p}; {above} of {settings} settings are above 5% by more than two standard errors. A comparison with the
  best whose p-values count all pairs keeps 5% as well ({strict70_p} with 70 candidates, pooled), and so does a fixed
  reference ({fixed70_p}).
- **More folds and repeats cost validity where fits vary with the training rows.** One comparison of trees on XOR by
  the corrected t is a false positive in {xor5} with 5 folds, {xor10} with 10, and {xor310} with 3 × 10; of ordinary
  trees in {tree5}, {tree10} and {tree310}. With 5 folds and all pairs, the corrected t keeps 5% for ordinary trees
  ({tree5all} with 70 candidates) and is near it for trees on XOR ({xor5all}).
- **Power.** Two LDA on 400 rows whose errors differ by {five} points are significantly different in {p5_t} of samples
  by the corrected t on 5 folds and in {p5_p} by the pooled test; with 3 × 10 folds in {p310_t} and {p310_p}. For {ten}
  points the rates are {q5_t}, {q5_p}, {q310_t} and {q310_p}; on 100 rows they are {small5_t}, {small5_p}, {small310_t}
  and {small310_p}. Differences of 2 points or less are rarely found with so few rows.
- **Practical equivalence** within 1 point is found in {equivalent} of the samples: 400 rows are too few for it. The
  probability of being better is at least 95%, for a candidate that is equal or worse, in at most {better} of samples,
  except for trees on XOR.
- **Real tables.** Pairs whose true errors differ by less than 0.2 points are significantly different in {near_t} of the
  samples by the corrected t and in {near_p} by the pooled test (means over tables and designs). Among pairs that differ
  by 2 points or more, at most {wrong} of the comparisons are significant in the wrong direction.

| situation | use |
|---|---|
| two candidates, or a reference that was fixed beforehand; learners that vary little with the training rows | \
`test="pooled"` with 5 or 10 folds: most power |
| several candidates, and the best is not known beforehand | `reference="all"`, and the pairs with the best among them |
| trees and other learners that vary much with the training rows | `test="auto"` with 5 folds and `reference="all"` |
| repeated cross-validation | only for learners that vary little; both tests then find about the same |

**`test="auto"`** is the corrected t. It is the safer of the two, and the only one that keeps 5% for a fixed pair of
unstable learners, with 5 folds. With one partition it has little power: over the settings with 400 rows it finds {loss}
of what the pooled test finds. It does not correct for the selection of the best."""
POWER = """\
## Power

Share in % of the truly worse candidates that are significantly worse than the best one, with 2 / 10 / 70 candidates, of
which half are worse by the true difference: points of error, or % of the mean squared error."""
FALSE = """\
How often in % at least one of the good candidates is found significantly worse than the best one in the same studies,
with 2 / 10 / 70 candidates."""
EQUIVALENT = """\
## Practical equivalence

With `rope=0.01` the Bayesian test, from the same mean and standard error: how often in % the probability is at least
95% that the second candidate is equivalent to the first / better / worse. *Equivalent* is wrong if the true difference
is above 1 point, *better* is always wrong."""
REAL = """\
## Real tables

The population is 15,000 rows of a table, with two classes. In each of {samples} repetitions 400 rows are drawn from it,
and 12 learners are compared. Their true errors are means over {truths} other training sets of 360 rows, on all other
rows of the population. *Near pairs* differ by less than 0.2 points in truth, and should be significant in about 5% of
the samples at most (mean, its standard error, and the highest pair); then the power for pairs that differ by 2 to 5
points and by 5 or more, significant differences in the *wrong direction* among these, and *false against the best*:
samples in which a candidate is found significantly worse than the best one although its true error is not larger."""
EVERY = """\
## Every setting

False positives in % (standard error); bold are those above 5% by more than two standard errors."""


def conclusion(rates, lines):
    """Return the conclusion, with its numbers from the store."""

    def text(group, what, test, **options):
        mean, highest = overall(rates, group, what, tests=[test], **options)
        return f"{percent(mean)}%" + ("" if options else f" [{percent(highest)}%]")

    stable, letters = next(iter(GROUPS)), {"t": "corrected_t", "p": "pooled"}
    counts = {f"{what}{n}": (stable, f"{what} {n}") for what in ("best", "all", "strict", "fixed") for n in (10, 70)}
    counts |= {"pair": (stable, "pair"), "tree": ("tree", "pair"), "xor": ("tree on XOR", "pair")}
    counts |= {"treebest70": ("tree", "best 70")}
    numbers = {f"{name}_{letter}": text(*each, letters[letter]) for name, each in counts.items() for letter in letters}
    for (name, group), (short, design) in product(
        (("tree", "tree"), ("xor", "tree on XOR")), (("5", "5-fold"), ("10", "10-fold"), ("310", "3 × 10-fold"))
    ):
        numbers[f"{name}{short}"] = text(group, "pair", "corrected_t", designs=[design])
        numbers[f"{name}{short}all"] = text(group, "all 70", "corrected_t", designs=[design])
    tested = [key for what in ("all 10", "all 70") for key in keys_of(stable, what)]
    numbers |= {"above": sum(exceeds(rates, *key) for key in tested), "settings": len(tested)}
    for key, name, size, worse in (("p", "five", 400, 0.05), ("q", "ten", 400, 0.1), ("small", "", 100, 0.1)):
        (setting,) = [each for each in UNEQUAL if (each.learner, each.n, each.worse) == ("lda", size, worse)]
        numbers[name] = percent(true_difference(rates, setting))
        for (short, design), (letter, test) in product((("5", "5-fold"), ("310", "3 × 10-fold")), letters.items()):
            numbers[f"{key}{short}_{letter}"] = (
                f"{percent(rates.of(setting.key, design, 'error', test, 'fixed 2')[0], 0)}%"
            )
    power_of = {
        test: sum(
            rates.of(each.key, design, metric, test, "fixed 2")[0]
            for (each, metric), design in product(cases(UNEQUAL), ("5-fold", "10-fold"))
            if each.n == 400
        )
        for test in TESTS
    }
    numbers["loss"] = f"{percent(power_of['corrected_t'] / power_of['pooled'], 0)}%"
    ropes = {
        (each.name, each.key, design, test): np.mean(rates.values[each.key, design, "error", test, "rope"], axis=0)
        for each, design, test in product((*EQUAL, *UNEQUAL), DESIGNS, TESTS)
        if each.metrics == ("error",)
    }
    numbers["equivalent"] = f"{percent(mean_of([found[1] for found in ropes.values()]), 2)}%"
    numbers["better"] = f"{percent(max(found[0] for key, found in ropes.items() if key[0] != 'tree on XOR'), 0)}%"
    for letter, test in letters.items():
        found = [real_rates(lines, *each, test) for each in product(TABLES, DESIGNS)]
        numbers[f"near_{letter}"] = f"{percent(mean_of([each['significant'] for each in found]))}%"
        numbers["wrong"] = max(numbers.get("wrong", 0), max(each["wrong"] for each in found))
    numbers["wrong"] = f"{percent(numbers['wrong'])}%"
    tested = keys_of(stable, "pair", ["pooled"])
    numbers |= {"pairabove": sum(exceeds(rates, *key) for key in tested), "pairsettings": len(tested)}
    first, bullets, *rest = CONCLUSION.format(**numbers).split("\n\n")
    wrapped = [
        textwrap.fill(" ".join(f"- {each}".split()), 120, subsequent_indent="  ", break_on_hyphens=False)
        for each in bullets.removeprefix("- ").split("\n- ")
    ]
    return "\n\n".join([first, "\n".join(wrapped), *rest])


def page(store, checked):
    """Return the page as Markdown."""
    lines = stored(store)
    rates = Rates(lines)
    ratios = {line["setting"]: line["ratio"] for line in lines if line["kind"] == "stability"}
    kinds = {
        "equal": "of each setting with equally good candidates",
        "unequal": "with unequal ones",
        "real": "samples of each real table",
    }
    tables, errors = real(lines)
    counts = Counter((line["kind"], line["setting"]) for line in lines)

    def least(kind):
        return min(count for (each, _), count in counts.items() if each == kind)

    fixed = FIXED.format(
        count=len(lines), planned=len(jobs()), checked=checked,
        se=100 * math.sqrt(0.0475 / least("equal")), se70=100 * math.sqrt(0.0475 / (least("equal") / 2)),
        repetitions=", ".join(f"{least(kind)} {name}" for kind, name in kinds.items()),
    )  # fmt: skip
    parts = [
        "# Errors of paired tests",
        COMMAND,
        conclusion(rates, lines),
        fixed,
        "## False positives against the target\n\nMean and highest rate in % over settings, designs and metrics.",
        targets(rates),
        "## By design\n\nFalse positives in %: mean [highest].",
        by_design(rates),
        POWER,
        power(rates, "best"),
        "Against the best one, with p-values multiplied by the number of all pairs (not offered).",
        power(rates, "strict"),
        'With all pairs (`reference="all"`), 2 / 10 candidates: share of the pairs of a better and a worse one.',
        power(rates, "all"),
        FALSE,
        power(rates, "best false"),
        EQUIVALENT,
        rope(rates),
        REAL.format(samples=least("real"), truths=least("truth")),
        tables,
        "True errors in % (standard error):",
        errors,
        EVERY,
        every_setting(rates, ratios),
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison_errors", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("comparison_errors.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--check", action="store_true", help="only compare the tests with truefit.compare")
    options = parser.parse_args(arguments)
    if options.data is None and not options.check:
        parser.error("name the folder of tables: --data FOLDER, or TRUEFIT_DATA")
    checked = check()
    print(f"{checked:,} p-values are those of truefit.compare", flush=True)
    if options.check:
        return
    run(Path(options.data), options.store, options.workers, options.minutes)
    text = page(options.store, checked)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
