"""Selection among the candidates: a first fit of each, those too slow for the budget left out, the rest searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from truefit._core.errors import BudgetSpent, FitError
from truefit._core.outcome import Outcome
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.task import FitTask, TimedTasks
from truefit._methods.selection.plan import Nested, search_plan
from truefit._methods.selection.race_run import NOT_FITTED
from truefit._methods.selection.racing import Race
from truefit._methods.text import MetricText
from truefit._methods.text import seconds as seconds_text
from truefit._study.budget import sample_rows
from truefit._study.config import StudyConfig, is_baseline
from truefit._study.evidence import SkippedCandidate

#: Where the search would take more seconds of fitting than this candidates race; else all numbers are worth more.
_RACE_FROM = 30.0
#: With a budget, candidates are first fitted on so many rows of a table that has many times more.
_PILOT_ROWS, _PILOT_FROM = 2000, 10_000
#: A fit on these few rows may take such a share of the budget in any case; one on the first fold so many times what it
#: could take on every fold.
_PILOT_SHARE, _FIRST_FOLD_FACTOR = 0.1, 1.25
#: Candidates are left out as long as so many are there to choose among, and if they take such a share of the time.
_FEWEST, _WORTH_SAVING = 4, 0.05


@dataclass(slots=True)
class SelectionOutcome:
    """What came of the search.

    ``outcomes`` are those of the folds. The candidates of ``nested`` are numbered as they were ``searched``; those that
    were fitted on every inner split too are ``paired``.
    """

    best: str
    searched: list[str]
    outcomes: dict[str, Sequence[Outcome]]
    paired: list[str]
    nested: Nested | None
    seconds: dict[str, float]
    dropped: list[SkippedCandidate] = field(default_factory=list)
    without_nesting: str | None = None
    late: bool = False


class CandidateSelection:
    """The search on its way."""

    def __init__(self, config: StudyConfig) -> None:
        self.config = config
        self.names = list(config.candidates.names)
        self.dropped: list[SkippedCandidate] = []
        self.first: dict[str, float] = {}
        self.scores: dict[str, float] = {}

    def plan(self) -> Plan[SelectionOutcome]:
        """Try the candidates out, and search among those that are left."""
        yield from self._pilot()
        yield from self._first_fold()
        nested = self._affordable()
        try:
            if self.config.time_budget.budget is not None and self._race(nested=nested) is None:
                # Should time run out, all are judged on the same folds before any of them is on pairs of these.
                yield [self.config.task(name, split) for split in self.config.splits for name in self.names]
            return (yield from self._search(nested=nested))
        except BudgetSpent:
            return (yield from self._what_there_is())

    def _drop(self, name: str, after: int, reason: str) -> None:
        self.names.remove(name)
        self.dropped.append(SkippedCandidate(name, after, reason))

    def _drop_failed(self, names: Sequence[str], outcomes: Sequence[Outcome | None]) -> None:
        for name, outcome in zip(names, outcomes, strict=True):
            if outcome is not None and outcome.error is not None:
                self._drop(name, 0, f"it could not be fitted: {_one_line(outcome.error.message)}")
        if not self.names:
            errors = [outcome.error for outcome in outcomes if outcome is not None and outcome.error is not None]
            raise FitError(f"No candidate could be fitted. {self.dropped[-1].name}: {self.dropped[-1].reason}.", errors)

    def _pilot(self) -> Plan[None]:
        """Fit on few rows what might take too long on many."""
        config, allowed = self.config, self.config.time_budget.search
        if config.time_budget.budget is None or config.data.n < _PILOT_FROM:
            return
        rows = sample_rows(config.data, _PILOT_ROWS, least=1, random_state=config.random_state)
        names = list(self.names)
        # Time grows about as the rows do or faster, but for what every fit takes anyway: hence no more than half of it.
        growth = 0.5 * config.splits.mean_train_rows / len(rows) * config.work(nested=False)
        longest = max(allowed / growth, _PILOT_SHARE * config.time_budget.budget)
        tasks = [FitTask(config.candidates.estimators[name], Rows.of(rows)) for name in names]
        try:
            outcomes: Sequence[Outcome | None] = yield TimedTasks(tasks, longest)
        except BudgetSpent as spent:
            outcomes = spent.outcomes
            self._drop_unfinished(
                names,
                outcomes,
                f"too slow for the budget: a fit on {len(rows):,} rows was not done in {seconds_text(longest)}",
                spent,
            )
        self._drop_failed(names, outcomes)
        for name, outcome in zip(names, outcomes, strict=True):
            if outcome is None:
                continue
            expected = growth * outcome.fit_seconds
            if name in self.names and len(self.names) > 1 and expected > allowed:
                self._drop(name, 0, self._too_slow(expected, allowed))

    def _drop_unfinished(
        self, names: Sequence[str], outcomes: Sequence[Outcome | None], reason: str, spent: BudgetSpent
    ) -> None:
        for name, outcome in zip(names, outcomes, strict=True):
            if outcome is None:
                self._drop(name, 0, reason)
        if not self.names:
            raise BudgetSpent(self._too_short) from spent

    def _too_slow(self, expected: float, allowed: float) -> str:
        return (
            f"too slow for the budget: its fits would take some {seconds_text(expected)}, and all of them together "
            f"may take {seconds_text(allowed)}"
        )

    @property
    def _too_short(self) -> str:
        budget = self.config.time_budget.budget
        return (
            f"The budget of {0 if budget is None else budget:.3g} s was spent before there was anything to choose "
            "between. Give it more time, fewer candidates or fewer rows."
        )

    def _first_fold(self) -> Plan[None]:
        """Fit all on the first fold, which the search asks for again."""
        config, split = self.config, self.config.splits[0]
        names = list(self.names)
        tasks = [config.task(name, split) for name in names]
        if config.time_budget.budget is not None:
            # One that takes longer cannot be fitted on every fold in time, and would leave no time for the others.
            tasks = TimedTasks(tasks, _FIRST_FOLD_FACTOR * config.time_budget.whole / config.work(nested=False))
        try:
            outcomes: Sequence[Outcome | None] = yield tasks
        except BudgetSpent as spent:
            outcomes = spent.outcomes
            self._drop_unfinished(names, outcomes, "too slow for the budget: its first fit was not done in time", spent)
        self._drop_failed(names, outcomes)
        for name, outcome in zip(names, outcomes, strict=True):
            if name in self.names and outcome is not None:
                self.first[name] = outcome.fit_seconds
                self.scores[name] = config.metric.value(outcome, config.data, split.test)

    def _affordable(self) -> bool:
        """Leave out candidates while there is no time for all; say whether there is time for nesting."""
        time_budget = self.config.time_budget
        self._keep_to(time_budget.search, nested=True, fewest=_FEWEST)
        if self._cost(nested=True) <= time_budget.search:
            return True
        self._keep_to(time_budget.whole, nested=False, fewest=1)
        return False

    def _keep_to(self, allowed: float, *, nested: bool, fewest: int) -> None:
        """Leave out those that do worst on the first fold, of those that take a part of the time worth saving."""
        sign = 1 if self.config.metric.greater_is_better else -1
        ranked = sorted(self.names, key=lambda name: sign * self.scores[name], reverse=True)
        fmt = MetricText.of(self.config.metric)
        while (whole := self._cost(nested=nested)) > allowed:
            costs = {name: self.first[name] * self.config.work(nested=nested) for name in self.names}
            slow = [name for name in ranked[1:] if name in self.names and costs[name] >= _WORTH_SAVING * whole]
            if not slow or len(self.names) <= fewest:
                return
            name, lead = slow[-1], ranked[0]
            self._drop(
                name,
                1,
                f"left out to keep to the budget: on the first fold it has {fmt.of_value(self.scores[name])}, "
                f"against {fmt.value(self.scores[lead])} of {lead}, and its fits would take some "
                f"{seconds_text(costs[name])}",
            )

    def _cost(self, *, nested: bool) -> float:
        return sum(self.first[name] for name in self.names) * self.config.work(nested=nested)

    def _race(self, *, nested: bool) -> Race | None:
        return Race() if self._cost(nested=nested) > _RACE_FROM else None

    def _choose(self, scores: Mapping[str, npt.NDArray[np.float64]]) -> int:
        sign = 1 if self.config.metric.greater_is_better else -1
        means = sign * scores[self.config.metric.name].mean(axis=1)
        return int(np.argmax(np.where(np.isnan(means), -np.inf, means)))

    def _judge(self, outcome: Outcome, rows: Rows) -> Mapping[str, float]:
        return {self.config.metric.name: self.config.metric.value(outcome, self.config.data, rows)}

    def _search(self, *, nested: bool) -> Plan[SelectionOutcome]:
        config, names = self.config, list(self.names)
        search = yield from search_plan(
            [config.candidates.estimators[name] for name in names],
            config.data,
            config.splits,
            responses=[config.responses(name) for name in names],
            judge=self._judge,
            choose=self._choose,
            inner=config.inner if nested else None,
            refit=False,
            race=self._race(nested=nested),
            metric=config.metric,
        )
        why = search.without_nesting
        if not nested:
            why = "there was no time to make the choice anew without each fold"
        outcomes: dict[str, list[Outcome | None]] = {
            name: [*found] for name, found in zip(names, search.outcomes, strict=True)
        }
        for each in search.dropped:
            name = names[each.candidate]
            if not is_baseline(
                config.candidates.estimators[name]
            ):  # these cost nothing, and others are measured by them
                del outcomes[name]
                self._drop(name, each.after, each.reason)
        late = yield from self._completed(outcomes)
        return self._chosen(outcomes, names, names[search.best], search.nested, why, late=late)

    def _completed(self, outcomes: Mapping[str, list[Outcome | None]]) -> Plan[bool]:
        """Fit what races let go of for those that are compared to the end; return whether time ran out in that."""
        splits = [*self.config.splits, *(split for group in self.config.inner for split in group)]
        lacking = [
            (name, place)
            for name, found in outcomes.items()
            for place, outcome in enumerate(found)
            if outcome is NOT_FITTED
        ]
        late = False
        try:
            found: Sequence[Outcome | None] = yield [self.config.task(name, splits[place]) for name, place in lacking]
        except BudgetSpent as spent:
            found, late = spent.outcomes, True
        for (name, place), outcome in zip(lacking, found, strict=True):
            outcomes[name][place] = outcome
        return late

    def _chosen(
        self,
        outcomes: Mapping[str, Sequence[Outcome | None]],
        searched: list[str],
        best: str,
        nested: Nested | None,
        without_nesting: str | None,
        *,
        late: bool = False,
    ) -> SelectionOutcome:
        complete: dict[str, Sequence[Outcome]] = {}
        paired, width = [], self.config.folds
        for name, found in outcomes.items():
            fitted = [outcome for outcome in found if outcome is not None and outcome.error is None]
            errors = [each.error for each in found[:width] if each is not None and each.error is not None]
            folds = sum(outcome is not None and outcome.error is None for outcome in found[:width])
            if errors:
                self._drop(name, folds, f"{len(errors)} of its fits failed: {_one_line(errors[0].message)}")
            elif folds < width:
                self._drop(name, folds, "the time was spent before its fits were done")
            else:
                complete[name] = fitted[:width]
                paired += [name] if nested is not None and len(fitted) == len(found) else []
        if best not in complete:
            raise FitError(f"The chosen candidate could not be judged on every fold. {self.dropped[-1].reason}.")
        seconds = {
            name: float(np.mean([outcome.fit_seconds for outcome in found[:width]])) for name, found in complete.items()
        }
        return SelectionOutcome(best, searched, complete, paired, nested, seconds, self.dropped, without_nesting, late)

    def _what_there_is(self) -> Plan[SelectionOutcome]:
        """Take what was fitted when time ran out: candidates that were judged on every fold are compared."""
        config, names, width = self.config, list(self.names), self.config.folds
        try:
            outcomes: Sequence[Outcome | None] = yield [
                config.task(name, split) for name in names for split in config.splits
            ]
        except BudgetSpent as spent:
            outcomes = spent.outcomes
        by_name = {name: outcomes[place * width : (place + 1) * width] for place, name in enumerate(names)}
        scores = {
            name: np.mean([
                config.metric.value(outcome, config.data, split.test)
                for outcome, split in zip(found, config.splits, strict=True)
                if outcome is not None
            ])
            for name, found in by_name.items()
            if all(outcome is not None and outcome.error is None for outcome in found)
        }  # fmt: skip
        if not scores:
            raise BudgetSpent(self._too_short)
        sign = 1 if config.metric.greater_is_better else -1
        best = max(scores, key=lambda name: sign * scores[name])
        why = "the time was spent before the choice was made anew without each fold"
        return self._chosen(by_name, names, best, None, why, late=True)


def _one_line(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else "no message"
    return first if len(first) <= 200 else first[:199] + "…"
