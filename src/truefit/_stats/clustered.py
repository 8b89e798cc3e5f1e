r"""Clustered inference: the error of a mean of losses whose rows come in groups, such as several visits of a patient.

Rows of one group are alike, so n rows say less than n independent ones. The cluster-robust standard error counts the
groups: each contributes the sum of its deviations from the mean. Its square over that of independent rows is the design
effect, by which n is divided.

K.-Y. Liang and S. L. Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73:13-22.
L. Kish (1965), Survey Sampling, Wiley.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.intervals import Interval, sample, wilson
from truefit._stats.paired import PairedDifference

#: With fewer groups the cluster-robust standard error is too small too often.
LEAST_GROUPS = 20


def clustered_se(losses: npt.ArrayLike, groups: npt.ArrayLike) -> float:
    r"""Cluster-robust standard error of the mean of ``losses``, one group per loss.

    .. math:: \frac{1}{n}\sqrt{\frac{G}{G-1} \sum_g \Big(\sum_{i \in g} (\ell_i - \bar\ell)\Big)^2}

    With every loss in a group of its own it is the ordinary :math:`s/\sqrt n`.
    """
    values = sample(losses, "losses", "clustered_se")
    return _se(values, *_codes(groups, values.size))


def design_effect(losses: npt.ArrayLike, groups: npt.ArrayLike) -> float:
    r"""Variance of the mean of ``losses`` over that of as many independent losses, and at least 1.

    Where all losses are equal they do not show how alike those of a group are. Then a group counts as a single loss,
    the most that is possible: :math:`\sum_g n_g^2 / n`.
    """
    values = sample(losses, "losses", "design_effect")
    codes, count = _codes(groups, values.size)
    if np.ptp(values) == 0:
        return float(np.square(np.bincount(codes)).sum() / values.size)
    return max(1.0, _se(values, codes, count) ** 2 / float(values.var(ddof=1) / values.size))


def clustered_wilson(
    losses_by_run: Iterable[npt.ArrayLike],
    groups_by_run: Iterable[npt.ArrayLike],
    *,
    factor: float,
    level: float = 0.95,
) -> Interval:
    r"""Interval for the mean 0-1 loss on rows of new groups, from one or more runs through the same rows.

    Wilson's interval at the effective size :math:`n / (\text{design effect} \cdot \text{factor}^2)` with the quantile
    of Student's distribution with G - 1 degrees of freedom. The mean and the design effect are means over the runs;
    ``factor`` is 1 for a hold-out set, 1.2 for one partition and 1.1 for repeated ones.
    """
    found = []
    for losses, groups in zip(losses_by_run, groups_by_run, strict=True):
        values = sample(losses, "losses_by_run", "clustered_wilson", zero_one=True)
        found.append((values.mean(), design_effect(values, groups), values.size, len(np.unique(np.asarray(groups)))))
    if len({(size, count) for *_, size, count in found}) != 1:
        raise InvalidInput(
            "The 'losses_by_run' parameter of clustered_wilson must have at least 1 run, and the same rows in each. "
            f"Got {len(found)} runs of {sorted({size for *_, size, _ in found})} rows."
        )
    mean, effect, n, count = (float(each) for each in np.mean(found, axis=0))
    return wilson(mean, n / effect / factor**2, level, df=round(count) - 1)


def clustered_paired_t(
    differences_by_run: Iterable[npt.ArrayLike], groups_by_run: Iterable[npt.ArrayLike], *, factor: float
) -> PairedDifference:
    r"""Paired t on the losses of single rows that come in groups, for each run through the rows.

    The centre is the mean over runs and rows, the standard error that of the jackknife over the groups of a single run
    times ``factor``, and never below that of independent rows. The degrees of freedom are those of the effective number
    of groups, :math:`n^2 / \sum_g n_g^2 - 1`. With groups of even size both are those of :func:`clustered_se`, and
    G - 1; with uneven ones a few large groups make the latter too small, and a test with it too often significant.

    A. V. Carter, K. T. Schnepel, D. G. Steigerwald (2017), Asymptotic behavior of a t-test robust to cluster
    heterogeneity, Review of Economics and Statistics 99:698-709. J. G. MacKinnon, M. Ø. Nielsen, M. D. Webb (2023),
    Fast and reliable jackknife and bootstrap methods for cluster-robust inference, Journal of Applied Econometrics
    38:671-694.
    """
    found, counts = [], []
    for differences, groups in zip(differences_by_run, groups_by_run, strict=True):
        values = sample(differences, "differences_by_run", "clustered_paired_t")
        found.append(clustered_mean(values, groups))
        counts.append(len(np.unique(np.asarray(groups))))
    if len(set(counts)) != 1:
        raise InvalidInput(
            "The 'groups_by_run' parameter of clustered_paired_t must have at least 1 run, and the same groups in "
            f"each. Got {len(counts)} runs of {sorted(set(counts))} groups."
        )
    means, errors = [each.mean for each in found], [each.se for each in found]
    return PairedDifference(float(np.mean(means)), factor * float(np.mean(errors)), found[0].df)


def clustered_mean(
    values: npt.ArrayLike, groups: npt.ArrayLike, weight: npt.ArrayLike | None = None
) -> PairedDifference:
    """Mean of values that come in groups, with the standard error and degrees of freedom of clustered_paired_t.

    The values have their weights in them already; ``weight`` decides how much each group counts in the degrees of
    freedom.
    """
    x = sample(values, "values", "clustered_mean")
    codes, count = _codes(groups, x.size)
    sizes = np.bincount(codes, weights=None if weight is None else np.asarray(weight), minlength=count)
    effective = int(sizes.sum() ** 2 / np.square(sizes).sum() + 1e-9)
    # Rounding alone would leave a spread of 1e-18, and a huge t, where all values are the same.
    if np.ptp(x) <= 1e-12 * np.abs(x).max():
        return PairedDifference(float(x.mean()), 0.0, max(effective - 1, 1))
    independent = float(x.std(ddof=1)) / math.sqrt(x.size)
    se = max(independent, _jackknife_se(x, codes, count))
    return PairedDifference(float(x.mean()), se, max(effective - 1, 1))


def _codes(groups: npt.ArrayLike, n: int) -> tuple[npt.NDArray[np.intp], int]:
    """Return the number of each row's group, and how many groups there are."""
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if codes.size != n:
        raise InvalidInput(f"There must be one group per loss. Got {codes.size} groups of {n} losses.")
    if len(names) < 2:
        raise InvalidInput(f"A clustered standard error needs at least 2 groups. Got {len(names)}.")
    return codes, len(names)


def _se(values: Floats, codes: npt.NDArray[np.intp], count: int) -> float:
    sums = np.bincount(codes, weights=values - values.mean(), minlength=count)
    return math.sqrt(count / (count - 1) * float(np.square(sums).sum())) / values.size


def _jackknife_se(values: Floats, codes: npt.NDArray[np.intp], count: int) -> float:
    """Standard error of a mean from the means without each of the groups."""
    sums = np.bincount(codes, weights=values - values.mean(), minlength=count)
    shifts = sums / (values.size - np.bincount(codes, minlength=count))
    return math.sqrt((count - 1) / count * float(np.square(shifts).sum()))
