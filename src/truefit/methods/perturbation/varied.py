"""Varied: the one parameter in which several estimators differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def varied_parameter(estimators: Mapping[str, Any]) -> tuple[str, list[Any]] | None:
    """Return the parameter in which estimators differ, and its values; None where it is not just one.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> varied_parameter({str(d): DecisionTreeClassifier(max_depth=d) for d in (1, 2, None)})
    ('max_depth', [1, 2, None])
    >>> varied_parameter({"tree": DecisionTreeClassifier()}) is None
    True
    """
    params = [estimator.get_params(deep=True) for estimator in estimators.values()]
    if len(params) < 2 or len({type(each) for each in estimators.values()}) > 1:
        return None
    names = [name for name in params[0] if not any(_holds_estimators(each.get(name)) for each in params)]
    if any(each.keys() != params[0].keys() for each in params[1:]):
        return None
    differing = [name for name in names if len({repr(each[name]) for each in params}) > 1]
    if len(differing) != 1:
        return None
    values = [each[differing[0]] for each in params]
    return (differing[0], values) if len({repr(value) for value in values}) == len(values) else None


def _holds_estimators(value: Any) -> bool:
    """Whether a parameter is an estimator, or a list of named ones: their own parameters tell them apart."""
    if isinstance(value, list | tuple):
        return any(_holds_estimators(item) for item in value)
    return hasattr(value, "get_params")
