"""The nested cross-validation interval of Bates, Hastie and Tibshirani, and the gain from fold models to all rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.intervals import normal_quantile
from truefit._stats.triangle import Pairs, Singles, TriangleLosses


class NestedInterval(NamedTuple):
    """An estimate, its interval, and its standard error."""

    estimate: float
    low: float
    high: float
    se: float


def nested_cv(repetitions: Iterable[tuple[Singles, Pairs]], *, level: float = 0.95) -> NestedInterval:
    r"""Interval by nested cross-validation, from one or more partitions of the same rows.

    For each partition and each fold k, the inner errors :math:`e^{in}` are the losses on the other folds j of the
    fits without k and j, and the outer errors :math:`e^{out}` the losses on fold k of the fit without it:

    .. math::

        a_k = (\bar e^{in} - \bar e^{out})^2, \quad b_k = \frac{\operatorname{Var}(e^{out})}{m_k}, \quad
        \widehat{MSE} = \bar a - \bar b

    The means go over folds and repetitions. Rescaled from (K-1)/K of the rows to all of them, the root of
    :math:`\frac{K-1}{K}\widehat{MSE}` is held between :math:`s/\sqrt n` and :math:`\sqrt K\,s/\sqrt n`, with s the
    standard deviation of all inner errors, and taken as the standard error. The estimate is the mean of all inner
    errors less the bias that comes from training on fewer rows,

    .. math:: \left(1 + \frac{K-2}{K}\right)(\widehat{Err}^{NCV} - \widehat{Err}^{CV}).

    Parameters
    ----------
    repetitions : iterable of (singles, pairs)
        As for :func:`truefit._stats.triangle.triangle_tau`, all with K folds of the same rows; gone through once. One
        repetition gives a poor MSE and an interval that covers less than it says; ten or more are meant.
    level : float, default=0.95

    Returns
    -------
    NestedInterval
        ``estimate, low, high, se``. Not clipped to what the loss can be.

    Notes
    -----
    The authors' own package raises (K-2)/K in the bias to the power 1.5; the factor here is the paper's.

    References
    ----------
    S. Bates, T. Hastie, R. Tibshirani (2024), Cross-validation: what does it estimate and how well does it do it?,
    JASA 119:1434-1445, Algorithm 1 and the appendix on bias; arXiv:2104.00673 (2021).

    Examples
    --------
    >>> singles = [[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]
    >>> pairs = [[None, [1.0, 4.0], [2.0, 4.0]], [[2.0, 3.0], None, [2.0, 2.0]], [[4.0, 1.0], [3.0, 2.0], None]]
    >>> found = nested_cv([(singles, pairs)])
    >>> print(f"{found.estimate:.4f} {found.low:.4f} {found.high:.4f}")
    1.8333 0.9635 2.7032
    """
    quantile = normal_quantile(level)
    shapes: set[tuple[int, int]] = set()
    parts = []
    for singles, pairs in repetitions:
        losses = TriangleLosses.of(singles, pairs, function="nested_cv")
        shapes.add((losses.rows, losses.folds))
        parts.append(_parts(losses))
    if len(shapes) != 1:
        raise InvalidInput(
            "The repetitions of nested_cv must be at least 1, and all of the same rows in as many folds. "
            f"Got {len(parts)} repetitions with (rows, folds) of {sorted(shapes)}."
        )
    n, folds = shapes.pop()
    mse, cross_validated, inner, inner_variance = np.mean(parts, axis=0)
    # All repetitions have as many inner errors, so the variance of all is that within plus that of the means.
    count = n * (folds - 1)
    within = inner_variance * (count - 1) * len(parts)
    between = count * np.square(np.array(parts)[:, 2] - inner).sum()
    least = math.sqrt((within + between) / (count * len(parts) - 1) / n)
    rescaled = math.sqrt(max(0.0, mse * (folds - 1) / folds))
    se = max(least, min(rescaled, math.sqrt(folds) * least))
    estimate = float(inner - (1 + (folds - 2) / folds) * (inner - cross_validated))
    return NestedInterval(estimate, estimate - quantile * se, estimate + quantile * se, se)


def _parts(losses: TriangleLosses) -> tuple[float, float, float, float]:
    """Return the MSE, the mean outer and the mean inner error, and the variance of the inner errors."""
    sizes = np.array([each.size for each in losses.singles])
    if sizes.min() < 2:
        raise InvalidInput("Each fold of nested_cv must have at least 2 rows. Got a fold of 1; use fewer folds.")
    outer = np.array([each.mean() for each in losses.singles])
    noise = np.array([each.var(ddof=1) for each in losses.singles]) / sizes
    inner = _sums_without(losses) / (sizes.sum() - sizes)
    every = np.concatenate([each.ravel() for each in losses.pairs])
    return (
        float(np.mean(np.square(inner - outer) - noise)),
        float(np.concatenate(losses.singles).mean()),
        float(every.mean()),
        float(every.var(ddof=1)),
    )


def _sums_without(losses: TriangleLosses) -> Floats:
    """For each fold k, the sum of the losses on the other folds of the fits that did not see k either."""
    total = np.zeros(losses.folds)
    for a, fold in enumerate(losses.pairs):
        others = np.delete(np.arange(losses.folds), a)
        total[others] += fold.sum(axis=1)
    return total


def change_to_all_rows(without_one: float, without_two: float, folds: int) -> float:
    r"""Change of a score from models without one of K folds to the model of all rows.

    Scores go on with the number of rows :math:`m` as :math:`a + b\,m^{-1/2}`, of which the score of models without one
    fold and that of models without two give :math:`a` and :math:`b`.

    The power matters little over so short a way: with 5 folds the change is 0.68 of that from two folds left out to
    one, and 0.60 or 0.78 of it were the power 1 or next to 0.

    Parameters
    ----------
    without_one, without_two : float
        Mean score, on the same rows, of models that were trained without one fold and without two.
    folds : int
        How many folds there are, 3 or more.

    Examples
    --------
    >>> print(f"{change_to_all_rows(0.20, 0.24, 5):.4f}")
    -0.0273
    """
    if folds < 3:
        raise InvalidInput(
            f"The 'folds' parameter of change_to_all_rows must be 3 or more: two are left out. Got {folds} instead."
        )
    one, two = math.sqrt(folds / (folds - 1)), math.sqrt(folds / (folds - 2))
    return (one - 1) / (two - one) * (without_one - without_two)
