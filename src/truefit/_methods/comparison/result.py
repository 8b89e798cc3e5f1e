"""Comparison: the best of several learners on the same splits, and those that do not differ significantly from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats
from truefit._methods.assessment.estimate import ONE_PARTITION, REPEATED
from truefit._methods.assessment.hold_out_interval import Contributions
from truefit._methods.assessment.result import Assessment
from truefit._methods.result import Result, frame, plain, plot_method
from truefit._methods.text import MetricText, listed
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._plots.forest import differences
from truefit._stats.clustered import clustered_paired_t
from truefit._stats.paired import (
    PairedDifference,
    corrected_paired_t,
    covariance_of_means,
    holm,
    one_standard_error,
    pooled_paired_t,
    selected_best,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.comparison.plan import CompareConfig

Verdict = Literal["better", "worse", "equivalent", "tie", "no comparison"]

#: Values this close, relative to their mean size, differ by rounding only.
_ROUNDING = 1e-8
#: What the tests do, by name.
_TESTS: Final = {
    "pooled losses": "t-test of the difference in loss on all held-out rows",
    "averaged repeats": "t-test of the difference in loss on all held-out rows, averaged over the repeats",
    "corrected t": "corrected resampled t-test on the scores of the test sets",
    "paired t on the held-out rows": "t-test of the difference on the held-out rows",
    "paired t over blocks": "t-test of the difference by a jackknife over blocks of held-out rows",
}
#: With fewer degrees of freedom only large differences are significant.
_FEW_DEGREES = 10


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


class Comparison(Result):
    """Paired differences with tests and intervals, the best candidate, and those tied with it.

    Attributes
    ----------
    assessment : Assessment
        The estimate of each candidate, with every prediction behind it.
    pairs : list of Pair
        Candidates against the reference, with adjusted p-values: for the selection of the best where that is the
        reference (``reference=None``), otherwise for their number by Holm's method.
    """

    title = "Comparison"

    def __init__(
        self,
        assessment: Assessment,
        metric: Metric,
        config: CompareConfig,
        *,
        by_rows: bool,
        selected_separately: bool = False,
        searched: Assessment | None = None,
        families: Mapping[str, str] | None = None,
    ) -> None:
        self.assessment = assessment
        self.names = assessment.names
        self.metric = assessment.metric
        self.level = config.level
        self.rope = config.rope
        self.greater_is_better = metric.greater_is_better
        self._zero_one = metric.zero_one
        self._config = config
        self._by_rows = by_rows
        self._groups = assessment.groups
        self._selected_separately = selected_separately
        self._searched = assessment if searched is None else searched
        self._families = families or {}
        self._contributions: dict[str, Contributions | str] = {}
        # A test set of a single row has no score of its own unless the metric is per-sample: a row has no AUC.
        has_scores = metric.row_loss is not None or any(len(split.test) > 1 for split in assessment.splits)
        has_scores &= len(assessment.splits) > 1  # the scores of one test set show no spread
        self._scores = assessment.split_scores() if has_scores else {}
        if config.reference is None and not selected_separately:
            self.pairs = self._against_selected()
        else:
            self.pairs = self._adjusted(self._requested_pairs())

    @property
    def best(self) -> str:
        """Name of the candidate with the best estimate."""
        return self.assessment.best

    @property
    def reference(self) -> str:
        """The name of the reference, or "all" for every pair."""
        return self.best if self._config.reference is None else self._config.reference

    def _requested_pairs(self) -> list[tuple[str, str]]:
        if self.reference == "all" and "all" not in self.names:
            ranked = sorted(self.assessment.from_best_to_worst, key=lambda name: name != self.best)
            return [(worse, better) for better, worse in combinations(ranked, 2)]
        return [(name, self.reference) for name in self.names if name != self.reference]

    def _adjusted(self, requested: Sequence[tuple[str, str]]) -> list[Pair]:
        """Compare pairs that do not depend on which candidate is best."""
        pairs = [self._pair(candidate, reference) for candidate, reference in requested]
        return _with_p(pairs, holm([pair.found.p for pair in pairs if pair.found is not None]))

    def _against_selected(self) -> list[Pair]:
        """Compare the others with the best one, which was selected on the same rows."""
        best, baselines = self.best, [name for name in self._config.baselines if name in self.names]
        if best in baselines:  # the reference was known beforehand
            return self._adjusted([(name, best) for name in self.names if name != best])
        pairs = {name: self._pair(name, best) for name in self.names if name != best}
        rivals = [pair for name, pair in pairs.items() if pair.found is not None and name not in baselines]
        if rivals:
            p, df = zip(*((pair.found.p, pair.found.df) for pair in rivals if pair.found is not None), strict=True)
            names = [best, *(pair.candidate for pair in rivals), *self._not_compared]
            covariance = self._covariance(names, rivals) if len(names) > 2 else np.eye(2)
            known = np.flatnonzero(np.isfinite(np.diag(covariance)))
            families = [self._families.get(names[place], names[place]) for place in known]
            covariance = covariance[np.ix_(known, known)]
            adjusted = selected_best(p, covariance, float(np.median(df)), families=families)
            pairs |= {pair.candidate: pair for pair in _with_p(rivals, adjusted)}
        # Whether a candidate is better than a baseline was a question before any was selected.
        candidates = [name for name in self.names if name not in baselines]
        for pair in self._adjusted([(name, baseline) for baseline in baselines for name in candidates]):
            if pair.candidate == best and pair.found is not None:
                pairs[pair.reference] = replace(pairs[pair.reference], p_adjusted=pair.p_adjusted)
        return list(pairs.values())

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
        return covariance_of_means(runs, None if self._groups is None else [*map(self._groups_of, self._runs)])

    def _pair(self, candidate: str, reference: str) -> Pair:
        for name in (candidate, reference):
            each = self.assessment.estimates[name]
            if math.isnan(each.value):
                return Pair(candidate, reference, reason=f"{name}: {each.reason}")
        found = self._by_test_sets(candidate, reference)
        flat = found is not None and found.se == 0 and found.mean != 0
        preferred = self._config.test == "pooled" or (self._config.test == "auto" and self._groups is not None)
        if self._by_rows and (found is None or flat or preferred):
            return self._pair_by_rows(candidate, reference)
        if found is not None:
            return Pair(candidate, reference, found, "corrected t")
        if len(self.assessment.splits) == 1:
            reason = f"one split shows no spread of {self.metric}; use k-fold or repeats"
        else:
            reason = f"{self.metric} is not defined on each of the test sets; use larger ones, or another metric"
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
        if self._groups is None:
            found = pooled_paired_t(runs, factor=factor, zero_one=self._zero_one)
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
        assert self._groups is not None
        tested = [split.test.index for split in self.assessment.splits]
        groups: Array = self._groups[np.concatenate([tested[place] for place in run])]
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

    def verdict_on(self, pair: Pair) -> Verdict:
        """Return how the candidate of a pair compares with the reference, in a word."""
        if pair.found is None:
            return "no comparison"
        if self.rope is not None and pair.found.shares(self.rope)[1] >= self.level:
            return "equivalent"
        if pair.p_adjusted > 1 - self.level:
            return "tie"
        return "better" if (pair.found.mean > 0) == self.greater_is_better else "worse"

    @cached_property
    def _against_best(self) -> dict[str, Pair]:
        """Each other candidate against the best."""
        if self._ties_by_another_test:
            pairs = self._against_selected()
        elif self.reference in self.names and self.reference != self.best:
            pairs = self._adjusted([(name, self.best) for name in self.names if name != self.best])
        else:
            pairs = [pair for pair in self.pairs if pair.reference == self.best]
        return {pair.candidate: pair for pair in pairs}

    @cached_property
    def ties(self) -> list[str]:
        """The best and the names that do not differ significantly from it, or are practically equivalent."""
        same = {name for name, pair in self._against_best.items() if self.verdict_on(pair) in ("tie", "equivalent")}
        return [name for name in self.names if name == self.best or name in same]

    def simplest_within_one_se(self, order: Sequence[str] | None = None) -> str:
        """Return the simplest candidate whose estimate is within one standard error of the best one's.

        Parameters
        ----------
        order : sequence of str, optional
            Names from the simplest to the most complex; by default in the order given to the comparison.
        """
        unknown = [name for name in order or () if name not in self.names]
        if unknown:
            raise InvalidInput(
                f"The 'order' parameter must be names of candidates: {', '.join(map(repr, self.names))}. Got "
                f"{unknown[0]!r}."
            )
        ses = [self._standard_error(name) for name in self.names]
        if math.isnan(ses[self.names.index(self.best)]):
            raise InvalidInput(
                f"The one-standard-error rule needs the spread of {self.metric} over test sets. Got "
                f"{self.assessment.splits.description}; use k-fold."
            )
        places = None if order is None else [self.names.index(name) for name in order]
        values = [self.assessment.estimates[name].value for name in self.names]
        return self.names[one_standard_error(values, ses, places, greater_is_better=self.greater_is_better)]

    def _standard_error(self, name: str) -> float:
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

    @cached_property
    def differences(self) -> pd.DataFrame:
        """One row per pair: the candidate's value minus the reference's, with interval, test and verdict.

        The difference is the mean over the test sets, in the metric's own sign. The interval is not adjusted;
        ``p_adjusted`` is, as ``adjustment`` says.
        """
        import pandas as pd

        return pd.DataFrame([self._line(pair) for pair in self.pairs])

    def _line(self, pair: Pair) -> dict[str, Any]:
        found, none = pair.found, (float("nan"),) * 4
        low, high = pair.interval(self.level) or none[:2]
        mean, t, df, p = none if found is None else (found.mean, found.t, found.df, found.p)
        line = {"candidate": pair.candidate, "reference": pair.reference, "difference": mean, "low": low, "high": high}
        line |= {"t": t, "df": df, "p": p, "p_adjusted": pair.p_adjusted, "verdict": self.verdict_on(pair)}
        if self.rope is not None:
            below, within, above = none[:3] if found is None else found.shares(self.rope)
            better, worse = (above, below) if self.greater_is_better else (below, above)
            line |= {"p_better": better, "p_equivalent": within, "p_worse": worse}
        return line

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per estimator: estimate, interval, difference to the reference, adjusted p, and whether it is a tie.

        With reference="all" the difference is that to the best. A tie is one with the best, whatever the reference.
        """
        against = self._against_best if self.reference not in self.names else {p.candidate: p for p in self.pairs}
        home = self.reference if self.reference in self.names else self.best
        lines = []
        for name in self.names:
            each, pair = self.assessment.estimates[name], against.get(name)
            low, high = each.interval or (float("nan"), float("nan"))
            found = None if pair is None else pair.found
            difference = 0.0 if name == home else float("nan") if found is None else found.mean
            lines.append(
                {"estimator": name, "estimate": each.value, "low": low, "high": high, "difference": difference}
                | {"p_adjusted": float("nan") if pair is None else pair.p_adjusted, "tie": name in self.ties}
            )
        return frame(lines, "estimator")

    @property
    def heading(self) -> str:
        """The metric and the design."""
        return f"{self.assessment.heading}, {'larger' if self.greater_is_better else 'smaller'} is better"

    @cached_property
    def verdict(self) -> list[str]:
        """The answer in plain sentences."""
        best = self.assessment.estimates[self.best].value
        if math.isnan(best):
            return ["No comparison: none of the candidates has an estimate."]
        sentences = [f"{self.best} is best, with {MetricText.from_name(self.metric).name} {best:.4g}."]
        verdicts = {name: self.verdict_on(pair) for name, pair in self._against_best.items()}
        kinds: dict[Verdict, str] = {
            "tie": "not significantly different from it",
            "equivalent": f"practically equivalent to it: within {self.rope}",
            "worse": "significantly worse",
            "better": "significantly better on the test rows",
            "no comparison": "not comparable with it",
        }
        for kind, words in kinds.items():
            names = [name for name, verdict in verdicts.items() if verdict == kind]
            if names:
                sentences.append(f"{listed(names)} {'is' if len(names) == 1 else 'are'} {words}.")
        return sentences

    def summary(self) -> str:
        """Return the best candidate, those tied with it, and the differences."""
        width = max(len(pair.name) for pair in self.pairs)
        lines = [*self.verdict, "", self.heading]
        lines += [f"  {pair.name:<{width}}  {self._text(pair)}" for pair in self.pairs]
        lines.append(f"Estimated: {self.assessment.estimand}.")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _text(self, pair: Pair) -> str:
        if pair.found is None:
            return f"no comparison ({pair.reason})"
        interval = pair.interval(self.level)
        ends = "no interval" if interval is None else f"{self.level:.0%} confidence interval {_signed(*interval)}"
        p = "p < 0.001" if pair.p_adjusted < 0.001 else f"p = {pair.p_adjusted:.3f}"
        return f"{_signed(pair.found.mean)}  ({ends}, {p})  {self.verdict_on(pair)}"

    @cached_property
    def _selected_here(self) -> bool:
        """Whether the reference is the best candidate, selected on the rows of the comparison."""
        named = self._config.reference is not None or self._selected_separately
        return not named and self.best not in self._config.baselines

    @property
    def _ties_by_another_test(self) -> bool:
        """Whether the reference was named, and another candidate is the best on the rows of the comparison."""
        named = self._config.reference is not None and self.reference in self.names
        return named and self.reference != self.best and not self._selected_separately

    @cached_property
    def _baselines(self) -> list[str]:
        """The baselines that the selected candidate is compared with."""
        found = [pair.candidate for pair in self.pairs if pair.found is not None] if self._selected_here else []
        return [name for name in found if name in self._config.baselines]

    @cached_property
    def _not_compared(self) -> list[str]:
        """Further settings among which the best was selected; only the best one of each family is compared."""
        known = {*self.names, *self._config.baselines}
        return [name for name in self._searched.names if name not in known]

    @property
    def _rivals(self) -> int:
        """Number of candidates that are compared with the best of them, itself included; 0 for another reference."""
        compared = sum(pair.found is not None for pair in self.pairs)
        return 1 + compared - len(self._baselines) if self._selected_here else 0

    @property
    def _among(self) -> int:
        """Number of candidates of which the best was selected, where p-values are adjusted for that, else 0."""
        found = self._rivals + len(self._not_compared)
        return found if self._rivals > 1 and found > 2 else 0

    @property
    def tests(self) -> int:
        """Number of comparisons that a p-value is adjusted for, at most."""
        return self._rivals * (self._rivals - 1) // 2 or sum(pair.found is not None for pair in self.pairs)

    @property
    def adjustments(self) -> list[str]:
        """What the p-values are adjusted for, in words that follow "adjusted"."""
        found = []
        if self._among:
            kind = "settings" if self._not_compared else "candidates"
            found.append(f"for the selection of the best of {self._among} {kind} by Tukey's method")
        fixed = self._rivals * len(self._baselines) if self._selected_here else self.tests
        if fixed > 1:
            against = f" with {listed(self._baselines)}" if self._baselines else ""
            found.append(f"for {fixed} comparisons{against} by Holm's method")
        return found

    @property
    def adjustment(self) -> str | None:
        """What the p-values are adjusted for, in one sentence; None where there is nothing."""
        return ", and ".join(self.adjustments) or None

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        compared = [pair for pair in self.pairs if pair.found is not None]
        tests = list(dict.fromkeys(str(pair.test) for pair in compared))
        notes = [f"paired test: {', '.join(map(_test_text, tests))}."] if compared else []
        if self.adjustment is not None:
            notes.append(f"p-values are adjusted {self.adjustment}; the intervals are not.")
        if self._among:
            notes.append(
                f"{self.best} was selected as the best on the same rows. The adjusted p-value is therefore the "
                "probability that any two candidates differ as much if all are equally good: the largest |t| of all "
                "pairs, with the correlation of the candidates."
            )
        elif self._ties_by_another_test and len(self.names) > 2:
            notes.append(
                f"which candidates differ significantly from {self.best} is decided by p-values that are adjusted for "
                "the selection of the best by Tukey's method."
            )
        if any(pair.test == "corrected t" and pair.found and pair.found.df < _FEW_DEGREES for pair in compared):
            splits, other = self.assessment.splits, ", or the pooled test," if self._by_rows else ""
            more = f"repeated cross-validation{other} gives more power."
            notes.append(
                f"with {len(splits)} {'periods' if splits.chronological else 'test sets'} only large differences are "
                f"significant; {'neighbouring periods may be dependent.' if splits.chronological else more}"
            )
        if any(test.startswith("pooled") for test in tests):
            notes.append(
                "a test on one partition does not include the variance of the learners themselves: for unstable ones "
                "it has too many false positives."
            )
        if any(pair.interval(self.level) is None for pair in compared):
            notes.append("a difference that is the same on all test sets has no interval.")
        return notes

    @plot_method("time")
    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the differences with their intervals, from the best candidate on, and the region of equivalence.

        Parameters
        ----------
        kind : {"time"}, optional
            "time": the score of each candidate on each period, for rows in time order.
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        if kind is not None:
            return self.assessment.plot(kind, ax=ax)
        place = {name: i for i, name in enumerate(self.assessment.from_best_to_worst)}
        drawn = sorted((pair for pair in self.pairs if pair.found is not None), key=lambda pair: place[pair.candidate])
        if not drawn:
            return self.assessment.plot(ax=ax)
        lows, highs = zip(*((pair.interval(self.level) or (np.nan, np.nan)) for pair in drawn), strict=True)
        side = "above" if self.greater_is_better else "below"
        percent = is_share(self.metric)
        unit = " in percentage points" if percent else ""
        name = MetricText.from_name(self.metric).name
        label = f"difference of {name}{unit} ({side} 0 is better than the reference; {self.level:.0%} interval)"
        values = [pair.found.mean for pair in drawn if pair.found is not None]
        names = [pair.name for pair in drawn]
        return differences(
            names,
            values,
            lows,
            highs,
            significant=[self.verdict_on(pair) in ("better", "worse") for pair in drawn],
            rope=self.rope,
            xlabel=label,
            percent=percent,
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "comparison",
            "version": 1,
            **self._values("metric", "greater_is_better"),
            "design": self.assessment.splits.description,
            **self._values("level", "rope", "reference", "best", "ties", "verdict", "adjustment"),
            "differences": [
                plain(self._line(pair)) | {"test": pair.test, "reason": pair.reason} for pair in self.pairs
            ],
            "assessment": self.assessment.to_dict(),
            "notes": self.notes,
        }


def _with_p(pairs: Sequence[Pair], adjusted: Floats) -> list[Pair]:
    """Give each pair that was compared its adjusted p-value."""
    values = iter(adjusted.tolist())
    return [pair if pair.found is None else replace(pair, p_adjusted=next(values)) for pair in pairs]


def _difference(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Floats:
    """Differences, 0 where they are rounding alone."""
    difference = one.astype(np.float64) - other
    small = np.abs(difference) <= _ROUNDING * np.mean(np.abs(one) + np.abs(other))
    return np.where(small, 0.0, difference)


def _test_text(test: str) -> str:
    """Return the test of a pair in words."""
    whole, *further = test.split(", ")
    name, _, factor = whole.partition(" × ")
    corrected = f"with its standard error × {factor} because the training sets overlap" if factor else ""
    return ", ".join(part for part in (_TESTS.get(name, name), *further, corrected) if part)


def _signed(*values: float) -> str:
    return " to ".join("0" if value == 0 else f"{value:+.4g}" for value in values)
