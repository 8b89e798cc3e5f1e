"""Candidates of Agghoo: estimators, their grids, and the stages of their training runs."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from truefit._core.errors import InvalidInput
from truefit._core.stages import AtStage, last_step, offers_stages
from truefit._methods.agghoo.plan import Candidate
from truefit._methods.candidates import Candidates, names_of
from truefit._methods.splitting.splits import is_whole
from truefit._solvers.paths.boosting import (
    HISTOGRAM,
    booster_of,
    counted_by,
    cut_to,
    family_of,
    library_of,
    runs_all_rounds,
)
from truefit.estimators._base import grid_points, with_params

#: Trained by epoch with path="auto"; other learners with partial_fit only where a number of stages is given.
_NETWORKS = ("MLPClassifier", "MLPRegressor")


def named_estimators(given: Any) -> dict[str, Any]:
    """Return estimators by name: one, or a list of (name, estimator) pairs."""
    if not isinstance(given, list | tuple):
        return dict(zip(names_of([given]), [given], strict=True))
    pairs = all(isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) for each in given)
    if not given or not pairs:
        raise InvalidInput(
            "The 'estimator' parameter must be an estimator or a list of (name, estimator) pairs, not an empty one. "
            f"Got {given!r} instead."
        )
    named = dict(given)
    if len(named) < len(given):
        raise InvalidInput(f"Estimators must have different names. Got {', '.join(repr(name) for name, _ in given)}.")
    return named


def make_candidates(estimator: Any, param_grid: Any, path: Any, y: Any) -> tuple[list[Candidate], Candidates]:
    """Return all candidates, and their estimators."""
    _check_path(path)
    named = Candidates(named_estimators(estimator), y)
    grids = _grids(param_grid, named.names, several=isinstance(estimator, list | tuple))
    found: list[Candidate] = []
    for name, base in named:
        for params in grids[name]:
            found += _with_stages(name, params, with_params(base, params), path)
    if is_whole(path) and all(candidate.stage is None for candidate in found):
        raise InvalidInput(
            f"With path={path} an estimator must offer stages: boosting, forests, or partial_fit. None of "
            f"{', '.join(named.names)} does. Use path='auto'."
        )
    return found, named


def _check_path(path: Any) -> None:
    if path is None or path == "auto" or (is_whole(path) and path >= 1):
        return
    raise InvalidInput(
        f"The 'path' parameter must be 'auto', None or a positive number of stages. Got {path!r} instead."
    )


def _grids(given: Any, names: Sequence[str], *, several: bool) -> dict[str, list[dict[str, Any]]]:
    if given is None:
        return {name: [{}] for name in names}
    if not several:
        return {names[0]: grid_points(given)}
    if not isinstance(given, Mapping) or not set(given) <= set(names):
        raise InvalidInput(
            "With several estimators 'param_grid' must be a dict from their names to grids. "
            f"Got {given!r}; the names are {', '.join(map(repr, names))}."
        )
    return {name: grid_points(given[name]) if name in given else [{}] for name in names}


def _with_stages(name: str, params: dict[str, Any], made: Any, path: Any) -> Iterator[Candidate]:
    """Yield a candidate, or one for each stage of its training run."""
    booster = booster_of(made)
    if booster is not None:
        yield from _boosting(name, params, made, path)
    elif isinstance(made, AtStage):
        count = None if path is None else made.stage if path == "auto" else int(path)
        yield from _by_epoch(name, params, made.estimator, count) if count else [Candidate(name, params, made)]
    elif path is not None and offers_stages(made) and (count := _count(made, params, path)):
        yield from _by_epoch(name, params, made, count)
    else:
        yield Candidate(name, params, made)


def _count(made: Any, params: Mapping[str, Any], path: Any) -> int | None:
    """Return how many stages of a training run are candidates; None for the run as a whole."""
    if path != "auto":
        return int(path)
    last = last_step(made)
    if hasattr(last, "fit_stages"):
        return int(last.n_stages)
    if any(each.rpartition("__")[2] in ("max_iter", "max_epochs") for each in params):
        return None
    if hasattr(last, "max_epochs"):
        return int(last.max_epochs)
    is_network = type(last).__name__ in _NETWORKS and type(last).__module__.startswith("sklearn.")
    return int(last.max_iter) if is_network else None


def _by_epoch(name: str, params: dict[str, Any], made: Any, count: int) -> Iterator[Candidate]:
    for stage in range(1, count + 1):
        yield Candidate(name, params, AtStage(made, stage), stage)


def _boosting(name: str, params: dict[str, Any], made: Any, path: Any) -> Iterator[Candidate]:
    booster = booster_of(made)
    counted = counted_by(booster)
    parameter = counted if made is booster else f"{made.steps[-1][0]}__{counted}"
    if path is not None and type(booster) in HISTOGRAM and booster.early_stopping == "auto" and parameter not in params:
        # The validation rows decide when to stop, not rows that boosting holds out itself.
        booster.set_params(early_stopping=False)
    largest = getattr(booster, counted) if path in (None, "auto") else int(path)
    if _ends_by_itself(booster) or not is_whole(largest) or largest < 1:
        yield Candidate(name, params, made)
        return
    run = family_of(made)
    for stage in [largest] if path is None or parameter in params else range(1, largest + 1):
        estimator = clone(made).set_params(**{parameter: stage})
        yield Candidate(name, params, estimator, stage, run, partial(_stopped, stage=stage))


def _ends_by_itself(booster: Any) -> bool:
    """Whether boosting may end before all its stages, or goes on from earlier ones."""
    if library_of(booster) is not None:
        return not runs_all_rounds(booster)
    stops = booster.early_stopping is True if type(booster) in HISTOGRAM else booster.n_iter_no_change is not None
    return bool(stops or booster.warm_start)


def _stopped(model: Any, stage: int) -> Any:
    """Return a boosted model as it was after a number of stages."""
    if type(model) is Pipeline:
        whole = copy.copy(model)
        whole.steps = [*model.steps[:-1], (model.steps[-1][0], _stopped(model.steps[-1][1], stage))]
        return whole
    if library_of(model) is not None:
        return cut_to(model, stage)
    early = copy.copy(model)
    early.set_params(**{counted_by(model): stage})
    if type(model) in HISTOGRAM:
        early._predictors = model._predictors[:stage]
        kept = stage + 1 if len(model.train_score_) else 0
        early.train_score_ = model.train_score_[:kept]
        return early
    early.estimators_ = np.array(model.estimators_[:stage])
    early.train_score_ = model.train_score_[:stage]
    early.n_estimators_ = stage
    for extra in ("oob_improvement_", "oob_scores_"):
        if hasattr(model, extra):
            setattr(early, extra, getattr(model, extra)[:stage])
    return early
