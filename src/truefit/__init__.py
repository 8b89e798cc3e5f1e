"""truefit: which model, how good is it really, does it fit, and would more data help?

Every method asks one engine for fits, and the engine never fits the same thing twice.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truefit import bounds
    from truefit.api.assess import assess
    from truefit.api.bias_variance import bias_variance
    from truefit.api.compare import compare
    from truefit.api.complexity_curve import complexity_curve
    from truefit.api.cross_test import cross_test
    from truefit.api.engine import Engine
    from truefit.api.extrapolate import extrapolate
    from truefit.api.learning_curve import learning_curve
    from truefit.api.perturb import perturb
    from truefit.api.study import study
    from truefit.estimators.agghoo import AgghooClassifier, AgghooRegressor
    from truefit.estimators.honest_search import HonestSearchCV
    from truefit.estimators.perturbed_search import PerturbedSearch
    from truefit.executors.ray_executor import RayExecutor
    from truefit.methods.selection.race import Race

__version__ = "0.2.0"

_HOMES = {
    "Engine": "truefit.api.engine",
    "assess": "truefit.api.assess",
    "bias_variance": "truefit.api.bias_variance",
    "compare": "truefit.api.compare",
    "complexity_curve": "truefit.api.complexity_curve",
    "cross_test": "truefit.api.cross_test",
    "extrapolate": "truefit.api.extrapolate",
    "learning_curve": "truefit.api.learning_curve",
    "perturb": "truefit.api.perturb",
    "study": "truefit.api.study",
    "AgghooClassifier": "truefit.estimators.agghoo",
    "AgghooRegressor": "truefit.estimators.agghoo",
    "HonestSearchCV": "truefit.estimators.honest_search",
    "PerturbedSearch": "truefit.estimators.perturbed_search",
    "Race": "truefit.methods.selection.race",
    "RayExecutor": "truefit.executors.ray_executor",
}

__all__ = [
    "AgghooClassifier",
    "AgghooRegressor",
    "Engine",
    "HonestSearchCV",
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
    "extrapolate",
    "learning_curve",
    "perturb",
    "study",
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
