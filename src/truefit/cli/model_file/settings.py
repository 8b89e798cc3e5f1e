"""Attributes of listed estimators that decide what runs: functions, names of methods, files, processes."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from truefit.cli.model_file.archive import BrokenModel

#: Threads or processes that a model may ask for: each takes memory of its own.
MOST_JOBS: Final = 64
_JOBS: Final = ("n_jobs", "_n_threads", "n_threads")
#: Attributes that name the method to be called: "fit" would run what predicting must not.
_METHOD_NAMES: Final = ("stack_method_", "stack_method", "chain_method_", "chain_method", "response_method")
_METHODS: Final = frozenset(
    {"auto", "predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"}
)
#: Attributes that are called with the table: a function, or a partial of one, and no object with methods.
_CALLED: Final = (
    "func", "inverse_func", "predicate", "preprocessor", "tokenizer", "analyzer", "strip_accents",
    "feature_names_out",
)  # fmt: skip
#: Compiled types, whose state is no dictionary; ``compiled.py`` checks it.
_TUPLES: Final = frozenset(
    {
        "sklearn.metrics._dist_metrics.ChebyshevDistance64",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._dist_metrics.ManhattanDistance64",
        "sklearn.metrics._dist_metrics.MinkowskiDistance64",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
    }
)
#: It is in a warning of scikit-learn, on the terminal.
_VERSION: Final = re.compile(r"[\w.+-]{1,40}")
_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, partial, type, type(np.mean))
_NOTHING: Final = object()


def checked(kind: type, name: str, state: Any) -> Any:
    """Return the state that an object may get.

    Parameters
    ----------
    kind : type
        Listed in ``types.py``.
    name : str
        Its full name.
    state : dict, tuple or None
        As the file has it.
    """
    if state is None or (isinstance(state, tuple) and name in _TUPLES):
        return state
    if not isinstance(state, Mapping):
        raise BrokenModel(f"the attributes of {name} are no dictionary")
    for key, value in state.items():
        if not isinstance(key, str):
            raise BrokenModel(f"{name} has an attribute whose name is no text")
        # By __array_interface__ numpy would read any address.
        if key.startswith("__"):
            raise BrokenModel(f"{name} has an attribute {ascii(key)[:40]}, which is for classes only")
        _check_not_replaced(kind, key, value)
        _check_attribute(name, key, value)
    # A cache of fits, which predicting has no use for: a folder of the author's choice is not written to.
    return {**state, "memory": None} if state.get("memory") is not None else dict(state)


def _check_not_replaced(kind: type, key: str, value: Any) -> None:
    """Refuse an attribute that stands in for a method or a constant of the class, and so takes its checks away."""
    own = inspect.getattr_static(kind, key, _NOTHING)
    if own is _NOTHING or own is None or isinstance(own, types.MemberDescriptorType):
        return
    if type(own) not in (bool, int, float, str) or own != value:
        raise BrokenModel(f"the attribute {ascii(key)[:40]} would replace one of the class {kind.__name__}")


def _check_attribute(name: str, key: str, value: Any) -> None:
    if key in _JOBS and value is not None and (not _whole(value) or abs(value) > MOST_JOBS):
        raise BrokenModel(f"{key} of {name} must be a whole number up to {MOST_JOBS}")
    if key in _METHOD_NAMES and not _are_methods(value):
        raise BrokenModel(f"{key} of {name} must name a method that predicts")
    if key in _CALLED and not isinstance(value, (*_FUNCTIONS, str, type(None))):
        raise BrokenModel(f"{key} of {name} must be a function")
    if key == "_sklearn_version" and not (isinstance(value, str) and _VERSION.fullmatch(value)):
        raise BrokenModel(f"the version of {name} is none")
    if key == "input" and name.startswith("sklearn.feature_extraction.text.") and value != "content":
        raise BrokenModel(f"{name} must read text, not the files that it names")


def _are_methods(value: Any) -> bool:
    named = value if isinstance(value, (list, tuple)) else [value]
    return all(each is None or (isinstance(each, str) and each in _METHODS) for each in named)


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
