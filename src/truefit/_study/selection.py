"""Selection among the candidates: a first fit of each, then a search among those that the budget allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from truefit._core.errors import BudgetSpent, FitError
from truefit._core.outcome import Outcome
from truefit._core.protocols import FitTask, Plan, TimedTasks
from truefit._core.rows import Rows
from truefit._methods.selection.plan import Nested, Search, search_plan
from truefit._methods.selection.race_run import NOT_FITTED
from truefit._methods.selection.racing import Race
from truefit._methods.subplans import FitMeter
from truefit._methods.text import MetricText, counted
from truefit._methods.text import seconds as seconds_text
from truefit._study.budget import nominal_seconds, sample_rows
from truefit._study.config import StudyConfig, is_baseline
from truefit._study.evidence import Cause, SkippedCandidate

#: Candidates race where the search would take more seconds of fitting than this.
_RACE_FROM = 30.0
#: With a budget, candidates are first fitted on this many rows of a table that has more than the second.
_PILOT_ROWS, _PILOT_FROM = 2000, 10_000
#: Of a tuned study with a budget, one setting of each family is first fitted on so many rows.
_SETTING_ROWS = 1000
#: Such a fit may take this share of the budget, all of them together the second; a fit on the first fold may take the
#: third times its share of all folds.
_PILOT_SHARE, _PILOTS_SHARE, _FIRST_FOLD_FACTOR = 0.1, 0.3, 1.25
#: At least so many such fits are requested together.
_PILOTS_TOGETHER = 3
#: A setting that another one's fit answers costs this share of a fit of its own, for predictions and scores.
_ON_PATH = 0.05
#: The quickest candidates are fitted on all folds before the others, as long as that takes this share of the time.
_COARSE_SHARE = 0.1
#: Candidates are dropped down to this many, and only those that take this share of the time.
_FEWEST, _WORTH_SAVING = 4, 0.05
#: A candidate whose fits cost less than this share of the budget is not stopped early, as long as such candidates
#: together cost at most the second.
_LITTLE, _SPARED_TOGETHER = 0.02, 0.2
#: About so many fits of the best candidates are what the other questions can use, of the slowest of so many.
_DIAGNOSIS_FITS, _WELL_PLACED = 300, 3


@dataclass(slots=True)
class SelectionOutcome:
    """Result of the search.

    ``outcomes`` are those of the folds. ``nested`` numbers the candidates in the order of ``searched``, and ``scores``
    has a line for each of them; those in ``paired`` were fitted on every inner split too.
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
    scores: npt.NDArray[np.float64] | None = None
    #: Seconds of fitting that the search was expected to take.
    expected: float = 0.0
    #: Whether nested cross-validation was left out for lack of time.
    lacks_time: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """An earlier search of the same study: its seconds of fitting, and what share they were of those expected.

    The next search has ``of_rest`` of the time that is left as well.
    """

    seconds: float
    share: float
    of_rest: float


class CandidateSelection:
    """The search: a first fit of every candidate, then those that the budget allows on all folds."""

    def __init__(self, config: StudyConfig, meter: FitMeter | None = None, earlier: Spent | None = None) -> None:
        self.config = config
        self.meter = FitMeter(config.fit_seconds) if meter is None else meter
        self.earlier = earlier
        #: What the fits of a search cost of what they were expected to: paths and races save some.
        self._saving = 1.0 if earlier is None else min(max(earlier.share, 0.1), 1.0)
        self.names = list(config.candidates.names)
        self.dropped: list[SkippedCandidate] = []
        self.first: dict[str, float] = {}
        #: Candidates that are no baselines, by the time of a fit on few rows; empty where there was none.
        self._by_speed: list[str] = []
        self.scores: dict[str, float] = {}

    def plan(self) -> Plan[SelectionOutcome]:
        """Fit every candidate once, and search among those that are not too slow."""
        if self.config.tuned and self.config.time_budget.budget is not None:
            yield from self._affordable_settings()
        else:
            yield from self._pilot()
        yield from self._first_fold()
        in_time = self._affordable()
        nested = in_time and self._too_rare is None
        expected = self._cost(nested=nested) / self._saving
        try:
            selected = yield from self._searched(nested=nested)
        except BudgetSpent:
            selected = yield from self._fitted_so_far()
        selected.expected, selected.lacks_time = expected, not in_time
        return selected

    def _searched(self, *, nested: bool) -> Plan[SelectionOutcome]:
        if self.config.time_budget.budget is not None:
            # If time runs out, some candidates have been fitted on all folds, and if the others do not race all of them
            # before any was on pairs of folds.
            coarse = self._quickest()
            yield [self.config.task(name, split) for name in coarse for split in self.config.splits]
            if self._race(nested=nested) is None:
                yield [self.config.task(name, split) for split in self.config.splits for name in self.names]
        return (yield from self._search(nested=nested))

    def _quickest(self) -> list[str]:
        """Return a baseline or two and the quickest others, at least one, that take little time on all folds."""
        ranked = sorted(self.names, key=lambda name: (name not in self.config.baselines, self.first[name]))
        total, found = 0.0, list[str]()
        allowed = _COARSE_SHARE * self.config.time_budget.left(self.meter.seconds)
        for name in ranked:
            total += self.first[name] * self.config.folds
            if total > allowed and not set(found) <= set(self.config.baselines):
                break
            found.append(name)
        return found

    @property
    def status(self) -> str:
        """What is being done, and the best candidate so far, for the progress."""
        kind = "settings" if self.config.tuned else "candidates"
        text = f"study, which model? · {len(self.names)} {kind}"
        scored = [name for name in self.names if name in self.scores]
        if not scored:
            return text
        return f"{text}, best so far {min(scored, key=lambda name: self.config.sign * self.scores[name])}"

    @property
    def _too_rare(self) -> str | None:
        """Why nested cross-validation has no validation rows: the metric needs a class that is in 2 folds only."""
        rarest = self.config.metric.required_class(self.config.data)
        if rarest is None or self.config.folds > 2 or rarest[1] > 2:
            return None
        return f"class {rarest[0]!r} is in 2 folds only: after leaving one out, none is left to validate on"

    def _drop(self, name: str, after: int, reason: str, cause: Cause) -> None:
        self.names.remove(name)
        self.dropped.append(SkippedCandidate(name, after, reason, cause))

    def _fit_each(
        self, tasks: Sequence[FitTask], slow: str, *, together: int | None = None
    ) -> Plan[dict[str, Outcome]]:
        """Fit each candidate once, and drop those that fail or, for the reason ``slow``, are not done in time.

        So many are fitted ``together``, before it is known whether there is time for more. Until a learner is fitted
        there is no limit but the budget: the first fit of a process imports what others find there.
        """
        outcomes: list[Outcome | None] = []
        together, time_budget, known = together or len(tasks), self.config.time_budget, set(self.config.baselines)
        least = 0.0
        for start in range(0, len(tasks), together):
            some, names = tasks[start : start + together], self.names[start : start + together]
            unused, first = time_budget.unused(self.meter.seconds), known == set(self.config.baselines)
            least = least or (0.0 if first else (1 - _PILOTS_SHARE) * unused)
            if unused < least:
                outcomes += [None] * len(some)
                continue
            limit = None if first and together < len(tasks) else getattr(tasks, "fit_seconds", None)
            try:
                outcomes += yield TimedTasks(some, limit)
            except BudgetSpent as spent:
                outcomes += spent.outcomes
            known.update(name for name, outcome in zip(names, outcomes[start:], strict=True) if outcome is not None)
        errors = []
        for name, outcome in zip(list(self.names), outcomes, strict=True):
            if outcome is None:
                self._drop(name, 0, f"too slow for the budget: {slow}", "budget")
            elif outcome.error is not None:
                errors.append(outcome.error)
                self._drop(name, 0, f"fit failed: {_one_line(outcome.error.message)}", "failed")
        if not self.names and errors:
            failed = next(each for each in reversed(self.dropped) if each.cause == "failed")
            raise FitError(f"No candidate could be fitted. {failed.name}: {failed.reason}.", errors)
        if not self.names:
            raise BudgetSpent(self._too_short)
        fitted = [outcome for outcome in outcomes if outcome is not None and outcome.error is None]
        return dict(zip(self.names, fitted, strict=True))

    def _pilot(self) -> Plan[None]:
        """Fit on few rows of a large table, and drop what would take too long on all of them."""
        config, allowed = self.config, self._allowed()
        if config.time_budget.budget is None or config.data.n < _PILOT_FROM:
            return
        rows = sample_rows(config.data, _PILOT_ROWS, least=1, random_state=config.random_state)
        # Time grows at least as the rows do, except for the overhead of every fit: hence the half.
        growth = 0.5 * config.splits.mean_train_rows / len(rows) * config.work(nested=False) * self._saving
        longest = max(allowed / growth, _PILOT_SHARE * config.time_budget.budget)
        tasks = [FitTask(config.candidates.estimators[name], Rows.of(rows)) for name in self.names]
        slow = f"a fit on {len(rows):,} rows was not done in {seconds_text(longest)}"
        outcomes = yield from self._fit_each(TimedTasks(tasks, longest), slow)
        for name, outcome in outcomes.items():
            expected = growth * outcome.fit_seconds
            if len(self.names) > 1 and expected > allowed:
                takes = (
                    f"its fits would take about {seconds_text(expected)}, and the search has {seconds_text(allowed)}"
                )
                self._drop(name, 0, f"too slow for the budget: {takes}", "budget")

    def _affordable_settings(self) -> Plan[None]:
        """Fit one setting of each family on few rows, and keep as many settings of each as there is time for."""
        config, paths = self.config, dict[str, dict[str, list[str]]]()
        for name in self.names:
            paths.setdefault(config.family(name), {}).setdefault(config.settings[name].path, []).append(name)
        # Of a path the dearest setting first: its fit answers the others.
        order = {
            family: [
                name for path in spread(list(some)) for name in sorted(some[path], key=self._nominal, reverse=True)
            ]
            for family, some in paths.items()
        }
        # The quickest first: a slow machine has time for some of them only.
        first = sorted((names[0] for names in order.values()), key=self._nominal)
        rows = sample_rows(config.data, min(_SETTING_ROWS, config.data.n), least=1, random_state=config.random_state)
        tasks = [FitTask(config.candidates.estimators[name], Rows.of(rows)) for name in first]
        others, self.names = [name for name in self.names if name not in first], first
        longest = _PILOT_SHARE * (config.time_budget.budget or 0.0) * config.time_budget.workers
        slow = f"a fit on {len(rows):,} rows was not done in {seconds_text(longest)}, or quicker ones took the time"
        together = max(config.time_budget.workers, _PILOTS_TOGETHER)
        outcomes = yield from self._fit_each(TimedTasks(tasks, longest), slow, together=together)
        self._by_speed = sorted(
            (name for name in outcomes if name not in config.baselines), key=lambda name: outcomes[name].fit_seconds
        )
        # Time grows at least as the rows do, except for the overhead of every fit: hence the half.
        rows_of_folds = config.splits.mean_train_rows / len(rows)
        growth = max(0.5 * rows_of_folds, min(rows_of_folds, 1.0)) * config.work(nested=True) * self._saving
        allowed = self._allowed()
        costs = {name: growth * outcomes[names[0]].fit_seconds * share
                 for names in order.values() if names[0] in outcomes
                 for name, share in self._relative_costs(names).items()}  # fmt: skip
        kept, total, plain = set[str](), 0.0, config.work(nested=False) / config.work(nested=True)
        paid = dict[str, float]()  # by path, what the dearest setting kept on it costs: it answers for the others
        longest_list = max(map(len, order.values()))
        for place in range(longest_list):  # one setting of each family after the other, the quickest families first
            turn = [names[place] for names in order.values() if len(names) > place and names[place] in costs]
            for name in sorted(turn, key=lambda name: costs[name]):
                # The first of each family stays where it alone would be fitted in time, as without tuning. The first
                # fold tells which of these are worth their time, so they take none from quicker settings.
                path, alone = config.settings[name].path, place == 0 and plain * costs[name] <= allowed
                cost = max(costs[name] - paid.get(path, 0.0), _ON_PATH * costs[name])
                in_time = total + cost <= allowed
                if in_time or alone or kept <= set(config.baselines):
                    kept.add(name)
                    total += cost if in_time else 0.0
                    paid[path] = max(paid.get(path, 0.0), costs[name] if in_time else 0.0)
        self.names = [name for name in config.candidates.names if name in costs]
        for name in [name for name in self.names if name not in kept]:
            takes = f"its fits would take about {seconds_text(costs[name])}, and the search has {seconds_text(allowed)}"
            self._drop(name, 0, f"not tried, to keep to the budget: {takes}", "budget")
        for name in others:
            if name not in costs:
                self.dropped.append(SkippedCandidate(name, 0, "another setting of its family was too slow", "budget"))

    def _relative_costs(self, names: Sequence[str]) -> dict[str, float]:
        """Return what settings of one family cost, in fits of the first of them."""
        expected = list(map(self._nominal, names))
        return {name: each / expected[0] for name, each in zip(names, expected, strict=True)}

    def _nominal(self, name: str) -> float:
        return nominal_seconds(self.config.candidates.estimators[name], self.config.data.n, self.config.columns) or 1.0

    @property
    def _too_short(self) -> str:
        budget = self.config.time_budget.budget
        return (
            f"The time budget of {budget or 0:.3g} s was exhausted before there was anything to choose between. Allow "
            "more time, or use fewer candidates or fewer rows."
        )

    def _first_fold(self) -> Plan[None]:
        """Fit every candidate on the first fold; the search requests the same fits again."""
        config, split, names = self.config, self.config.splits[0], list(self.names)
        tasks = [config.task(name, split) for name in names]
        if config.time_budget.budget is not None:
            # A longer fit could not be repeated on every fold in time, and would leave no time for the others.
            left = config.time_budget.left(self.meter.seconds)
            tasks = TimedTasks(tasks, _FIRST_FOLD_FACTOR * left / config.work(nested=False))
        outcomes = yield from self._fit_each(tasks, "its first fit was not done in time")
        quickest = next((name for name in self._by_speed if name in names), None)
        if set(self.names) <= set(config.baselines) and quickest is not None and quickest not in self.names:
            # With baselines alone there is nothing to select: the quickest candidate may take what is left.
            self.dropped = [each for each in self.dropped if each.name != quickest]
            self.names = [name for name in names if name in self.names or name == quickest]
            again = [config.task(name, split) for name in self.names]
            outcomes = yield from self._fit_each(again, "its first fit was not done in time")
        for name, outcome in outcomes.items():
            self.first[name] = config.fit_seconds(config.task(name, split), outcome)
            self.scores[name] = config.metric.value(outcome, config.data, split.test)

    def _affordable(self) -> bool:
        """Drop candidates until the search fits the budget; return whether nested cross-validation does too."""
        allowed = self._allowed(self._diagnosis())
        self._keep_to(allowed, nested=True, fewest=_FEWEST)
        if self._cost(nested=True) <= allowed:
            return True
        self._keep_to(allowed, nested=False, fewest=1)
        return self.config.splits.chronological  # there it needs no further fits

    def _diagnosis(self) -> float:
        """Return the seconds of fitting that the other questions can use, by the slowest of the best candidates."""
        ranked = sorted(self.names, key=lambda name: self.config.sign * self.scores[name])[:_WELL_PLACED]
        return _DIAGNOSIS_FITS * max(self.config.whole_fit_seconds(name, self.first[name]) for name in ranked)

    @property
    def _spared(self) -> set[str]:
        """Candidates that are never stopped early: their fits cost little, and together not much either."""
        found, total, budget = set[str](), 0.0, self.config.time_budget
        for name in sorted(self.first, key=lambda name: self.first[name]):
            cost = budget.share(self.first[name] * self.config.work(nested=True))
            total += cost
            if not 0 < cost < _LITTLE or total > _SPARED_TOGETHER:
                break
            found.add(name)
        return found

    def _keep_to(self, allowed: float, *, nested: bool, fewest: int) -> None:
        """Drop the worst candidates on the first fold, among those that take a notable share of the time."""
        ranked, spared = sorted(self.names, key=lambda name: self.config.sign * self.scores[name]), self._spared
        fmt, lead = MetricText.of(self.config.metric), ranked[0]
        while (whole := self._cost(nested=nested)) > allowed:
            costs = {name: self.first[name] * self.config.work(nested=nested) for name in self.names}
            least = min(_WORTH_SAVING, 0.5 / len(self.names)) * whole
            slow = [name for name in ranked[1:] if name in self.names and name not in spared and costs[name] >= least]
            if not slow or len(self.names) <= fewest:
                return
            name = slow[-1]
            scores = f"{fmt.named(self.scores[name])} on the first fold ({lead}: {fmt.value(self.scores[lead])})"
            reason = f"stopped to keep to the budget: {scores}, and its fits would take {seconds_text(costs[name])}"
            self._drop(name, 1, reason, "budget")

    def _cost(self, *, nested: bool) -> float:
        return self._saving * sum(self.first[name] for name in self.names) * self.config.work(nested=nested)

    def _allowed(self, diagnosis: float = math.inf) -> float:
        """Return the seconds of fitting that the search may take, with a budget."""
        time_budget, earlier = self.config.time_budget, self.earlier
        if earlier is None:
            return time_budget.search(self.meter.seconds, diagnosis)
        return earlier.seconds + earlier.of_rest * time_budget.left(self.meter.seconds)

    def _race(self, *, nested: bool) -> Race | None:
        return Race() if self._cost(nested=nested) > _RACE_FROM else None

    def _choose(self, scores: Mapping[str, npt.NDArray[np.float64]]) -> int:
        means = self.config.sign * scores[self.config.metric.name].mean(axis=1)
        return int(np.argmin(np.where(np.isnan(means), np.inf, means)))

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
            spared=[place for place, name in enumerate(names) if name in self._spared],
            metric=config.metric,
        )
        why = search.without_nesting
        if not nested:
            why = self._too_rare or "the time budget does not allow it"
        outcomes: dict[str, list[Outcome | None]] = {
            name: [*found] for name, found in zip(names, search.outcomes, strict=True)
        }
        shown = self._best_of_lost_families(search, names)
        for each in search.dropped:
            name = names[each.candidate]
            if is_baseline(config.candidates.estimators[name]):
                continue  # baselines cost nothing, and the others are compared with them
            if name in shown:
                outcomes[name] = outcomes[name][: config.folds]
                continue
            failed = any(
                outcome is not None and outcome is not NOT_FITTED and outcome.error is not None
                for outcome in outcomes.pop(name)
            )
            self._drop(name, each.after, each.reason, "failed" if failed else "racing")
        late = yield from self._completed(outcomes)
        scores = search.scores[config.metric.name]
        return self._selected(outcomes, names, names[search.best], search.nested, why, late=late, scores=scores)

    def _best_of_lost_families(self, search: Search, names: Sequence[str]) -> set[str]:
        """Return the best setting of each tuned family that lost all of them early: the table compares families."""
        config = self.config
        if not config.tuned:
            return set()
        lost = {each.candidate: each.after for each in search.dropped}
        families = {config.family(name) for place, name in enumerate(names) if place not in lost}
        scores = config.sign * search.scores[config.metric.name]
        shown: dict[str, tuple[int, float, str]] = {}
        for place, after in lost.items():
            family, name = config.family(names[place]), names[place]
            failed = any(each is not NOT_FITTED and each.error is not None for each in search.outcomes[place])
            if family in families or failed:
                continue
            fitted = scores[place][np.isfinite(scores[place])]
            rank = (-after, float(fitted.mean()) if len(fitted) else np.inf, name)
            shown[family] = min(shown.get(family, rank), rank)
        return {name for *_, name in shown.values()}

    def _completed(self, outcomes: Mapping[str, list[Outcome | None]]) -> Plan[bool]:
        """Fit what the race skipped for candidates that stay in the comparison; return whether time ran out."""
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

    def _selected(
        self,
        outcomes: Mapping[str, Sequence[Outcome | None]],
        searched: list[str],
        best: str,
        nested: Nested | None,
        without_nesting: str | None,
        *,
        late: bool = False,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> SelectionOutcome:
        complete: dict[str, Sequence[Outcome]] = {}
        paired, width = [], self.config.folds
        for name, found in outcomes.items():
            fitted = [outcome for outcome in found if outcome is not None and outcome.error is None]
            errors = [each.error for each in found[:width] if each is not None and each.error is not None]
            folds = sum(outcome is not None and outcome.error is None for outcome in found[:width])
            if errors:
                self._drop(
                    name, folds, f"{counted(len(errors), 'fit')} failed: {_one_line(errors[0].message)}", "failed"
                )
            elif folds < width:
                self._drop(name, folds, "time budget exhausted before its fits were done", "budget")
            else:
                complete[name] = fitted[:width]
                paired += [name] if nested is not None and len(fitted) == len(found) > width else []
        if best not in complete:
            raise FitError(f"The selected model could not be fitted on every fold. {self.dropped[-1].reason}.")
        seconds = {
            name: float(np.mean([outcome.fit_seconds for outcome in found[:width]])) for name, found in complete.items()
        }
        return SelectionOutcome(
            best, searched, complete, paired, nested, seconds, self.dropped, without_nesting, late, scores
        )

    def _fitted_so_far(self) -> Plan[SelectionOutcome]:
        """Select among the candidates that were fitted on every fold when time ran out."""
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
        best = min(scores, key=lambda name: config.sign * scores[name])
        return self._selected(by_name, names, best, None, "time budget exhausted", late=True)


def spread(names: Sequence[str]) -> list[str]:
    """Order settings so that the first few of them are far from each other: the middle, then halves of the rest.

    >>> spread(["a", "b", "c", "d", "e"])
    ['c', 'b', 'e', 'a', 'd']
    """
    found: list[str] = []
    parts = [(0, len(names))]
    while parts:
        start, end = parts.pop(0)
        if start < end:
            middle = (start + end) // 2
            found.append(names[middle])
            parts += [(start, middle), (middle + 1, end)]
    return found


def _one_line(text: str) -> str:
    first = text.strip().splitlines()[0].rstrip(".") if text.strip() else "no message"
    return first if len(first) <= 200 else first[:199] + "…"
