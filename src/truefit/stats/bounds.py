"""Bounds of learning theory as plain functions of numbers. What they mean in words is said by ``truefit.bounds``."""

from __future__ import annotations

import math


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
