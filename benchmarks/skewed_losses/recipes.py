"""Recipes: intervals from stored losses, of truefit and for comparison, and how often they hold the true error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from benchmarks.skewed_losses.fits import FOLDS, TRIANGLE_FOLDS, folds
from benchmarks.skewed_losses.settings import CHEAP
from truefit._methods.assessment.evidence import gain_of_all_rows
from truefit._stats.delta import delta_interval
from truefit._stats.intervals import Tail, averaged_repeats, pooled
from truefit._stats.paired import pooled_paired_t
from truefit._stats.triangle import change_to_all_rows, single_fit_weight, triangle_tau

BEFORE, HALL, TRUEFIT = "mean ± 1.2 z s/√n (before)", "Hall's transformation × 1.2", "truefit"


@dataclass(frozen=True)
class Row:
    """One setting: coverage and width of each recipe over its repetitions, and how often the tail was called heavy."""

    setting: str
    covered: dict[str, float]
    width: dict[str, float]
    repetitions: int
    heavy: float = math.nan
    without_finding: float = math.nan


def before(losses, factor=1.2):
    half = ndtri(0.975) * factor * losses.std(ddof=1) / math.sqrt(losses.size)
    return losses.mean() - half, losses.mean() + half


def hall(losses, factor=1.2):
    """P. Hall (1992): the mean is transformed by a cubic function of the sample skewness."""
    n, mean, sd = losses.size, losses.mean(), losses.std(ddof=1)
    skewness = Tail.of(losses).skewness or 1e-9
    x = stdtrit(n - 1, 0.975) * factor / math.sqrt(n)

    def moved(by):
        return 3 / skewness * (np.cbrt(1 + skewness * (by - skewness / (6 * n))) - 1)

    return mean - sd * moved(x), mean - sd * moved(-x)


def truefit_interval(losses, columns):
    return extended(*pooled(losses, zero_one=False), losses.mean(), losses.size, 1 - 1 / FOLDS, columns)


def extended(low, high, mean, n, share, columns):
    """Extend an interval as ``assess`` does with few training rows per column."""
    return low - gain_of_all_rows(n, n * share, columns) * mean, high


def measured(setting, intervals, truths, heavy=None):
    """Coverage, and the median width over repetitions; losses are at least 0, and so are the ends."""
    covered, width, hits = {}, {}, {}
    for name, ends in intervals.items():
        low, high = np.maximum(np.array(ends), -math.inf if setting.startswith("paired") else 0.0).T
        hits[name] = (low <= truths) & (truths <= high)
        covered[name], width[name] = float(hits[name].mean()), float(np.median(high - low))
    if heavy is None:
        return Row(setting, covered, width, len(truths))
    rest = hits[TRUEFIT][~heavy].mean() if (~heavy).sum() >= 20 else math.nan
    return Row(setting, covered, width, len(truths), float(heavy.mean()), float(rest))


def one_partition(name, losses, truths, columns):
    """10-fold cross-validation."""
    intervals = {
        BEFORE: [before(each) for each in losses],
        HALL: [hall(each) for each in losses],
        TRUEFIT: [truefit_interval(each, columns) for each in losses],
    }
    return measured(name, intervals, truths, np.array([Tail.of(each).heavy for each in losses]))


def explained(name, squares, y, truths):
    """RSE of 10-fold cross-validation, the squared errors over the variance of the target."""

    def value(m):
        return m[0] / (m[2] - m[1] ** 2)

    def slopes(m):
        variance = m[2] - m[1] ** 2
        return np.array([1 / variance, 2 * m[1] * m[0] / variance**2, -m[0] / variance**2])

    ends = []
    for own, target in zip(squares, y, strict=True):
        parts = np.column_stack([own, target, target**2])
        ends.append(delta_interval([parts], value, slopes, "plain", factor=1.2).interval)
    return measured(name, {TRUEFIT: ends}, truths)


def repeated(name, losses, truths, columns):
    """10-fold cross-validation, three times."""
    ours, plain = [], []
    for run in losses:
        ends = averaged_repeats(run, zero_one=False)
        ours.append(extended(*ends, run.mean(), run.shape[1], 1 - 1 / FOLDS, columns))
        half = ndtri(0.975) * 1.1 * run.std(axis=1, ddof=1).mean() / math.sqrt(run.shape[1])
        plain.append((run.mean() - half, run.mean() + half))
    return measured(name, {BEFORE: plain, TRUEFIT: ours}, truths)


def split(singles, pairs):
    """Losses of one sample as the triangle wants them."""
    fold = folds(singles.size, TRIANGLE_FOLDS)
    of = [fold == a for a in range(TRIANGLE_FOLDS)]
    every = range(TRIANGLE_FOLDS)
    lines = [[None if a == b else pairs[b - (b > a), of[a]] for b in every] for a in every]
    return [singles[each] for each in of], lines


def triangle(name, singles, pairs, truths, columns):
    """Triangle + τ with 5 folds."""
    ours, plain = [], []
    share = 1 - (2 - single_fit_weight(TRIANGLE_FOLDS)) / TRIANGLE_FOLDS
    for one, two in zip(singles, pairs, strict=True):
        found = triangle_tau([split(one, two)], zero_one=False)
        ours.append(extended(found.low, found.high, found.estimate, one.size, share, columns))
        half = ndtri(0.975) * found.se
        plain.append((found.estimate - half, found.estimate + half))
    return measured(name, {BEFORE: plain, TRUEFIT: ours}, truths)


def winner(name, found):
    """Nested cross-validation over three candidates, extended for training on all rows."""
    singles = np.stack([found[f"{each}/singles"] ** 2 for each in CHEAP], axis=1)
    pairs = np.stack([found[f"{each}/pairs"] ** 2 for each in CHEAP], axis=1)
    truths = np.stack([found[f"{each}/truth"][:, 0] for each in CHEAP], axis=1)
    n = singles.shape[2]
    fold = folds(n, TRIANGLE_FOLDS)
    outer, fewer = np.empty((2, len(singles), n))
    for a in range(TRIANGLE_FOLDS):
        inner = sum(pairs[:, :, a - (a > b), fold == b].sum(axis=2) for b in range(TRIANGLE_FOLDS) if b != a)
        chosen = inner.argmin(axis=1)
        outer[:, fold == a] = np.take_along_axis(singles[:, :, fold == a], chosen[:, None, None], axis=1)[:, 0]
        without_two = pairs[:, :, :, fold == a].mean(axis=2)
        fewer[:, fold == a] = np.take_along_axis(without_two, chosen[:, None, None], axis=1)[:, 0]
    best = singles.mean(axis=2).argmin(axis=1)
    intervals = {
        BEFORE: [before(each, 1.4) for each in outer],
        TRUEFIT: [pooled(each, factor=1.4, zero_one=False) for each in outer],
    }
    for ends in intervals.values():
        for place, (one, two) in enumerate(zip(outer.mean(axis=1), fewer.mean(axis=1), strict=True)):
            gain = np.clip(-change_to_all_rows(one, two, TRIANGLE_FOLDS), 0, one / TRIANGLE_FOLDS)
            ends[place] = (ends[place][0] - gain, ends[place][1])
    return measured(name, intervals, np.take_along_axis(truths, best[:, None], axis=1)[:, 0])


def paired(name, differences, truths):
    """Difference of two learners on the same 10 folds."""
    intervals = {
        BEFORE: [pooled_paired_t([each], factor=1.2).interval() for each in differences],
        TRUEFIT: [pooled_paired_t([each], factor=1.2, zero_one=False).interval() for each in differences],
    }
    return measured(f"paired {name}", intervals, truths)
