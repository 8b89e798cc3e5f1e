r"""Prediction intervals and sets from the models of the folds and their held-out rows: CV+ and cross-conformal sets.

With n rows and level :math:`1 - \alpha`, each row i has a score :math:`s_i` under the model that was trained without
its fold: how far its prediction was off. For exchangeable rows a new row is covered with probability at least
:math:`1 - 2\alpha - \sqrt{2/n}` whatever the learner and the distribution, and in practice about :math:`1 - \alpha`.

With weights, a row counts with its weight and the new row with the mean weight: for rows that are a weighted sample of
the population the coverage is approximate. With groups each group counts once, shared among its rows: the guarantee is
then for a row of a new group.

R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani (2021), Predictive inference with the jackknife+, Annals of
Statistics 49:486-507. V. Vovk (2015), Cross-conformal predictors, Annals of Mathematics and Artificial Intelligence
74:9-28. Y. Romano, M. Sesia, E. J. Candès (2020), Classification with valid and adaptive coverage, NeurIPS 33.
R. Dunn, L. Wasserman, A. Ramdas (2023), Distribution-free prediction sets for two-layer hierarchical models, JASA 118.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats, Positions

#: Cells of the matrix of new rows and held-out rows that are sorted at once.
_CELLS: Final = 4_000_000
#: Of sums of weights.
_ROUNDING: Final = 1e-9


def threshold(level: float, weights: Floats, new_weight: float) -> float:
    """Return the weight that scores below the quantile must have; refuse a level that so few rows cannot give."""
    total = float(weights.sum())
    wanted = level * (total + new_weight)
    if wanted > total * (1 + _ROUNDING):
        least = math.ceil(level / (1 - level) - _ROUNDING)
        raise InvalidInput(
            f"Intervals of level {level} need at least {least} rows, or groups where there are groups. Got "
            f"{total / new_weight:.0f}. Use a lower level, or more rows."
        )
    return wanted * (1 - _ROUNDING)


def cv_plus(
    predictions: npt.ArrayLike,
    residuals: npt.ArrayLike,
    folds: npt.ArrayLike,
    level: float,
    *,
    weights: npt.ArrayLike | None = None,
    new_weight: float = 1.0,
) -> Floats:
    r"""Return the lower and the upper end of the CV+ interval of each new row.

    .. math:: \left[\hat q^-_{n,\alpha}\{\hat\mu_{-k(i)}(x) - R_i\},\; \hat q^+_{n,\alpha}\{\hat\mu_{-k(i)}(x) + R_i\}
        \right]

    with :math:`\hat q^+` the :math:`\lceil (1 - \alpha)(n + 1) \rceil`-th smallest value and :math:`\hat q^-` the
    :math:`\lfloor \alpha (n + 1) \rfloor`-th (Barber et al. 2021, equation 3).

    Parameters
    ----------
    predictions : array-like of shape (m, K)
        What the model of each fold predicts for each new row.
    residuals : array-like of shape (n,)
        Absolute residuals of the held-out rows.
    folds : array-like of shape (n,)
        The fold that each row was held out in.
    level : float
    weights : array-like of shape (n,), optional
    new_weight : float, default=1.0
        Weight of a new row.

    Examples
    --------
    >>> cv_plus([[10.0, 11.0]], [1.0, 2.0, 3.0], [0, 0, 1], 0.75).tolist()
    [[8.0, 14.0]]
    """
    centres = np.asarray(predictions, dtype=np.float64)
    widths, places = np.asarray(residuals, dtype=np.float64), np.asarray(folds, dtype=np.intp)
    weight = np.ones(len(widths)) if weights is None else np.asarray(weights, dtype=np.float64)
    wanted = threshold(level, weight, new_weight)
    found = np.empty((len(centres), 2))
    step = max(1, _CELLS // len(widths))
    for start in range(0, len(centres), step):
        of_fold = centres[start : start + step][:, places]
        found[start : start + step, 0] = -_quantiles(widths - of_fold, weight, wanted)
        found[start : start + step, 1] = _quantiles(of_fold + widths, weight, wanted)
    return found


def _quantiles(values: Floats, weight: Floats, wanted: float) -> Floats:
    """Return in each row the smallest value such that the values up to it have so much weight."""
    if np.ptp(weight) == 0:
        place = min(math.ceil(wanted / weight[0]), values.shape[1]) - 1
        smallest: Floats = np.partition(values, place, axis=1)[:, place]
        return smallest
    order = np.argsort(values, axis=1)
    reached = np.cumsum(weight[order], axis=1) >= wanted
    chosen: Floats = np.take_along_axis(values, order, axis=1)[np.arange(len(values)), reached.argmax(axis=1)]
    return chosen


def conformal_sets(
    probabilities: npt.ArrayLike,
    scores: npt.ArrayLike,
    folds: npt.ArrayLike,
    level: float,
    *,
    weights: npt.ArrayLike | None = None,
    new_weight: float = 1.0,
) -> npt.NDArray[np.bool_]:
    r"""Return for each new row which classes are in its cross-conformal set.

    The score of a label is 1 minus its probability. A label is in the set if fewer than
    :math:`(1 - \alpha)(n + 1)` rows have a score that is smaller than the label's under the same model (Romano et al.
    2020, equation 9). The class with the largest mean probability is always in the set, so that no set is empty.

    Parameters
    ----------
    probabilities : array-like of shape (K, m, classes)
        Of each new row under the model of each fold.
    scores : array-like of shape (n,)
        1 minus the probability of the true class of each held-out row.
    folds, level, weights, new_weight
        As for :func:`cv_plus`.

    Examples
    --------
    >>> conformal_sets([[[0.9, 0.1]], [[0.7, 0.3]]], [0.1, 0.2, 0.75], [0, 0, 1], 0.75).tolist()
    [[True, True]]
    """
    shares = np.asarray(probabilities, dtype=np.float64)
    own, places = np.asarray(scores, dtype=np.float64), np.asarray(folds, dtype=np.intp)
    weight = np.ones(len(own)) if weights is None else np.asarray(weights, dtype=np.float64)
    wanted = threshold(level, weight, new_weight)
    below = np.zeros(shares.shape[1:])
    for fold, share in enumerate(shares):
        held_out = places == fold
        order = np.argsort(own[held_out])
        sums = np.concatenate([[0.0], np.cumsum(weight[held_out][order])])
        below += sums[np.searchsorted(own[held_out][order], 1 - share, side="left")]
    found: npt.NDArray[np.bool_] = below < wanted
    found[np.arange(len(found)), shares.mean(axis=0).argmax(axis=1)] = True
    return found


def fold_quantiles(scores: Floats, folds: Positions, level: float, weights: Floats, new_weight: float) -> Floats:
    """Return for each fold the quantile of the scores of the other folds: what its own rows are checked with."""
    found = np.empty(int(folds.max()) + 1)
    for fold in range(len(found)):
        others: Any = folds != fold
        total = float(weights[others].sum())
        wanted = min(level * (total + new_weight), total) * (1 - _ROUNDING)
        found[fold] = _quantiles(scores[others][None], weights[others], wanted)[0]
    return found
