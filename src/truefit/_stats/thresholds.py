"""Thresholds on a probability: chosen by a rule on some rows, evaluated on others; the net benefit of decisions.

A threshold that is evaluated on the rows by which it was chosen looks better than it is. Here that of each fold is
chosen on the other folds. The interval covers the choice too: both steps are repeated on bootstrap samples of the rows,
or of whole groups, and what counts is how far the evaluation of a sample is from the performance, on all rows, of the
threshold that the sample leads to. Where that varies further than the interval, the interval is extended: a rule that
sometimes calls every row positive has a sensitivity of exactly 1 then.

Net benefit: A. J. Vickers and E. B. Elkin (2006), Decision curve analysis: a novel method for evaluating prediction
models, Medical Decision Making 26:565-574.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from truefit._core.typing import Array, Floats, Positions
from truefit._stats.intervals import Interval, normal_quantile, t_quantile, wilson
from truefit._stats.paired import PairedDifference

RuleName = Literal["youden", "sensitivity", "specificity", "precision", "cost", "given"]

#: Bootstrap samples: as many as this number of draws allows, within these bounds.
DRAWS, FEWEST, MOST = 4_000_000, 50, 400
#: Draws that are held in memory together.
AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Rule:
    """What a threshold is chosen by: a required rate, Youden's index, costs of both kinds of errors, or it is given."""

    name: RuleName
    value: float = 0.0
    costs: tuple[float, float] = (1.0, 1.0)

    def choose(self, true: Floats, false: Floats) -> tuple[Positions, Array]:
        """Return the place of the chosen cut along the last axis, and whether what is required is reached there.

        ``true`` and ``false`` are the positive and negative rows at or above each cut; the first cut has none of them,
        the last all. Of equally good cuts the first, with the highest threshold, is taken.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            sensitivity, fall_out = true / true[..., -1:], false / false[..., -1:]
            if self.name == "youden":
                found = np.argmax(sensitivity - fall_out, axis=-1)
            elif self.name == "cost":
                found = np.argmin(self.costs[1] * false - self.costs[0] * true, axis=-1)
            elif self.name == "sensitivity":
                found = np.argmax(sensitivity >= self.value - 1e-12, axis=-1)
            elif self.name == "specificity":
                found = _last(1 - fall_out >= self.value - 1e-12, true + false)
            else:
                precision = np.nan_to_num(true / (true + false), nan=-1.0)
                enough = precision >= self.value - 1e-12
                reached = np.asarray(enough.any(axis=-1))
                return np.where(reached, _last(enough, true + false), np.argmax(precision, axis=-1)), reached
        return found, np.ones(found.shape, dtype=bool)


def _last(found: Array, rows: Floats) -> Positions:
    """Return the last cut found, or the first with the same rows: later ones are scores of rows without weight."""
    last = found.shape[-1] - 1 - np.argmax(found[..., ::-1], axis=-1)
    return np.asarray(np.argmax(rows >= np.take_along_axis(rows, last[..., None], -1) - 1e-9, axis=-1))


class Rates(NamedTuple):
    """Sensitivity, specificity and precision, each NaN where there is no row that it is a share of."""

    sensitivity: Floats
    specificity: Floats
    precision: Floats


class Judged(NamedTuple):
    """A threshold chosen on all rows, its rates on rows that had no part in the choice, and their intervals."""

    threshold: float
    rates: Rates
    intervals: tuple[Interval, ...]
    #: Thresholds chosen without each fold.
    of_folds: Floats
    #: Whether the rule's requirement is reached: on all rows, and without each fold.
    reached: bool
    reached_without: Array
    #: The highest precision at any threshold.
    best_precision: float


class Cuts:
    """The distinct scores of some rows from high to low, and what lies at or above each of them."""

    def __init__(self, y01: Floats, score: Floats) -> None:
        self.order = np.argsort(-score, kind="stable")
        ordered = score[self.order]
        self._ends = np.flatnonzero(np.append(np.diff(ordered) != 0, True))
        # The first cut is above all scores: no row is called positive. Midway to a probability of 1 it stays there
        # when it is rounded; above 1 there is nothing.
        top = float(ordered[0])
        above = (top + 1) / 2 if top < (top + 1) / 2 else np.nextafter(top, np.inf)
        self._values = np.concatenate([[above], ordered[self._ends]])
        self._positive = y01[self.order] == 1

    def thresholds(self, place: Positions, rows: Floats) -> tuple[Floats, Positions]:
        """Return thresholds midway between a cut and the next one with rows of weight, and the cuts these come to.

        ``rows`` are the weights at or above each cut. A threshold at the lowest score of the rows that it was chosen on
        would call most others negative that are as high.
        """
        at = np.take_along_axis(rows, place[..., None], -1)
        following = np.argmax(rows > at + 1e-9, axis=-1)  # 0 where there is none
        beyond = np.where((place == 0) | (following == 0), place, following)
        chosen = (self._values[place] + self._values[beyond]) / 2
        return chosen, np.searchsorted(-self._values, -chosen, side="right") - 1

    def counts(self, weights: Floats) -> tuple[Floats, Floats]:
        """Weights of positive and negative rows at or above each cut; weights are in the cuts' order of rows."""
        true = np.cumsum(weights * self._positive, axis=-1)[..., self._ends]
        false = np.cumsum(weights * ~self._positive, axis=-1)[..., self._ends]
        none = np.zeros((*weights.shape[:-1], 1))
        return np.concatenate([none, true], axis=-1), np.concatenate([none, false], axis=-1)


def judge(
    y01: Floats,
    score: Floats,
    rule: Rule,
    folds: Positions,
    *,
    weight: Floats | None = None,
    groups: Positions | None = None,
    factor: float = 1.0,
    level: float = 0.95,
) -> Judged:
    """Choose a threshold on all rows; evaluate that of each fold, chosen on the other folds, on the fold."""
    cuts = Cuts(y01, score)
    own = (np.ones(len(y01)) if weight is None else weight / weight.mean())[cuts.order]
    ordered_folds = folds[cuts.order]
    true, false = cuts.counts(own)
    place, reached = rule.choose(true, false)
    threshold, _ = cuts.thresholds(place, true + false)
    nested, of_folds, reached_without = _nested(cuts, own, ordered_folds, rule)
    error, actual = _resampled(cuts, own, ordered_folds, groups, rule)
    with np.errstate(invalid="ignore", divide="ignore"):
        best = float(np.nanmax(true / (true + false)))
    rates = _rates(*nested, true[-1], false[-1])
    # Groups without an error may all be alike: then each counts as one row.
    share = 1.0 if groups is None else (int(groups.max()) + 1) / len(y01)
    sizes = _sizes(y01, own, nested)
    intervals = tuple(
        _extended(
            _interval(float(rate), float(mse), size if 0 < rate < 1 else size * share, factor, level), each, level
        )
        for rate, mse, size, each in zip(rates, error, sizes, actual, strict=True)
    )
    return Judged(
        float(threshold),
        rates,
        intervals,
        of_folds,
        bool(reached),
        reached_without,
        best,
    )


def _nested(cuts: Cuts, weights: Floats, folds: Positions, rule: Rule) -> tuple[tuple[Floats, Floats], Floats, Array]:
    """Return true and false positives of thresholds chosen without each fold; these; whether they reach the rule."""
    true, false = np.zeros(weights.shape[:-1]), np.zeros(weights.shape[:-1])
    thresholds, reached = [], []
    for fold in range(int(folds.max()) + 1):
        within = folds == fold
        others = cuts.counts(weights * ~within)
        place, enough = rule.choose(*others)
        threshold, place = cuts.thresholds(place, others[0] + others[1])
        at_place = [np.take_along_axis(each, place[..., None], -1)[..., 0] for each in cuts.counts(weights * within)]
        true, false = true + at_place[0], false + at_place[1]
        thresholds.append(threshold)
        reached.append(enough)
    return (true, false), np.array(thresholds), np.array(reached)


def _rates(true: Floats, false: Floats, positives: Floats, negatives: Floats) -> Rates:
    with np.errstate(invalid="ignore", divide="ignore"):
        return Rates(true / positives, 1 - false / negatives, true / (true + false))


def _resampled(
    cuts: Cuts, own: Floats, folds: Positions, groups: Positions | None, rule: Rule
) -> tuple[Floats, Floats]:
    """Repeat the choice on bootstrap samples of rows, or of whole groups.

    Return the mean squared error of the three rates, and what the thresholds of the samples reach on all rows.
    """
    rng, n = np.random.default_rng(0), len(own)
    units = np.arange(n) if groups is None else groups[cuts.order]
    count = int(units.max()) + 1
    draws = int(np.clip(DRAWS // n, FEWEST, MOST))
    true, false = cuts.counts(own)
    errors: list[Floats] = []
    performances: list[Floats] = []
    while draws:
        some = min(draws, max(AT_ONCE // n, 1))
        draws -= some
        weights = own * rng.multinomial(count, np.full(count, 1 / count), size=some)[:, units]
        of_sample = cuts.counts(weights)
        place, _ = rule.choose(*of_sample)
        _, final = cuts.thresholds(place, of_sample[0] + of_sample[1])
        nested, _, _ = _nested(cuts, weights, folds, rule)
        found = _rates(*nested, of_sample[0][:, -1], of_sample[1][:, -1])
        actual = _rates(true[final], false[final], true[-1], false[-1])
        errors.append(np.square(np.array(found) - np.array(actual)))
        performances.append(np.array(actual))
    together = np.concatenate(errors, axis=1)
    known = np.isfinite(together)
    mean = np.sum(together, axis=1, where=known) / np.maximum(known.sum(axis=1), 1)
    return np.asarray(mean), np.concatenate(performances, axis=1)


def _sizes(y01: Floats, own: Floats, nested: tuple[Floats, Floats]) -> tuple[float, float, float]:
    """Return how many rows each rate is a share of; of weighted rows the effective number."""
    effective = float(own.sum() ** 2 / np.square(own).sum() / len(own))
    positives = float(y01.sum())
    return positives * effective, (len(y01) - positives) * effective, float(nested[0] + nested[1]) * effective


def _extended(interval: Interval, values: Floats, level: float) -> Interval:
    """Return an interval that also holds the central share of values; NaN is one without rows to be a share of."""
    known = values[np.isfinite(values)]
    if not len(known):
        return interval
    low, high = np.quantile(known, [0.5 - level / 2, 0.5 + level / 2]).tolist()
    return min(interval[0], low), max(interval[1], high)


def _interval(rate: float, mse: float, size: float, factor: float, level: float) -> Interval:
    """Return Wilson's interval at the effective size that the error of the rate corresponds to."""
    if not np.isfinite(rate) or size <= 0:
        return 0.0, 1.0
    spread = rate * (1 - rate)
    effective = min(size, spread / mse) if mse > 0 and spread > 0 else size
    return wilson(min(max(rate, 0.0), 1.0), max(effective, 1.0) / factor**2, level)


def contributions(y01: Floats, p: Floats, threshold: float) -> Floats:
    r"""Return what each row adds to the net benefit at a threshold :math:`t`: their mean is the net benefit.

    .. math:: \frac{TP}{n} - \frac{FP}{n} \cdot \frac{t}{1-t}

    Of 10 rows with probabilities of at least 0.2, 4 are positive and 3 negative: 4/10 - 3/10 · 0.25.

    >>> y = np.array([1, 1, 1, 1, 0, 0, 0, 1, 0, 0], dtype=float)
    >>> p = np.array([.9, .8, .7, .2, .6, .5, .2, .1, .1, .0])
    >>> float(contributions(y, p, 0.2).mean())
    0.325
    """
    return (p >= threshold) * (y01 - (1 - y01) * threshold / (1 - threshold))


def mean_with_se(values: Floats, weight: Floats | None, groups: Array | None) -> tuple[float, float]:
    """Return a mean over rows and its standard error, which is that of whole groups where rows come in groups."""
    weights = np.ones(len(values)) if weight is None else weight / weight.mean()
    mean = float(np.average(values, weights=weights))
    residual = weights * (values - mean)
    if groups is not None:
        residual = np.bincount(groups, residual)
    count = len(residual)
    # Rounding alone would leave a spread of 1e-18 where all values are the same.
    spread = float(np.square(residual).sum()) if np.ptp(values) > 1e-12 else 0.0
    return mean, math.sqrt(count / max(count - 1, 1) * spread) / len(values)


def mean_interval(
    values: Floats, weight: Floats | None, groups: Array | None, *, factor: float, level: float
) -> tuple[float, Interval | None]:
    """Return a mean over rows and its interval; none where all values are the same."""
    mean, se = mean_with_se(values, weight, groups)
    if se == 0:
        return mean, None
    z = normal_quantile(level) if groups is None else t_quantile(level, int(groups.max()))
    return mean, (mean - z * factor * se, mean + z * factor * se)


def paired(
    first: Floats, second: Floats, weight: Floats | None, groups: Array | None, factor: float
) -> PairedDifference:
    """Return the mean difference of two lists of contributions of the same rows."""
    mean, se = mean_with_se(first - second, weight, groups)
    return PairedDifference(mean, factor * se, (len(first) if groups is None else int(groups.max()) + 1) - 1)
