"""Tests of all pairs of candidates at once, from losses (candidate, partition, row)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from benchmarks.comparison_errors.settings import COUNTS, LEVEL, OFTEN, ROPE
from truefit._methods.assessment.estimate import ONE_PARTITION, REPEATED
from truefit._stats.paired import corrected_paired_t, holm, pooled_paired_t, selected_best

#: Draws that tell whether more are needed.
FEW_DRAWS = 500


@dataclass
class Pairs:
    """Mean differences of all pairs, their t values and degrees of freedom; the covariance of the candidates' means."""

    means: np.ndarray
    t: np.ndarray
    df: np.ndarray
    covariance: np.ndarray

    def p(self, i, j):
        return 2 * stdtr(self.df[i, j], -np.abs(self.t[i, j]))

    def first(self, count):
        return Pairs(*(each[:count, :count] for each in (self.means, self.t, self.df, self.covariance)))


def partitions_of(y, rng, k, repeats, task):
    """Return the fold of each row for each partition, stratified by class."""
    found = []
    for _ in range(repeats):
        order = rng.permutation(len(y))
        if task == "classification":
            order = order[np.argsort(y[order], kind="stable")]
        folds = np.empty(len(y), dtype=int)
        folds[order] = np.arange(len(y)) % k
        found.append(folds)
    return found


def losses_of(predicted, y, task):
    """Return losses (candidate, partition, row)."""
    found = predicted != y if task == "classification" else (predicted - y) ** 2
    return np.ascontiguousarray(found.transpose(1, 0, 2)).astype(float)


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


def t_values(means, ses):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(ses > 0, means / ses, np.where(means == 0, 0.0, np.copysign(np.inf, means)))


def pooled(losses, zero_one, references):
    """Return the t test on the losses of rows for all pairs, corrected for skewness where it matters."""
    count, repeats, n = losses.shape
    factor = ONE_PARTITION if repeats == 1 else REPEATED
    sds, covariances = np.zeros((count, count)), np.zeros((count, count))
    for run in range(repeats):
        centred = losses[:, run] - losses[:, run].mean(axis=1, keepdims=True)
        covariance = centred @ centred.T
        covariances += covariance
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
    return Pairs(means, t, np.full(t.shape, n - 1), covariances)


def may_be_significant(t, df, references):
    """Return the pairs whose exact t is needed, since skewness only makes differences less significant."""
    count = len(t)
    wanted = np.zeros(t.shape, dtype=bool)
    wanted[:OFTEN, :OFTEN] = True
    for place in references:
        wanted[place] = wanted[:, place] = True
    one, all_pairs = (-stdtrit(df, LEVEL / 2 / number) for number in (1, count * (count - 1) / 2))
    return np.triu(np.abs(t) > np.where(wanted, one, all_pairs))


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
    return Pairs(means, np.where(flat, by_rows.t, t), np.where(flat, by_rows.df, splits - 1), np.cov(scores))


def all_tests(scores, rows, k, metric):
    """Return both tests of all pairs of candidates."""
    references = {int(np.argmin(scores[:number].mean(axis=1))) for number in (*COUNTS, len(scores))}
    by_rows = pooled(rows, metric == "error", references | {0})
    return {"corrected_t": corrected(scores, k, by_rows), "pooled": by_rows}


def adjusted_for_selection(tested, best):
    """Return the p-values of the others against the best, adjusted as ``compare`` does."""
    others = np.flatnonzero(np.arange(len(tested.t)) != best)
    p, places = tested.p(others, best), np.r_[best, others]
    if p.min() > LEVEL:  # an adjusted p-value is not smaller
        return np.ones(len(p))
    known = p, tested.covariance[np.ix_(places, places)], float(np.median(tested.df[others, best]))
    # Most decisions are clear after a few draws: their standard error is 1 point at 5%.
    found = selected_best(*known, draws=FEW_DRAWS)
    return selected_best(*known) if ((found > 0.02) & (found < 0.11)).any() else found


def against_best(tested, best):
    """Return which differ significantly from the best, and which of these are worse."""
    others = np.arange(len(tested.t)) != best
    different = np.zeros(len(others), dtype=bool)
    different[others] = adjusted_for_selection(tested, best) <= LEVEL
    return different, different & (tested.means[:, best] > 0)


def against_best_of_all_pairs(tested, best):
    """Return which are significantly worse than the best if p-values count all pairs, since any could be the best."""
    count = len(tested.t)
    others = np.arange(count) != best
    p = np.where(others, tested.p(np.arange(count), best), 1.0)
    return others & (p * count * (count - 1) / 2 <= LEVEL) & (tested.means[:, best] > 0)


def against(tested, reference):
    """Return which differ significantly from a reference by Holm's method, and which of these are worse."""
    others = np.arange(len(tested.t)) != reference
    different = np.zeros(len(others), dtype=bool)
    different[others] = holm(tested.p(others, reference)) <= LEVEL
    return different, different & (tested.means[:, reference] > 0)


def found_different(tested, best, bad):
    """Return, for one number of candidates, what each choice of reference reports."""
    of_best, worse_than_best = against_best(tested, best)
    by_holm, worse_by_holm = against(tested, best)
    of_fixed, worse_than_fixed = against(tested, 0)
    strict = against_best_of_all_pairs(tested, best)
    i, j = np.triu_indices(len(bad), 1)
    if not bad.any():
        t, df = np.abs(tested.t[i, j]), tested.df[i, j]
        least = min(2 * stdtr(each, -t[df == each].max()) for each in np.unique(df))
        any_pair = least * len(i) <= LEVEL  # Holm's first step
        found = {
            "best": of_best.any(), "holm": by_holm.any(), "fixed": of_fixed.any(), "strict": strict.any(),
            "all": any_pair,
        }  # fmt: skip
    else:
        found = {
            "best": worse_than_best[bad].mean(), "best false": worse_than_best[~bad].any(),
            "holm": worse_by_holm[bad].mean(), "holm false": worse_by_holm[~bad].any(),
            "fixed": worse_than_fixed[bad].mean(), "fixed false": of_fixed[~bad].any(),
            "strict": strict[bad].mean(), "strict false": strict[~bad].any(),
        }  # fmt: skip
        if len(bad) <= OFTEN:
            significant = holm(tested.p(i, j)) <= LEVEL
            differ, difference = bad[i] != bad[j], np.where(bad[i], 1, -1) * tested.means[i, j]
            found["all"] = (significant & (difference > 0))[differ].mean()
            found["all false"] = significant[~differ].any() or (significant & (difference < 0)).any()
    return {name: float(value) for name, value in found.items()}


def one_pair(losses, scores, k, metric):
    """Return both tests of the second candidate against the first, by truefit's own functions."""
    repeats = losses.shape[1]
    factor = ONE_PARTITION if repeats == 1 else REPEATED
    by_rows = pooled_paired_t(losses[1] - losses[0], factor=factor, zero_one=metric == "error")
    by_folds = corrected_paired_t(np.round(scores[1] - scores[0], 12), 1 / (k - 1))
    flat = by_folds.se == 0 and by_folds.mean != 0
    return {"corrected_t": by_rows if flat else by_folds, "pooled": by_rows}


def equivalence(found):
    """Return whether the second is better, equivalent and worse with a probability of 95%, by the Bayesian test."""
    return [float(each >= 1 - LEVEL) for each in found.shares(ROPE)]
