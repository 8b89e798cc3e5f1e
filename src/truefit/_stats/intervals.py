"""Intervals for a mean loss: Wilson, pooled over one partition, averaged over repeats, corrected resampled t.

Every function takes plain numbers and returns ``(low, high)``. None of them clips to what the loss can be:
that a squared error is not negative is the caller's knowledge. Wilson's interval stays within 0 and 1 by
itself.

The standard deviation of one run's losses says too little about the error of the model that is trained on all
rows: the folds' models share most of their training rows and are not that model. A factor on it makes up for
this on average, and was calibrated by simulation over many learners. No interval from one partition can see
that a learner is unstable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats


def normal_quantile(level: float) -> float:
    """Return z, with the share ``level`` of a standard normal between -z and z.

    Examples
    --------
    >>> print(f"{normal_quantile(0.95):.4f}")
    1.9600
    """
    return float(ndtri(_tail(level)))


def t_quantile(level: float, degrees: int) -> float:
    """Return t, with the share ``level`` of Student's distribution between -t and t.

    Examples
    --------
    >>> print(f"{t_quantile(0.95, 4):.4f}")
    2.7764
    """
    return float(stdtrit(degrees, _tail(level)))


def _tail(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"The 'level' of an interval must lie between 0 and 1, such as 0.95. Got {level!r} instead.")
    return 0.5 + level / 2


def sample(values: npt.ArrayLike, parameter: str, function: str, *, least: int = 2, zero_one: bool = False) -> Floats:
    """Return ``values`` as an array of floats in one row, or say what is wrong with them.

    Parameters
    ----------
    values : array-like of shape (n,)
    parameter, function : str
        What the message calls them, and whose they are.
    least : int, default=2
        How many there must be.
    zero_one : bool, default=False
        Whether each must be 0 or 1.
    """
    x = np.asarray(values, dtype=np.float64)
    what = f"The {parameter!r} parameter of {function}"
    if x.ndim != 1 or x.size < least:
        count = "1 number" if least == 1 else f"{least} numbers"
        raise InvalidInput(f"{what} must be at least {count} in one row. Got shape {x.shape} instead.")
    if not np.isfinite(x).all():
        raise InvalidInput(f"{what} must be finite. Got {int((~np.isfinite(x)).sum())} NaN or infinite of {x.size}.")
    if zero_one and not np.isin(x, (0.0, 1.0)).all():
        raise InvalidInput(f"{what} must be 0 or 1 with zero_one=True. Got values such as {x[~np.isin(x, (0, 1))][0]}.")
    return x


Interval = tuple[float, float]


class IntervalEstimate(NamedTuple):
    """An estimate, its interval, and its standard error; ``tau2`` is how much of the variance is the learner's."""

    estimate: float
    low: float
    high: float
    se: float
    tau2: float = 0.0


def wilson(successes_share: float, n: float, level: float = 0.95) -> Interval:
    r"""Wilson's score interval for a share.

    With :math:`z` the normal quantile at ``(1 + level) / 2``,

    .. math:: \frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    Unlike the Wald interval it has width at 0 and 1, where a test set without a single error is.

    Parameters
    ----------
    successes_share : float
        The share observed, between 0 and 1. For a misclassification rate, the share of errors.
    n : float
        How many observations it is a share of. Need not be a whole number: an inflated standard deviation
        is the same as a smaller, effective size.
    level : float, default=0.95

    Returns
    -------
    tuple of float
        Low and high end, within 0 and 1.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA
    22:209-212.

    Examples
    --------
    >>> low, high = wilson(0.1, 100)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0552 0.1744
    >>> low, high = wilson(0.0, 100)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0000 0.0370
    """
    p, size = float(successes_share), float(n)
    if not 0.0 <= p <= 1.0:
        raise InvalidInput(
            f"The 'successes_share' parameter of wilson must be a share within 0 and 1. Got {p!r} instead."
        )
    if not (math.isfinite(size) and size > 0):
        raise InvalidInput(f"The 'n' parameter of wilson must be a positive, finite size. Got {size!r} instead.")
    z = normal_quantile(level)
    spread = z * z / size
    centre = (p + spread / 2) / (1 + spread)
    half = z * math.sqrt(p * (1 - p) / size + spread / (4 * size)) / (1 + spread)
    # At p = 0 the low end is 0 and at p = 1 the high end is 1; rounding alone would leave 1e-18 there.
    low = 0.0 if p == 0.0 else max(0.0, centre - half)
    high = 1.0 if p == 1.0 else min(1.0, centre + half)
    return low, high


def t_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    r"""Student's interval for a mean: :math:`\bar x \pm t_{n-1}\, s/\sqrt n`.

    Right for independent values, such as the losses of a hold-out set that was never trained on. The scores
    of cross-validation folds are not independent: see :func:`corrected_t` and :func:`pooled`.

    Parameters
    ----------
    values : array-like of shape (n,)
        At least two.
    level : float, default=0.95

    Examples
    --------
    >>> low, high = t_interval([1.0, 2.0, 3.0, 4.0])
    >>> print(f"{low:.4f} {high:.4f}")
    0.4457 4.5543
    """
    x = sample(values, "values", "t_interval")
    return _around(x.mean(), t_quantile(level, x.size - 1) * x.std(ddof=1) / math.sqrt(x.size))


def pooled(losses: npt.ArrayLike, *, factor: float = 1.2, zero_one: bool, level: float = 0.95) -> Interval:
    r"""Interval for the mean of the out-of-fold losses of one partition.

    The losses of all rows are pooled, as if they came from one test set, and their standard deviation is
    multiplied by ``factor``:

    .. math:: \bar\ell \pm z \cdot \text{factor} \cdot s/\sqrt n

    For 0-1 loss it is Wilson's interval at the effective size :math:`n/\text{factor}^2`. For other losses
    ``factor=1`` gives the interval of Bayle et al. (their all-pairs variance, here with n - 1), which covers
    less than it says at ordinary sizes.

    Parameters
    ----------
    losses : array-like of shape (n,)
        One loss per row, each from the model that did not see the row.
    factor : float, default=1.2
        What the standard deviation is multiplied by.
    zero_one : bool
        Whether the losses are 0 or 1.
    level : float, default=0.95

    Notes
    -----
    The factor is a fit to stable learners. One partition cannot show that a learner moves a lot with its
    training rows, and for such a learner the interval is too short. Losses that are all equal, other than
    0-1 losses, give an interval without width.

    References
    ----------
    P. Bayle, A. Bayle, L. Janson, L. Mackey (2020), Cross-validation confidence intervals for test error,
    NeurIPS 33.

    Examples
    --------
    >>> low, high = pooled([0] * 90 + [1] * 10, zero_one=True)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0492 0.1928
    >>> low, high = pooled([1.0, 2.0, 3.0, 4.0], zero_one=False)
    >>> print(f"{low:.4f} {high:.4f}")
    0.9818 4.0182
    """
    x = sample(losses, "losses", "pooled", zero_one=zero_one)
    return inflated(x.mean(), x.std(ddof=1), x.size, factor=factor, zero_one=zero_one, level=level)


def averaged_repeats(
    losses_by_repeat: Iterable[npt.ArrayLike], *, factor: float = 1.1, zero_one: bool, level: float = 0.95
) -> Interval:
    r"""Interval for the mean loss over several partitions of the same rows.

    The centre is the mean over repeats and rows. The spread is that of a single run, the mean over repeats
    of the standard deviation :math:`s_r` of one run's losses, times ``factor``:

    .. math:: \bar\ell \pm z \cdot \text{factor} \cdot \frac{1}{R}\sum_r s_r \Big/ \sqrt n

    For 0-1 loss it is Wilson's interval at the effective size :math:`n/\text{factor}^2`.

    Repeating settles the centre, not the sample: there are still only ``n`` rows. The standard deviation of
    losses that were averaged over repeats first would shrink as if there were more, so it is never used.

    Parameters
    ----------
    losses_by_repeat : iterable of array-likes of shape (n,)
        The losses of each repeat; gone through once, so that a generator need not hold them all.
    factor : float, default=1.1
    zero_one : bool
        Whether the losses are 0 or 1.
    level : float, default=0.95

    Examples
    --------
    >>> low, high = averaged_repeats([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]], zero_one=False)
    >>> print(f"{low:.4f} {high:.4f}")
    1.1083 3.8917
    """
    found = []
    for losses in losses_by_repeat:
        run = sample(losses, "losses_by_repeat", "averaged_repeats", zero_one=zero_one)
        found.append((run.mean(), run.std(ddof=1), run.size))
    sizes = {size for *_, size in found}
    if len(sizes) != 1:
        raise InvalidInput(
            "The 'losses_by_repeat' parameter of averaged_repeats must have at least 1 repeat, and as many losses "
            f"in each. Got {len(found)} repeats of {sorted(sizes)} losses."
        )
    mean, sd, _ = np.mean(found, axis=0)
    return inflated(mean, sd, sizes.pop(), factor=factor, zero_one=zero_one, level=level)


def corrected_t(scores: npt.ArrayLike, test_over_train: float, level: float = 0.95) -> Interval:
    r"""Corrected resampled t interval of Nadeau and Bengio.

    From :math:`J` scores, each the mean over one test set,

    .. math:: \bar x \pm t_{J-1} \sqrt{\left(\frac{1}{J} + \frac{n_\text{test}}{n_\text{train}}\right) s^2}

    The second term stands for the training rows that the splits have in common: it takes the correlation of
    two scores to be :math:`n_\text{test}/(n_\text{test}+n_\text{train})`. Derived for random splits; for
    cross-validation and its repeats it is an approximation, and on average a cautious one.

    Parameters
    ----------
    scores : array-like of shape (J,)
        One score per split, over all repeats; at least two.
    test_over_train : float
        Rows tested on divided by rows trained on, in one split: ``1 / (k - 1)`` for k folds.
    level : float, default=0.95

    References
    ----------
    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52:239-281.

    R. R. Bouckaert and E. Frank (2004), Evaluating the replicability of significance tests for comparing
    learning algorithms, PAKDD: the same correction for repeated cross-validation.

    Examples
    --------
    >>> low, high = corrected_t([0.10, 0.12, 0.08, 0.14, 0.11], test_over_train=1 / 4)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0684 0.1516
    """
    x = sample(scores, "scores", "corrected_t")
    ratio = float(test_over_train)
    if not (math.isfinite(ratio) and ratio > 0):
        raise InvalidInput(
            "The 'test_over_train' parameter of corrected_t must be a positive ratio, such as 1 / (k - 1) "
            f"for k folds. Got {ratio!r} instead."
        )
    variance = (1 / x.size + ratio) * x.var(ddof=1)
    return _around(x.mean(), t_quantile(level, x.size - 1) * math.sqrt(variance))


def inflated(mean: float, sd: float, n: float, *, factor: float, zero_one: bool, level: float = 0.95) -> Interval:
    r"""Interval from a mean, the standard deviation of one loss, and a factor on it.

    :math:`\text{mean} \pm z \cdot \text{factor} \cdot \text{sd}/\sqrt n`; for 0-1 loss Wilson's interval at the
    effective size :math:`n/\text{factor}^2`, which needs no ``sd``.

    Examples
    --------
    >>> low, high = inflated(0.1, 0.3, 100, factor=1.2, zero_one=False)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0294 0.1706
    """
    if not (math.isfinite(factor) and factor > 0):
        raise InvalidInput(f"The 'factor' parameter of an interval must be a positive number. Got {factor!r} instead.")
    if zero_one:
        return wilson(float(mean), n / factor**2, level)
    return _around(mean, normal_quantile(level) * factor * sd / math.sqrt(n))


def _around(centre: float, half: float) -> Interval:
    return float(centre - half), float(centre + half)


def conservative_z(outer: npt.ArrayLike, halves: npt.ArrayLike, *, level: float = 0.95) -> IntervalEstimate:
    r"""Conservative z interval, from random splits of all rows and of disjoint halves of them.

    The estimate is the mean :math:`\hat\mu` over J random splits into training and test rows. Its variance cannot be
    had without bias from those splits. But two disjoint halves of the rows give two independent values of the same
    kind, :math:`\hat\mu_m` and :math:`\hat\mu_m^c`, each the mean over J splits of that half; with M halvings,

    .. math:: \hat\sigma^2 = \frac{1}{2M} \sum_{m=1}^{M} (\hat\mu_m - \hat\mu_m^c)^2

    is unbiased for the variance at half the rows, which is at least that at all of them: hence conservative. The
    test sets of the halves are as large as the outer ones; what is halved is the rows, so that the training sets
    have n/2 - n_test of them. J(2M + 1) fits: 225 with J = 15 and M = 7.

    Parameters
    ----------
    outer : array-like of shape (J,)
        Mean loss on the test rows of each split of all rows.
    halves : array-like of shape (M, 2)
        For each halving, the mean over its J splits of the mean loss, in one half and in the other.
    level : float, default=0.95

    References
    ----------
    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52:239-281: the
    conservative Z, from an overestimate of the variance. (NIPS 12, 1999, in short.)

    Examples
    --------
    Squared differences .04 and .01: a variance of .05 / 4.

    >>> found = conservative_z([0.2, 0.4], [[0.3, 0.5], [0.4, 0.3]])
    >>> print(f"{found.estimate:.3f} {found.se:.4f}")
    0.300 0.1118
    """
    scores = sample(outer, "outer", "conservative_z", least=1)
    pairs = np.asarray(halves, dtype=np.float64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not pairs.size:
        raise InvalidInput(
            "The 'halves' parameter of conservative_z must have one line per halving and a column for each half. "
            f"Got shape {pairs.shape} instead."
        )
    if not np.isfinite(pairs).all():
        raise InvalidInput("The 'halves' parameter of conservative_z must be finite. Got NaN or infinite values.")
    se = math.sqrt(np.square(pairs[:, 0] - pairs[:, 1]).sum() / (2 * len(pairs)))
    estimate, half = float(scores.mean()), normal_quantile(level) * se
    return IntervalEstimate(estimate, estimate - half, estimate + half, se)
