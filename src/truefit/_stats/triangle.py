"""Intervals from the fits without one fold and without two: triangle + tau, and nested cross-validation.

One partition shows how losses vary from row to row, not how the error varies with the training set. The fits without
two folds do: fold a is predicted by K - 1 fits that differ only in which other fold they did not see. Variance between
their errors on the same rows, beyond the noise of the rows, is the learner's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.intervals import NO_SPREAD, SHARED_ROWS, IntervalEstimate, Tail, inflated, normal_quantile, sample

Singles = Sequence[npt.ArrayLike]
Pairs = Sequence[Sequence[npt.ArrayLike | None]]


@dataclass(frozen=True, slots=True)
class TriangleLosses:
    """The losses of one triangle, fold by fold.

    ``singles[a]`` are the losses of fold a's m rows by the fit without fold a; ``pairs[a]``, of shape (K - 1, m), those
    by the fits without folds a and b, for each b other than a.
    """

    singles: tuple[Floats, ...]
    pairs: tuple[Floats, ...]

    @classmethod
    def of(cls, singles: Singles, pairs: Pairs, *, function: str, zero_one: bool = False) -> TriangleLosses:
        """Check the losses of a plan: ``pairs[a][b]`` for all b other than a, anything at b = a."""
        return cls(
            tuple(sample(each, "singles", function, least=1, zero_one=zero_one) for each in singles),
            tuple(
                np.stack(
                    [
                        sample(each, "pairs", function, least=1, zero_one=zero_one)
                        for b, each in enumerate(line)
                        if b != a and each is not None
                    ]
                )
                for a, line in enumerate(pairs)
            ),
        )

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return len(self.singles)

    @property
    def rows(self) -> int:
        """How many rows there are in all folds."""
        return sum(each.size for each in self.singles)


def triangle_tau(
    repeats: Iterable[tuple[Singles, Pairs]], *, zero_one: bool, shares: bool = False, level: float = 0.95
) -> IntervalEstimate:
    r"""Interval for the error of the model trained on all rows, from the fits without one fold and without two.

    .. math::

        SE^2 = 1.21\,\frac{h^2}{n} + \tau^2, \qquad
        \tau^2 = \max\Big(0, \frac1K \sum_a \Big[\operatorname{Var}_b(e_{ab}) - \frac{r_a}{m_a}\Big]\Big)

    :math:`h` is the standard deviation of all n(K-1) pair losses, :math:`e_{ab}` the mean loss on fold a of the fit
    without folds a and b, and :math:`r_a` the residual variance of the losses of fold a's :math:`m_a` rows in a two-way
    analysis of variance by row and fit (divisor :math:`(m_a-1)(K-2)`). The interval is Wilson's at the effective size
    :math:`h^2/SE^2` for 0-1 loss, and otherwise that of :func:`truefit._stats.intervals.inflated` with the factor
    :math:`SE\sqrt n/h` and the skewness of the losses of the single fits. The estimate is weighted by
    :func:`single_fit_weight`. Over several partitions of the same rows estimate, :math:`h^2` and :math:`\tau^2` are
    averaged; there are still only n rows. Linearised ``shares``, such as F1, are no losses: their interval is estimate
    ± z·SE. Where all pair losses are equal the single fits' losses are used, with their standard deviation times 1.2.

    With few folds :math:`\tau^2` is uncertain: for a depth-4 tree on XOR with 100 rows, nominal 95% covered 78, 84, 87,
    92 and 93% with 3, 4, 5, 10 and 20 folds (100 repetitions); for stable learners 92 to 96%.
    """
    sizes, found, tails = set(), [], []
    for singles, pairs in repeats:
        losses = TriangleLosses.of(singles, pairs, function="triangle_tau", zero_one=zero_one)
        sizes.add(losses.rows)
        tails.append(Tail.of(np.concatenate(losses.singles)))
        found.append(_triangle_parts(losses))
    if len(sizes) != 1:
        raise InvalidInput(
            "The repeats of triangle_tau must be at least 1, and all of the same rows. "
            f"Got {len(found)} repeats of {sorted(sizes)} rows."
        )
    n = sizes.pop()
    estimate, variance, tau2, single_variance = np.mean(found, axis=0).tolist()
    tau2 = max(0.0, tau2)
    if zero_one:
        # The weighted mean of two shares may be off by a rounding.
        estimate = min(1.0, max(0.0, estimate))
    if variance == 0.0:
        sd, factor = math.sqrt(single_variance), NO_SPREAD
    else:
        sd, factor = math.sqrt(variance), math.sqrt(SHARED_ROWS + tau2 * n / variance)
    if shares:
        half = normal_quantile(level) * factor * sd / math.sqrt(n)
        low, high = estimate - half, estimate + half
    else:
        tail = None if zero_one else Tail.mean_of(tails)
        low, high = inflated(estimate, sd, n, factor=factor, tail=tail, level=level)
    return IntervalEstimate(estimate, low, high, factor * sd / math.sqrt(n), tau2)


def single_fit_weight(folds: int) -> float:
    """Weight of the k-fold mean in the estimate; the mean over the pair fits has the rest.

    The pair fits are many, so their mean varies less, but they are trained on fewer rows, so with few folds it is too
    high.

    >>> [round(single_fit_weight(folds), 4) for folds in (3, 4, 5, 6, 10, 20)]
    [1.0, 0.75, 0.5, 0.42, 0.1, 0.05]
    """
    return 1 / folds if folds > 10 else float(np.interp(folds, (3, 5, 10), (1.0, 0.5, 0.1)))


def _triangle_parts(losses: TriangleLosses) -> tuple[float, float, float, float]:
    """Estimate, variance of the pair losses, tau squared (may be negative), variance of the single losses."""
    pair = np.concatenate([each.ravel() for each in losses.pairs])
    single = np.concatenate(losses.singles)
    weight = single_fit_weight(losses.folds)
    moves = [_learner_variance(each) for each in losses.pairs if each.shape[1] > 1]
    if not moves:
        raise InvalidInput(
            "The triangle of triangle_tau must have a fold of at least 2 rows. Got folds of a single row; use fewer "
            "folds."
        )
    estimate = weight * single.mean() + (1 - weight) * pair.mean()
    # The variance of equal floats may come out as 1e-34 instead of 0.
    variance = 0.0 if pair.min() == pair.max() else float(pair.var(ddof=1))
    return float(estimate), variance, float(np.mean(moves)), float(single.var(ddof=1))


def _learner_variance(fold: Floats) -> float:
    """Variance of the fits' errors on one fold beyond the noise of its rows; may be negative."""
    fits, rows = fold.shape
    errors = fold.mean(axis=1)
    residual = fold - errors[:, None] - fold.mean(axis=0) + errors.mean()
    noise = np.square(residual).sum() / ((rows - 1) * (fits - 1))
    return float(errors.var(ddof=1) - noise / rows)


def nested_cv(repetitions: Iterable[tuple[Singles, Pairs]], *, level: float = 0.95) -> IntervalEstimate:
    r"""Interval by nested cross-validation, from one or more partitions of the same rows.

    For each partition and each fold k, the inner errors :math:`e^{in}` are the losses on the other folds j of the
    fits without k and j, and the outer errors :math:`e^{out}` the losses on fold k of the fit without it:

    .. math::

        a_k = (\bar e^{in} - \bar e^{out})^2, \quad b_k = \frac{\operatorname{Var}(e^{out})}{m_k}, \quad
        \widehat{MSE} = \bar a - \bar b

    The standard error is the root of :math:`\frac{K-1}{K}\widehat{MSE}`, held between :math:`s/\sqrt n` and
    :math:`\sqrt K\,s/\sqrt n` with s the standard deviation of all inner errors. The estimate is the mean inner error
    minus :math:`(1 + \frac{K-2}{K})(\widehat{Err}^{NCV} - \widehat{Err}^{CV})`, the bias of training on fewer rows (the
    authors' package raises (K-2)/K to the power 1.5). One repetition covers too little; ten or more are meant.

    References
    ----------
    S. Bates, T. Hastie, R. Tibshirani (2024), Cross-validation: what does it estimate and how well does it do it?,
    JASA 119:1434-1445, Algorithm 1 and the appendix on bias; arXiv:2104.00673 (2021).
    """
    quantile = normal_quantile(level)
    shapes: set[tuple[int, int]] = set()
    parts = []
    for singles, pairs in repetitions:
        losses = TriangleLosses.of(singles, pairs, function="nested_cv")
        shapes.add((losses.rows, losses.folds))
        parts.append(_nested_parts(losses))
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
    return IntervalEstimate(estimate, estimate - quantile * se, estimate + quantile * se, se)


def _nested_parts(losses: TriangleLosses) -> tuple[float, float, float, float]:
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

    Scores are taken to follow :math:`a + b\,m^{-1/2}` in the number of rows :math:`m`, with :math:`a` and :math:`b`
    from the mean scores of models without one fold and without two. The power matters little: with 5 folds the change
    is 0.68 of that from two folds to one, and 0.60 or 0.78 of it for the power 1 or next to 0.
    """
    one, two = math.sqrt(folds / (folds - 1)), math.sqrt(folds / (folds - 2))
    return (one - 1) / (two - one) * (without_one - without_two)
