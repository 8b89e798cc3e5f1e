"""Ensemble of a study: a weighted average of settings, from the fits of the search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truefit._core.errors import FitError
from truefit._core.outcome import Outcome
from truefit._core.protocols import Plan
from truefit._methods.agghoo.plan import Aggregate
from truefit._methods.selection.ensemble import (
    FEWEST,
    Ensemble,
    average_outcomes,
    averageable,
    forward_selection,
    pool_of,
)
from truefit._study.config import StudyConfig, is_baseline
from truefit._study.selection import SelectionOutcome
from truefit.estimators.ensemble import EnsembleClassifier, EnsembleRegressor

if TYPE_CHECKING:
    from truefit._api.engine import Engine


def why_not(config: StudyConfig, selected: SelectionOutcome) -> str | None:
    """Why there is no ensemble; None where there is one."""
    if selected.nested is None or selected.scores is None:
        return "it needs the fits of nested cross-validation"
    if len(_averageable(config, selected)[0]) < FEWEST:
        return f"it needs at least {FEWEST} settings with predictions to average"
    return None


def _averageable(config: StudyConfig, selected: SelectionOutcome) -> tuple[list[str], Aggregate]:
    """Return the settings that may be members, no baselines, and how they are averaged."""
    estimators = {name: config.candidates.estimators[name] for name in selected.searched}
    learners = {name: each for name, each in estimators.items() if not is_baseline(each)}
    return averageable(learners, config.metric, config.data.task)


def ensemble_plan(config: StudyConfig, selected: SelectionOutcome) -> Plan[Ensemble | None]:
    """Select members without each outer fold, and evaluate their average there; None if one setting alone does best.

    The fits are those of the search, except for settings that a race stopped.
    """
    nested, scores = selected.nested, selected.scores
    assert nested is not None
    assert scores is not None
    metric, (names, aggregate) = config.metric, _averageable(config, selected)
    allowed = [selected.searched.index(name) for name in names]
    families = [config.family(name) for name in names]
    # Without each outer fold, and at last on all folds: the scores, and the splits that say what to average.
    tables = [*(table[metric.name] for table in nested.tables), scores]
    lists = [*(list(group) for group in config.inner if group), list(config.splits)]
    pools = [
        [names[place] for place in pool_of(table[allowed], families, greater_is_better=metric.greater_is_better)]
        for table in tables
    ]
    found = iter((yield [config.task(name, split) for pool, splits in zip(pools, lists, strict=True) for name in pool
                         for split in splits]))  # fmt: skip
    chosen: list[dict[str, int]] = []
    for pool, splits in zip(pools, lists, strict=True):
        fitted = {name: [next(found) for _ in splits] for name in pool}
        fitted = {name: each for name, each in fitted.items() if all(one.error is None for one in each)}
        if not fitted:
            raise FitError("Every member failed on some folds.")
        chosen.append(forward_selection(fitted, aggregate, config.data, [split.test for split in splits]))
    *chosen, drawn = chosen
    if len(drawn) < 2:
        return None
    found = iter(
        (yield [config.task(name, split) for some, split in zip(chosen, nested.outer, strict=True) for name in some])
    )
    by_fold: list[list[tuple[Outcome, int]]] = []
    for place, some in enumerate(chosen):
        fits = {name: next(found) for name in some}
        chosen[place] = {name: count for name, count in some.items() if fits[name].error is None}
        by_fold.append([(fits[name], count) for name, count in chosen[place].items()])
    if not all(by_fold):
        raise FitError("Every member failed on some folds.")
    outcomes = average_outcomes(by_fold, aggregate, config.data, nested.outer)
    return Ensemble(
        drawn, aggregate, chosen, outcomes, nested.outcomes, config.data, nested.outer, metric,
        level=config.level, pos_label=config.pos_label,
    )  # fmt: skip


def fitted_ensemble(engine: Engine, config: StudyConfig, tested: Ensemble) -> Any:
    """Fit the members on all rows, and return their weighted average."""
    data = config.data
    estimators = [(name, config.candidates.estimators[name]) for name in tested.members]
    model: Any = EnsembleRegressor(estimators, weights=tested.weights, engine=engine)
    if data.task == "classification":
        aggregate: Any = tested.aggregate
        model = EnsembleClassifier(estimators, aggregate=aggregate, weights=tested.weights, engine=engine)
    model.fit(data.X, data.y, **({} if data.weight is None else {"sample_weight": data.weight}))
    model.assessment_ = tested
    return model
