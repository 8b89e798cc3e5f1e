"""Bounds of learning theory, and the decrease rate of Perturbed Model Validation, as plain functions of numbers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats


def vc_gap(h: float, n: int, *, eta: float = 0.05, tau: float = 1.0) -> float:
    r"""How far training error and true error may be apart, by Vapnik's inequality.

    .. math:: 2\tau \sqrt{\frac{h(\ln\frac{2n}{h} + 1) - \ln\frac{\eta}{9}}{n}}

    Infinite where there are not even half as many rows as the VC dimension, and the count of dichotomies behind the
    formula does not hold.

    Examples
    --------
    >>> round(vc_gap(10, 10_000), 4)
    0.191
    """
    if not h < 2 * n:
        return math.inf
    return 2 * tau * math.sqrt((h * (math.log(2 * n / h) + 1) - math.log(eta / 9)) / n)


def vc_gap_realizable(h: float, n: int, *, tau: float = 1.0) -> float:
    r"""The same for large n where a member of the class makes no error.

    .. math:: 2\tau \frac{\ln(2n/h)}{n/h}

    Infinite below :math:`n = eh/2`, where the expression still rises with n: that is not large.

    Examples
    --------
    >>> round(vc_gap_realizable(10, 10_000), 4)
    0.0152
    """
    if not n >= math.e / 2 * h:
        return math.inf
    return 2 * tau * math.log(2 * n / h) * h / n


def pac_finite(log_size: float, epsilon: float, delta: float, *, realizable: bool) -> int:
    r"""Rows that a finite class of :math:`e^{\text{log_size}}` members needs.

    Realizable: :math:`\frac1\epsilon(\ln|H| + \ln\frac1\delta)`, after which every member without training errors has
    a true error of at most ε. Agnostic: :math:`\frac1{2\epsilon^2}(\ln|H| + \ln\frac2\delta)`, after which training
    and true error of every member are within ε of each other (Hoeffding).

    Examples
    --------
    >>> pac_finite(math.log(1000), 0.1, 0.05, realizable=True), pac_finite(math.log(1000), 0.1, 0.05, realizable=False)
    (100, 530)
    """
    if realizable:
        return math.ceil((log_size - math.log(delta)) / epsilon)
    return math.ceil((log_size + math.log(2 / delta)) / (2 * epsilon**2))


def pac_vc(h: float, epsilon: float, delta: float, *, realizable: bool) -> float:
    r"""Rows that a class of VC dimension h needs.

    Realizable: :math:`\max(\frac4\epsilon\log_2\frac2\delta, \frac{8h}\epsilon\log_2\frac{13}\epsilon)` (Blumer et al.
    1989). Agnostic: the least n at which :func:`vc_gap` is at most ε.

    Examples
    --------
    >>> pac_vc(3, 0.1, 0.05, realizable=True), pac_vc(3, 0.1, 0.05, realizable=False)
    (1686, 14270)
    """
    if math.isinf(h):
        return math.inf
    if realizable:
        return math.ceil(max(4 / epsilon * math.log2(2 / delta), 8 * h / epsilon * math.log2(13 / epsilon)))
    short, enough = math.ceil(h), 2 * math.ceil(h)
    while vc_gap(h, enough, eta=delta) > epsilon:
        short, enough = enough, 2 * enough
    while enough - short > 1:
        middle = (short + enough) // 2
        short, enough = (middle, enough) if vc_gap(h, middle, eta=delta) > epsilon else (short, middle)
    return enough


def rademacher_slack(m: int, delta: float) -> float:
    r"""What a measured Rademacher complexity leaves to chance: :math:`3\sqrt{\ln(2/\delta)/2m}`.

    Examples
    --------
    >>> round(rademacher_slack(1000, 0.05), 4)
    0.1288
    """
    return 3 * math.sqrt(math.log(2 / delta) / (2 * m))


def stump_dimension(features: int) -> int:
    r"""VC dimension of decision stumps on real features.

    With :math:`\ell` features it is the largest d with :math:`\binom{d}{\lfloor d/2\rfloor} \le 2\ell`.

    References
    ----------
    J.-S. Leboeuf, F. LeBlanc, M. Marchand (2020), Decision trees as partitioning machines to characterize their
    generalization properties, NeurIPS 33.

    Examples
    --------
    >>> [stump_dimension(features) for features in (1, 2, 3, 10, 100)]
    [2, 3, 4, 6, 9]
    """
    d = 1
    while math.comb(d + 1, (d + 1) // 2) <= 2 * features:
        d += 1
    return d


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
