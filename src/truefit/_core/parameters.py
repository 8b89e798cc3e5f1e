"""Parameters of an estimator, and the seeds of those that are random: the same for all candidates on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
from sklearn.base import BaseEstimator, clone

from truefit._core.errors import InvalidEstimator
from truefit._core.packages import installed

#: The parameters of each class by name, with a weak reference to the ``__init__`` that they were read from: one that
#: calls ``super()`` holds its class, and would keep it here for as long as the process lives.
_names: WeakKeyDictionary[type, tuple[Callable[[], Any], list[str]]] = WeakKeyDictionary()


def params_of(estimator: Any, *, deep: bool = False) -> dict[str, Any]:
    """Return what ``get_params`` returns, faster: of a grid of a thousand candidates most of the work was this.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> params_of(Ridge(alpha=2.0)) == Ridge(alpha=2.0).get_params()
    True
    >>> list(params_of(make_pipeline(Ridge()), deep=True))[:5]
    ['memory', 'steps', 'transform_input', 'verbose', 'ridge']
    """
    kind = type(estimator)
    if getattr(kind, "get_params", None) is not BaseEstimator.get_params:
        return dict(estimator.get_params(deep=deep))
    found: dict[str, Any] = {}
    for name in _names_of(kind):
        value = getattr(estimator, name)
        if deep and hasattr(value, "get_params") and not isinstance(value, type):
            found.update((f"{name}__{path}", each) for path, each in params_of(value, deep=True).items())
        found[name] = value
    return found


def _names_of(kind: Any) -> Iterable[str]:
    if kind._get_param_names.__func__ is not BaseEstimator._get_param_names.__func__:
        return list(kind._get_param_names())
    known = _names.get(kind)
    if known is None or known[0]() is not kind.__init__:
        known = _names[kind] = _reference(kind.__init__), kind._get_param_names()
    return known[1]


def _reference(init: Any) -> Callable[[], Any]:
    try:
        return ref(init)
    except TypeError:  # of a class without an __init__ of its own: a part of Python, which stays anyway
        return lambda: init


#: Path of a ``random_state`` parameter left at None, and its owner's class.
OpenSeed = tuple[str, str]


def open_seeds(estimator: Any) -> tuple[OpenSeed, ...]:
    """Paths of the ``random_state`` parameters left at None, each with its owner's class."""
    params = params_of(estimator, deep=True)
    found = []
    for path, value in params.items():
        owner_path, _, name = path.rpartition("__")
        if name == "random_state" and value is None:
            owner = params[owner_path] if owner_path else estimator
            found.append((path, _class_name(type(owner))))
    return tuple(sorted(found))


def _class_name(cls: type) -> str:
    # A class of the user's own has the same key in a script and in a module: its seeds are the same there too.
    return f"{cls.__module__}.{cls.__qualname__}" if installed(cls.__module__) else cls.__qualname__


def seeds_for(open_paths: tuple[OpenSeed, ...], train: bytes, repeat: int) -> tuple[tuple[str, int], ...]:
    """Return a seed for each open path, from the owner's class, the training rows and the repeat number alone.

    The parameters take no part, so candidates along a path get the same random numbers. ``train`` are the rows as the
    hexadecimal digits of their digest.
    """
    return tuple(
        [(path, _draw(b"%b %b %b %d" % (path.encode(), owner.encode(), train, repeat))) for path, owner in open_paths]
    )


def _draw(text: bytes) -> int:
    # scikit-learn takes seeds up to 2^32 - 1, some libraries only signed 32-bit ones
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % 2**31


def settled(estimator: Any) -> Any:
    """Return a clone in which every RandomState or Generator is drawn once to an int.

    Such an object would give other numbers each time it is used, so fits could not be told apart or found again.
    """
    try:
        copy = clone(estimator)
        params = params_of(copy, deep=True)
    except Exception as error:
        raise InvalidEstimator(
            "An estimator must be cloneable: its parameters must be set unchanged in __init__. Got "
            f"{type(estimator).__name__}, for which clone says: {type(error).__name__}: {error}"
        ) from error
    drawn = {}
    for path, value in params.items():
        if isinstance(value, np.random.RandomState):
            drawn[path] = int(value.randint(2**31 - 1))
        elif isinstance(value, np.random.Generator):
            drawn[path] = int(value.integers(2**31 - 1))
    return copy.set_params(**drawn) if drawn else copy


def seeded(estimator: Any, seeds: tuple[tuple[str, int], ...]) -> Any:
    """Return a fresh clone with the seeds put in."""
    copy = clone(estimator)
    return copy.set_params(**dict(seeds)) if seeds else copy
