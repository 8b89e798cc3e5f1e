"""Paired tests: is one learner better than another on the same splits, and by how much?

A :class:`PairedDifference` is a mean, a standard error and degrees of freedom. It comes from the scores of test sets
whose training sets overlap (:func:`corrected_paired_t`), or from the losses of single rows (:func:`pooled_paired_t`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr, stdtrit

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats, Mask
from truefit._stats.intervals import Tail, normal_quantile, sample, t_quantile


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

    Differences of losses that are not ``zero_one`` are corrected for their skewness (``intervals.Tail``):
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


#: Draws of the candidates' mean losses; the standard error of a p-value of 5% is 0.2 points.
DRAWS = 10_000
#: With at least so many degrees of freedom the standard errors count as known; with fewer they are drawn as well.
MANY_DEGREES = 40
#: Values in memory at a time.
_PORTION = 1 << 20
#: A variance of a difference below this share of the candidates' own is rounding alone.
_ROUNDING = 1e-12


def covariance_of_means(
    losses_by_run: Iterable[npt.ArrayLike], groups_by_run: Iterable[npt.ArrayLike] | None = None
) -> Floats:
    """Covariance of the mean losses of candidates, up to a factor, from arrays (row, candidate) of each run.

    With groups it is that of the sums of whole groups.

    >>> covariance_of_means([[[0, 1], [1, 0], [1, 1], [0, 0]]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> covariance_of_means([[[0, 1], [1, 0], [1, 1], [0, 0]]], [[0, 0, 1, 1]]).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    total: Floats = np.zeros((1, 1))
    for losses, groups in zip(losses_by_run, repeat(None) if groups_by_run is None else groups_by_run, strict=False):
        centred = np.asarray(losses, dtype=np.float64)
        centred = centred - centred.mean(axis=0)
        if groups is not None:
            codes = np.unique(np.asarray(groups), return_inverse=True)[1]
            sums = np.zeros((codes.max() + 1, centred.shape[1]))
            np.add.at(sums, codes, centred)
            centred = sums
        total = total + centred.T @ centred
    return total


def selected_best(
    p_values: npt.ArrayLike,
    covariance: npt.ArrayLike,
    df: float,
    *,
    families: npt.ArrayLike | None = None,
    draws: int = DRAWS,
) -> Floats:
    r"""Adjust the p-values of candidates against the best of them, which was selected on the same rows.

    The best of :math:`m` equally good candidates is the luckiest one, so the others look worse than it too often, the
    more often the more there are. Any pair of the :math:`m` could have been compared: the p-value that accounts for
    this is the probability that the largest :math:`|t|` of all pairs is as large as the one observed, if all are
    equally good. For independent candidates of equal variance and many rows it is that of Tukey's studentised range.
    Here candidates are correlated, so it is that of normal draws with the estimated covariance of their mean losses: a
    candidate that predicts the same as another adds nothing. With few degrees of freedom, as of 5 folds, each pair's
    own standard error is drawn as well, since they do not share one, as those of Tukey's test do.

    It is a step-down method, as Holm's: a candidate that is significantly worse than the best one is left out of the
    pairs before the next is tested.

    J. W. Tukey (1953), The problem of multiple comparisons, and C. Y. Kramer (1956), Extension of multiple range tests
    to group means with unequal numbers of replications, Biometrics 12:307-310. J. P. Romano and M. Wolf (2005), Exact
    and approximate stepdown methods for multiple hypothesis testing, JASA 100:94-108.

    Parameters
    ----------
    p_values : array-like of shape (k,)
        Two-sided p-values of other candidates against the best one.
    covariance : array-like of shape (m, m)
        Estimated covariance of the candidates' mean losses, up to a factor: the best one first, then those of
        ``p_values``, then others that could have been selected in their place, or better than it.
    df : float
        Degrees of freedom of the differences.
    families : array-like of shape (m,), optional
        The family of each candidate, of which only the best one is compared with others: a false positive needs a
        difference between that and any candidate of another family. By default each is its own.
    draws : int
        Number of draws, which are the same in every call.

    Returns
    -------
    ndarray of shape (k,)
        Each p-value is the share of draws in which the largest \|t\| of all pairs, without the more significant
        candidates, reaches the one observed. It is at least the p-value of the single comparison, and at most that
        times the number of these pairs (Bonferroni), which decides where the share is too small to be known.

    Examples
    --------
    >>> [round(float(p), 1) for p in selected_best([0.02, 0.2, 0.7], np.eye(4), 1000)]
    [0.1, 0.4, 0.7]
    """
    p, every = np.asarray(p_values, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    m, k = len(every), p.size
    # The last of the order is the most significant: the first to be tested, with all pairs.
    order, further = np.argsort(-p, kind="stable"), m - k - 1
    places = np.r_[k + 1 : m, 0, 1 + order]
    every, family = every[np.ix_(places, places)], np.arange(m)
    if families is not None:
        family = np.unique(np.asarray(families), return_inverse=True)[1][places]
    compared = np.tril(family[:, None] != family, -1)
    # One that is not compared may have been better by chance, but is not called worse.
    compared[:further] = False
    pairs = np.cumsum(compared[:, :further].sum(axis=1) / 2 + compared[:, further:].sum(axis=1))
    own = p[order]
    bounded = np.minimum(1.0, np.maximum(1.0, pairs[m - k :]) * own)
    if m > 2:
        least = -(ndtri(own / 2) if df >= MANY_DEGREES else stdtrit(df, own / 2))
        reached = np.zeros(k)
        for largest in _largest(every, compared, further, df, draws):
            reached += (largest[:, m - 1 - k :] >= least).sum(axis=0)
        bounded = np.clip((1 + reached) / (1 + draws), own, bounded)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(bounded[::-1])[::-1]
    return adjusted


def _largest(covariance: Floats, compared: Mask, further: int, df: float, draws: int) -> Iterator[Floats]:
    """Draw the largest \\|t\\| of the pairs compared among the first 2, 3, ..., m candidates: (draws, m - 1).

    Against the first ``further`` candidates others are only called worse.
    """
    m, rng = len(covariance), np.random.default_rng(0)
    few = df < MANY_DEGREES
    degrees = max(1, round(df))
    own = np.diag(covariance)
    # What does not differ is never found different.
    known = compared & (_of_differences(covariance) > _ROUNDING * (own[:, None] + own))
    excluded: tuple[Any, ...] = (..., *np.nonzero(np.tril(~known, -1)))
    shrunk = _shrunk(covariance, df)
    values, vectors = np.linalg.eigh(shrunk)
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    portion = max(1, _PORTION // (m * max(degrees, m) if few else m))
    variances = _of_differences(shrunk)
    for start in range(0, draws, portion):
        count = min(portion, draws - start)
        means = rng.standard_normal((count, m)) @ root
        if few:
            spread = (rng.standard_normal((count * degrees, m)) @ root).reshape(count, degrees, m)
            variances = _of_differences(spread.transpose(0, 2, 1) @ spread) / degrees
        variances[excluded] = np.inf
        found = np.zeros((count, m - 1))
        for k in range(1, m):
            differences = means[:, k, None] - means[:, :k]
            np.maximum(differences[:, :further], 0.0, out=differences[:, :further])
            found[:, k - 1] = (np.square(differences) / variances[..., k, :k]).max(axis=1)
        yield np.sqrt(np.maximum.accumulate(found, axis=1))


def _shrunk(covariance: Floats, df: float) -> Floats:
    """Shrink towards independent candidates, for which the adjustment is larger, the more the fewer the degrees.

    The variances of these are such that those of the differences fit best (least squares).
    """
    m = len(covariance)
    centred = covariance - covariance.mean(axis=0) - covariance.mean(axis=1)[:, None] + covariance.mean()
    sums = _of_differences(covariance).sum(axis=1)
    apart = np.clip((sums - sums.sum() / (2 * (m - 1))) / (m - 2), 0.0, None)
    share = (m - 1) / (m - 1 + df)
    shrunk: Floats = (1 - share) * centred + share * np.diag(apart)
    return shrunk


def _of_differences(covariance: Floats) -> Floats:
    """Variances of the differences of all pairs."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return own[..., :, None] + own[..., None, :] - 2 * covariance
