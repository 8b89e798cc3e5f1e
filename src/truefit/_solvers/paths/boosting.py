"""Boosted models of several sizes from one fit: scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
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
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Job
from truefit._core.rows import Rows
from truefit._core.task import Ask, Fit, Response
from truefit._solvers.base import RowsKey, rows_key
from truefit._solvers.plain import as_answer, checked, log_fallback, model_classes, or_plain, row_blocks, train

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
    """Return where a boosting estimator comes from; None if it is another kind, or a subclass.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> library_of(GradientBoostingRegressor()) is None
    True
    """
    kind = type(estimator)
    return _CLASSES.get((kind.__module__, kind.__qualname__))


def runs_all_rounds(estimator: Any) -> bool:
    """Whether the first rounds do not depend on how many there are, and all of them are run.

    Rounds that drop trees weigh earlier ones anew, and those of a forest are averaged.
    """
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


def answers(estimator: Any, response: Response) -> bool:
    """Whether an estimator has a response that can be asked for after some of its rounds."""
    return response in ("predict", "predict_proba") and hasattr(estimator, response)


def rounds_run(model: Any) -> int:
    """Return how many rounds a model has.

    LightGBM lets go of a round that finds nothing to split, and tries again: which of its rounds were the first is not
    known then.
    """
    library = library_of(model)
    return int(model.n_estimators_ if library == "lightgbm" else model.get_booster().num_boosted_rounds())


def after_rounds(model: Any, response: Response, X: Any, count: int) -> Any:
    """Return what a model says after the first ``count`` of its rounds."""
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


class BoostingStagesSolver:
    """Boosting candidates that differ only in their number of stages, on the same rows: one fit answers all.

    Stage m of boosting does not depend on how many come after it: F_m = F_{m-1} + ν·h_m (Friedman 2001, algorithm 1),
    so the model with m stages is the larger one, stopped at m. The estimator may be one of scikit-learn, LightGBM or
    XGBoost (:mod:`truefit._solvers.paths.boosting`), or a ``Pipeline`` that ends in it. Answers are those of plain
    fitting bit for bit: the same additions in the same order, on the same blocks of rows.

    The time of the one fit is charged to the candidates in proportion to their numbers of stages, so that the sum is
    the time really spent.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.task import FitTask
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> data = Data(X, X[:, 0] % 7, task="regression")
    >>> keys, train, test = Keys(data), Rows.of(range(15)), Rows.of(range(15, 20))
    >>> candidates = [GradientBoostingRegressor(n_estimators=m) for m in (5, 10, 20)]
    >>> fits = [keys.fit(FitTask(candidate, train, (Ask(test),))) for candidate in candidates]
    >>> [job] = BoostingStagesSolver().claim(fits, data)
    >>> len(job.fits), job.work
    (3, 1)
    >>> [outcome.solver for outcome in job.run(data)]
    ['boosting stages', 'boosting stages', 'boosting stages']
    """

    name = "boosting stages"

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of candidates on each set of training rows."""
        families: dict[bytes, bytes | None] = {}
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            booster = booster_of(fit.estimator) if fit.model is None else None
            if booster is None or not _runs_to_the_end(booster, len(fit.train)) or not _can_answer(booster, fit.asks):
                continue
            if fit.estimator_key not in families:
                families[fit.estimator_key] = family_of(fit.estimator)
            family = families[fit.estimator_key]
            if family is not None:
                groups[family, fit.train_key, fit.seeds].append(fit)
        jobs = []
        for group in groups.values():
            largest = max(stages_of(fit.estimator) for fit in group)
            # A stage is no model that could be kept; only the last one is.
            kept = [fit for fit in group if not fit.keep_model or stages_of(fit.estimator) == largest]
            if len(kept) > 1:
                jobs.append(Job(self, tuple(kept)))
        return jobs

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit the largest and read the others off its stages."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        counts = [stages_of(fit.estimator) for fit in job.fits]
        largest = max(counts)
        model, seconds = train(job.fits[counts.index(largest)], data)
        classes = model_classes(model, data)
        answers = _answers(model, job.fits, counts, data, classes)
        unit = seconds / sum(counts)
        return [
            Outcome(fit.key, tuple(given), unit * count, self.name, classes, model if count == largest else None)
            for fit, count, given in zip(job.fits, counts, answers, strict=True)
        ]


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
    count = getattr(booster, counted_by(booster))
    counted = isinstance(count, int | np.integer) and not isinstance(count, bool) and bool(count >= 1)
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
        return all(answers(booster, ask.response) for ask in asks)
    return type(booster) not in REGRESSORS or all(ask.response == "predict" for ask in asks)


def _answers(
    model: Any, fits: Sequence[Fit], counts: Sequence[int], data: Data, classes: npt.NDArray[Any] | None
) -> list[list[Predictions]]:
    """Answers of each fit; what several fits want of the same rows is worked out in one pass over the stages."""
    rows: dict[RowsKey, Rows] = {}
    wanted: dict[RowsKey, dict[Response, set[int]]] = {}
    for fit, count in zip(fits, counts, strict=True):
        for ask in fit.asks:
            key = rows_key(ask.rows)
            rows[key] = ask.rows
            wanted.setdefault(key, {}).setdefault(ask.response, set()).add(count)
    # One set of rows at a time, as plain fitting would: a transformer's last bits may depend on which rows go together.
    values = {key: _staged(model, rows[key], wanted[key], data) for key in rows if len(rows[key])}
    tokens = {key: data.tokens[rows[key].index] for key in values}
    given: list[list[Predictions]] = []
    for fit, count in zip(fits, counts, strict=True):
        asked = [(ask.response, rows_key(ask.rows)) for ask in fit.asks if len(ask.rows)]
        given.append([as_answer(r, tokens[key], values[key][r, count], classes) for r, key in asked])
    return given


def _staged(
    model: Any, rows: Rows, wanted: Mapping[Response, set[int]], data: Data
) -> dict[tuple[Response, int], npt.NDArray[Any]]:
    """Values of each response after each wanted number of stages."""
    parts: dict[tuple[Response, int], list[npt.NDArray[Any]]] = defaultdict(list)
    for block in row_blocks(rows.index, data):
        booster, X = _last_step(model, data.take(block))
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


def _last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the boosting model and what it gets to see of X."""
    if type(model) is not Pipeline:
        return model, X
    for _, step in model.steps[:-1]:
        if step is not None and step != "passthrough":
            X = step.transform(X)
    return model.steps[-1][1], X


def _as_predicted(values: Any) -> npt.NDArray[Any]:
    # The stages of a single row come without its axis, those of a decision between two classes with one too many.
    array = np.atleast_1d(values)
    return array.ravel() if array.ndim == 2 and array.shape[1] == 1 else array
