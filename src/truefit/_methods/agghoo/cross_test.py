"""Cross-tested Agghoo: on each of several test sets, the risk of the Agghoo that has not seen it.

Algorithm 2 of Rynkiewicz, Cross-tested Aggregated Hold-out. With the folds of one partition the inner splits of a test
fold are the other folds, and training without two folds is one fit, whichever of them is tested on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Failure, Outcome, Predictions
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask, Response
from truefit._methods.agghoo.cross_test_result import CrossTest, Fold
from truefit._methods.agghoo.plan import AgghooConfig, Aggregate, checked_failures, mean_of, scores_of, vote_of
from truefit._methods.selection.plan import inner_splits
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.splits import Split, Splits, is_whole
from truefit._metrics.metric import Metric
from truefit._metrics.scorers import aligned_answer

Correction = Literal["learning_curve"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossTestConfig:
    """What is cross-tested, on which splits, and by which metric.

    ``baseline`` asks for every candidate on each outer training set too: for the mean validation score of Agghoo on all
    rows, and for cross-validation with a refit of the winner.
    """

    agghoo: AgghooConfig
    splits: Splits
    inner: Sequence[Sequence[Split]]
    triangle: bool
    metric: Metric
    baseline: bool = True
    correction: Correction | None = None
    level: float = 0.95


def nested_splits(data: Data, splits: Splits, cv: Any, inner_cv: Any, seed: int | None) -> list[list[Split]]:
    """For each outer split the inner ones: the other folds of its partition, or splits of its training rows alone."""
    if inner_cv is None:
        return inner_splits(data, splits, cv, random_state=seed, rare_classes=True)
    if isinstance(inner_cv, str) or not (is_whole(inner_cv) or hasattr(inner_cv, "split")):
        raise InvalidInput(
            "The 'inner_cv' parameter must be None, a number of folds or a splitter: each training set is split anew. "
            f"Got {inner_cv!r} instead."
        )
    own = Splits.of(splits, splits.description)  # no partition, so that the inner splits are not its other folds
    return inner_splits(data, own, inner_cv, random_state=seed, rare_classes=True)


def check_correction(correction: Any, baseline: bool) -> None:
    """Refuse a correction that is not offered, or that lacks the fits it is made of."""
    if correction not in (None, "learning_curve"):
        raise InvalidInput(f"The 'correction' parameter must be None or 'learning_curve'. Got {correction!r} instead.")
    if correction is not None and not baseline:
        raise InvalidInput("correction='learning_curve' needs the fits of baseline=True. Got baseline=False.")


def cross_test_plan(config: CrossTestConfig, data: Data) -> Plan[CrossTest]:
    """Fit every candidate on every inner training set, and ask it about the validation rows and the test rows."""
    outcomes = yield list(_tasks(config))
    width, place = len(config.agghoo.candidates), 0
    folds: list[Fold] = []
    failures: list[Failure] = []
    singles_start = width * sum(len(group) for group in config.inner)
    for a, (split, group) in enumerate(zip(config.splits, config.inner, strict=True)):
        found = [outcomes[place + b * width : place + (b + 1) * width] for b in range(len(group))]
        place += width * len(group)
        failures += checked_failures(found)
        singles = None
        if config.baseline:
            singles = outcomes[singles_start + a * width : singles_start + (a + 1) * width]
            failures += checked_failures([singles])
        folds.append(_fold(config, data, split, group, found, singles))
    return CrossTest(config, data, folds, tuple(failures))


def _tasks(config: CrossTestConfig) -> Iterator[FitTask]:
    agghoo, metric = config.agghoo, config.metric
    averaged: Response = "predict_proba" if agghoo.aggregate == "soft" else "predict"
    judged, tested = [], []
    for candidate in agghoo.candidates:
        by = (*agghoo.metric.responses(candidate.estimator), *metric.responses(candidate.estimator))
        judged.append(tuple(dict.fromkeys(by)))
        tested.append(tuple(dict.fromkeys((averaged, *metric.responses(candidate.estimator)))))
    for split, group in zip(config.splits, config.inner, strict=True):
        for inner in group:
            for candidate, on_validation, on_test in zip(agghoo.candidates, judged, tested, strict=True):
                asks = [Ask(inner.test, each) for each in on_validation] + [Ask(split.test, each) for each in on_test]
                yield FitTask(candidate.estimator, inner.train, tuple(asks))
    if config.baseline:
        for split in config.splits:
            for candidate, needed in zip(agghoo.candidates, judged, strict=True):
                yield FitTask(candidate.estimator, split.train, tuple(Ask(split.test, each) for each in needed))


def _fold(
    config: CrossTestConfig,
    data: Data,
    split: Split,
    group: Sequence[Split],
    found: Sequence[Sequence[Outcome]],
    singles: Sequence[Outcome] | None,
) -> Fold:
    agghoo, metric = config.agghoo, config.metric
    validation = np.array(
        [scores_of(line, agghoo.metric, data, inner) for line, inner in zip(found, group, strict=True)]
    )
    chosen = [agghoo.best(line) for line in validation]
    members = [line[place] for line, place in zip(found, chosen, strict=True)]
    outcome = aggregated(members, data, split.test, agghoo.aggregate)
    refit_risk = best_validation = float("nan")
    if singles is not None:
        winner = singles[agghoo.best(validation.mean(axis=0))]
        refit_risk = float("nan") if winner.error is not None else metric.value(winner, data, split.test)
        best = agghoo.best(np.array(scores_of(singles, agghoo.metric, data, split)))
        best_validation = metric.value(singles[best], data, split.test)
    return Fold(
        outcome,
        chosen,
        metric.value(outcome, data, split.test),
        np.array([metric.value(member, data, split.test) for member in members]),
        np.array([metric.value(member, data, inner.test) for member, inner in zip(members, group, strict=True)]),
        refit_risk,
        best_validation,
    )


def aggregated(members: Sequence[Outcome], data: Data, rows: Rows, aggregate: Aggregate) -> Outcome:
    """Return what several fits say together of some rows, as an outcome of its own."""
    tokens = data.tokens[rows.index]
    if aggregate == "soft":
        assert data.classes is not None
        parts = [aligned_answer(member, data, rows, "predict_proba") for member in members]
        mean = mean_of([part for part in parts if part is not None])
        answers = (
            Predictions("predict", tokens, mean.argmax(axis=1), coded=True),
            Predictions("predict_proba", tokens, mean),
        )
        return Outcome("agghoo", answers, classes=data.classes)
    predicted = [member.answer(data, rows) for member in members]
    if aggregate == "vote":
        assert data.classes is not None
        return Outcome(
            "agghoo", (Predictions("predict", tokens, vote_of(predicted, data.classes)),), classes=data.classes
        )
    return Outcome("agghoo", (Predictions("predict", tokens, mean_of(predicted)),))


def is_triangle(splits: Splits, inner_cv: Any) -> bool:
    """Whether the inner splits are the other folds of one partition."""
    return inner_cv is None and has_triangle(splits)
