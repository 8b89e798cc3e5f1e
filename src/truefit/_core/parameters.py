"""Parameters of an estimator, seeds of those that are random, and what ``fit`` is given: weights, groups, others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from truefit._core.data import Data
from truefit._core.errors import InvalidEstimator
from truefit._core.packages import installed
from truefit._core.typing import Positions
from truefit._sklearn import check_method_params

#: The parameters of each class by name, with a weak reference to the ``__init__`` that they were read from: one that
#: calls ``super()`` holds its class, and would keep it here for as long as the process lives.
_names: WeakKeyDictionary[type, tuple[Callable[[], Any], list[str]]] = WeakKeyDictionary()


def params_of(estimator: Any, *, deep: bool = False) -> dict[str, Any]:
    """Return what ``get_params`` returns, faster: it was most of the work for a grid of a thousand candidates."""
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
    """Return a seed for each open path; parameters take no part, so candidates get the same random numbers."""
    return tuple(
        [(path, _draw(b"%b %b %b %d" % (path.encode(), owner.encode(), train, repeat))) for path, owner in open_paths]
    )


def _draw(text: bytes) -> int:
    # scikit-learn takes seeds up to 2^32 - 1, some libraries only signed 32-bit ones
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % 2**31


#: Types of parameters that nothing can change: a clone has the values themselves.
_PLAIN = (bool, int, float, str, type(None), np.float64, np.int64)


def plain_params(estimator: Any, *, but: Iterable[str] = ()) -> dict[str, Any] | None:
    """Return the parameters, but for some, of an estimator that has nothing else and plain values; None for others."""
    params = params_of(estimator)
    # Fitted attributes, requests for metadata and output settings would be further entries.
    if getattr(estimator, "__dict__", {}).keys() != params.keys():
        return None
    for name in but:
        params.pop(name, None)
    return params if all(type(value) in _PLAIN for value in params.values()) else None


def cloned(estimator: Any) -> Any:
    """Return what ``clone`` returns, faster for scikit-learn's own learners with plain values as parameters."""
    kind = type(estimator)
    usual = getattr(kind, "__sklearn_clone__", None) is BaseEstimator.__sklearn_clone__
    if usual and kind.__module__.startswith("sklearn."):
        params = plain_params(estimator)
        if params is not None:
            copy = kind(**params)
            if all(getattr(copy, name) is value for name, value in params.items()):
                return copy
    return clone(estimator)


def settled(estimator: Any) -> Any:
    """Return a clone in which every RandomState or Generator is drawn once to an int, so that fits are repeatable."""
    try:
        copy = cloned(estimator)
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
    copy = cloned(estimator)
    return copy.set_params(**dict(seeds)) if seeds else copy


logger = logging.getLogger(__name__)


class WithFitParams(BaseEstimator):  # type: ignore[misc]
    """An estimator together with parameters of its ``fit``, such as an ``eval_set`` or callbacks.

    Both are its identity: fits whose parameters have no comparable content are never shared or stored. Only plain
    fitting knows of it, so no solver answers for it. What is fitted is the estimator itself. Parameters with one value
    for each of the ``n`` rows of the table are given to ``fit`` for the training rows, the others as they are.
    """

    def __init__(self, estimator: Any, params: Mapping[str, Any], n: int) -> None:
        self.estimator = estimator
        self.params = params
        self.n = n

    @property
    def by_row(self) -> bool:
        """Whether a parameter has one value per row."""
        table = np.empty((self.n, 0))
        return any(
            taken is not self.params[name]
            for name, taken in check_method_params(table, dict(self.params), np.arange(0)).items()
        )

    def params_at(self, index: Positions) -> dict[str, Any]:
        """Return the parameters for a fit on the rows at ``index``, copied: a fit may change a callback."""
        taken = check_method_params(np.empty((self.n, 0)), dict(self.params), index)
        return {name: _copied(value) if value is self.params[name] else value for name, value in taken.items()}

    def fit(self, X: Any, y: Any, **metadata: Any) -> Any:
        """Fit the estimator, and return it."""
        return self.estimator.fit(X, y, **metadata)

    def __sklearn_clone__(self) -> WithFitParams:
        return WithFitParams(clone(self.estimator), self.params, self.n)

    def __truefit_key__(self) -> Any:
        return [self.estimator, self.params]


def _copied(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception as error:  # such as an open file, which is not identified by content either
        logger.info("A fit parameter of type %s is used without a copy: %r", type(value).__name__, error)
        return value


def bare(estimator: Any) -> Any:
    """Return the estimator without its fit parameters."""
    return estimator.estimator if isinstance(estimator, WithFitParams) else estimator


def _consumes(estimator: Any, name: str) -> bool:
    return bool(get_routing_for_object(estimator).consumes("fit", [name]))


def wants_groups(estimator: Any) -> bool:
    """Whether the estimator asks for groups in fit; only with metadata routing can it."""
    return bool(get_config()["enable_metadata_routing"]) and _consumes(bare(estimator), "groups")


def weight_parameter(estimator: Any) -> str | None:
    """Name under which ``fit`` takes the weights; None if it does not."""
    if get_config()["enable_metadata_routing"]:
        return "sample_weight" if _consumes(estimator, "sample_weight") else None
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = None if last in (None, "passthrough") else weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def check_takes_weights(estimator: Any) -> None:
    """Refuse weights that would silently not be used."""
    if weight_parameter(estimator) is not None:
        return
    if get_config()["enable_metadata_routing"]:
        advice = "Request them where they are used: set_fit_request(sample_weight=True)."
    else:
        advice = "Leave sample_weight out, or use an estimator whose fit takes it."
    raise InvalidEstimator(
        f"With sample_weight every estimator must take weights in fit. Got {type(estimator).__name__}, which does not. "
        f"{advice}"
    )


def fit_metadata(estimator: Any, data: Data, index: Positions) -> dict[str, Any]:
    """Keyword arguments for ``fit`` on the rows at ``index``."""
    if isinstance(estimator, WithFitParams):
        return fit_metadata(estimator.estimator, data, index) | estimator.params_at(index)
    metadata: dict[str, Any] = {}
    if data.weight is not None:
        name = weight_parameter(estimator)
        if name is not None:
            metadata[name] = data.weight[index]
    if data.groups is not None and wants_groups(estimator):
        metadata["groups"] = data.groups[index]
    return metadata
