"""Paired comparisons: is one learner better than another on the same splits, and by how much?

A difference is summed up by its mean, a standard error and degrees of freedom; the test, the interval and the
probabilities of a region of practical equivalence all follow from these three (:class:`PairedDifference`). Where
they come from is what sets the tests apart: from the differences of the test sets' scores, whose training sets
overlap (:func:`corrected_paired_t`), or from the differences of single rows' losses (:func:`pooled_paired_t`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from truefit._core.errors import InvalidInput
from truefit._stats.intervals import sample, t_quantile


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Mean difference, its standard error, and the degrees of freedom of that.

    Examples
    --------
    >>> found = PairedDifference(mean=0.02, se=0.01, df=4)
    >>> print(f"{found.t:.1f} {found.p:.4f}")
    2.0 0.1161
    """

    mean: float
    se: float
    df: int

    @property
    def t(self) -> float:
        """The mean in standard errors; 0 where nothing differs, infinite where all differences are the same."""
        if self.se == 0:
            return math.copysign(math.inf, self.mean) if self.mean else 0.0
        return self.mean / self.se

    @property
    def p(self) -> float:
        """Two-sided p-value of Student's t test that the mean is 0."""
        return float(2 * stdtr(self.df, -abs(self.t)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the mean difference."""
        half = t_quantile(level, self.df) * self.se
        return self.mean - half, self.mean + half

    def shares(self, rope: float) -> tuple[float, float, float]:
        r"""Posterior probabilities that the mean lies below -rope, within, and above it, under a flat prior.

        Of :func:`corrected_paired_t` this is the Bayesian correlated t test: with
        :math:`\rho = n_\text{test}/(n_\text{test}+n_\text{train})` its scale is the corrected standard error.

        References
        ----------
        G. Corani and A. Benavoli (2015), A Bayesian approach for comparing cross-validated algorithms on multiple data
        sets, Machine Learning 100:285-304.
        """
        if not (math.isfinite(rope) and rope >= 0):
            raise InvalidInput(f"The 'rope' parameter must be a number of at least 0. Got {rope!r} instead.")
        if self.se == 0:
            return float(self.mean < -rope), float(abs(self.mean) <= rope), float(self.mean > rope)
        below = float(stdtr(self.df, (-rope - self.mean) / self.se))
        above = float(stdtr(self.df, (self.mean - rope) / self.se))
        return below, max(0.0, 1.0 - below - above), above


def corrected_paired_t(differences: npt.ArrayLike, test_over_train: float) -> PairedDifference:
    r"""Corrected resampled paired t of Nadeau and Bengio; for repeated cross-validation, of Bouckaert and Frank.

    From :math:`J` differences, one per split and over all repeats,

    .. math:: t_{J-1} = \bar d \Big/ \sqrt{\left(\frac{1}{J} + \frac{n_\text{test}}{n_\text{train}}\right) s_d^2}

    Parameters
    ----------
    differences : array-like of shape (J,)
        Score of one learner minus that of the other on each test set; at least two.
    test_over_train : float
        Rows tested on divided by rows trained on, in one split: ``1 / (k - 1)`` for k folds.

    References
    ----------
    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52:239-281.

    R. R. Bouckaert and E. Frank (2004), Evaluating the replicability of significance tests for comparing
    learning algorithms, PAKDD.

    Examples
    --------
    >>> found = corrected_paired_t([0.01, 0.03, 0.02, 0.04, 0.00], test_over_train=1 / 4)
    >>> print(f"{found.mean:.3f} {found.t:.4f} {found.p:.4f}")
    0.020 1.8856 0.1324
    """
    d = sample(differences, "differences", "corrected_paired_t")
    ratio = float(test_over_train)
    if not (math.isfinite(ratio) and ratio > 0):
        raise InvalidInput(
            "The 'test_over_train' parameter of corrected_paired_t must be a positive ratio, such as 1 / (k - 1) "
            f"for k folds. Got {ratio!r} instead."
        )
    return PairedDifference(float(d.mean()), math.sqrt((1 / d.size + ratio) * _variance(d)), d.size - 1)


def pooled_paired_t(differences_by_run: Iterable[npt.ArrayLike], *, factor: float) -> PairedDifference:
    r"""Paired t on the losses of single rows, as if all had been tested by one pair of models.

    The centre is the mean over runs and rows, the standard error that of a single run times ``factor``, which pays
    for what the rows do not show: the fits behind them differ, and share most of their training rows.

    .. math:: t_{n-1} = \bar d \Big/ \frac{\text{factor}}{\sqrt n} \frac{1}{R}\sum_r s_r

    Parameters
    ----------
    differences_by_run : iterable of array-likes of shape (n,)
        Loss of one learner minus that of the other on every row, for each run through the rows.
    factor : float
        1 for a hold-out set, 1.2 for one partition, 1.1 for repeated ones.

    Examples
    --------
    >>> found = pooled_paired_t([[0, 1, 0, 1, 0, 0, 1, 0, 0, 0]], factor=1.2)
    >>> print(f"{found.mean:.1f} {found.t:.4f} {found.df}")
    0.3 1.6366 9
    """
    if not (math.isfinite(factor) and factor > 0):
        raise InvalidInput(f"The 'factor' parameter must be a positive number. Got {factor!r} instead.")
    runs = [sample(run, "differences_by_run", "pooled_paired_t") for run in differences_by_run]
    sizes = {run.size for run in runs}
    if len(sizes) != 1:
        raise InvalidInput(
            "The 'differences_by_run' parameter of pooled_paired_t must have at least 1 run, and as many rows in each. "
            f"Got {len(runs)} runs of {sorted(sizes)} rows."
        )
    n = sizes.pop()
    sd = float(np.mean([math.sqrt(_variance(run)) for run in runs]))
    return PairedDifference(float(np.mean([run.mean() for run in runs])), factor * sd / math.sqrt(n), n - 1)


def _variance(d: npt.NDArray[np.float64]) -> float:
    # Rounding alone would leave a spread of 1e-18, and a huge t, where all differences are the same.
    return 0.0 if np.ptp(d) <= 1e-12 * np.abs(d).max() else float(d.var(ddof=1))


def holm(p_values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Adjust p-values for their number by Holm's step-down method, in the order given.

    Each adjusted value can be held against the level itself: the chance of a single false alarm among all of them
    is then no greater than that level, whatever their dependence.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics
    6:65-70.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InvalidInput(
            f"The 'p_values' parameter of holm must be numbers from 0 to 1 in one row. Got {p_values!r}."
        )
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return adjusted


def one_standard_error(
    estimates: npt.ArrayLike, ses: npt.ArrayLike, order: Sequence[int] | None = None, *, greater_is_better: bool = False
) -> int:
    """Place of the simplest candidate whose estimate is within one standard error of the best one's.

    Parameters
    ----------
    estimates, ses : array-like of shape (n,)
        Estimate and standard error of each candidate; one with a NaN estimate is passed over.
    order : sequence of int, optional
        Places from the simplest candidate to the most complex; by default as they come. Where none of them is
        within one standard error, it is the best.
    greater_is_better : bool, default=False

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone (1984), Classification and Regression Trees, section 3.4.3.

    Examples
    --------
    >>> one_standard_error([0.20, 0.12, 0.10], [0.02, 0.02, 0.03])
    1
    """
    values, errors = np.asarray(estimates, dtype=np.float64), np.asarray(ses, dtype=np.float64)
    if values.ndim != 1 or values.shape != errors.shape or np.isnan(values).all():
        raise InvalidInput(
            "The 'estimates' and 'ses' parameters of one_standard_error must be as many numbers, at least one of them "
            f"known. Got shapes {values.shape} and {errors.shape}."
        )
    losses = -values if greater_is_better else values
    best = int(np.nanargmin(losses))
    if not errors[best] >= 0:
        raise InvalidInput(f"The standard error of the best candidate must be known. Got {errors[best]}.")
    near = losses <= losses[best] + errors[best]
    return next((int(place) for place in (range(values.size) if order is None else order) if near[place]), best)
