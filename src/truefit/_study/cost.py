"""Expected cost of a fit: nominal seconds by the family of the estimator and the size of its table.

A study without a budget decides by these, not by the clock, how thoroughly each part is run. So a rerun gives the same
result on any machine. The numbers are rough: a part is run with a few fits more or less.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple


class _Cost(NamedTuple):
    """Seconds of any fit, and seconds per cell of the table."""

    base: float
    per_cell: float


_FAST, _TREE, _FOREST = _Cost(0.005, 5e-8), _Cost(0.005, 1.5e-6), _Cost(0.2, 1e-5)
_BOOSTING, _NETWORK, _KERNEL = _Cost(0.1, 2e-6), _Cost(0.5, 3e-6), _Cost(0.01, 5e-6)
_CATBOOST = _Cost(0.5, 1e-5)
_VECTORIZER = _Cost(0.05, 2e-6)

#: By the name of the class, without "Classifier" or "Regressor".
_COSTS: Final = {
    **dict.fromkeys(("Dummy", "LogisticRegression", "Ridge", "LinearRegression", "Lasso", "ElasticNet"), _FAST),
    **dict.fromkeys(("LinearDiscriminantAnalysis", "GaussianNB", "BernoulliNB", "KNeighbors"), _FAST),
    **dict.fromkeys(("StandardScaler", "SquashingScaler", "SimpleImputer", "NumpyColumns"), _FAST),
    **dict.fromkeys(("DecisionTree", "ExtraTree"), _TREE),
    **dict.fromkeys(("RandomForest", "ExtraTrees"), _FOREST),
    **dict.fromkeys(("HistGradientBoosting", "LGBM", "XGB"), _BOOSTING),
    **dict.fromkeys(("SVC", "SVR"), _KERNEL),
    "CatBoost": _CATBOOST,
    "MLP": _NETWORK,
    "TableVectorizer": _VECTORIZER,
}
#: The cost is for this many trees, rounds or hidden units.
_USUAL_TREES, _USUAL_UNITS = 100, 64


def nominal_seconds(estimator: Any, rows: int, columns: int, classes: int = 1) -> float | None:
    """Return about how long a fit takes; None for an estimator of a family that is not known.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> nominal_seconds(Ridge(), 1000, 20)
    0.006
    >>> nominal_seconds(object(), 1000, 20) is None
    True
    """
    if isinstance(steps := getattr(estimator, "steps", None), list):
        parts = [nominal_seconds(step, rows, columns, classes) for _, step in steps if step != "passthrough"]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None
    name = type(estimator).__name__
    if name in ("TransformedTargetRegressor", "EncodedLabels"):
        inner = estimator.regressor if name == "TransformedTargetRegressor" else estimator.estimator
        return nominal_seconds(inner, rows, columns, classes)
    cost = _COSTS.get(name.removesuffix("Classifier").removesuffix("Regressor"))
    if cost is None:
        return None
    return (cost.base + cost.per_cell * rows * columns) * _factor(estimator, cost, classes)


def _factor(estimator: Any, cost: _Cost, classes: int) -> float:
    if cost is _NETWORK:
        units = getattr(estimator, "hidden_layer_sizes", _USUAL_UNITS)
        return float(sum(units) if isinstance(units, list | tuple) else units) / _USUAL_UNITS
    if cost not in (_FOREST, _BOOSTING):
        return 1.0
    trees = getattr(estimator, "n_estimators", None) or getattr(estimator, "max_iter", None) or _USUAL_TREES
    # Boosting fits one tree per class and round where there are more than two classes.
    return trees / _USUAL_TREES * (classes if cost is _BOOSTING and classes > 2 else 1)
