"""Comparison: which of several learners is best on the same splits, and which cannot be told apart from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._methods.assessment.estimate import ONE_PARTITION, REPEATED
from truefit._methods.assessment.result import Assessment
from truefit._methods.result import Result, plain
from truefit._metrics.metric import Metric
from truefit._plots.forest import differences
from truefit._stats.paired import PairedDifference, corrected_paired_t, holm, one_standard_error, pooled_paired_t

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.comparison.plan import CompareConfig

Verdict = Literal["better", "worse", "equivalent", "tie", "no comparison"]

#: Values this close, relative to their mean size, differ by rounding alone.
_ROUNDING = 1e-8
#: With fewer degrees of freedom the quantile of t is so large that only great differences show.
_FEW_DEGREES = 10


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate set against a reference: the difference that was found, or the reason why there is none."""

    candidate: str
    reference: str
    found: PairedDifference | None = None
    test: str | None = None
    reason: str | None = None
    p_adjusted: float = float("nan")

    @property
    def name(self) -> str:
        """The pair as a difference."""
        return f"{self.candidate} − {self.reference}"

    def interval(self, level: float) -> tuple[float, float] | None:
        """Interval of the difference; None where all differences are the same but not 0, and so show no spread."""
        if self.found is None or (self.found.se == 0 and self.found.mean != 0):
            return None
        return self.found.interval(level)


class Comparison(Result):
    """Paired differences with tests and intervals, the best candidate, and those that cannot be told apart from it.

    Attributes
    ----------
    assessment : Assessment
        The estimate of each candidate, with every prediction behind it.
    pairs : list of Pair
        Candidates against the reference, with p-values adjusted for their number.
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
    ) -> None:
        self.assessment = assessment
        self.names = assessment.names
        self.metric = assessment.metric
        self.level = config.level
        self.rope = config.rope
        self.greater_is_better = metric.greater_is_better
        self._config = config
        self._row_metric = metric.row_loss is not None
        self._by_rows = by_rows
        self._selected_separately = selected_separately
        self._scores = assessment.split_scores() if self._has_scores else {}
        self.pairs = self._adjusted(self._requested_pairs())

    @property
    def best(self) -> str:
        """Name of the candidate with the best estimate."""
        return self.assessment.best

    @property
    def reference(self) -> str:
        """What candidates are compared with: a name, or "all" for each with each."""
        return self.best if self._config.reference is None else self._config.reference

    def _requested_pairs(self) -> list[tuple[str, str]]:
        if self.reference == "all" and "all" not in self.names:
            ranked = sorted(self.names, key=self._rank)
            return [(worse, better) for better, worse in combinations(ranked, 2)]
        return [(name, self.reference) for name in self.names if name != self.reference]

    def _rank(self, name: str) -> float:
        value = self.assessment.estimates[name].value
        if name == self.best or math.isnan(value):
            return -math.inf if name == self.best else math.inf
        return -value if self.greater_is_better else value

    def _adjusted(self, requested: Sequence[tuple[str, str]]) -> list[Pair]:
        pairs = [self._pair(candidate, reference) for candidate, reference in requested]
        adjusted = iter(holm([pair.found.p for pair in pairs if pair.found is not None]))
        return [pair if pair.found is None else replace(pair, p_adjusted=float(next(adjusted))) for pair in pairs]

    def _pair(self, candidate: str, reference: str) -> Pair:
        for name in (candidate, reference):
            each = self.assessment.estimates[name]
            if math.isnan(each.value):
                return Pair(candidate, reference, reason=f"{name}: {each.reason}")
        found = self._by_test_sets(candidate, reference)
        flat = found is not None and found.se == 0 and found.mean != 0
        if self._by_rows and (found is None or flat or self._config.test == "pooled"):
            return self._pair_by_rows(candidate, reference)
        if found is not None:
            return Pair(candidate, reference, found, "corrected t")
        if len(self.assessment.splits) == 1:
            reason = f"one split shows no spread of {self.metric}; use k-fold or repeats"
        else:
            reason = f"{self.metric} cannot be told on each of the test sets; use larger ones, or another metric"
        return Pair(candidate, reference, reason=reason)

    def _by_test_sets(self, candidate: str, reference: str) -> PairedDifference | None:
        splits = self.assessment.splits
        if len(splits) == 1 or not self._scores:
            return None
        apart = _difference(self._scores[candidate], self._scores[reference])
        return None if np.isnan(apart).any() else corrected_paired_t(apart, splits.share)

    @property
    def _has_scores(self) -> bool:
        """Whether test sets have scores of their own: a single row has no AUC."""
        return self._row_metric or any(len(split.test) > 1 for split in self.assessment.splits)

    def _pair_by_rows(self, candidate: str, reference: str) -> Pair:
        splits = self.assessment.splits
        one, other = self.assessment.row_losses(candidate), self.assessment.row_losses(reference)
        assert one is not None
        assert other is not None
        per_run = len(splits) // splits.repeats
        runs = [
            _difference(np.concatenate(one[start : start + per_run]), np.concatenate(other[start : start + per_run]))
            for start in range(0, len(splits), per_run)
        ]
        if runs[0].size < 2:
            return Pair(candidate, reference, reason="a single tested row shows no spread; use k-fold")
        if len(splits) == 1:
            factor, test = 1.0, "paired t on the held-out rows"
        elif splits.repeats == 1:
            factor, test = ONE_PARTITION, f"pooled losses × {ONE_PARTITION:g}"
        else:
            factor, test = REPEATED, f"averaged repeats × {REPEATED:g}"
        return Pair(candidate, reference, pooled_paired_t(runs, factor=factor), test)

    def verdict_on(self, pair: Pair) -> Verdict:
        """Say in a word how the candidate of a pair does against the reference."""
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
        if self.reference in self.names and self.reference != self.best:
            pairs = self._adjusted([(name, self.best) for name in self.names if name != self.best])
        else:
            pairs = [pair for pair in self.pairs if pair.reference == self.best]
        return {pair.candidate: pair for pair in pairs}

    @cached_property
    def ties(self) -> list[str]:
        """Names that cannot be told apart from the best, or are as good as equal to it; the best is one of them."""
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
                f"The one-standard-error rule needs the spread of {self.metric} over test sets. "
                f"{self.assessment.splits.description} does not show it; use k-fold."
            )
        places = None if order is None else [self.names.index(name) for name in order]
        values = [self.assessment.estimates[name].value for name in self.names]
        return self.names[one_standard_error(values, ses, places, greater_is_better=self.greater_is_better)]

    def _standard_error(self, name: str) -> float:
        splits = self.assessment.splits
        rows = self.assessment.row_losses(name) if len(splits) == 1 else None
        values = rows[0] if rows is not None else self._scores.get(name, np.empty(0))
        if len(values) < 2 or np.isnan(values).any():
            return float("nan")
        # Repeats go through the same rows again, so they do not make the error smaller.
        share = 1 / len(values) if rows is not None else splits.repeats / len(splits)
        if rows is None and not splits.partition:
            share = 1 / len(splits) + splits.share
        return float(np.std(values, ddof=1) * math.sqrt(share))

    @cached_property
    def differences(self) -> pd.DataFrame:
        """One row per pair: the candidate's value minus the reference's, with interval, test and verdict.

        The difference is the mean over the test sets, in the metric's own sign. The interval is that of the one
        difference; ``p_adjusted`` allows for the number of comparisons.
        """
        import pandas as pd

        return pd.DataFrame([self._line(pair) for pair in self.pairs])

    def _line(self, pair: Pair) -> dict[str, Any]:
        nan = float("nan")
        found = pair.found
        low, high = pair.interval(self.level) or (nan, nan)
        numbers = (nan, nan, nan, nan) if found is None else (found.mean, found.t, found.df, found.p)
        line = {"candidate": pair.candidate, "reference": pair.reference, "difference": numbers[0]}
        line |= {"low": low, "high": high, "t": numbers[1], "df": numbers[2], "p": numbers[3]}
        line |= {"p_adjusted": pair.p_adjusted, "verdict": self.verdict_on(pair)}
        if self.rope is not None:
            below, within, above = (nan, nan, nan) if found is None else found.shares(self.rope)
            better, worse = (above, below) if self.greater_is_better else (below, above)
            line |= {"p_better": better, "p_equivalent": within, "p_worse": worse}
        return line

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per estimator: estimate, interval, difference to the reference, adjusted p, and whether it is a tie.

        With reference="all" the difference is that to the best. A tie is one with the best, whatever the reference.
        """
        import pandas as pd

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
        return pd.DataFrame(lines).set_index("estimator")

    @property
    def heading(self) -> str:
        """What was compared, and how."""
        return f"{self.assessment.heading}, {'larger' if self.greater_is_better else 'smaller'} is better"

    @cached_property
    def verdict(self) -> list[str]:
        """The answer in plain sentences."""
        best = self.assessment.estimates[self.best].value
        if math.isnan(best):
            return ["No comparison could be made: none of the candidates has an estimate."]
        sentences = [f"{self.best} is best, with {self.metric} {best:.4g}."]
        verdicts = {name: self.verdict_on(pair) for name, pair in self._against_best.items()}
        kinds: dict[Verdict, str] = {
            "tie": "cannot be told apart from it on these data",
            "equivalent": f"{{}} as good as equal to it: within {self.rope}",
            "worse": "{} worse",
            "better": "{} better on the test sets",
            "no comparison": "cannot be compared with it",
        }
        for kind, words in kinds.items():
            names = [name for name, verdict in verdicts.items() if verdict == kind]
            if names:
                sentences.append(f"{_listed(names)} {words.format('is' if len(names) == 1 else 'are')}.")
        return sentences

    def summary(self) -> str:
        """Return which is best, which cannot be told apart from it, and the differences behind that."""
        width = max(len(pair.name) for pair in self.pairs)
        lines = [*self.verdict, "", self.heading]
        lines += [f"  {pair.name:<{width}}  {self._text(pair)}" for pair in self.pairs]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _text(self, pair: Pair) -> str:
        if pair.found is None:
            return f"no comparison ({pair.reason})"
        interval = pair.interval(self.level)
        ends = "no interval" if interval is None else f"{self.level:.0%} interval {_signed(*interval)}"
        p = "p < 0.001" if pair.p_adjusted < 0.001 else f"p = {pair.p_adjusted:.3f}"
        return f"{_signed(pair.found.mean)}  ({ends}, {p})  {self.verdict_on(pair)}"

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        compared = [pair for pair in self.pairs if pair.found is not None]
        notes = [f"the test is: {', '.join(dict.fromkeys(str(pair.test) for pair in compared))}."] if compared else []
        if len(compared) > 1:
            notes.append(
                f"p is adjusted for {len(compared)} comparisons (Holm); each interval is for its own difference alone."
            )
        if self._config.reference is None and len(self.names) > 2 and not self._selected_separately:
            notes.append(
                f"{self.best} was picked as the best on these same rows, so p-values against it are a little too "
                "small; reference='all' allows for that."
            )
        splits = self.assessment.splits
        by_corrected_t = [pair.found for pair in compared if pair.test == "corrected t"]
        if any(found is not None and found.df < _FEW_DEGREES for found in by_corrected_t):
            other = ", or test='pooled'," if self._by_rows else ""
            notes.append(
                f"{len(splits)} test sets show large differences only; more of them (repeats=4){other} show more."
            )
        if any(pair.test is not None and pair.test.startswith("pooled") for pair in compared):
            notes.append(
                "one partition cannot show how much the learners themselves vary; for unstable ones the pooled test "
                "finds differences that are not there."
            )
        if any(pair.interval(self.level) is None for pair in compared):
            notes.append("a difference that is the same on all test sets has no interval.")
        return notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the differences with their intervals, from the best candidate on, and the region of equivalence."""
        place = {name: i for i, name in enumerate(self.assessment.from_best_to_worst)}
        drawn = sorted((pair for pair in self.pairs if pair.found is not None), key=lambda pair: place[pair.candidate])
        if not drawn:
            return self.assessment.plot(ax)
        lows, highs = zip(*((pair.interval(self.level) or (np.nan, np.nan)) for pair in drawn), strict=True)
        side = "above" if self.greater_is_better else "below"
        label = f"difference of {self.metric} ({side} 0 is better than the reference; {self.level:.0%} interval)"
        values = [pair.found.mean for pair in drawn if pair.found is not None]
        names = [pair.name for pair in drawn]
        apart = [self.verdict_on(pair) in ("better", "worse") for pair in drawn]
        return differences(names, values, lows, highs, apart=apart, rope=self.rope, xlabel=label, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "comparison",
            "version": 1,
            "metric": self.metric,
            "greater_is_better": self.greater_is_better,
            "design": self.assessment.splits.description,
            "level": self.level,
            "rope": self.rope,
            "reference": self.reference,
            "best": self.best,
            "ties": self.ties,
            "verdict": self.verdict,
            "differences": [
                {key: plain(value) for key, value in self._line(pair).items()}
                | {"test": pair.test, "reason": pair.reason}
                for pair in self.pairs
            ],
            "assessment": self.assessment.to_dict(),
            "notes": self.notes,
        }


def _difference(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Floats:
    """Differences, 0 where they are rounding alone."""
    difference = one.astype(np.float64) - other
    small = np.abs(difference) <= _ROUNDING * np.mean(np.abs(one) + np.abs(other))
    return np.where(small, 0.0, difference)


def _signed(*values: float) -> str:
    return " to ".join("0" if value == 0 else f"{value:+.4g}" for value in values)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
