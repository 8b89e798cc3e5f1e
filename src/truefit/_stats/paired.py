"""Paired tests: is one learner better than another on the same splits, and by how much?

A :class:`PairedDifference` is a mean, a standard error and degrees of freedom. It comes from the scores of test sets
whose training sets overlap (:func:`corrected_paired_t`), or from the losses of single rows (:func:`pooled_paired_t`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.intervals import normal_quantile, sample, t_quantile
from truefit._stats.skewness import Tail


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Mean difference, its standard error, and the degrees of freedom of that.

    With skewed differences the standard error is multiplied by one of two ``factors``: below and above the mean.
    """

    mean: float
    se: float
    df: int
    factors: tuple[float, float] = (1.0, 1.0)

    @property
    def t(self) -> float:
        """The mean in standard errors; 0 where nothing differs, infinite where all differences are the same."""
        if self.se == 0:
            return math.copysign(math.inf, self.mean) if self.mean else 0.0
        below, above = self.factors
        return self.mean / (self.se * (below if self.mean > 0 else above))

    @property
    def p(self) -> float:
        """Two-sided p-value of Student's t test that the mean is 0."""
        return float(2 * stdtr(self.df, -abs(self.t)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of the mean difference."""
        half, (below, above) = t_quantile(level, self.df) * self.se, self.factors
        return self.mean - below * half, self.mean + above * half

    def more_to_settle(self, level: float = 0.95, power: float = 0.8, tests: int = 1) -> float:
        r"""How many times as many rows would show a mean difference as large as this one; infinite for none at all.

        With :math:`m` tests (Bonferroni) the mean is significant with a probability of ``power`` from
        :math:`(z_{1-\alpha/2m} + z_\text{power})^2 / t^2` times as many rows on, if mean and spread stay the same.

        >>> round(PairedDifference(0.02, 0.02, 99).more_to_settle(), 2)
        7.85
        """
        if self.t == 0:
            return math.inf
        wanted = normal_quantile(1 - (1 - level) / tests) + float(ndtri(power))
        return (wanted / self.t) ** 2

    def shares(self, rope: float) -> tuple[float, float, float]:
        """Posterior probabilities that the mean lies below -rope, within, and above it, under a flat prior.

        Of :func:`corrected_paired_t` this is the Bayesian correlated t test of G. Corani and A. Benavoli (2015), A
        Bayesian approach for comparing cross-validated algorithms on multiple data sets, Machine Learning 100:285-304.
        """
        if self.se == 0:
            return float(self.mean < -rope), float(abs(self.mean) <= rope), float(self.mean > rope)
        below, not_above = self._share_below(-rope), self._share_below(rope)
        return below, max(0.0, not_above - below), 1.0 - not_above

    def _share_below(self, end: float) -> float:
        below, above = self.factors
        return float(stdtr(self.df, (end - self.mean) / (self.se * (below if end < self.mean else above))))


def corrected_paired_t(differences: npt.ArrayLike, test_over_train: float) -> PairedDifference:
    r"""Corrected resampled paired t of Nadeau and Bengio (2003); for repeated CV of Bouckaert and Frank (2004).

    From :math:`J` differences, one per split and over all repeats; ``test_over_train`` is 1/(k − 1) for k folds.

    .. math:: t_{J-1} = \bar d \Big/ \sqrt{\left(\frac{1}{J} + \frac{n_\text{test}}{n_\text{train}}\right) s_d^2}
    """
    d = sample(differences, "differences", "corrected_paired_t")
    return PairedDifference(float(d.mean()), math.sqrt((1 / d.size + test_over_train) * _variance(d)), d.size - 1)


def pooled_paired_t(
    differences_by_run: Iterable[npt.ArrayLike], *, factor: float, zero_one: bool = True
) -> PairedDifference:
    r"""Paired t on the losses of single rows, for each run through the rows.

    The centre is the mean over runs and rows, the standard error that of a single run times ``factor`` (1 for a
    hold-out set, 1.2 for one partition, 1.1 for repeated ones), since the fits share most of their training rows.

    .. math:: t_{n-1} = \bar d \Big/ \frac{\text{factor}}{\sqrt n} \frac{1}{R}\sum_r s_r

    Differences of losses that are not ``zero_one`` are corrected for their skewness (:mod:`truefit._stats.skewness`):
    interval and p-value use the larger factor on the side of their long tail, and agree.
    """
    runs = [sample(run, "differences_by_run", "pooled_paired_t") for run in differences_by_run]
    sizes = {run.size for run in runs}
    if len(sizes) != 1:
        raise InvalidInput(
            "The 'differences_by_run' parameter of pooled_paired_t must have at least 1 run, and as many rows in each. "
            f"Got {len(runs)} runs of {sorted(sizes)} rows."
        )
    n = sizes.pop()
    sd = float(np.mean([math.sqrt(_variance(run)) for run in runs]))
    mean, se = float(np.mean([run.mean() for run in runs])), factor * sd / math.sqrt(n)
    if zero_one:
        return PairedDifference(mean, se, n - 1)
    below, above = Tail.mean_of(map(Tail.of, runs)).factors(factor)
    return PairedDifference(mean, se, n - 1, (below / factor, above / factor))


def _variance(d: Floats) -> float:
    # Rounding alone would leave a spread of 1e-18, and a huge t, where all differences are the same.
    return 0.0 if np.ptp(d) <= 1e-12 * np.abs(d).max() else float(d.var(ddof=1))


def holm(p_values: npt.ArrayLike) -> Floats:
    """Adjust p-values for their number by Holm's step-down method, in the order given.

    S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6:65-70.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    return adjusted


def one_standard_error(
    estimates: npt.ArrayLike, ses: npt.ArrayLike, order: Sequence[int] | None = None, *, greater_is_better: bool = False
) -> int:
    """Position of the simplest candidate whose estimate is within one standard error of the best one's.

    ``order`` lists positions from the simplest candidate to the most complex; NaN estimates are skipped. L. Breiman,
    J. Friedman, R. Olshen, C. Stone (1984), Classification and Regression Trees, section 3.4.3.
    """
    values, errors = np.asarray(estimates, dtype=np.float64), np.asarray(ses, dtype=np.float64)
    losses = -values if greater_is_better else values
    best = int(np.nanargmin(losses))
    near = losses <= losses[best] + errors[best]
    return next((int(place) for place in (range(values.size) if order is None else order) if near[place]), best)
