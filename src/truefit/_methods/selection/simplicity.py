"""Simplicity: among settings that tie with the best one, the simplest is selected.

A tie is within one standard error, that of the paired difference over the folds: neighbours on a grid have scores that
rise and fall together, so the standard error of a single score would call far worse settings ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from truefit._core.typing import Floats
from truefit._methods.selection.families import ModelFamily, Setting

#: From the simplest family to the most complex; others come last, in their own order.
_FAMILIES: Final = (
    "dummy", "naive_bayes", "linear", "tree", "knn", "svm", "random_forest", "extra_trees", "boosting", "lightgbm",
    "xgboost", "catboost", "mlp",
)  # fmt: skip
#: Parameters whose smaller values make a simpler model, and those whose greater values do.
_SMALLER: Final = (
    "C", "gamma", "max_features", "max_depth", "max_leaf_nodes", "num_leaves", "max_iter", "n_estimators",
    "learning_rate", "degree",
)  # fmt: skip
_GREATER: Final = ("alpha", "n_neighbors", "min_samples_leaf", "ccp_alpha", "reg_lambda", "l2_leaf_reg")


def simplicity_order(settings: Sequence[Setting], families: Mapping[str, ModelFamily]) -> list[int]:
    """Return the positions of settings from the simplest to the most complex: by family, then by parameters.

    >>> from sklearn.linear_model import Ridge
    >>> ridge = ModelFamily("ridge", Ridge(), {"alpha": [0.1, 1.0, 10.0]})
    >>> simplicity_order(ridge.settings(), {"ridge": ridge})
    [2, 1, 0]
    """
    ranks = {name: place for place, name in enumerate(_FAMILIES)}
    own = {name: place for place, name in enumerate(families)}
    ranges = {name: _tried([each.params for each in family.settings()]) for name, family in families.items()}

    def rank(place: int) -> tuple[int, int, float, int]:
        setting = settings[place]
        complexity = sum(
            _complexity(name, value, ranges[setting.family][name]) for name, value in setting.params.items()
        )
        return ranks.get(setting.family, len(ranks)), own[setting.family], complexity, place

    return sorted(range(len(settings)), key=rank)


def points_by_simplicity(points: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the positions of the candidates of a search from the simplest to the most complex.

    >>> points_by_simplicity([{"alpha": 0.1}, {"alpha": 10.0}, {"alpha": 1.0}])
    [1, 2, 0]
    """
    tried = _tried(points)
    complexity = [sum(_complexity(name, value, tried[name]) for name, value in point.items()) for point in points]
    return sorted(range(len(points)), key=lambda place: (complexity[place], place))


def simplest_setting(scores: Floats, settings: Sequence[Setting], families: Mapping[str, ModelFamily]) -> int:
    """Return the position of the simplest setting within one standard error of the best; smaller scores are better.

    How simple a family is, is known for the default ones. Where the best is of another family, the simplest of that.

    >>> from sklearn.linear_model import Ridge
    >>> ridge = ModelFamily("ridge", Ridge(), {"alpha": [0.1, 1.0, 10.0]})
    >>> simplest_setting(np.array([[0.2, 0.3], [0.21, 0.3], [0.4, 0.5]]), ridge.settings(), {"ridge": ridge})
    1
    """
    family = settings[int(np.nanargmin(scores.mean(axis=1)))].family
    allowed = [
        place
        for place, each in enumerate(settings)
        if each.family == family or (each.family in _FAMILIES and family in _FAMILIES)
    ]
    return simplest_of_ties(scores, simplicity_order(settings, families), allowed)


def _tried(points: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the values tried of each parameter, numbers in ascending order."""
    found: dict[str, list[Any]] = {}
    for point in points:
        for name, value in point.items():
            found.setdefault(name, [])
            if value not in found[name]:
                found[name].append(value)
    numbers = (int, float, np.number)
    return {
        name: sorted(values) if all(isinstance(each, numbers) for each in values) else values
        for name, values in found.items()
    }


def _complexity(name: str, value: Any, tried: Sequence[Any]) -> float:
    """Return how complex the model is by one parameter, from 0 for the simplest value tried to 1."""
    last = name.rpartition("__")[2]
    if len(tried) < 2 or (last not in _SMALLER and last not in _GREATER):
        return 0.0
    share = tried.index(value) / (len(tried) - 1)
    return share if last in _SMALLER else 1 - share


def simplest_of_ties(scores: Floats, order: Sequence[int], allowed: Sequence[int] | None = None) -> int:
    """Return the first candidate in ``order`` that is within one standard error of the best of shape (n, splits).

    Smaller scores are better; candidates with NaN are never selected. ``allowed`` limits the ties.

    >>> scores = np.array([[0.20, 0.30, 0.25], [0.21, 0.29, 0.26], [0.30, 0.40, 0.35]])
    >>> simplest_of_ties(scores, [2, 1, 0])
    1
    """
    means = scores.mean(axis=1)
    best = int(np.argmin(np.where(np.isnan(means), np.inf, means)))
    behind = scores - scores[best]
    splits = scores.shape[1]
    if splits < 2:
        return best
    errors = behind.std(axis=1, ddof=1) / np.sqrt(splits)
    for place in order:
        if (allowed is None or place in allowed) and behind[place].mean() <= errors[place]:
            return int(place)
    return best
