"""Model families with their search spaces: which settings of each default candidate a tuned study tries.

The spaces are in one table, ``_spaces``. Values that scikit-learn trains on the way to others (boosting rounds,
neighbours) cost no more than the largest of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import ParameterGrid

from truefit._core.errors import InvalidInput
from truefit._core.validation import Task
from truefit._methods.candidates import params_text
from truefit._methods.selection.default_candidates import default_candidates

#: From so many rows on the slowest settings are left out.
_MANY_ROWS: Final = 5_000
#: Parameters whose values are answered by the fit with the greatest of them: rounds of boosting, neighbours.
PATHS: Final = frozenset(("max_iter", "n_estimators", "n_neighbors"))
#: Parameters that have an end of their own, beyond which there is nothing to try.
_BOUNDED: Final[Mapping[str, tuple[Any, ...]]] = {
    "n_neighbors": (1,),
    "min_samples_leaf": (1,),
    "max_features": (1.0,),
    "ccp_alpha": (0.0,),
}

#: What all settings of a family have: boosting draws half of the columns for each split (docs/decisions/0030).
_FIXED: Final[Mapping[str, Mapping[str, Any]]] = {"boosting": {"max_features": 0.5}}

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a family: its estimator and the parameters that it sets."""

    family: str
    estimator: Any
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The family, and the parameters in brackets."""
        return f"{self.family} ({params_text(self.params)})" if self.params else self.family

    @property
    def path(self) -> str:
        """What it has in common with the settings along the same path."""
        return f"{self.family} {params_text({name: each for name, each in self.params.items() if name not in PATHS})}"


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """Candidates that differ only in their hyperparameters: an estimator and the grid of values to try.

    Parameters
    ----------
    name : str
        Name of the family.
    estimator : estimator
        The learner, with its preprocessing.
    grid : mapping of str to sequence, or a sequence of such mappings
        Values by parameter. Parameters are those of the estimator (``ridge__alpha`` of a pipeline), or of its last
        step without its name (``alpha``).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> [setting.name for setting in ModelFamily("ridge", Ridge(), {"alpha": [0.1, 1.0]}).settings()]
    ['ridge (alpha=0.1)', 'ridge (alpha=1.0)']
    """

    name: str
    estimator: Any
    grid: Grid | Sequence[Grid] = field(default_factory=dict)

    def settings(self) -> list[Setting]:
        """All settings, in the order of the grid."""
        if not self.grid:
            return [Setting(self.name, self.estimator)]
        prefix, known, found = _prefix(self.estimator), self.estimator.get_params(), []
        for params in self._points():
            own = {name if name in known else f"{prefix}{name}": value for name, value in params.items()}
            unknown = [given for given, full in zip(params, own, strict=True) if full not in known]
            if unknown:
                raise InvalidInput(
                    f"The search space of {self.name!r} must have parameters of its estimator. Got {unknown[0]!r}, "
                    f"which {type(self.estimator).__name__} does not have; see its get_params()."
                )
            found.append(Setting(self.name, clone(self.estimator).set_params(**own), params))
        return found

    def _points(self) -> list[dict[str, Any]]:
        grids = [self.grid] if isinstance(self.grid, Mapping) else list(self.grid)
        for grid in grids:
            for parameter, values in grid.items():
                if is_distribution(values):
                    raise InvalidInput(
                        f"The search space of {self.name!r} must have a list of values for each parameter. "
                        f"{parameter!r} has a distribution: list some of its values, or pass a RandomizedSearchCV, "
                        "which draws from it, as the candidate."
                    )
                if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or len(values) == 0:
                    raise InvalidInput(
                        f"The search space of {self.name!r} must have a list of at least one value for each "
                        f"parameter. Got {values!r} for {parameter!r}."
                    )
        # The last parameter varies first, as it is written.
        return [{name: point[name] for name in grid} for grid in grids for point in ParameterGrid(dict(grid))]

    def edges(self, params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the parameters of a setting that have the least or the greatest of three or more numbers tried."""
        for name, value in params.items():
            tried = sorted({each[name] for each in self._points() if name in each and _is_number(each[name])})
            if len(tried) > 2 and value in (tried[0], tried[-1]) and value not in _BOUNDED.get(name, ()):
                yield name, value


def is_distribution(values: Any) -> bool:
    """Whether candidates can only be drawn from the values: a distribution of scipy or Optuna."""
    return hasattr(values, "rvs") or type(values).__module__.startswith("optuna.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _prefix(estimator: Any) -> str:
    """Return what precedes the parameters of the learner inside pipelines and wrappers."""
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps:
        name, last = steps[-1]
        return f"{name}__{_prefix(last)}"
    for wrapped in ("regressor", "estimator"):
        if type(estimator).__name__ in ("TransformedTargetRegressor", "EncodedLabels") and hasattr(estimator, wrapped):
            return f"{wrapped}__"
    if isinstance(estimator, CalibratedClassifierCV):
        return f"estimator__{_prefix(estimator.estimator)}"
    return ""


def family_named(name: str, estimator: Any, known: Mapping[str, ModelFamily]) -> ModelFamily:
    """Return a candidate as a family: with the search space of the default family that it is, or recalibrates.

    Others have none, whatever their name.
    """
    base, learner = name, estimator
    if isinstance(estimator, CalibratedClassifierCV):
        base, learner = name.rpartition("+")[0], estimator.estimator
    is_default = base in known and learner is known[base].estimator
    return ModelFamily(name, estimator, known[base].grid if is_default else {})


def default_families(X: Any, task: Task, y: Any = None) -> dict[str, ModelFamily]:
    """Return the default candidates as families with the search spaces that suit the task and the table.

    The pruning of a regression tree is in units of the target's variance, of which ``y`` tells how large it is.

    >>> from sklearn.datasets import load_iris
    >>> families = default_families(load_iris().data, "classification")
    >>> len(families["svm"].settings()), families["linear"].settings()[0].name
    (9, 'linear (C=0.001)')
    """
    candidates = default_candidates(X, task, tuned=True)
    rows, columns = int(X.shape[0]), int(X.shape[1]) if len(X.shape) > 1 else 1
    spaces = _spaces(task, rows, columns, 1.0 if y is None or task == "classification" else _variance(y))
    for name, params in _FIXED.items():
        if name in candidates:
            own = {f"{_prefix(candidates[name])}{each}": value for each, value in params.items()}
            candidates[name] = clone(candidates[name]).set_params(**own)
    return {name: ModelFamily(name, estimator, spaces.get(name, {})) for name, estimator in candidates.items()}


def _variance(y: Any) -> float:
    """Return the variance of a target to one digit; 1 where it has none."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        return 1.0  # a target that is no numbers is refused later, in a sentence, like one with infinities
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.var(values))
    return float(f"{found:.0e}") if np.isfinite(found) and found > 0 else 1.0


def _spaces(task: Task, rows: int, columns: int, variance: float) -> dict[str, Grid | Sequence[Grid]]:
    """Return the search space of each family."""
    classifies, many = task == "classification", rows > _MANY_ROWS
    neighbours = sorted({k for k in (1, 3, 5, 10, 15, 25, 40) if k <= max(rows // 5, 1)})
    features = ["sqrt", 0.5] if classifies else [1 / 3, 1.0]
    rounds = [50, 100, 200, 400]
    # Small trees of large leaves, and larger trees of small leaves, for which few rows are left.
    shapes = [(6, 20), (31, 20)] if many else [(6, 20), (15, 5)]
    boosting: list[Grid] = [
        {
            "learning_rate": [0.05] if many else [0.03, 0.1],
            "max_leaf_nodes": [nodes],
            "min_samples_leaf": [leaf],
            "max_iter": rounds,
        }
        for nodes, leaf in shapes
    ]
    trees: Grid = {"learning_rate": [0.05], "num_leaves": [6, 31], "n_estimators": rounds}
    return {
        "linear": {"C": [0.001, 0.01, 0.1, 1.0, 10.0]}
        if classifies
        else {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]},
        "knn": {"weights": ["uniform", "distance"], "n_neighbors": neighbours},
        "tree": [
            {"min_samples_leaf": [2, 5, 10, 20, 40]},
            {"ccp_alpha": [float(f"{share * variance:.2g}") for share in (0.001, 0.003, 0.01, 0.03)]},
        ],
        "random_forest": {"max_features": features, "min_samples_leaf": [1, 3, 8]},
        "extra_trees": {"max_features": features, "min_samples_leaf": [1, 3]},
        "boosting": boosting,
        "svm": {"C": [1.0, 10.0, 100.0], "gamma": [float(f"{scale / columns:.2g}") for scale in (0.1, 0.3, 1.0)]},
        "mlp": {"alpha": [0.01, 1.0] if many else [0.001, 0.1, 3.0]},
        "lightgbm": trees,
        "xgboost": {"learning_rate": [0.05], "max_depth": [3, 6], "n_estimators": rounds},
        "catboost": {"learning_rate": [0.03, 0.1], "depth": [4, 6]},
    }


def settings_of(families: Mapping[str, ModelFamily]) -> dict[str, Setting]:
    """Return all settings of some families by name."""
    return {setting.name: setting for family in families.values() for setting in family.settings()}
