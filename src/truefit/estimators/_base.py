"""Base classes of the search estimators and Agghoo: the engine, the grid, and the checks of their arguments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler

from truefit._api.engine import Engine, engine_for_one_call
from truefit._api.validation import refuse_time
from truefit._core.data import Data
from truefit._core.errors import Failure, InvalidInput, grouped_failures
from truefit._methods.selection.families import is_distribution
from truefit._methods.splitting.splits import is_whole
from truefit._sklearn import BaseSearchCV


class UsesEngine:
    """An estimator whose fits are run by an engine: its own, or one for the call. A pickle drops the engine."""

    engine: Engine | None
    n_jobs: int | None

    def _run(self, plan: Any, data: Data, description: str, *, on_error: Any = None) -> Any:
        """Run a plan; ``on_error`` takes precedence over that of the engine."""
        if self.engine is not None:
            return self.engine.run(plan, data, description=description, on_error=on_error)
        engine = engine_for_one_call(workers=1 if self.n_jobs is None else self.n_jobs)
        try:
            return engine.run(plan, data, description=description, on_error=on_error)
        finally:
            engine.stop_workers()

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}  # type: ignore[dict-item]
        if "engine" in state:
            state["engine"] = None
        return state


class SearchBase(UsesEngine, BaseSearchCV):  # type: ignore[misc]
    """A replacement for ``GridSearchCV``."""

    def _on_error(self) -> str:
        """Return what ``error_score`` means for fits that fail."""
        raises = isinstance(self.error_score, str) and self.error_score == "raise"
        number = isinstance(self.error_score, int | float | np.number) and not isinstance(self.error_score, bool)
        if not raises and not number:
            raise InvalidInput(
                "The 'error_score' parameter must be 'raise' or a number, such as nan. "
                f"Got {self.error_score!r} instead."
            )
        return "raise" if raises else "record"

    def _print(self, text: str) -> None:
        if self.verbose > 0:
            print(text)

    def _set_best_estimator(self, model: Any, seconds: float) -> None:
        self.best_estimator_ = model
        self.refit_time_ = seconds
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_


def groups_and_weight(owner: Any, params: Mapping[str, Any], *, no_time: str = "") -> tuple[Any, Any]:
    """Return the groups and weights among the parameters of ``fit``; refuse others, and time for the given reason."""
    if no_time:
        refuse_time(params.get("time"), type(owner).__name__, no_time)
    unknown = sorted(set(params) - {"groups", "sample_weight"})
    if unknown:
        raise InvalidInput(
            f"{type(owner).__name__}.fit takes X, y, 'groups' and 'sample_weight'. Got {', '.join(unknown)} too; set "
            "them as parameters of the estimator."
        )
    return params.get("groups"), params.get("sample_weight")


def grid_points(given: Any, *, n_iter: Any = None, seed: int | None = None) -> list[dict[str, Any]]:
    """Return the points of a grid, or ``n_iter`` points drawn from it; only then may values be distributions."""
    spaces_of(given, distributions=n_iter is not None)
    if n_iter is None:
        return list(ParameterGrid(given))
    return list(ParameterSampler(given, check_n_iter(n_iter), random_state=seed))


def spaces_of(given: Any, *, distributions: bool) -> list[Mapping[str, Any]]:
    """Return a search space as a list of mappings; refuse parameters without values."""
    maps = [given] if isinstance(given, Mapping) else given
    if not isinstance(maps, Sequence) or not maps or not all(isinstance(each, Mapping) for each in maps):
        raise InvalidInput(
            f"The 'param_grid' parameter must be a dict or a list of dicts, not an empty list. Got {given!r} instead."
        )
    for name, values in ((name, values) for each in maps for name, values in each.items()):
        distribution = is_distribution(values)
        if distribution and not distributions:
            raise InvalidInput(
                f"Each parameter of 'param_grid' must have a list of values to try. {name!r} has a distribution: list "
                "some of its values, or draw from it by HonestSearchCV with search='random' or 'optuna'."
            )
        if not distribution and (isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0):
            raise InvalidInput(
                f"Each parameter of 'param_grid' must have a list of values to try. {name!r} has {values!r}."
            )
    return list(maps)


def check_n_iter(n_iter: Any) -> int:
    """Return the number of candidates to draw."""
    if not is_whole(n_iter) or n_iter < 1:
        raise InvalidInput(f"The 'n_iter' parameter must be a positive whole number. Got {n_iter!r} instead.")
    return int(n_iter)


def check_known(estimator: Any, given: Any) -> None:
    """Refuse a search space with parameters that the estimator does not have."""
    known = estimator.get_params()
    for space in [given] if isinstance(given, Mapping) else given:
        # A step that is itself searched may be replaced by one with other parameters.
        replaced = tuple(f"{name}__" for name in space)
        unknown = [name for name in space if name not in known and not str(name).startswith(replaced)]
        if unknown:
            raise InvalidInput(
                f"The search space must have parameters of the estimator. Got {unknown[0]!r}, which "
                f"{type(estimator).__name__} does not have; see its get_params()."
            )


def with_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Return a clone with other parameters; estimators among these are cloned too."""
    return clone(estimator).set_params(**clone(dict(params), safe=False))


def warn_of_failures(head: str, failures: Sequence[Failure]) -> None:
    """Warn of failed fits, identical tracebacks once with their count."""
    warnings.warn(f"{head}\n\n{grouped_failures(failures)}", FitFailedWarning, stacklevel=3)
