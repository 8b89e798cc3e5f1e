"""truefit: which model, how good is it really, does it fit, and would more data help?

Every method asks one engine for fits, and the engine never fits the same thing twice.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truefit import bounds
    from truefit._api.assess import assess
    from truefit._api.bias_variance import bias_variance
    from truefit._api.compare import compare
    from truefit._api.complexity_curve import complexity_curve
    from truefit._api.cross_test import cross_test
    from truefit._api.engine import Engine
    from truefit._api.evaluate import evaluate
    from truefit._api.extrapolate import extrapolate
    from truefit._api.importance import importance
    from truefit._api.learning_curve import learning_curve
    from truefit._api.perturb import perturb
    from truefit._api.validate import validate
    from truefit._executors.ray_executor import RayExecutor
    from truefit._methods.selection.racing import Race
    from truefit._study.study import study
    from truefit.estimators.agghoo import AgghooClassifier, AgghooRegressor
    from truefit.estimators.honest_search import HonestSearchCV
    from truefit.estimators.intervals import IntervalClassifier, IntervalRegressor
    from truefit.estimators.perturbed_search import PerturbedSearch

__version__ = "0.3.0.dev0"

_HOMES = {
    "Engine": "truefit._api.engine",
    "assess": "truefit._api.assess",
    "bias_variance": "truefit._api.bias_variance",
    "compare": "truefit._api.compare",
    "complexity_curve": "truefit._api.complexity_curve",
    "cross_test": "truefit._api.cross_test",
    "evaluate": "truefit._api.evaluate",
    "extrapolate": "truefit._api.extrapolate",
    "importance": "truefit._api.importance",
    "learning_curve": "truefit._api.learning_curve",
    "perturb": "truefit._api.perturb",
    "study": "truefit._study.study",
    "validate": "truefit._api.validate",
    "AgghooClassifier": "truefit.estimators.agghoo",
    "AgghooRegressor": "truefit.estimators.agghoo",
    "HonestSearchCV": "truefit.estimators.honest_search",
    "IntervalClassifier": "truefit.estimators.intervals",
    "IntervalRegressor": "truefit.estimators.intervals",
    "PerturbedSearch": "truefit.estimators.perturbed_search",
    "Race": "truefit._methods.selection.racing",
    "RayExecutor": "truefit._executors.ray_executor",
}

__all__ = [
    "AgghooClassifier",
    "AgghooRegressor",
    "Engine",
    "HonestSearchCV",
    "IntervalClassifier",
    "IntervalRegressor",
    "PerturbedSearch",
    "Race",
    "RayExecutor",
    "__version__",
    "assess",
    "bias_variance",
    "bounds",
    "compare",
    "complexity_curve",
    "cross_test",
    "evaluate",
    "extrapolate",
    "importance",
    "learning_curve",
    "perturb",
    "study",
    "validate",
]


def __getattr__(name: str) -> Any:
    # Names are imported when they are first used, so that `import truefit` costs next to nothing.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "bounds":
        return importlib.import_module("truefit.bounds")
    raise AttributeError(f"module 'truefit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
