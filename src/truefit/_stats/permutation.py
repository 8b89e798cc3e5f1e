r"""Standard errors of permutation importances, from the losses of single rows.

In a permutation each row receives the value of another row, and gives its own value to one. With h(i, j) the change of
row i's loss when it has the value of row j, the importance is the mean of h over pairs, so both rows of a pair
contribute. The rows' own changes alone, as if they were independent, leave out the part of the variance that is due to
the rows that give. The mean change that row i *receives* plus the mean change that it *gives* is its influence.

W. Hoeffding (1948), A class of statistics with asymptotically normal distribution, Annals of Mathematical Statistics
19:293-325. L. Breiman (2001), Random forests, Machine Learning 45:5-32.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats, Positions


def influence(changes: npt.ArrayLike, permutations: npt.ArrayLike) -> Floats:
    r"""Return what each row contributes to a permutation importance; the mean over the rows is the importance.

    Parameters
    ----------
    changes : array-like of shape (R, m)
        By how much the loss of each row changes in each of R permutations.
    permutations : array-like of shape (R, m)
        In permutation r, row i has the value of row ``permutations[r, i]``.

    Examples
    --------
    >>> influence([[1.0, 0.0, 2.0]], [[1, 2, 0]]).tolist()
    [2.0, 0.0, 1.0]
    """
    received = np.asarray(changes, dtype=np.float64)
    order = np.asarray(permutations)
    given = np.empty_like(received)
    np.put_along_axis(given, order, received, axis=1)
    own = received.mean(axis=0)
    found: Floats = own + given.mean(axis=0) - own.mean()
    return found


def covariance_of_means(
    influences: npt.ArrayLike, change_variances: npt.ArrayLike, repeats: int, groups: Positions | None = None
) -> Floats:
    r"""Return the covariance matrix of several importances.

    The influences of single permutations have extra variance, because each row meets R others only. Write
    :math:`h = \theta + a_i + b_j + c_{ij}`. Then

    .. math:: n \operatorname{Var} \hat\theta = \operatorname{Var}(a + b) + \tfrac{1}{R} \operatorname{Var} c
        = E\, s^2_\psi - \tfrac{1}{R} \operatorname{Var} h

    with :math:`s^2_\psi` the variance of the influences. At least half of :math:`s^2_\psi` is left, which is the share
    that cannot be due to the choice of permutations when a and b are not negatively correlated.

    Parameters
    ----------
    influences : array-like of shape (n, p)
        The influence of each row on each of p importances.
    change_variances : array-like of shape (p,)
        Variance of single changes h.
    repeats : int
        R.
    groups : array of int, optional
        Number of each row's group. The sums over groups then take the place of rows (Liang and Zeger 1986).
    """
    values = np.asarray(influences, dtype=np.float64)
    n = len(values)
    deviations = values - values.mean(axis=0)
    units = n
    if groups is not None:
        units = int(groups.max()) + 1
        sums = np.zeros((units, values.shape[1]))
        np.add.at(sums, groups, deviations)
        deviations = sums
    found: Floats = deviations.T @ deviations * (units / (units - 1) / n**2)
    variances = np.diagonal(found).copy()
    kept = np.maximum(variances - np.asarray(change_variances, dtype=np.float64) / (repeats * n), variances / 2)
    found[np.diag_indices_from(found)] = kept
    return found
