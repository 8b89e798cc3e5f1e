"""Intervals for a mean loss: Wilson, pooled over one partition, averaged over repeats, corrected resampled t.

0-1 losses have Wilson's interval, others one that reaches farther on the side of their long tail
(:class:`Tail`). None is clipped to the range of the loss. The models of the folds share most of their
training rows and are not the model trained on all rows, so the standard deviation of one run's losses is too small for
that model's error. It is multiplied by a factor that was calibrated by simulation over many learners; one partition
cannot show that a learner has high variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, ndtri, stdtrit

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats

#: How much the long side's factor grows at most, and the value of u at which it has grown by half of that.
GROWTH, HALF = 1.5, 0.3
#: From the first tail index on the growth is larger, from the second on by the whole of the third.
HEAVY_FROM, HEAVY_TO, HEAVY_GROWTH = 0.7, 1.1, 2.0
#: A finding needs this tail index and this value of u.
HEAVY_INDEX, HEAVY_SKEWNESS = 0.8, 0.35
#: Largest values that the tail index is computed from: a tenth, and at least so many. Fewer rows have no index.
FEWEST_LARGEST, FEWEST_ROWS = 6, 20


class Tail(NamedTuple):
    r"""Skewness of one run's losses, how heavy their tail is, and the share of their sum in the largest 1%.

    Most samples of skewed losses lack the rare large ones, and then both their mean and their standard deviation are
    too small. So an interval must reach farther on the side of the long tail than on the other. P. Hall (1992), On the
    removal of skewness by transformation, JRSS B 54:221-228, transforms the mean by a cubic function of the sample
    skewness :math:`\gamma`. Its ends move abruptly once :math:`\gamma/\sqrt n` exceeds about 0.4, and it shortens the
    other side, which must cover the bias of cross-validation. Here the side of the long tail has the factor

    .. math::

        f + 1.5\,\frac{u^2}{u^2 + 0.3^2}\,(1 + 2\,w), \qquad u = |\gamma|/\sqrt n

    on the standard error, the other side the factor f of the design. The weight w rises from 0 to 1 as the tail index
    (Hill) goes from 0.7 to 1.1. The form and the constants were chosen by simulation on settings that no published
    table uses (docs/coverage-skewed.md).

    B. M. Hill (1975), A simple general approach to inference about the tail of a distribution, Annals of Statistics
    3:1163-1174.
    """

    rows: int
    skewness: float
    hill: float
    largest: float

    @classmethod
    def of(cls, losses: Floats) -> Tail:
        """Measure the losses of independent rows.

        >>> squares = np.arange(100.0) ** 4
        >>> tail = Tail.of(squares)
        >>> round(tail.skewness, 2), round(tail.hill, 2), round(tail.largest, 3)
        (1.41, 0.26, 0.049)
        """
        centred = losses - losses.mean()
        variance = float(np.square(centred).mean())
        n = losses.size
        if n < 3 or variance <= 1e-24 * float(np.square(losses).mean()):
            return cls(n, 0.0, 0.0, 0.0)
        biased = float((centred**3).mean()) / variance**1.5
        sizes = np.sort(np.abs(losses))
        total = float(sizes.sum())
        share = float(sizes[-max(1, n // 100) :].sum()) / total
        return cls(n, biased * math.sqrt(n * (n - 1)) / (n - 2), _hill(losses), share)

    @classmethod
    def mean_of(cls, runs: Iterable[Tail]) -> Tail:
        """Mean over repeats through the same rows."""
        rows, *means = np.mean([tuple(run) for run in runs], axis=0).tolist()
        return cls(round(rows), *means)

    @property
    def heavy(self) -> bool:
        """Whether a few rows carry so much of the sum that others, not in the sample, may carry more."""
        return self.hill >= HEAVY_INDEX and abs(self.skewness) >= HEAVY_SKEWNESS * math.sqrt(self.rows)

    def factors(self, factor: float, n: float | None = None) -> tuple[float, float]:
        """Return the factors on the standard error below and above a mean of ``n`` losses."""
        u2 = self.skewness**2 / (self.rows if n is None else n)
        weight = min(1.0, max(0.0, (self.hill - HEAVY_FROM) / (HEAVY_TO - HEAVY_FROM)))
        long = factor + GROWTH * u2 / (u2 + HALF**2) * (1 + HEAVY_GROWTH * weight)
        return (long, factor) if self.skewness < 0 else (factor, long)


def _hill(losses: Floats) -> float:
    """Tail index: mean logarithm of the largest distances from the median over the next largest; 0 for few rows."""
    if losses.size < FEWEST_ROWS:
        return 0.0
    count = max(FEWEST_LARGEST, losses.size // 10)
    sizes = np.sort(np.abs(losses - np.median(losses)))
    least = float(sizes[-count - 1])
    return float(np.log(sizes[-count:] / least).mean()) if least > 0 else math.inf


#: Factor on the variance of single losses, since models share training rows: 1.1 squared.
SHARED_ROWS = 1.21
#: Factor on the standard deviation where all losses are equal.
NO_SPREAD = 1.2


def normal_quantile(level: float) -> float:
    """Return z, with the share ``level`` of a standard normal between -z and z."""
    return float(ndtri(_tail(level)))


def t_quantile(level: float, degrees: int) -> float:
    """Return t, with the share ``level`` of Student's distribution between -t and t."""
    return float(stdtrit(degrees, _tail(level)))


def _tail(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"The 'level' of an interval must lie between 0 and 1, such as 0.95. Got {level!r} instead.")
    return 0.5 + level / 2


def sample(values: npt.ArrayLike, parameter: str, function: str, *, least: int = 2, zero_one: bool = False) -> Floats:
    """Return ``values`` as a one-dimensional array of at least ``least`` finite floats, or raise InvalidInput."""
    x = np.asarray(values, dtype=np.float64)
    what = f"The {parameter!r} parameter of {function}"
    if x.ndim != 1 or x.size < least:
        count = "1 number" if least == 1 else f"{least} numbers"
        raise InvalidInput(f"{what} must be at least {count} in one row. Got shape {x.shape} instead.")
    if not np.isfinite(x).all():
        raise InvalidInput(f"{what} must be finite. Got {int((~np.isfinite(x)).sum())} NaN or infinite of {x.size}.")
    if zero_one and not np.isin(x, (0.0, 1.0)).all():
        raise InvalidInput(f"{what} must be 0 or 1 with zero_one=True. Got values such as {x[~np.isin(x, (0, 1))][0]}.")
    return x


Interval = tuple[float, float]


class IntervalEstimate(NamedTuple):
    """An estimate, its interval, and its standard error; ``tau2`` is the part of the variance due to the learner."""

    estimate: float
    low: float
    high: float
    se: float
    tau2: float = 0.0


def wilson(successes_share: float, n: float, level: float = 0.95, *, df: int | None = None) -> Interval:
    r"""Wilson's score interval for a share p of n, which need not be a whole number (an effective size).

    .. math:: \frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    With ``df`` the quantile z is that of Student's distribution with so many degrees of freedom.

    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22:209-212.
    """
    p, size = float(successes_share), float(n)

    z = normal_quantile(level) if df is None else t_quantile(level, df)
    spread = z * z / size
    centre = (p + spread / 2) / (1 + spread)
    half = z * math.sqrt(p * (1 - p) / size + spread / (4 * size)) / (1 + spread)
    # At p = 0 the low end is 0 and at p = 1 the high end is 1; rounding alone would leave 1e-18 there.
    low = 0.0 if p == 0.0 else max(0.0, centre - half)
    high = 1.0 if p == 1.0 else min(1.0, centre + half)
    return low, high


def t_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    r"""Student's interval for a mean of independent values: :math:`\bar x \pm t_{n-1}\, s/\sqrt n`."""
    x = sample(values, "values", "t_interval")
    return _around(x.mean(), t_quantile(level, x.size - 1) * x.std(ddof=1) / math.sqrt(x.size))


def prediction_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    r"""Student's interval for one more value of the same kind: :math:`\bar x \pm t_{n-1}\, s\sqrt{1 + 1/n}`."""
    x = sample(values, "values", "prediction_interval")
    return _around(x.mean(), t_quantile(level, x.size - 1) * x.std(ddof=1) * math.sqrt(1 + 1 / x.size))


def pooled(losses: npt.ArrayLike, *, factor: float = 1.2, zero_one: bool, level: float = 0.95) -> Interval:
    r"""Interval for the mean out-of-fold loss of one partition: :func:`averaged_repeats` with one repeat.

    With ``factor=1`` it is the interval from the losses of a hold-out set.
    """
    return averaged_repeats([losses], factor=factor, zero_one=zero_one, level=level)


def averaged_repeats(
    losses_by_repeat: Iterable[npt.ArrayLike], *, factor: float = 1.1, zero_one: bool, level: float = 0.95
) -> Interval:
    r"""Interval for the mean loss over several partitions of the same rows.

    The centre is the mean over repeats and rows. The spread is that of a single run, the mean over repeats of the
    standard deviation :math:`s_r` of its losses: repeating does not add rows. With :math:`f_-` and :math:`f_+` the
    factors of :class:`Tail` from ``factor`` and the skewness of the losses, it is

    .. math:: \Big[\bar\ell - t_{n-1} f_- \frac{s}{\sqrt n},\; \bar\ell + t_{n-1} f_+ \frac{s}{\sqrt n}\Big],
        \qquad s = \frac{1}{R}\sum_r s_r

    For 0-1 loss it is Wilson's interval at the effective size :math:`n/\text{factor}^2`.
    """
    runs = _Runs.of(losses_by_repeat, "averaged_repeats", zero_one)
    return inflated(runs.mean, runs.sd, runs.size, factor=factor, tail=None if zero_one else runs.tail, level=level)


def wald(losses_by_repeat: Iterable[npt.ArrayLike], level: float = 0.95) -> Interval:
    r"""Interval :math:`\bar\ell \pm z\, s/\sqrt n` of any losses, over one or more partitions of the same rows.

    P. Bayle, A. Bayle, L. Janson, L. Mackey (2020), Cross-validation confidence intervals for test error, NeurIPS 33
    (all-pairs variance, here with n - 1). It covers too little at ordinary sizes.
    """
    runs = _Runs.of(losses_by_repeat, "wald")
    return _around(runs.mean, normal_quantile(level) * runs.sd / math.sqrt(runs.size))


class _Runs(NamedTuple):
    """Mean, standard deviation, number and tail of the losses of one run, averaged over the runs."""

    mean: float
    sd: float
    size: int
    tail: Tail

    @classmethod
    def of(cls, losses_by_repeat: Iterable[npt.ArrayLike], function: str, zero_one: bool = False) -> _Runs:
        found, tails = [], []
        for losses in losses_by_repeat:
            run = sample(losses, "losses_by_repeat", function, zero_one=zero_one)
            found.append((run.mean(), run.std(ddof=1), run.size))
            tails.append(Tail.of(run))
        sizes = {size for *_, size in found}
        if len(sizes) != 1:
            raise InvalidInput(
                f"The 'losses_by_repeat' parameter of {function} must have at least 1 repeat, and as many losses "
                f"in each. Got {len(found)} repeats of {sorted(sizes)} losses."
            )
        mean, sd, _ = np.mean(found, axis=0)
        return cls(mean, sd, sizes.pop(), Tail.mean_of(tails))


def corrected_t(scores: npt.ArrayLike, test_over_train: float, level: float = 0.95) -> Interval:
    r"""Corrected resampled t interval from the scores of J splits; ``test_over_train`` is 1/(k − 1) for k folds.

    .. math:: \bar x \pm t_{J-1} \sqrt{\left(\frac{1}{J} + \frac{n_\text{test}}{n_\text{train}}\right) s^2}

    Derived for random splits; for (repeated) cross-validation an approximation, and on average a conservative one.

    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52:239-281. R. R. Bouckaert
    and E. Frank (2004), Evaluating the replicability of significance tests for comparing learning algorithms, PAKDD.
    """
    x = sample(scores, "scores", "corrected_t")
    variance = (1 / x.size + test_over_train) * x.var(ddof=1)
    return _around(x.mean(), t_quantile(level, x.size - 1) * math.sqrt(variance))


def inflated(
    mean: float, sd: float, n: float, *, factor: float, tail: Tail | None, level: float = 0.95, df: int | None = None
) -> Interval:
    r"""Interval from a mean, the standard deviation of one loss, and a factor on it.

    With the ``tail`` of the losses :math:`[\text{mean} - t\,f_-\,\text{sd}/\sqrt n,\; \text{mean} + t\,f_+\,
    \text{sd}/\sqrt n]` with Student's quantile at ``df``, or one less than the number of losses. Without it the losses
    are 0-1: Wilson's interval at the effective size :math:`n/\text{factor}^2`, which needs no ``sd``, with the normal
    quantile, or with ``df`` Student's.
    """
    if tail is None:
        return wilson(float(mean), n / factor**2, level, df=df)
    return around_skewed(float(mean), float(sd) / math.sqrt(n), tail, factor=factor, n=n, level=level, df=df)


def around_skewed(
    centre: float, se: float, tail: Tail, *, factor: float, n: float | None = None, level: float = 0.95,
    df: int | None = None,
) -> Interval:  # fmt: skip
    """Interval around a mean of skewed values with standard error ``se``; ``n`` is their number or effective number."""
    below, above = tail.factors(factor, n)
    reach = t_quantile(level, max(1, tail.rows - 1) if df is None else df) * se
    return centre - below * reach, centre + above * reach


def _around(centre: float, half: float) -> Interval:
    return float(centre - half), float(centre + half)


def conservative_z(outer: npt.ArrayLike, halves: npt.ArrayLike, *, level: float = 0.95) -> IntervalEstimate:
    r"""Conservative z interval, from random splits of all rows and of disjoint halves of them.

    The estimate is the mean over the J scores in ``outer``. Each of M halvings gives two independent means over J
    splits, :math:`\hat\mu_m` and :math:`\hat\mu_m^c` (a row of ``halves``);

    .. math:: \hat\sigma^2 = \frac{1}{2M} \sum_{m=1}^{M} (\hat\mu_m - \hat\mu_m^c)^2

    is unbiased for the variance at half the rows, which is at least that at all of them: hence conservative. Takes
    J(2M + 1) fits.

    C. Nadeau and Y. Bengio (2003), Inference for the generalization error, Machine Learning 52:239-281.
    """
    scores = sample(outer, "outer", "conservative_z", least=1)
    pairs = np.asarray(halves, dtype=np.float64)
    if not np.isfinite(pairs).all():
        raise InvalidInput("The 'halves' parameter of conservative_z must be finite. Got NaN or infinite values.")
    se = math.sqrt(np.square(pairs[:, 0] - pairs[:, 1]).sum() / (2 * len(pairs)))
    estimate, half = float(scores.mean()), normal_quantile(level) * se
    return IntervalEstimate(estimate, estimate - half, estimate + half, se)


def equality_test(values: Sequence[float], intervals: Sequence[Interval], level: float) -> float:
    """Return the p-value that independent estimates have one true value (Cochran's test).

    ``level`` is that of each interval. The standard error of an estimate is read from the side of its interval that
    faces the others.

    W. G. Cochran (1954), The combination of estimates from different experiments, Biometrics 10:101-129. G. Y. Zou and
    A. Donner (2008), Construction of confidence limits about effect measures, Statistics in Medicine 27:1693-1702.

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
