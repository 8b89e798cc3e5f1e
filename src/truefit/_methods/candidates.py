"""Candidates: estimators by name, checked, with their seeds drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from truefit._core.errors import InvalidEstimator, InvalidInput
from truefit._core.parameters import settled
from truefit._core.protocols import Response
from truefit._core.validation import Task


class Named(Protocol):
    """Models by name."""

    @property
    def names(self) -> list[str]:
        """Names in the order given."""

    @property
    def single(self) -> bool:
        """Whether there is one, given without a name."""

    def __len__(self) -> int: ...


class Candidates:
    """Estimators by name, all of one task, from an estimator, a mapping or a sequence; ``y`` may decide the task.

    >>> from sklearn.linear_model import Ridge, Lasso
    >>> candidates = Candidates([Ridge(), Ridge(alpha=2.0), Lasso()], [0.1, 0.2])
    >>> candidates.names, candidates.task
    (['Ridge', 'Ridge 2', 'Lasso'], 'regression')
    """

    def __init__(self, given: Any, y: Any) -> None:
        self.single = not isinstance(given, Mapping | list | tuple)
        named = _named(given)
        if not named:
            raise InvalidInput("At least one estimator is needed. Got an empty collection; pass an estimator.")
        self.task: Task = _task_of(named, y)
        self.estimators = {name: _checked(name, estimator) for name, estimator in named.items()}

    @property
    def names(self) -> list[str]:
        """Names in the order given."""
        return list(self.estimators)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self.estimators.items())

    def __len__(self) -> int:
        return len(self.estimators)


def default_responses(estimator: Any, task: Task) -> tuple[Response, ...]:
    """Return the responses to store, so that other metrics need no refit."""
    if task == "classification" and hasattr(estimator, "predict"):
        if hasattr(estimator, "predict_proba"):
            return ("predict", "predict_proba")
        if hasattr(estimator, "decision_function"):
            return ("predict", "decision_function")
    return ("predict",)


def fewest_training_rows(estimators: Iterable[Any]) -> int:
    """Return the number of training rows that all estimators need: as many as they have neighbours."""
    params = (item for estimator in estimators for item in estimator.get_params().items())
    counts = (value for name, value in params if name.endswith("n_neighbors") and isinstance(value, int | np.integer))
    return max([1, *map(int, counts)])


def names_of(estimators: Sequence[Any]) -> list[str]:
    """Name estimators by their classes, the second of a class with a number."""
    seen: Counter[str] = Counter()
    names = []
    for estimator in estimators:
        name = _class_name(estimator)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return names


def params_text(params: Mapping[str, Any]) -> str:
    """Return parameters as text, with numpy's numbers as plain ones.

    >>> import numpy as np
    >>> params_text({"C": np.float64(1.5), "kernel": "rbf", "layers": (np.int64(3),)})
    "C=1.5, kernel='rbf', layers=(3,)"
    """
    with np.printoptions(legacy="1.25"):
        return ", ".join(f"{name}={value!r}" for name, value in params.items())


def _named(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        named = {str(name): estimator for name, estimator in given.items()}
        if len(named) < len(given):
            raise InvalidInput(f"Estimators must have different names. Got {', '.join(map(repr, given))}.")
        return named
    estimators = given if isinstance(given, list | tuple) else [given]
    return dict(zip(names_of(estimators), estimators, strict=True))


def _class_name(estimator: Any) -> str:
    if isinstance(estimator, type):
        return estimator.__name__
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps:  # a pipeline is known by what it ends in
        return type(steps[-1][1]).__name__
    return type(estimator).__name__


def _checked(name: str, estimator: Any) -> Any:
    if isinstance(estimator, type):
        raise InvalidEstimator(
            f"An estimator must be an instance. Got the class {estimator.__name__}; pass {estimator.__name__}()."
        )
    for method in ("fit", "predict"):
        # A stack has predict only after fit; its class has it before.
        if not hasattr(estimator, method) and not hasattr(type(estimator), method):
            raise InvalidEstimator(
                f"An estimator must have fit and predict. {name!r} is a {type(estimator).__name__}, which has no "
                f"{method}. Pass a classifier or a regressor."
            )
    if not hasattr(estimator, "get_params"):
        raise InvalidEstimator(
            f"An estimator must be cloneable: it needs get_params and set_params. {name!r} is a "
            f"{type(estimator).__name__} without them. Derive it from sklearn.base.BaseEstimator."
        )
    return settled(estimator)


def _task_of(named: Mapping[str, Any], y: Any) -> Task:
    tasks: dict[str, Task] = {}
    for name, estimator in named.items():
        if isinstance(estimator, type) or not hasattr(estimator, "__sklearn_tags__"):
            continue  # has no tags, or is refused later
        if is_classifier(estimator):
            tasks[name] = "classification"
        elif is_regressor(estimator):
            tasks[name] = "regression"
    if len(set(tasks.values())) > 1:
        parts = [", ".join(n for n, t in tasks.items() if t == task) for task in ("classification", "regression")]
        raise InvalidInput(
            f"All estimators must be of one task. Got classifiers ({parts[0]}) and regressors ({parts[1]}). "
            "Pass them separately."
        )
    if tasks:
        return next(iter(tasks.values()))
    values = np.asarray(y)
    continuous = values.dtype.kind == "f" and type_of_target(values[~np.isnan(values)]).startswith("continuous")
    return "regression" if continuous else "classification"
