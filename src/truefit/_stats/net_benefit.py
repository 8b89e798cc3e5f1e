r"""Net benefit of decisions by a threshold on the probability, with standard errors over rows or groups of rows.

A. J. Vickers and E. B. Elkin (2006), Decision curve analysis: a novel method for evaluating prediction models, Medical
Decision Making 26:565-574.
"""

from __future__ import annotations

import math

import numpy as np

from truefit._core.typing import Array, Floats
from truefit._stats.intervals import Interval, normal_quantile, t_quantile
from truefit._stats.paired import PairedDifference


def contributions(y01: Floats, p: Floats, threshold: float) -> Floats:
    r"""Return what each row adds to the net benefit at a threshold :math:`t`: their mean is the net benefit.

    .. math:: \frac{TP}{n} - \frac{FP}{n} \cdot \frac{t}{1-t}

    Of 10 rows with probabilities of at least 0.2, 4 are positive and 3 negative: 4/10 - 3/10 · 0.25.

    >>> y = np.array([1, 1, 1, 1, 0, 0, 0, 1, 0, 0], dtype=float)
    >>> p = np.array([.9, .8, .7, .2, .6, .5, .2, .1, .1, .0])
    >>> float(contributions(y, p, 0.2).mean())
    0.325
    """
    return (p >= threshold) * (y01 - (1 - y01) * threshold / (1 - threshold))


def mean_with_se(values: Floats, weight: Floats | None, groups: Array | None) -> tuple[float, float]:
    """Return a mean over rows and its standard error, which is that of whole groups where rows come in groups."""
    weights = np.ones(len(values)) if weight is None else weight / weight.mean()
    mean = float(np.average(values, weights=weights))
    residual = weights * (values - mean)
    if groups is not None:
        residual = np.bincount(groups, residual)
    count = len(residual)
    # Rounding alone would leave a spread of 1e-18 where all values are the same.
    spread = float(np.square(residual).sum()) if np.ptp(values) > 1e-12 else 0.0
    return mean, math.sqrt(count / max(count - 1, 1) * spread) / len(values)


def mean_interval(
    values: Floats, weight: Floats | None, groups: Array | None, *, factor: float, level: float
) -> tuple[float, Interval | None]:
    """Return a mean over rows and its interval; none where all values are the same."""
    mean, se = mean_with_se(values, weight, groups)
    if se == 0:
        return mean, None
    z = normal_quantile(level) if groups is None else t_quantile(level, int(groups.max()))
    return mean, (mean - z * factor * se, mean + z * factor * se)


def paired(
    first: Floats, second: Floats, weight: Floats | None, groups: Array | None, factor: float
) -> PairedDifference:
    """Return the mean difference of two lists of contributions of the same rows."""
    mean, se = mean_with_se(first - second, weight, groups)
    return PairedDifference(mean, factor * se, (len(first) if groups is None else int(groups.max()) + 1) - 1)
