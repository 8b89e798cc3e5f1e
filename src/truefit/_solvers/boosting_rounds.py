"""Rounds: the boosted trees of LightGBM and XGBoost, known by the names of their classes, so that nobody loads them."""

from __future__ import annotations

import copy
from typing import Any, Literal

from truefit._core.task import Response

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
