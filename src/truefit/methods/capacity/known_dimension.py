"""Known VC dimensions: of the few classifiers for which theory has one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from truefit.stats.bounds import stump_dimension

#: A dimension and why it is that; None where it is not known.
Known = tuple[float, str] | None


def _linear(params: dict[str, Any], features: int) -> Known:
    if params.get("fit_intercept", True):
        return features + 1, "half-spaces, p + 1"
    return features, "half-spaces through the origin, p"


def _svc(params: dict[str, Any], features: int) -> Known:
    if params["kernel"] == "linear":
        return features + 1, "half-spaces, p + 1"
    if params["kernel"] == "rbf":
        return math.inf, "a Gaussian kernel fits any labels of distinct rows"
    return None


def _tree(params: dict[str, Any], features: int) -> Known:
    if params["max_features"] is not None or params["monotonic_cst"] is not None:
        return None
    limits = {"min_samples_split": 2, "min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0}
    limits |= {"min_impurity_decrease": 0.0, "ccp_alpha": 0.0}
    if any(params[name] != value for name, value in limits.items()):
        return None
    if params["max_depth"] == 1:
        return stump_dimension(features), "decision stumps, the largest d with binomial(d, d // 2) ≤ 2p"
    if params["max_depth"] is None and params["max_leaf_nodes"] is None:
        return math.inf, "a tree without limits fits any labels of distinct rows"
    return None


def _neighbours(params: dict[str, Any], features: int) -> Known:
    return (math.inf, "one neighbour fits any labels of distinct rows") if params["n_neighbors"] == 1 else None


def _dummy(params: dict[str, Any], features: int) -> Known:
    if params["strategy"] in ("most_frequent", "prior"):
        return 1, "one class for all rows"
    return None


_KNOWN: dict[str, Callable[[dict[str, Any], int], Known]] = {
    **dict.fromkeys(
        (
            "LogisticRegression",
            "LinearSVC",
            "Perceptron",
            "SGDClassifier",
            "RidgeClassifier",
            "PassiveAggressiveClassifier",
        ),
        _linear,
    ),
    "LinearDiscriminantAnalysis": _linear,
    "SVC": _svc,
    "DecisionTreeClassifier": _tree,
    "KNeighborsClassifier": _neighbours,
    "DummyClassifier": _dummy,
}


def known_dimension(estimator: Any, features: int) -> Known:
    """Return the VC dimension of a classifier for two classes on real features, and why; None where it is not known.

    What counts are the functions that the learner can come to on any rows, so a penalty does not make it smaller.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> known_dimension(LogisticRegression(fit_intercept=False), 10)
    (10, 'half-spaces through the origin, p')
    >>> known_dimension(Ridge(), 10) is None
    True
    """
    # Only scikit-learn's own classes: one that derives from them may do something else.
    if not type(estimator).__module__.startswith("sklearn."):
        return None
    found = _KNOWN.get(type(estimator).__name__)
    return None if found is None else found(estimator.get_params(deep=False), features)
