"""The decrease rate: how fast a learner's agreement with its own training targets falls as noise is put into them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.stats.bounds import rademacher_slack

Floats = npt.NDArray[np.float64]


def decrease_rates(shares: npt.ArrayLike, values: npt.ArrayLike) -> Floats:
    r"""Signed decrease rate of each line: minus the slope of the least-squares line (PMV, definition 1).

    .. math:: k = -\frac{\sum_i (r_i - \bar r)(a_i - \bar a)}{\sum_i (r_i - \bar r)^2}

    Parameters
    ----------
    shares : array-like of shape (repeats, levels)
        Share of the targets that was really disturbed; 0 for the undisturbed table.
    values : array-like of shape (repeats, levels)
        Training accuracy, or correlation, at each of them.

    Returns
    -------
    array of shape (repeats,)
        NaN where a value is.

    Examples
    --------
    >>> decrease_rates([[0.0, 0.25, 0.5]], [[1.0, 0.8, 0.6]]).round(12).tolist()
    [0.8]
    """
    x, a = np.asarray(shares, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.ndim != 2 or x.shape != a.shape:
        raise InvalidInput(
            "The 'shares' and 'values' parameters of decrease_rates must be of one shape (repeats, levels). Got "
            f"{x.shape} and {a.shape}."
        )
    apart = x - x.mean(axis=1, keepdims=True)
    spread = (apart**2).sum(axis=1)
    if not (spread > 0).all():
        raise InvalidInput("A decrease rate needs at least 2 different shares of noise. Got one; pass more levels.")
    # Adding 0 turns a minus zero, which would be printed as such, into zero.
    rates: Floats = 0.0 - (apart * (a - a.mean(axis=1, keepdims=True))).sum(axis=1) / spread
    return rates


def unmemorised_rate(accuracy: float, classes: int) -> float:
    r"""Return the rate of a learner whose predictions do not follow flipped labels: :math:`(C a - 1)/(C - 1)`.

    Predictions with accuracy :math:`a` keep :math:`a(1 - r)` of it when the share r of the labels is flipped, and gain
    :math:`(1 - a) r/(C - 1)` where a flip happens to hit what they say.

    Examples
    --------
    >>> round(unmemorised_rate(0.95, 2), 12), round(unmemorised_rate(1 / 3, 3), 12)
    (0.9, 0.0)
    """
    return (classes * accuracy - 1) / (classes - 1)


def rate_skill(rate: float, dummy: float) -> float:
    r"""Return how much of the rate that the largest class alone leaves open is reached: :math:`(k - k_d)/(1 - k_d)`.

    Examples
    --------
    >>> round(rate_skill(0.76, 0.52), 12), rate_skill(0.52, 0.52)
    (0.5, 0.0)
    """
    return (rate - dummy) / (1 - dummy) if dummy < 1 else math.nan


def srm_risk(rate: float, rows: int, delta: float = 0.05) -> float:
    r"""Structural risk as the PMV paper has it (Eq. 6): :math:`1 - 0.5|k| + 3\sqrt{\ln(2/\delta)/2m}`.

    An index to compare learners by; it is no bound of the error.

    Examples
    --------
    >>> round(srm_risk(0.8, 1000), 4)
    0.7288
    """
    return 1 - 0.5 * abs(rate) + rademacher_slack(rows, delta)


def correlation(one: npt.ArrayLike, other: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> float:
    """Pearson's correlation, of several columns the mean; 0 where one of the two does not vary.

    Examples
    --------
    >>> round(correlation([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]), 4), correlation([1.0, 1.0], [0.0, 1.0])
    (0.9934, 0.0)
    """
    w = None if weight is None else np.asarray(weight, dtype=np.float64)
    a, b = _centred(one, w), _centred(other, w)
    alone = np.sqrt(np.average(a * a, axis=0, weights=w) * np.average(b * b, axis=0, weights=w))
    varies = alone > 0
    together = np.average(a * b, axis=0, weights=w)
    return float(np.mean(np.where(varies, together / np.where(varies, alone, 1.0), 0.0)))


def _centred(values: npt.ArrayLike, weight: Floats | None) -> Floats:
    columns = np.asarray(values, dtype=np.float64)
    columns = columns.reshape(len(columns), -1)
    apart: Floats = columns - np.average(columns, axis=0, weights=weight)
    # Rounding leaves a column of one value about 1e-16 of its size apart: that is no spread.
    flat = np.abs(apart).max(axis=0) <= 1e-13 * np.abs(columns).max(axis=0)
    return np.where(flat, 0.0, apart)
