"""AUC: its variance by DeLong, the mean over folds, and an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import rankdata

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.delta import Estimated
from truefit._stats.intervals import Interval, normal_quantile


def fold_mean_auc(folds: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]]) -> tuple[float, float]:
    r"""Mean of the folds' AUCs, and its variance by DeLong.

    Scores of different folds come from different models and are not compared with each other. The placement of a
    positive row is the share of negative rows that score below it, ties counting half, and the other way round. With
    :math:`s^2` the variances of the placements (divisors m - 1 and n - 1), the variance of one fold's AUC is

    .. math:: s^2_{+}/m + s^2_{-}/n

    The variances of the placements are pooled over the folds: so a fold with one positive row alone can take part.

    Parameters
    ----------
    folds : iterable of (y01, scores)
        0 and 1, and scores that are higher for rows taken to be positive.

    Returns
    -------
    tuple of float
        Mean and variance.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44:837-845.

    X. Sun and W. Xu (2014), Fast implementation of DeLong's algorithm, IEEE Signal Processing Letters 21:1389-1393:
    placements from midranks.

    Raises
    ------
    InvalidInput
        Where a fold lacks a class, or no fold has two rows of each.

    Examples
    --------
    Placements of the first fold's positives: 1/2 and 1; of its negatives: 1 and 1/2.

    >>> fold_mean_auc([([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8])])
    (0.75, 0.125)
    >>> fold_mean_auc([([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8]), ([0, 1, 1], [0.2, 0.1, 0.3])])
    (0.625, 0.125)
    """
    areas: list[float] = []
    squares, freedom, shares = np.zeros(2), np.zeros(2), np.zeros(2)
    for y01, scores in folds:
        of_positives, of_negatives = _placements(y01, scores)
        area = float(of_positives.mean())
        areas.append(area)
        for side, placements in enumerate((of_positives, of_negatives)):
            squares[side] += ((placements - area) ** 2).sum()
            freedom[side] += len(placements) - 1
            shares[side] += 1 / len(placements)
    if not areas:
        raise InvalidInput("The mean AUC over folds needs at least 1 fold. Got none.")
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
    counts: tuple[int, int] | None = None,
) -> Estimated:
    r"""Interval for an AUC, made on the logit scale.

    .. math:: \operatorname{logit} A \pm z \cdot \text{factor} \cdot \sqrt{V} / (A(1-A))

    Near 1 and near 0 the variance rests on the few rows that are out of order, and is far too small where by chance
    there are fewer than usual; an AUC of exactly 1 shows no spread at all. So where less than the worth of two rows of
    the smaller class is out of order, the interval also takes in the values that the rows do not contradict by a
    variance that follows from the AUC and the counts alone (Newcombe's method 5). In simulations with normal and
    exponential scores, AUCs of 0.7 to 0.999 and 10 to 170 rows of a class, this raised the least coverage of a 95%
    interval from 79% to 94%, at up to twice the width. It needs ``counts``.

    Parameters
    ----------
    mean, variance : float
        From :func:`fold_mean_auc`.
    factor : float, default=1.15
        What the standard error is multiplied by, for models that are not the one trained on all rows.
    level : float, default=0.95
    counts : tuple of int, optional
        Positive and negative rows over all folds.

    Returns
    -------
    Estimated
        The mean, its interval or None, and the reason where it is None.

    References
    ----------
    R. G. Newcombe (2006), Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2,
    Statistics in Medicine 25:559-573.

    Examples
    --------
    >>> _, (low, high), _ = auc_interval(0.8, 0.03**2, factor=1)
    >>> print(f"{low:.3f} to {high:.3f}")
    0.735 to 0.852
    >>> _, (low, high), _ = auc_interval(1.0, 0.0, factor=1, counts=(30, 30))
    >>> print(f"{low:.3f} to {high:.3f}")
    0.933 to 1.000
    >>> auc_interval(1.0, 0.0).reason
    'all positive rows score above all negative ones, and that shows no spread'
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


def _newcombe(area: float, counts: tuple[int, int], z: float) -> Interval:
    """Return the areas whose own standard error explains the one seen."""

    def too_far(other: float) -> float:
        return abs(area - other) - z * _newcombe_error(other, *counts)

    tiny = 1e-12
    low = float(brentq(too_far, tiny, area - tiny)) if area > 2 * tiny else 0.0
    high = float(brentq(too_far, area + tiny, 1 - tiny)) if area < 1 - 2 * tiny else 1.0
    return low, high


def _newcombe_error(area: float, positives: int, negatives: int) -> float:
    """Return the standard error of an AUC of that size."""
    middle = (positives + negatives) / 2
    spread = 1 + (middle - 1) * ((1 - area) / (2 - area) + area / (1 + area))
    return math.sqrt(area * (1 - area) * spread / (positives * negatives))


def _placements(y01: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the shares of negatives below each positive, and of positives above each negative."""
    truth, ranked = np.asarray(y01), np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != ranked.shape or not np.isin(truth, (0, 1)).all() or np.isnan(ranked).any():
        raise InvalidInput(
            "An AUC needs a 0 or 1 and a score for every row, and no NaN. Got "
            f"y01 of shape {truth.shape} and scores of shape {ranked.shape}."
        )
    positive = truth == 1
    above, below = ranked[positive], ranked[~positive]
    m, n = len(above), len(below)
    if m == 0 or n == 0:
        raise InvalidInput(f"An AUC needs rows of both classes in every fold. Got {m} positive and {n} negative rows.")
    both = rankdata(np.concatenate([above, below]))
    return (both[:m] - rankdata(above)) / n, 1 - (both[m:] - rankdata(below)) / m
