"""Ensemble of a study: the average of the best few settings, from the fits of the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truefit._core.outcome import Outcome
from truefit._core.protocols import Plan
from truefit._methods.agghoo.plan import Aggregate
from truefit._methods.selection.ensemble import (
    FEWEST,
    Ensemble,
    aggregate_of,
    average_outcomes,
    averageable,
    best_number,
    members_count,
    members_of,
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
    if not members_count(len(_allowed(config, selected))):
        return (
            f"it averages the best third of the settings, and needs at least {3 * FEWEST} with predictions to average"
        )
    return None


def _allowed(config: StudyConfig, selected: SelectionOutcome) -> list[int]:
    """Return the positions of the settings that may be members: no baselines."""
    estimators = [config.candidates.estimators[name] for name in selected.searched]
    return [place for place in averageable(estimators, config.metric) if not is_baseline(estimators[place])]


def ensemble_plan(config: StudyConfig, selected: SelectionOutcome) -> Plan[Ensemble | None]:
    """Average the best few settings without each outer fold, and evaluate them there; None if one alone does best.

    The fits are those of the search, except for settings that the race over all folds stopped.
    """
    nested, scores = selected.nested, selected.scores
    assert nested is not None
    assert scores is not None
    metric, names, allowed = config.metric, selected.searched, _allowed(config, selected)
    count, greater = members_count(len(allowed)), metric.greater_is_better
    tables = [table[metric.name] for table in nested.tables]
    chosen = [
        [names[place] for place in places] for places in members_of(tables, allowed, count, greater_is_better=greater)
    ]
    (best,) = members_of([scores], allowed, count, greater_is_better=greater)
    members = [names[place] for place in best]

    def aggregate(some: Sequence[str]) -> Aggregate:
        return aggregate_of([config.candidates.estimators[name] for name in some], config.data.task)

    # Without each outer fold, and at last on all folds: the members, the splits that say how many of them to average.
    inner = [group for group in config.inner if group]
    lists = [*zip(chosen, inner, strict=True), (members, list(config.splits))]
    tasks = [config.task(name, split) for some, splits in lists for name in some for split in splits]
    found = iter((yield tasks))
    for some, splits in lists:
        fitted = {name: [next(found) for _ in splits] for name in some}
        fitted = {name: each for name, each in fitted.items() if all(one.error is None for one in each)}
        tests = [split.test for split in splits]
        some[:] = fitted
        if fitted:
            del some[best_number([*fitted.values()], aggregate(some), config.data, tests) :]
    if len(members) < 2 or not all(chosen):
        return None
    found = iter(
        (yield [config.task(name, split) for some, split in zip(chosen, nested.outer, strict=True) for name in some])
    )
    by_fold: list[list[Outcome]] = []
    for some in chosen:
        fits = {name: next(found) for name in some}
        some[:] = [name for name, outcome in fits.items() if outcome.error is None]
        by_fold.append([fits[name] for name in some])
    if not all(by_fold):
        return None
    outcomes = average_outcomes(by_fold, [aggregate(each) for each in chosen], config.data, nested.outer)
    return Ensemble(
        members, aggregate(members), chosen, outcomes, nested.outcomes, config.data, nested.outer, metric,
        level=config.level, pos_label=config.pos_label,
    )  # fmt: skip


def fitted_ensemble(engine: Engine, config: StudyConfig, tested: Ensemble) -> Any:
    """Fit the members on all rows, and return their average."""
    data = config.data
    estimators = [(name, config.candidates.estimators[name]) for name in tested.members]
    model: Any = EnsembleRegressor(estimators, engine=engine)
    if data.task == "classification":
        model = EnsembleClassifier(
            estimators, aggregate="vote" if tested.aggregate == "vote" else "soft", engine=engine
        )
    model.fit(data.X, data.y, **({} if data.weight is None else {"sample_weight": data.weight}))
    model.assessment_ = tested
    return model
