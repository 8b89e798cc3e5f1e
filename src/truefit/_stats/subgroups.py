r"""Subgroups: is a metric the same in all of them? Cochran's test on estimates with intervals.

W. G. Cochran (1954), The combination of estimates from different experiments, Biometrics 10:101-129. The standard error
of an estimate is read from the side of its interval that faces the others, as in G. Y. Zou and A. Donner (2008),
Construction of confidence limits about effect measures, Statistics in Medicine 27:1693-1702.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc

from truefit._stats.intervals import Interval, normal_quantile


def equality_test(values: Sequence[float], intervals: Sequence[Interval], level: float) -> float:
    """Return the p-value that independent estimates have one true value; ``level`` is that of each interval.

    >>> equality_test([0.5, 0.5], [(0.4, 0.6), (0.3, 0.7)], 0.95)
    1.0
    >>> round(equality_test([0.0, 1.0], [(-1.0, 1.0), (0.0, 2.0)], 0.95), 4) == 0.1658
    True
    """
    estimates, ends = np.array(values), np.array(intervals)
    z = normal_quantile(level)
    errors = (ends[:, 1] - ends[:, 0]) / (2 * z)
    for _ in range(3):  # the side that faces the mean depends on the mean
        centre = np.average(estimates, weights=errors**-2.0)
        errors = np.where(estimates > centre, estimates - ends[:, 0], ends[:, 1] - estimates) / z
        errors = errors.clip(1e-12)
    statistic = float(np.square((estimates - centre) / errors).sum())
    return float(chdtrc(len(estimates) - 1, statistic))
