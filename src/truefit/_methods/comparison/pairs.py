"""Pairs of candidates: what they are compared on, the paired test of each, and its adjusted p-value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.typing import Array, Floats
from truefit._methods.assessment.estimate import ONE_PARTITION, REPEATED
from truefit._methods.assessment.hold_out_interval import Contributions
from truefit._methods.assessment.result import Assessment
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import has_clusters
from truefit._metrics.metric import Metric
from truefit._metrics.smooth import RootMeanSquare
from truefit._stats.clustered import clustered_paired_t
from truefit._stats.paired import (
    PairedDifference,
    corrected_paired_t,
    covariance_of_means,
    holm,
    pooled_paired_t,
    selected_best,
)

if TYPE_CHECKING:
    from truefit._methods.comparison.plan import CompareConfig

#: Values this close, relative to their mean size, differ by rounding only.
_ROUNDING = 1e-8


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate and a reference: their difference, or the reason why there is none."""

    candidate: str
    reference: str
    found: PairedDifference | None = None
    test: str | None = None
    reason: str | None = None
    p_adjusted: float = float("nan")

    @property
    def name(self) -> str:
        """The names of both, as a difference."""
        return f"{self.candidate} − {self.reference}"

    def interval(self, level: float) -> tuple[float, float] | None:
        """Interval of the difference; None where all differences are equal and not 0."""
        if self.found is None or (self.found.se == 0 and self.found.mean != 0):
            return None
        return self.found.interval(level)


def compared_by_rows(data: Data, design: Design, metric: Metric) -> bool:
    """Whether single rows can be compared: of a per-sample metric or RMSE, independent, each tested once per run.

    On one test set any metric can be, by what its rows contribute. On several, with groups, only 0-1 losses can be, of
    enough groups: for other losses the test on whole groups has not been shown to hold its level.
    """
    if len(design.splits) == 1 and data.time is None:
        return True
    if data.groups is not None:
        return metric.zero_one and has_clusters(data, design.splits)
    by_row = metric.row_loss is not None or (isinstance(metric.smooth, RootMeanSquare) and data.y.ndim == 1)
    return by_row and data.weight is None and data.time is None and design.splits.partition


class PairedTests:
    """Tests of pairs of candidates, by the scores of the test sets or by rows, with adjusted p-values.

    ``searched`` is the assessment of all settings among which the best was selected, ``families`` names the family of
    each.
    """

    def __init__(
        self,
        assessment: Assessment,
        metric: Metric,
        config: CompareConfig,
        *,
        by_rows: bool,
        searched: Assessment,
        families: Mapping[str, str],
    ) -> None:
        self.assessment = assessment
        self.names = assessment.names
        self._metric = metric
        self._config = config
        self._by_rows = by_rows
        self._searched = searched
        self._families = families
        self._contributions: dict[str, Contributions | str] = {}
        # A test set of a single row has no score of its own unless the metric is per-sample: a row has no AUC.
        has_scores = metric.row_loss is not None or any(len(split.test) > 1 for split in assessment.splits)
        has_scores &= len(assessment.splits) > 1  # the scores of one test set show no spread
        self._scores = assessment.split_scores() if has_scores else {}

    def adjusted(self, requested: Sequence[tuple[str, str]]) -> list[Pair]:
        """Compare pairs that do not depend on which candidate is best."""
        pairs = [self._pair(candidate, reference) for candidate, reference in requested]
        return _with_p(pairs, holm([pair.found.p for pair in pairs if pair.found is not None]))

    def against_selected(self) -> list[Pair]:
        """Compare the others with the best one, which was selected on the same rows."""
        best, baselines = self.assessment.best, [name for name in self._config.baselines if name in self.names]
        if best in baselines:  # the reference was known beforehand
            return self.adjusted([(name, best) for name in self.names if name != best])
        pairs = {name: self._pair(name, best) for name in self.names if name != best}
        rivals = [pair for name, pair in pairs.items() if pair.found is not None and name not in baselines]
        if rivals:
            p, df = zip(*((pair.found.p, pair.found.df) for pair in rivals if pair.found is not None), strict=True)
            names = [best, *(pair.candidate for pair in rivals), *self.not_compared]
            covariance = self._covariance(names, rivals) if len(names) > 2 else np.eye(2)
            known = np.flatnonzero(np.isfinite(np.diag(covariance)))
            families = [self._families.get(names[place], names[place]) for place in known]
            covariance = covariance[np.ix_(known, known)]
            adjusted = selected_best(p, covariance, float(np.median(df)), families=families)
            pairs |= {pair.candidate: pair for pair in _with_p(rivals, adjusted)}
        # Whether a candidate is better than a baseline was a question before any was selected.
        candidates = [name for name in self.names if name not in baselines]
        for pair in self.adjusted([(name, baseline) for baseline in baselines for name in candidates]):
            if pair.candidate == best and pair.found is not None:
                pairs[pair.reference] = replace(pairs[pair.reference], p_adjusted=pair.p_adjusted)
        return list(pairs.values())

    @cached_property
    def not_compared(self) -> list[str]:
        """Further settings among which the best was selected; only the best one of each family is compared."""
        known = {*self.names, *self._config.baselines}
        return [name for name in self._searched.names if name not in known]

    def _covariance(self, names: Sequence[str], pairs: Sequence[Pair]) -> Floats:
        """Covariance of the mean losses of candidates, up to a factor, by what most of the pairs are compared on."""
        if sum(pair.test == "corrected t" for pair in pairs) > len(pairs) / 2:
            scores = self._scores if self._searched is self.assessment else self._searched.split_scores()
            return covariance_of_means([np.column_stack([scores[name] for name in names])])
        splits = self.assessment.splits
        if len(splits) == 1:
            found = [each for each in map(self._contributions_of, names) if isinstance(each, Contributions)]
            groups = None if found[0].groups is None else [found[0].groups]
            return covariance_of_means([np.column_stack([each.values for each in found])], groups)
        losses = [self._searched.row_contributions(name) or [] for name in names]
        runs = [np.column_stack([np.concatenate(each[run.start : run.stop]) for each in losses]) for run in self._runs]
        return covariance_of_means(
            runs, None if self.assessment.groups is None else [*map(self._groups_of, self._runs)]
        )

    def _pair(self, candidate: str, reference: str) -> Pair:
        for name in (candidate, reference):
            each = self.assessment.estimates[name]
            if math.isnan(each.value):
                return Pair(candidate, reference, reason=f"{name}: {each.reason}")
        found = self._by_test_sets(candidate, reference)
        flat = found is not None and found.se == 0 and found.mean != 0
        preferred = self._config.test == "pooled" or (
            self._config.test == "auto" and self.assessment.groups is not None
        )
        if self._by_rows and (found is None or flat or preferred):
            return self._pair_by_rows(candidate, reference)
        if found is not None:
            return Pair(candidate, reference, found, "corrected t")
        if len(self.assessment.splits) == 1:
            reason = f"one split shows no spread of {self.assessment.metric}; use k-fold or repeats"
        else:
            reason = (
                f"{self.assessment.metric} is not defined on each of the test sets; use larger ones, or another metric"
            )
        return Pair(candidate, reference, reason=reason)

    def _by_test_sets(self, candidate: str, reference: str) -> PairedDifference | None:
        splits = self.assessment.splits
        if not self._scores:
            return None
        difference = _difference(self._scores[candidate], self._scores[reference])
        return None if np.isnan(difference).any() else corrected_paired_t(difference, splits.share)

    def _pair_by_rows(self, candidate: str, reference: str) -> Pair:
        splits = self.assessment.splits
        if len(splits) == 1:
            return self._pair_on_test_set(candidate, reference)
        losses = [self.assessment.row_contributions(name) or [] for name in (candidate, reference)]
        runs = [_difference(*(np.concatenate(each[run.start : run.stop]) for each in losses)) for run in self._runs]
        if runs[0].size < 2:
            return Pair(candidate, reference, reason="a single tested row shows no spread; use k-fold")
        if splits.repeats == 1:
            factor, test = ONE_PARTITION, f"pooled losses × {ONE_PARTITION:g}"
        else:
            factor, test = REPEATED, f"averaged repeats × {REPEATED:g}"
        if self.assessment.groups is None:
            found = pooled_paired_t(runs, factor=factor, zero_one=self._metric.zero_one)
            return Pair(candidate, reference, found, test)
        found = clustered_paired_t(runs, map(self._groups_of, self._runs), factor=factor)
        return Pair(candidate, reference, found, f"{test}, clustered by group")

    @property
    def _runs(self) -> list[range]:
        """Positions of the test sets of each run through the rows."""
        splits = self.assessment.splits
        per_run = len(splits) // splits.repeats
        return [range(start, start + per_run) for start in range(0, len(splits), per_run)]

    def _groups_of(self, run: range) -> Array:
        """Return the groups of the rows of a run, in the order in which they are tested."""
        assert self.assessment.groups is not None
        tested = [split.test.index for split in self.assessment.splits]
        groups: Array = self.assessment.groups[np.concatenate([tested[place] for place in run])]
        return groups

    def _pair_on_test_set(self, candidate: str, reference: str) -> Pair:
        one, other = self._contributions_of(candidate), self._contributions_of(reference)
        for each in (one, other):
            if isinstance(each, str):
                return Pair(candidate, reference, reason=each)
        assert isinstance(one, Contributions)
        assert isinstance(other, Contributions)
        _, *further = one.method.split(", ")
        test = "paired t over blocks" if one.method.startswith("jackknife") else "paired t on the held-out rows"
        return Pair(candidate, reference, one.minus(other).mean, ", ".join([test, *further]))

    def _contributions_of(self, name: str) -> Contributions | str:
        if name not in self._contributions:
            self._contributions[name] = self.assessment.contributions(name)
        return self._contributions[name]

    def standard_error(self, name: str) -> float:
        """Return the standard error of a candidate's own estimate; NaN where one split shows none."""
        splits = self.assessment.splits
        if len(splits) == 1:
            found = self._contributions_of(name)
            return float("nan") if isinstance(found, str) else found.mean.se
        values = self._scores.get(name, np.empty(0))
        if len(values) < 2 or np.isnan(values).any():
            return float("nan")
        # Repeats use the same rows, so they do not reduce the standard error.
        share = splits.repeats / len(splits) if splits.partition else 1 / len(splits) + splits.share
        return float(np.std(values, ddof=1) * math.sqrt(share))


def _with_p(pairs: Sequence[Pair], adjusted: Floats) -> list[Pair]:
    """Give each pair that was compared its adjusted p-value."""
    values = iter(adjusted.tolist())
    return [pair if pair.found is None else replace(pair, p_adjusted=next(values)) for pair in pairs]


def _difference(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Floats:
    """Differences, 0 where they are rounding alone."""
    difference = one.astype(np.float64) - other
    small = np.abs(difference) <= _ROUNDING * np.mean(np.abs(one) + np.abs(other))
    return np.where(small, 0.0, difference)
