"""AUC: its variance by DeLong, the mean over folds, an interval, and what each row contributes to it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, logit

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.delta import Estimated
from truefit._stats.intervals import Interval, normal_quantile


def fold_mean_auc(folds: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]) -> tuple[float, float]:
    """Mean of the folds' AUCs, and its variance by DeLong.

    Scores of different folds come from different models and are not compared with each other. One fold's variance is
    :math:`s^2_{+}/m + s^2_{-}/n` with :math:`s^2` the variances of the placements of m positive and n negative rows,
    pooled over the folds so that a fold with a single positive row can take part.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Biometrics 44:837-845; placements from midranks: X. Sun and
    W. Xu (2014), IEEE Signal Processing Letters 21:1389-1393.
    """
    areas: list[float] = []
    squares, freedom, shares = np.zeros(2), np.zeros(2), np.zeros(2)
    for y01, scores in folds:
        of_positives, of_negatives = placements(y01, scores)
        area = float(of_positives.mean())
        areas.append(area)
        for side, placed in enumerate((of_positives, of_negatives)):
            squares[side] += ((placed - area) ** 2).sum()
            freedom[side] += len(placed) - 1
            shares[side] += 1 / len(placed)
    if not freedom.all():
        raise InvalidInput(
            "The variance of an AUC needs a fold with at least 2 rows of each class. Got no such fold; use fewer folds."
        )
    variance = float((squares / freedom * shares).sum()) / len(areas) ** 2
    return float(np.mean(areas)), variance


def auc_interval(
    mean: float,
    variance: float,
    factor: float = 1.15,
    level: float = 0.95,
    *,
    counts: tuple[float, float] | None = None,
) -> Estimated:
    r"""Interval for an AUC on the logit scale: :math:`\operatorname{logit} A \pm z\,\text{factor} \sqrt{V}/(A(1-A))`.

    Near 0 and 1 the variance depends on few rows and is far too small; an AUC of exactly 1 shows no spread at all.
    Where less than two rows of the smaller class are out of order and ``counts`` (positive, negative rows) are given,
    the interval is extended by Newcombe's method 5. In simulations with AUCs of 0.7 to 0.999 and 10 to 170 rows per
    class this raised the lowest coverage of a 95% interval from 79% to 94%, at up to twice the width. ``factor``
    multiplies the standard error, for models that are not the one trained on all rows.

    References
    ----------
    R. G. Newcombe (2006), Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2,
    Statistics in Medicine 25:559-573.
    """
    z = factor * normal_quantile(level)
    found: list[Interval] = []
    if 0 < mean < 1:
        if variance <= 0:
            return Estimated(mean, None, "the scores of the rows show no spread")
        at, reach = float(logit(mean)), z * math.sqrt(variance) / (mean * (1 - mean))
        found.append((float(expit(at - reach)), float(expit(at + reach))))
    if counts is not None and min(mean, 1 - mean) * min(counts) < 2:
        found.append(_newcombe(mean, counts, z))
    if not found:
        order = "above" if mean >= 1 else "below"
        return Estimated(mean, None, f"all positive rows score {order} all negative ones, and that shows no spread")
    lows, highs = zip(*found, strict=True)
    return Estimated(mean, (min(lows), max(highs)))


def _newcombe(area: float, counts: tuple[float, float], z: float) -> Interval:
    """Return the areas whose own standard error explains the observed one."""
    positives, negatives = counts
    middle = (positives + negatives) / 2

    def too_far(other: float) -> float:
        spread = 1 + (middle - 1) * ((1 - other) / (2 - other) + other / (1 + other))
        return abs(area - other) - z * math.sqrt(other * (1 - other) * spread / (positives * negatives))

    tiny = 1e-12
    low = float(brentq(too_far, tiny, area - tiny)) if area > 2 * tiny else 0.0
    high = float(brentq(too_far, area + tiny, 1 - tiny)) if area < 1 - 2 * tiny else 1.0
    return low, high


def auc_contributions(y01: npt.ArrayLike, scores: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Floats:
    """Return one value per row whose mean is the AUC, and whose spread shows its standard error: DeLong's placements.

    With the share V of the other class's weight that a row is on the right side of, the AUC A, and the weight W of the
    row's own class, a row of weight w adds n·w·(V − A)/W to A. Differences of such values between two models on the
    same rows are the paired comparison of DeLong et al. (1988); sums over groups are the clustered one of N. A.
    Obuchowski (1997), Nonparametric analysis of clustered ROC curve data, Biometrics 53:567-578.
    """
    truth = np.asarray(y01)
    weights = np.ones(truth.size) if weight is None else np.asarray(weight, dtype=np.float64)
    of_positives, of_negatives = placements(truth, scores, weights)
    positive = truth == 1
    area = float(np.average(of_positives, weights=weights[positive]))
    values = np.empty(truth.size)
    for side, shares in ((positive, of_positives), (~positive, of_negatives)):
        values[side] = area + truth.size * weights[side] * (shares - area) / weights[side].sum()
    return values


def average_precision_contributions(
    positive: npt.ArrayLike, scores: npt.ArrayLike, weight: npt.ArrayLike | None = None
) -> Floats:
    """Return one value per row whose mean is the average precision, and whose spread shows its standard error.

    Average precision is the mean over the positive rows of the precision among the rows of at least their score. Its
    derivative by the weight of a row has two parts: the row's own precision, if it is positive, and what the row does
    to the precision at all positive rows of a score that is at most its own.
    """
    y01, given = np.asarray(positive), np.asarray(scores, dtype=np.float64)
    order = np.argsort(-given, kind="stable")
    ranked, w = given[order], (np.ones(given.size) if weight is None else np.asarray(weight, dtype=np.float64))[order]
    hit = w * y01[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # the last row of each score
    step = np.cumsum(np.append(0, ranked[1:] != ranked[:-1]))
    above, hits = np.cumsum(w)[ends], np.cumsum(hit)[ends]
    precision = np.divide(hits, above, out=np.zeros_like(hits), where=above > 0)
    at_step = np.diff(hits, prepend=0.0)
    total = hits[-1]
    average = float(at_step @ precision / total)
    share = np.divide(at_step, above, out=np.zeros_like(above), where=above > 0)
    later = np.cumsum(share[::-1])[::-1]
    later_lost = np.cumsum((share * precision)[::-1])[::-1]
    slope = (y01[order] * (precision[step] - average + later[step]) - later_lost[step]) / total
    values = np.empty(given.size)
    values[order] = average + given.size * w * slope
    return values


def placements(y01: npt.ArrayLike, scores: npt.ArrayLike, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the share of negatives below each positive, and of positives above each negative; ties count half."""
    truth, ranked = np.asarray(y01), np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != ranked.shape or not np.isin(truth, (0, 1)).all() or np.isnan(ranked).any():
        raise InvalidInput(
            "An AUC needs a 0 or 1 and a score for every row, and no NaN. Got "
            f"y01 of shape {truth.shape} and scores of shape {ranked.shape}."
        )
    positive = truth == 1
    weights = np.ones(truth.size) if weight is None else weight
    m, n = float(weights[positive].sum()), float(weights[~positive].sum())
    if m == 0 or n == 0:
        raise InvalidInput(
            f"An AUC needs rows of both classes, with a weight above 0. Got only one class in {truth.size:,} rows."
        )
    # Rows of one score are on one step; a step holds the weight of each class below it, and half of its own.
    order = np.argsort(ranked, kind="stable")
    step = np.zeros(truth.size, dtype=np.intp)
    ascending = ranked[order]
    step[order[1:]] = np.cumsum(ascending[1:] != ascending[:-1])
    below = []
    for side in (positive, ~positive):
        own = np.bincount(step, weights=weights * side)
        below.append(np.cumsum(own) - own / 2)
    return below[1][step[positive]] / n, 1 - below[0][step[~positive]] / m
