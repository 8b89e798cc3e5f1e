"""Search: select among candidates, and assess the selection by nested cross-validation from the same fits.

With K folds, the fit without the folds a and b is the same whether a is the test fold and b the validation fold or the
other way round. Both are requested here, and the engine runs equal fits once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import PredefinedSplit

from truefit._core.data import Data
from truefit._core.errors import Failure, FitError, InvalidInput, reasons
from truefit._core.outcome import Outcome
from truefit._core.protocols import Ask, FitTask, Keep, Plan, Response
from truefit._core.rows import Rows
from truefit._methods.selection.race_run import NOT_FITTED, RaceRun, inner_rounds, one_round, rounds_of
from truefit._methods.selection.racing import DroppedCandidate, Race, RaceStandings, tested_once
from truefit._methods.splitting.designs import has_triangle, pair_splits, pairs_by_test_fold
from truefit._methods.splitting.splits import (
    Split,
    Splits,
    earlier_periods,
    is_whole,
    row_subset,
    shared_partition,
    splits_of,
)
from truefit._metrics.metric import Metric

Scores = npt.NDArray[np.float64]

#: Scores of a fit on some rows, by name of the score; greater is better.
Judge = Callable[[Outcome, Rows], Mapping[str, float]]

#: Selects a candidate from the scores by name, each of shape (candidates, splits).
Choose = Callable[[Mapping[str, Scores]], int]

#: Prefix of the names of training scores.
TRAIN = "train "


@dataclass(frozen=True, slots=True)
class Search:
    """Result of a search; tables are of shape (candidates, splits).

    ``outcomes`` has for each candidate its outcome on each split, and after these on each inner split; ``NOT_FITTED``
    where a race had dropped it, and then its scores are NaN. ``without_nesting`` is why there is no nested part
    although it was requested.
    """

    scores: dict[str, Scores]
    fit_seconds: Scores
    outcomes: list[list[Outcome]]
    best: int
    nested: Nested | None
    failures: tuple[Failure, ...] = ()
    model: Any = None
    refit_seconds: float = float("nan")
    without_nesting: str | None = None
    dropped: tuple[DroppedCandidate, ...] = ()
    train_scores: dict[str, Scores] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nested:
    """For each outer split: the candidate selected without its test rows, and its scores on them.

    ``outer`` are the splits that have inner ones: of chronological splits the first has none. ``fewer`` are its mean
    scores on the same rows when trained without one more fold; NaN where a race had dropped it, and empty without the
    triangle of fits. ``tables`` are the scores by which each selection was made, of shape (candidates, inner splits).
    """

    chosen: list[int]
    scores: dict[str, Scores]
    outcomes: list[Outcome]
    outer: Splits
    triangle: bool
    fewer: dict[str, Scores]
    tables: tuple[dict[str, Scores], ...] = ()


def search_plan(
    estimators: Sequence[Any],
    data: Data,
    splits: Splits,
    *,
    responses: Sequence[tuple[Response, ...]],
    judge: Judge,
    choose: Choose,
    inner: Sequence[Sequence[Split]] | None = None,
    refit: bool = True,
    race: Race | None = None,
    metric: Metric | None = None,
    error_score: float = float("nan"),
    train_scores: bool = False,
    spared: Sequence[int] = (),
) -> Plan[Search]:
    """Fit every candidate on every training set, outer and inner, select one, and fit it on all rows.

    With a ``race`` the splits are fitted in rounds, and candidates that are too far behind by ``metric``, the score of
    that name, are dropped. The search and every inner search run a race of their own, in common rounds. The nested
    estimate stays unbiased: each inner race decides by fits that were trained and evaluated without the outer test
    rows.

    A fit that fails has ``error_score`` for a score. With ``train_scores`` the tables given to ``choose`` have training
    scores too, under names that begin with ``TRAIN``. Candidates at the positions ``spared`` are never dropped.
    """
    # Of chronological splits the first has no inner one.
    nested_in = [place for place, group in enumerate(inner or ()) if group]
    races = _races(data, splits, [group for group in inner or () if group], len(estimators), race, metric, spared)
    tested = {} if race is None else _tested(data, races)
    raced = _RacedCandidates(estimators, responses, judge, data, tested, train_scores)
    without_nesting = None
    while not all(race_run.finished for race_run in races):
        try:
            outcomes = yield raced.tasks(races)
        except FitError as error:
            if any(race_run.on_rungs for race_run in races):  # a learner may fail on few rows only
                for race_run in races:
                    race_run.skip_rung()
            elif len(races) > 1:  # where only the smaller inner training sets fail, the search continues
                races, without_nesting = races[:1], str(error)
            else:
                raise
            continue
        raced.distribute(races, outcomes)
    main = races[0]
    # In time order the fits of the inner races are those of the search.
    failures = _failures_short_of_all(races[:1] if splits.chronological else races)
    names = list(dict.fromkeys(name for race_run in races for name in race_run.names))
    tested_names = [name for name in names if not name.startswith(TRAIN)]
    best = choose(main.table(names, error_score))
    nested = None
    lost = [race_run for race_run in races[1:] if race_run.all_failed] if np.isnan(error_score) else []
    if lost:  # every candidate has a failed fit there, so any selection would be arbitrary
        without_nesting = reasons(lost[0].failures())
    elif len(races) > 1:
        chosen = [choose(race_run.table(names, error_score)) for race_run in races[1:]]
        try:
            selected = yield from raced.fitted(main, dict(zip(nested_in, chosen, strict=True)))
            outer = splits.periods(nested_in) if splits.chronological else splits
            nested = _nested(chosen, selected, outer, judge, races[1:], tested_names)
        except FitError as error:
            without_nesting = str(error)
    model, refit_seconds = None, float("nan")
    if refit:
        model, refit_seconds = yield from refit_plan(estimators[best], Rows.all(data.n))
    tables = main.table(names, error_score)
    return Search(
        scores={name: tables[name] for name in tested_names},
        train_scores={name.removeprefix(TRAIN): tables[name] for name in names if name.startswith(TRAIN)},
        fit_seconds=main.fit_seconds(),
        outcomes=[[each for race_run in races for each in race_run.outcomes(i)] for i in range(len(estimators))],
        best=best,
        nested=nested,
        failures=failures,
        model=model,
        refit_seconds=refit_seconds,
        without_nesting=without_nesting,
        dropped=tuple(main.dropped),
    )


def refit_plan(estimator: Any, rows: Rows) -> Plan[tuple[Any, float]]:
    """Fit the selected candidate on all rows; return the model and its seconds."""
    (final,) = yield [FitTask(estimator, rows, keep=Keep("best"))]
    if final.error is not None:
        text = f"The best candidate could not be fitted on all rows. {reasons([final.error])}"
        raise FitError(text, [final.error])
    return final.model, final.fit_seconds


def _races(
    data: Data,
    splits: Splits,
    inner: Sequence[Sequence[Split]],
    candidates: int,
    race: Race | None,
    metric: Metric | None,
    spared: Sequence[int],
) -> list[RaceRun]:
    """Return the race of the search, and those without each of the outer test sets."""
    lists = [splits, *inner]
    if race is None:
        return [RaceRun(each, one_round(each), candidates) for each in lists]
    if metric is None:
        raise InvalidInput("A race needs a metric. Got none; pass metric=.")
    orders = [rounds_of(splits), *(inner_rounds(splits, inner) if inner else ())]
    return [
        RaceRun(each, order, candidates, RaceStandings(race, metric, data, tested_once(each)), spared)
        for each, order in zip(lists, orders, strict=True)
    ]


def _tested(data: Data, races: Sequence[RaceRun]) -> dict[tuple[int, int], list[Rows]]:
    """Return, for each training set, all rows that any of the races evaluates its fits on."""
    found: dict[tuple[int, int], list[Rows]] = {}
    for race_run in races:
        for split in race_run.splits:
            rows = found.setdefault(data.digest(split.train), [])
            if split.test not in rows:
                rows.append(split.test)
    return found


@dataclass(frozen=True, slots=True)
class _RacedCandidates:
    """The candidates; ``tested`` are the rows to predict by training rows: another race may need the same fit."""

    estimators: Sequence[Any]
    responses: Sequence[tuple[Response, ...]]
    judge: Judge
    data: Data
    tested: Mapping[tuple[int, int], Sequence[Rows]]
    train_scores: bool = False

    def task(self, candidate: int, split: Split) -> FitTask:
        tested = self.tested.get(self.data.digest(split.train), (split.test,)) if self.tested else (split.test,)
        wanted = (*tested, split.train) if self.train_scores else tested
        asks = tuple(Ask(rows, response) for rows in wanted for response in self.responses[candidate])
        return FitTask(self.estimators[candidate], split.train, asks)

    def tasks(self, races: Sequence[RaceRun]) -> list[FitTask]:
        return [self.task(candidate, split) for race_run in races for candidate, split in race_run.wanted()]

    def distribute(self, races: Sequence[RaceRun], outcomes: Sequence[Outcome]) -> None:
        start = 0
        for race_run in races:
            wanted = race_run.wanted()
            own = outcomes[start : start + len(wanted)]
            start += len(wanted)
            scores = [self._scores(outcome, split) for outcome, (_, split) in zip(own, wanted, strict=True)]
            race_run.take(own, scores)

    def _scores(self, outcome: Outcome, split: Split) -> Mapping[str, float] | None:
        if outcome.error is not None:
            return None
        scores = dict(self.judge(outcome, split.test))
        if self.train_scores:
            scores |= {TRAIN + name: value for name, value in self.judge(outcome, split.train).items()}
        return scores

    def fitted(self, race_run: RaceRun, chosen: Mapping[int, int]) -> Plan[list[Outcome]]:
        """Return the outcome of the candidate selected for each split of a race; fit it where it had been dropped."""
        found = {place: race_run.outcomes(each)[place] for place, each in chosen.items()}
        lacking = [place for place, outcome in found.items() if outcome is NOT_FITTED]
        if lacking:
            outcomes = yield [self.task(chosen[place], race_run.splits[place]) for place in lacking]
            found |= dict(zip(lacking, outcomes, strict=True))
        return list(found.values())


def _failures_short_of_all(races: Sequence[RaceRun]) -> tuple[Failure, ...]:
    """Return the failures; raise where all fits of the search failed."""
    failed = races[0].failures()
    if failed and len(failed) == len(races[0].fitted()):
        raise FitError(f"All the {len(failed)} fits failed. {reasons(failed)}", failed)
    return tuple(failure for race_run in races for failure in race_run.failures())


def _nested(
    chosen: list[int],
    outcomes: list[Outcome],
    splits: Splits,
    judge: Judge,
    races: Sequence[RaceRun],
    names: Sequence[str],
) -> Nested:
    pairs = zip(outcomes, splits, strict=True)
    scored = [{} if outcome.error is not None else judge(outcome, split.test) for outcome, split in pairs]
    common = [name for name in scored[0] if all(name in each for each in scored)]
    scores = {name: np.array([each[name] for each in scored]) for name in common}
    triangle = has_triangle(splits)
    fewer = _fewer(chosen, splits, races, names) if triangle else {}
    tables = tuple(race_run.table(names) for race_run in races)
    return Nested(chosen, scores, outcomes, splits, triangle, fewer, tables)


def _fewer(chosen: list[int], splits: Splits, races: Sequence[RaceRun], names: Sequence[str]) -> dict[str, Scores]:
    tables = [race_run.table(names) for race_run in races]
    sides = pairs_by_test_fold(splits)
    found = {}
    for name in names:
        pairs = np.array(
            [[tables[b][name][c, place] for b, place in side] for c, side in zip(chosen, sides, strict=True)]
        )
        known = ~np.isnan(pairs)
        counts = known.sum(axis=1)
        found[name] = np.where(counts > 0, np.where(known, pairs, 0.0).sum(axis=1) / np.maximum(counts, 1), np.nan)
    return found


def inner_splits(data: Data, splits: Splits, design: Any, *, random_state: int | None = None) -> list[list[Split]]:
    """Return, for each outer split, the inner splits of its training rows.

    With the folds of one partition each other fold validates once, which gives the triangle. In time order the earlier
    periods validate; the first period has none. Otherwise the same splitter is used on the training rows, as in
    scikit-learn's nested cross-validation.
    """
    if splits.chronological:
        found = earlier_periods(data, splits)
        if not any(found):
            raise InvalidInput("A nested assessment needs a period with an earlier one; use more periods (cv).")
        return found
    if has_triangle(splits):
        return pair_splits(data.n, splits)
    return [_split_within(data, split, design, random_state) for split in splits]


def _split_within(data: Data, split: Split, design: Any, random_state: int | None) -> list[Split]:
    rows = split.train.index
    part = row_subset(data, rows)
    if hasattr(design, "split") and not isinstance(design, PredefinedSplit):  # which cannot split a part of the table
        within = splits_of(part, design)
    else:
        k = int(design) if is_whole(design) else 5
        folds = shared_partition(part, k, random_state=random_state)
        pairs = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(k)]
        within = splits_of(part, pairs)
    return [Split(Rows.train_of(data.n, rows[s.train.index]), Rows.of(rows[s.test.index])) for s in within]
