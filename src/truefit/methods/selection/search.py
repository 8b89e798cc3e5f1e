"""Search: choose among candidates, and say how good the choice really is, from the same fits.

With K folds, training on all but the folds a and b is one fit, whether a is tested on and b validates or the other
way round. Nothing here knows of that: both are asked for, and the engine sees that they are the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import PredefinedSplit

from truefit.core.data import Data
from truefit.core.errors import FitError
from truefit.core.job import Plan
from truefit.core.outcome import Failure, Outcome, grouped_failures
from truefit.core.rows import Rows
from truefit.core.task import Ask, FitTask, Keep, Response
from truefit.methods.splitting.part import Part
from truefit.methods.splitting.splits import Split, Splits, is_whole, shared_partition, splits_of
from truefit.methods.splitting.triangle import has_triangle, pair_splits

Scores = npt.NDArray[np.float64]

#: Scores of a fit on some rows, by name of the score; greater is better.
Judge = Callable[[Outcome, Rows], Mapping[str, float]]

#: Picks a candidate from the scores by name, each of shape (candidates, splits).
Choose = Callable[[Mapping[str, Scores]], int]


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found.

    Attributes
    ----------
    scores : dict of (candidates, splits) arrays
    fit_seconds : (candidates, splits) array
    outcomes : list of lists
        For each candidate its outcome on each split, and after these on each inner split.
    best : int
        The chosen candidate.
    nested : Nested or None
        The choice made anew without each test set, and its score there; None if it was not asked for.
    failures : tuple of Failure
        Why some fits have no score.
    model : fitted estimator or None
        The chosen candidate fitted on all rows.
    without_nesting : str or None
        Why there is no nested part although it was asked for.
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


@dataclass(frozen=True, slots=True)
class Nested:
    """For each outer split: the candidate chosen without its test rows, and the scores of that one on them."""

    chosen: list[int]
    scores: dict[str, Scores]
    outcomes: list[Outcome]
    triangle: bool


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
) -> Plan[Search]:
    """Fit every candidate on every training set, and on every inner one, choose, and fit the chosen one on all rows."""
    inner_splits = [split for group in inner or () for split in group]
    wanted = [*splits, *inner_splits]
    tasks = [
        FitTask(estimator, split.train, tuple(Ask(split.test, response) for response in asked))
        for estimator, asked in zip(estimators, responses, strict=True)
        for split in wanted
    ]
    without_nesting = None
    try:
        outcomes = yield tasks
    except FitError as error:
        if inner is None:
            raise
        # The assessment is an extra: where only its smaller training sets fail, the search itself goes on.
        tasks = [task for place, task in enumerate(tasks) if place % len(wanted) < len(splits)]
        inner, wanted, without_nesting = None, wanted[: len(splits)], str(error)
        outcomes = yield tasks
    failures = _failures_short_of_all(outcomes)
    by_candidate = [list(outcomes[i : i + len(wanted)]) for i in range(0, len(tasks), len(wanted))]
    scores = _score_table([found[: len(splits)] for found in by_candidate], splits, judge, ())
    best = choose(scores)
    nested = None
    if inner is not None:
        nested = _nested(by_candidate, splits, inner, judge, choose, tuple(scores))
    model, refit_seconds = None, float("nan")
    if refit:
        (final,) = yield [FitTask(estimators[best], Rows.all(data.n), keep=Keep("best"))]
        if final.error is not None:
            raise FitError(f"The best candidate could not be fitted on all rows. {grouped_failures([final.error])}")
        model, refit_seconds = final.model, final.fit_seconds
    seconds = np.array([[outcome.fit_seconds for outcome in found[: len(splits)]] for found in by_candidate])
    return Search(scores, seconds, by_candidate, best, nested, failures, model, refit_seconds, without_nesting)


def _failures_short_of_all(outcomes: Sequence[Outcome]) -> tuple[Failure, ...]:
    failures = tuple(outcome.error for outcome in outcomes if outcome.error is not None)
    if failures and len(failures) == len(outcomes):
        raise FitError(f"All the {len(failures)} fits failed.\n\n{grouped_failures(failures)}", failures)
    return failures


def _score_table(
    by_candidate: Sequence[Sequence[Outcome]], splits: Sequence[Split] | Splits, judge: Judge, names: Sequence[str]
) -> dict[str, Scores]:
    """Score every outcome on its test rows; NaN where a fit failed. ``names`` serve where all have failed."""
    lines = [
        [None if outcome.error is not None else judge(outcome, split.test)
         for outcome, split in zip(found, splits, strict=True)]
        for found in by_candidate
    ]  # fmt: skip
    names = next((list(scored) for line in lines for scored in line if scored is not None), names)
    return {
        name: np.array([[np.nan if scored is None else scored[name] for scored in line] for line in lines])
        for name in names
    }


def _nested(
    by_candidate: Sequence[Sequence[Outcome]],
    splits: Splits,
    inner: Sequence[Sequence[Split]],
    judge: Judge,
    choose: Choose,
    names: Sequence[str],
) -> Nested:
    chosen, outer = [], []
    start = len(splits)
    for place, group in enumerate(inner):
        found = [line[start : start + len(group)] for line in by_candidate]
        start += len(group)
        chosen.append(choose(_score_table(found, group, judge, names)))
        outer.append(by_candidate[chosen[-1]][place])
    scores: dict[str, list[float]] = {}
    for outcome, split in zip(outer, splits, strict=True):
        judged = {} if outcome.error is not None else judge(outcome, split.test)
        for name, value in judged.items():
            scores.setdefault(name, []).append(value)
    complete = {name: np.array(values) for name, values in scores.items() if len(values) == len(splits)}
    return Nested(chosen, complete, outer, triangle=has_triangle(splits))


def inner_splits(
    data: Data, splits: Splits, design: Any, *, random_state: int | None = None, rare_classes: bool = False
) -> list[list[Split]]:
    """For each outer split the splits of its training rows on which to choose.

    Folds of one partition: each other fold validates once, which gives the triangle. Otherwise the same splitter
    is used inside the training rows, as scikit-learn's nested cross-validation does. With ``rare_classes`` a fold may
    lack a class that has fewer rows than there are folds.
    """
    if has_triangle(splits):
        return pair_splits(data.n, splits)
    return [_split_within(data, split, design, random_state, rare_classes) for split in splits]


def _split_within(data: Data, split: Split, design: Any, random_state: int | None, rare_classes: bool) -> list[Split]:
    rows = split.train.index
    part = Part(data, rows, rare_classes=rare_classes)
    if hasattr(design, "split") and not isinstance(design, PredefinedSplit):  # that one knows the whole table only
        within = splits_of(part, design)
    else:
        k = int(design) if is_whole(design) else 5
        folds = shared_partition(part, k, random_state=random_state)
        pairs = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(k)]
        within = splits_of(part, pairs)
    return [Split(Rows.train_of(data.n, rows[s.train.index]), Rows.of(rows[s.test.index])) for s in within]
