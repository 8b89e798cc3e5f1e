"""The conservative z interval of Nadeau and Bengio."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.stats.quantiles import normal_quantile
from truefit.stats.samples import sample


class ConservativeInterval(NamedTuple):
    """An estimate, its interval, and its standard error."""

    estimate: float
    low: float
    high: float
    se: float


def conservative_z(outer: npt.ArrayLike, halves: npt.ArrayLike, *, level: float = 0.95) -> ConservativeInterval:
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
    return ConservativeInterval(estimate, estimate - half, estimate + half, se)
