"""Default candidates: a small set of learners that suits the task and the table."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from truefit.core.data import Task


def default_candidates(X: Any, task: Task) -> dict[str, Any]:
    """Return learners by name, from a dummy to gradient boosting, ready for the kind of table that X is.

    A table that is not all numbers gets skrub's preprocessing in front of every learner.
    """
    learners = _classifiers() if task == "classification" else _regressors()
    if sparse.issparse(X):
        sparse_ready = ("dummy", "linear", "knn", "random_forest")
        return {name: learner for name, learner in learners.items() if name in sparse_ready}
    if _all_numbers(X):
        return {name: _scaled(learner) if name in ("linear", "knn") else learner for name, learner in learners.items()}
    from skrub import tabular_pipeline

    return {name: learner if name == "dummy" else tabular_pipeline(learner) for name, learner in learners.items()}


def _all_numbers(X: Any) -> bool:
    if hasattr(X, "dtypes"):
        dtypes = list(X.dtypes)
        numeric = all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes) and len(dtypes) > 0
        return numeric and not bool(np.isnan(np.asarray(X, dtype=float)).any())
    array = np.asarray(X)
    return array.dtype.kind in "biu" or (array.dtype.kind == "f" and not bool(np.isnan(array).any()))


def _scaled(learner: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), learner)


def _classifiers() -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "dummy": DummyClassifier(),
        "linear": LogisticRegression(max_iter=1000),
        "naive_bayes": GaussianNB(),
        "knn": KNeighborsClassifier(15),
        "tree": DecisionTreeClassifier(min_samples_leaf=5),
        "random_forest": RandomForestClassifier(),
        "boosting": HistGradientBoostingClassifier(),
    }


def _regressors() -> dict[str, Any]:
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.tree import DecisionTreeRegressor

    return {
        "dummy": DummyRegressor(),
        "linear": Ridge(),
        "knn": KNeighborsRegressor(15),
        "tree": DecisionTreeRegressor(min_samples_leaf=5),
        "random_forest": RandomForestRegressor(),
        "boosting": HistGradientBoostingRegressor(),
    }
