"""The private attributes of scikit-learn that truefit uses, in one place.

truefit runs with scikit-learn 1.6 or later. Solvers that promise the results of plain fitting rely on how scikit-learn
computes them, which changes: on a minor version on which they were not compared with plain fitting they are not used,
and fits are computed one by one (``is_tested``).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import sklearn

logger = logging.getLogger(__name__)

#: Minor versions of scikit-learn on which all solvers were compared with plain fitting.
TESTED = frozenset({"1.9"})

#: Private classes and functions by the name that they have here, imported when they are first used.
_PRIVATE = {
    "BaseComposition": ("sklearn.utils.metaestimators", "_BaseComposition"),
    "BaseSearchCV": ("sklearn.model_selection._search", "BaseSearchCV"),
    "Tree": ("sklearn.tree._tree", "Tree"),
    "TreePredictor": ("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
    "check_method_params": ("sklearn.utils.validation", "_check_method_params"),
    "check_sample_weight": ("sklearn.utils.validation", "_check_sample_weight"),
}

#: Classifiers that predict the class of the largest probability, which they compute again for it. By module and class:
#: nothing is imported to look one up.
_PREDICT_LARGEST = frozenset(
    {
        "sklearn.tree._classes.DecisionTreeClassifier",
        "sklearn.tree._classes.ExtraTreeClassifier",
        "sklearn.ensemble._forest.RandomForestClassifier",
        "sklearn.ensemble._forest.ExtraTreesClassifier",
        "sklearn.ensemble._bagging.BaggingClassifier",
    }
)


#: Public functions that older versions do not have; there the name stands for ``ABSENT``, which equals no function.
_NEWER = {"d2_brier_score": "sklearn.metrics"}
ABSENT = object()


def __getattr__(name: str) -> Any:
    if name in _NEWER:
        return getattr(import_module(_NEWER[name]), name, ABSENT)
    if name not in _PRIVATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, private = _PRIVATE[name]
    return getattr(import_module(module), private)


@lru_cache(maxsize=4)
def is_tested(version: str = sklearn.__version__) -> bool:
    """Whether solvers were compared with plain fitting on this version; a version that was not is logged once.

    Examples
    --------
    >>> is_tested("1.9.1"), is_tested("1.10.0")
    (True, False)
    """
    found = re.match(r"\d+\.\d+", version)
    if found is not None and found.group() in TESTED:
        return True
    logger.warning(
        "Fits are computed one by one with scikit-learn %s: the shortcuts were compared with plain fitting on %s only.",
        version,
        ", ".join(sorted(TESTED)),
    )
    return False


def predicts_largest_probability(model: Any) -> bool:
    """Whether the label that a model predicts is that of the largest column of its ``predict_proba``."""
    kind = type(model)
    return f"{kind.__module__}.{kind.__qualname__}" in _PREDICT_LARGEST and getattr(model, "n_outputs_", 1) == 1


def has_callbacks(estimator: Any) -> bool:
    """Whether callbacks were set on an estimator."""
    return hasattr(estimator, "_skl_callbacks")


def has_own_output(transformer: Any) -> bool:
    """Whether ``set_output`` was called on a transformer."""
    return hasattr(transformer, "_sklearn_output_config")


def svd_solver_of(pca: Any) -> str:
    """Return which decomposition a fitted ``PCA`` has used."""
    return str(pca._fit_svd_solver)


def replace_remainder(transformer: Any, remainder: Any) -> None:
    """Put another estimator for the remaining columns into a fitted ``ColumnTransformer``."""
    name, _, columns = transformer._remainder
    transformer._remainder = (name, remainder, columns)


def cut_bagging(bag: Any, whole: Any, size: int) -> None:
    """Give a bag the first members of another: their columns and seeds."""
    bag.estimators_features_, bag._seeds = whole.estimators_features_[:size], whole._seeds[:size]


def on_each_epoch(network: Any, call: Callable[[bool], None]) -> Callable[[], None]:
    """Let a network call back at the end of each epoch of its ``fit``, before anything can stop the training.

    The callback is given whether it stops early. Returns what takes the callback away.
    """
    counted = network._update_no_improvement_count

    def count(early_stopping: bool, *validation: Any) -> None:
        counted(early_stopping, *validation)
        call(early_stopping)

    def end() -> None:
        del network._update_no_improvement_count

    network._update_no_improvement_count = count
    return end


def best_weights(network: Any) -> tuple[list[Any], list[Any]]:
    """Return the weights and biases that a network which stops early puts in place at its end."""
    return network._best_coefs, network._best_intercepts


def set_gamma(svc: Any, gamma: float) -> None:
    """Set the coefficient of the kernel of a fitted support vector machine."""
    svc._gamma = gamma


def kernel_between(ridge: Any, X: Any) -> Any:
    """Return the kernel matrix that a ``KernelRidge`` computes of a table."""
    return ridge._get_kernel(X)


def training_rows(neighbours: Any) -> Any:
    """Return the rows that a fitted estimator of nearest neighbours searches in."""
    return neighbours._fit_X


def search_method(neighbours: Any) -> str:
    """Return how a fitted estimator of nearest neighbours searches: "brute", "kd_tree" or "ball_tree"."""
    return str(neighbours._fit_method)
