"""Boosted models of several sizes from one fit: scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint
from truefit._core.outcome import Predictions
from truefit._core.protocols import Ask, Fit, Response
from truefit._core.rows import Rows
from truefit._core.typing import Array
from truefit._solvers.paths.stages import LargestFitSolver
from truefit._solvers.plain import as_answer, checked, last_step, log_fallback, row_blocks, train
from truefit._solvers.registry import is_count, rows_requests

Library = Literal["lightgbm", "xgboost"]

_CLASSES: dict[tuple[str, str], Library] = {
    ("lightgbm.sklearn", "LGBMClassifier"): "lightgbm",
    ("lightgbm.sklearn", "LGBMRegressor"): "lightgbm",
    ("xgboost.sklearn", "XGBClassifier"): "xgboost",
    ("xgboost.sklearn", "XGBRegressor"): "xgboost",
}

#: Parameters that LightGBM takes beside its named ones, and that have nothing to do with how many rounds there are.
_HARMLESS = frozenset({"verbose", "verbosity", "deterministic", "force_col_wise", "force_row_wise", "max_bin"})


def library_of(estimator: Any) -> Library | None:
    """Return where a boosting estimator comes from; None if it is another kind, or a subclass."""
    kind = type(estimator)
    return _CLASSES.get((kind.__module__, kind.__qualname__))


def runs_all_rounds(estimator: Any) -> bool:
    """Whether all rounds are run, and none depends on how many there are: no dropped trees, no averaged forest."""
    objective = estimator.objective
    if not (objective is None or isinstance(objective, str)):
        return False
    if library_of(estimator) == "lightgbm":
        others = set(estimator._other_params).difference(type(estimator)._get_param_names())
        return _is(estimator.boosting_type, "gbdt") and others <= _HARMLESS
    alone = estimator.early_stopping_rounds is None and estimator.callbacks is None
    nothing_else = not getattr(estimator, "kwargs", None)
    usual = (
        (estimator.booster, "gbtree"),
        (estimator.device, "cpu"),
        (estimator.multi_strategy, "one_output_per_tree"),
    )
    return alone and nothing_else and all(value is None or _is(value, name) for value, name in usual)


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name


def rounds_run(model: Any) -> int:
    """Return how many rounds a model has; LightGBM discards those that find nothing to split."""
    library = library_of(model)
    return int(model.n_estimators_ if library == "lightgbm" else model.get_booster().num_boosted_rounds())


def after_rounds(model: Any, response: Response, X: Any, count: int) -> Any:
    """Return the response of a model after the first ``count`` of its rounds."""
    ask = getattr(model, response)
    return ask(X, num_iteration=count) if library_of(model) == "lightgbm" else ask(X, iteration_range=(0, count))


def cut_to(model: Any, count: int) -> Any:
    """Return the model of the first ``count`` rounds."""
    cut = copy.copy(model)
    cut.set_params(n_estimators=count)
    if library_of(model) == "lightgbm":
        whole = model.booster_
        cut._Booster = type(whole)(model_str=whole.model_to_string(num_iteration=count))
    else:
        cut._Booster = model.get_booster()[:count]
    return cut


#: The parameter that counts the stages of scikit-learn's classes.
STAGES = {
    GradientBoostingClassifier: "n_estimators",
    GradientBoostingRegressor: "n_estimators",
    HistGradientBoostingClassifier: "max_iter",
    HistGradientBoostingRegressor: "max_iter",
}
REGRESSORS = (GradientBoostingRegressor, HistGradientBoostingRegressor)
HISTOGRAM = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

#: With early_stopping="auto" histogram boosting stops early on more rows than this.
AUTO_STOPPING_ROWS = 10_000


class BoostingStagesSolver(LargestFitSolver):
    """Boosting candidates that differ only in their number of stages, on the same rows: one fit answers all.

    Stage m of boosting does not depend on how many come after it: F_m = F_{m-1} + ν·h_m (Friedman 2001, algorithm 1),
    so the model with m stages is the larger one, stopped at m. The estimator may be one of scikit-learn, LightGBM or
    XGBoost, or a ``Pipeline`` that ends in it. Answers are those of plain fitting bit for bit: the same additions in
    the same order, on the same blocks of rows.
    """

    name = "boosting stages"
    keeps_all = False  # a stage is no model that could be returned; only the last one is

    def serves(self, fit: Fit) -> bool:
        """Whether all stages are run, and the responses can be computed after each."""
        booster = booster_of(fit.estimator)
        return booster is not None and _runs_to_the_end(booster, len(fit.train)) and _can_answer(booster, fit.asks)

    def size(self, estimator: Any) -> int:
        """Return the number of stages."""
        return stages_of(estimator)

    def family(self, estimator: Any) -> bytes | None:
        """Return the key of all estimators that differ in their number of stages only; None if there is none."""
        return family_of(estimator)

    def largest(self, fit: Fit, sizes: Sequence[int], data: Data) -> tuple[Callable[[int], Any], float]:
        """Fit the largest."""
        model, seconds = train(fit, data)
        return lambda size: model, seconds

    def answers(
        self,
        model_of: Callable[[int], Any],
        fits: Sequence[Fit],
        sizes: Sequence[int],
        data: Data,
        classes: Array | None,
    ) -> list[list[Predictions]]:
        """Return the answers of each fit, those on the same rows in one pass over the stages."""
        model = model_of(max(sizes))
        given: list[list[Predictions]] = [[] for _ in fits]
        # One set of rows at a time, as plain fitting would: a transformer's last bits may depend on which rows go
        # together.
        for request in rows_requests(fits):
            wanted = {response: {sizes[place] for place in places} for response, places in request.wanted.items()}
            values, tokens = _staged(model, request.rows, wanted, data), data.tokens_of(request.rows)
            for response, places in request.wanted.items():
                for place in places:
                    given[place].append(as_answer(response, tokens, values[response, sizes[place]], classes))
        return given


def booster_of(estimator: Any) -> Any:
    """Return the boosting estimator that an estimator is or ends in; None if it is another kind."""
    last = estimator.steps[-1][1] if type(estimator) is Pipeline and estimator.steps else estimator
    return last if type(last) in STAGES or library_of(last) is not None else None


def counted_by(booster: Any) -> str:
    """Return the parameter that counts the stages of a boosting estimator."""
    return STAGES.get(type(booster), "n_estimators")


def stages_of(estimator: Any) -> int:
    """Return the number of stages that an estimator asks for."""
    booster = booster_of(estimator)
    return int(getattr(booster, counted_by(booster)))


def family_of(estimator: Any) -> bytes | None:
    """Return what all estimators have in common that differ in their number of stages only; None if unknowable."""
    try:
        copy = clone(estimator)
        booster = booster_of(copy)
        booster.set_params(**{counted_by(booster): 1})
        params = copy.get_params(deep=True).values()
        # Such a one gives other numbers each time that it is used.
        if any(isinstance(value, np.random.RandomState | np.random.Generator) for value in params):
            return None
        return Fingerprint(copy).digest
    except Exception as error:
        log_fallback("boosting stages", type(estimator).__name__, error)
        return None


def _runs_to_the_end(booster: Any, rows: int) -> bool:
    counted = is_count(getattr(booster, counted_by(booster)))
    if library_of(booster) is not None:
        return counted and runs_all_rounds(booster)
    if not counted or booster.warm_start is not False:
        return False
    if type(booster) not in HISTOGRAM:
        return booster.n_iter_no_change is None
    stopping = booster.early_stopping
    return stopping is False or (isinstance(stopping, str) and stopping == "auto" and rows <= AUTO_STOPPING_ROWS)


def _can_answer(booster: Any, asks: Sequence[Ask]) -> bool:
    if library_of(booster) is not None:
        return all(ask.response != "decision_function" and hasattr(booster, ask.response) for ask in asks)
    return type(booster) not in REGRESSORS or all(ask.response == "predict" for ask in asks)


def _staged(
    model: Any, rows: Rows, wanted: Mapping[Response, set[int]], data: Data
) -> dict[tuple[Response, int], Array]:
    """Values of each response after each wanted number of stages."""
    parts: dict[tuple[Response, int], list[Array]] = defaultdict(list)
    for block in row_blocks(rows.index, data):
        booster, X = last_step(model, data.take(block))
        for response, count, values in _stages(booster, X, wanted):
            parts[response, count].append(checked(_as_predicted(values), len(block), response))
    return {place: blocks[0] if len(blocks) == 1 else np.concatenate(blocks) for place, blocks in parts.items()}


def _stages(booster: Any, X: Any, wanted: Mapping[Response, set[int]]) -> Iterator[tuple[Response, int, Any]]:
    """All responses in step through the stages, of which only those wanted are given."""
    if library_of(booster) is not None:
        _check_reached(rounds_run(booster), stages_of(booster))
        for response, counts in wanted.items():
            for count in counts:
                yield response, count, after_rounds(booster, response, X, count)
        return
    streams = {response: getattr(booster, f"staged_{response}")(X) for response in wanted}
    last = max(max(counts) for counts in wanted.values())
    reached = 0
    for reached, stage in enumerate(islice(zip(*streams.values(), strict=True), last), start=1):
        for response, values in zip(streams, stage, strict=True):
            if reached in wanted[response]:
                yield response, reached, values
    _check_reached(reached, last)


def _check_reached(reached: int, last: int) -> None:
    if reached < last:
        raise RuntimeError(f"A boosted model was to have {last} stages. Got {reached}.")


def _as_predicted(values: Any) -> Array:
    # The stages of a single row come without its axis, those of a decision between two classes with one too many.
    array = np.atleast_1d(values)
    return array.ravel() if array.ndim == 2 and array.shape[1] == 1 else array
