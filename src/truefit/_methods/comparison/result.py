"""Comparison: the best of several learners on the same splits, and those that do not differ significantly from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._methods.assessment.result import Assessment
from truefit._methods.comparison.pairs import Pair, PairedTests
from truefit._methods.result import Result, frame, plain, plot_method
from truefit._methods.text import MetricText, listed
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._plots.forest import differences
from truefit._stats.paired import (
    one_standard_error,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.comparison.plan import CompareConfig

Verdict = Literal["better", "worse", "equivalent", "tie", "no comparison"]

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
        self._config = config
        self._by_rows = by_rows
        self._selected_separately = selected_separately
        self._paired = PairedTests(
            assessment, metric, config,
            by_rows=by_rows, searched=assessment if searched is None else searched, families=families or {},
        )  # fmt: skip
        if config.reference is None and not selected_separately:
            self.pairs = self._paired.against_selected()
        else:
            self.pairs = self._paired.adjusted(self._requested_pairs())

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
            pairs = self._paired.against_selected()
        elif self.reference in self.names and self.reference != self.best:
            pairs = self._paired.adjusted([(name, self.best) for name in self.names if name != self.best])
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
        ses = [self._paired.standard_error(name) for name in self.names]
        if math.isnan(ses[self.names.index(self.best)]):
            raise InvalidInput(
                f"The one-standard-error rule needs the spread of {self.metric} over test sets. Got "
                f"{self.assessment.splits.description}; use k-fold."
            )
        places = None if order is None else [self.names.index(name) for name in order]
        values = [self.assessment.estimates[name].value for name in self.names]
        return self.names[one_standard_error(values, ses, places, greater_is_better=self.greater_is_better)]

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

    @property
    def _rivals(self) -> int:
        """Number of candidates that are compared with the best of them, itself included; 0 for another reference."""
        compared = sum(pair.found is not None for pair in self.pairs)
        return 1 + compared - len(self._baselines) if self._selected_here else 0

    @property
    def _among(self) -> int:
        """Number of candidates of which the best was selected, where p-values are adjusted for that, else 0."""
        found = self._rivals + len(self._paired.not_compared)
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
            kind = "settings" if self._paired.not_compared else "candidates"
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


def _test_text(test: str) -> str:
    """Return the test of a pair in words."""
    whole, *further = test.split(", ")
    name, _, factor = whole.partition(" × ")
    corrected = f"with its standard error × {factor} because the training sets overlap" if factor else ""
    return ", ".join(part for part in (_TESTS.get(name, name), *further, corrected) if part)


def _signed(*values: float) -> str:
    return " to ".join("0" if value == 0 else f"{value:+.4g}" for value in values)
