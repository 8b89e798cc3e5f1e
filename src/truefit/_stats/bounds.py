"""Bounds of learning theory, and the decrease rate of Perturbed Model Validation, as plain functions of numbers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats


def vc_gap(h: float, n: int, *, eta: float = 0.05, tau: float = 1.0) -> float:
    r"""Gap of training and true error by Vapnik's inequality: :math:`2\tau \sqrt{(h(\ln(2n/h) + 1) - \ln(\eta/9))/n}`.

    Infinite where h ≥ 2n: the count of dichotomies behind the formula does not hold there.
    """
    if not h < 2 * n:
        return math.inf
    return 2 * tau * math.sqrt((h * (math.log(2 * n / h) + 1) - math.log(eta / 9)) / n)


def vc_gap_realizable(h: float, n: int, *, tau: float = 1.0) -> float:
    r"""The gap for large n where a member of the class makes no error: :math:`2\tau \ln(2n/h)/(n/h)`.

    Infinite below :math:`n = eh/2`, where the expression still rises with n.
    """
    if not n >= math.e / 2 * h:
        return math.inf
    return 2 * tau * math.log(2 * n / h) * h / n


def pac_finite(log_size: float, epsilon: float, delta: float, *, realizable: bool) -> int:
    r"""Rows that a finite class of :math:`e^{\text{log_size}}` members needs.

    Realizable: :math:`(\ln|H| + \ln(1/\delta))/\epsilon`. Agnostic: :math:`(\ln|H| + \ln(2/\delta))/(2\epsilon^2)`.
    """
    if realizable:
        return math.ceil((log_size - math.log(delta)) / epsilon)
    return math.ceil((log_size + math.log(2 / delta)) / (2 * epsilon**2))


def pac_vc(h: float, epsilon: float, delta: float, *, realizable: bool) -> float:
    r"""Rows that a class of VC dimension h needs.

    Realizable: :math:`\max(\frac4\epsilon\log_2\frac2\delta, \frac{8h}\epsilon\log_2\frac{13}\epsilon)` (Blumer et al.
    1989). Agnostic: the smallest n at which :func:`vc_gap` is at most ε.
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
    r"""Deviation term of a bound by the empirical Rademacher complexity: :math:`3\sqrt{\ln(2/\delta)/2m}`."""
    return 3 * math.sqrt(math.log(2 / delta) / (2 * m))


def stump_dimension(features: int) -> int:
    r"""VC dimension of stumps on ℓ features: the largest d with :math:`\binom{d}{\lfloor d/2\rfloor} \le 2\ell`.

    J.-S. Leboeuf, F. LeBlanc, M. Marchand (2020), Decision trees as partitioning machines to characterize their
    generalization properties, NeurIPS 33.
    """
    d = 1
    while math.comb(d + 1, (d + 1) // 2) <= 2 * features:
        d += 1
    return d


def decrease_rates(shares: npt.ArrayLike, values: npt.ArrayLike) -> Floats:
    """Signed decrease rate of each repeat: minus the slope of the least-squares line (PMV, definition 1).

    Both arrays have shape (repeats, levels): the share of perturbed targets, 0 first, and the training accuracy or
    correlation there. NaN where a value is NaN.
    """
    x, a = np.asarray(shares, dtype=np.float64), np.asarray(values, dtype=np.float64)
    centred = x - x.mean(axis=1, keepdims=True)
    spread = (centred**2).sum(axis=1)
    if not (spread > 0).all():
        raise InvalidInput("A decrease rate needs at least 2 different shares of noise. Got one; pass more levels.")
    # Adding 0 turns a minus zero, which would be printed as such, into zero.
    return np.asarray(0.0 - (centred * (a - a.mean(axis=1, keepdims=True))).sum(axis=1) / spread)


def unmemorised_rate(accuracy: float, classes: int) -> float:
    """Return the rate of a learner that memorises no flipped labels: :math:`(C a - 1)/(C - 1)`.

    Predictions with accuracy :math:`a` keep :math:`a(1 - r)` of it when the share r of the labels is flipped, and gain
    :math:`(1 - a) r/(C - 1)` where a flip happens to agree with them.
    """
    return (classes * accuracy - 1) / (classes - 1)


def rate_skill(rate: float, dummy: float) -> float:
    """Return the rate above that of the majority class, as a share of what is possible: :math:`(k - k_d)/(1 - k_d)`."""
    return (rate - dummy) / (1 - dummy) if dummy < 1 else math.nan


def srm_risk(rate: float, rows: int, delta: float = 0.05) -> float:
    r"""Structural risk index of the PMV paper (Eq. 6), not a bound: :math:`1 - 0.5|k| + 3\sqrt{\ln(2/\delta)/2m}`."""
    return 1 - 0.5 * abs(rate) + rademacher_slack(rows, delta)


def correlation(one: npt.ArrayLike, other: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> float:
    """Pearson's correlation, the mean over several columns; 0 where one of the two is constant."""
    w = None if weight is None else np.asarray(weight, dtype=np.float64)
    a, b = _centred(one, w), _centred(other, w)
    alone = np.sqrt(np.average(a * a, axis=0, weights=w) * np.average(b * b, axis=0, weights=w))
    varies = alone > 0
    together = np.average(a * b, axis=0, weights=w)
    return float(np.mean(np.where(varies, together / np.where(varies, alone, 1.0), 0.0)))


def _centred(values: npt.ArrayLike, weight: Floats | None) -> Floats:
    columns = np.asarray(values, dtype=np.float64)
    columns = columns.reshape(len(columns), -1)
    centred: Floats = columns - np.average(columns, axis=0, weights=weight)
    # Rounding leaves about 1e-16 of a constant column's size: that is no spread.
    constant = np.abs(centred).max(axis=0) <= 1e-13 * np.abs(columns).max(axis=0)
    return np.where(constant, 0.0, centred)
