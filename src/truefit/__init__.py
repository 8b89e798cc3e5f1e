"""truefit: which model, how good is it really, does it fit, and would more data help?

Every method asks one engine for fits, and the engine never fits the same thing twice.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truefit.api import Engine, assess, study
    from truefit.estimators.honest_search import HonestSearchCV

__version__ = "0.1.0"

_HOMES = {
    "Engine": "truefit.api",
    "assess": "truefit.api",
    "study": "truefit.api",
    "HonestSearchCV": "truefit.estimators.honest_search",
}

__all__ = ["Engine", "HonestSearchCV", "__version__", "assess", "study"]


def __getattr__(name: str) -> Any:
    # Names are imported when they are first used, so that `import truefit` costs next to nothing.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'truefit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
