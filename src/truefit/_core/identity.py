"""Identity of a fit: keys from content, and the environment that the names of installed classes stand for."""

from __future__ import annotations

import functools
import gc
import operator
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from truefit._core.data import Data, LabelledRows
from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._core.packages import IDENTITY_VERSION, closure, installed, installed_function, package_digest
from truefit._core.parameters import OpenSeed, WithFitParams, bare, open_seeds, seeds_for, wants_groups
from truefit._core.protocols import Fit, FitTask, Origin, private_key
from truefit._core.rows import Rows
from truefit._core.stages import AtStage

# A fingerprint identifies installed classes by name. The same name means the same code only while the files of the
# packages are the same, nothing in them was replaced at run time, and the classes hold the same values.


def environment_digest(packages: Iterable[str], classes: Iterable[type], *, files: bool) -> bytes:
    """Digest of what the names of packages and installed classes stand for, with their ``files`` for a store."""
    packages = tuple(packages)
    digest = blake2b(digest_size=16)
    if files:
        digest.update(package_digest(packages))
    for place, value in replaced(packages):
        digest.update(place.encode())
        digest.update(Fingerprint(value).digest)
    for state in sorted(class_state(cls) for cls in classes):
        digest.update(state.encode("utf-8", "surrogatepass"))
    return digest.digest()


class Environments:
    """Environment digests, each computed once as long as no further module is loaded."""

    def __init__(self) -> None:
        self._known: dict[tuple[frozenset[str], frozenset[type], bool], bytes] = {}
        self._modules = 0

    def digest(self, packages: Iterable[str], classes: Iterable[type], *, files: bool) -> bytes:
        """Return ``environment_digest``, from before where nothing can have changed."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._known.clear()
        place = frozenset(packages), frozenset(classes), files
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = environment_digest(*place[:2], files=files)
        return known


#: What Python and scikit-learn write into a class by themselves, at a time that says nothing about it.
_BOOKKEEPING = frozenset(
    {"__doc__", "__module__", "__dict__", "__weakref__", "__slotnames__", "_abc_impl", "__abstractmethods__"}
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def replaced(packages: Iterable[str]) -> list[tuple[str, Any]]:
    """Return what is not of an installed package, but found in one of these packages or in what they need."""
    wanted = closure(frozenset(packages))
    place = wanted, id(sys.modules)
    known = _searched.get(place)
    if known is not None and known.unchanged():
        return []
    modules = {
        name: module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in wanted and isinstance(module, types.ModuleType)
    }
    classes = [cls for name, module in modules.items() for _, cls in _classes(name, module)]
    # The versions are read before the search: what changes during it is found by the next.
    versions = NamespaceVersions([*modules.values(), *classes], sys.modules)
    found = [item for name, module in modules.items() for item in _replaced_in(name, module)]
    if found:
        _searched.pop(place, None)
    else:
        if len(_searched) >= _MOST_SEARCHED:
            _searched.clear()
        _searched[place] = versions
    return sorted(found, key=lambda item: item[0])


#: Packages in which nothing was replaced when their namespaces had these versions.
_searched: dict[tuple[frozenset[str], int], NamespaceVersions] = {}
_MOST_SEARCHED = 20


def _classes(name: str, module: types.ModuleType) -> list[tuple[str, type]]:
    """Return the classes that a module defines."""
    return [(key, value) for key, value in list(vars(module).items()) if _is_class(value) and value.__module__ == name]


#: The values of modules and of their classes in which nothing is replaced: comparing with them is quick.
_unchanged: dict[str, tuple[types.ModuleType, list[Any], list[tuple[type, list[Any]]]]] = {}


def _replaced_in(name: str, module: types.ModuleType) -> list[tuple[str, Any]]:
    known = _unchanged.get(name)
    values = list(vars(module).values())
    if (
        known is not None
        and known[0] is module
        and _identical(values, known[1])
        and all(_identical(list(vars(cls).values()), members) for cls, members in known[2])
    ):
        return []
    found = [(f"{name}.{attribute}", value) for attribute, value in list(vars(module).items()) if _foreign(value)]
    classes = []
    for attribute, cls in _classes(name, module):
        members = list(vars(cls).items())
        classes.append((cls, [member for _, member in members]))
        found += [(f"{name}.{attribute}.{key}", member) for key, member in members if _foreign(member)]
    if found:
        _unchanged.pop(name, None)
    else:
        _unchanged[name] = (module, values, classes)
    return found


def _identical(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _foreign(value: Any) -> bool:
    kind = type(value)
    if kind is types.FunctionType:
        return not installed_function(value)
    if kind in (staticmethod, classmethod, types.MethodType):
        return _foreign(value.__func__)
    if kind is property:
        return any(_foreign(part) for part in (value.fget, value.fset, value.fdel))
    if kind is functools.partial:
        return _foreign(value.func)
    if _is_class(value):
        return not _installed_type(value)
    if kind is types.ModuleType:
        return False  # what an import has put there
    return not _installed_type(kind)


def _is_class(value: Any) -> bool:
    # Not isinstance: it looks at an attribute of the value, and some packages warn when theirs are looked at.
    return issubclass(type(value), type)


def _installed_type(cls: type) -> bool:
    return _installed_home(str(getattr(cls, "__module__", "builtins")))


@functools.lru_cache(maxsize=10_000)
def _installed_home(home: str) -> bool:
    # A type whose module has no file (Cython's functions) was made by compiled code.
    has_file = getattr(sys.modules.get(home), "__file__", None) is not None
    return home != "__main__" and (not has_file or installed(home))


# Versions of namespaces tell whether any of thousands of modules and classes has changed, without a look at their
# values: that would touch every function of numpy, scipy and scikit-learn in memory and take longer than a short
# cross-validation. CPython 3.11 to 3.13 gives each dictionary a version, a number that is new after every change (PEP
# 509). Python code cannot read it, so ``ctypes`` does. Where it cannot be read (later versions of Python, other
# interpreters), nothing is reported as unchanged, and the values are looked at.

_WITH_VERSIONS = ((3, 11), (3, 12), (3, 13))
_read = operator.attrgetter("value")


class NamespaceVersions:
    """The versions that modules, classes and further dictionaries have now, to be compared with later ones.

    >>> from types import SimpleNamespace
    >>> registry = {}
    >>> versions = NamespaceVersions([SimpleNamespace], registry)
    >>> registry["new"] = 1
    >>> versions.unchanged()
    False
    """

    def __init__(self, owners: Iterable[type | types.ModuleType], *dictionaries: dict[str, Any]) -> None:
        self._namespaces = [*dictionaries, *map(_namespace, owners)]  # held, so that their addresses stay their own
        self._readable = readable() and all(isinstance(each, dict) for each in self._namespaces)
        self._cells = _cells(self._namespaces) if self._readable else []
        self._versions = list(map(_read, self._cells))

    def unchanged(self) -> bool:
        """Whether it is certain that no name was set, replaced or removed in any of them."""
        return self._readable and list(map(_read, self._cells)) == self._versions


def _namespace(owner: type | types.ModuleType) -> Any:
    namespace: Any = vars(owner)
    # Of the dictionary of a class Python shows a read-only view only.
    return gc.get_referents(namespace)[0] if isinstance(namespace, types.MappingProxyType) else namespace


def _cells(dictionaries: Iterable[dict[str, Any]]) -> list[Any]:
    import ctypes

    # In memory: the header that every object has, the number of entries, the version.
    place = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
    return [ctypes.c_uint64.from_address(id(each) + place) for each in dictionaries]


@functools.cache
def readable() -> bool:
    """Whether versions can be read in this process, and are new after every kind of change."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in _WITH_VERSIONS:
        return False
    tried: dict[str, Any] = {"a": 1, "b": 2}
    try:
        (cell,) = _cells([tried])
    except ImportError:  # a Python that was built without ctypes
        return False
    seen = [cell.value]
    for change in _CHANGES:
        change(tried)
        seen.append(cell.value)
    tried.get("a"), list(tried.items())
    return len(set(seen)) == len(seen) and cell.value == seen[-1]


_CHANGES: tuple[Callable[[dict[str, Any]], Any], ...] = (
    lambda tried: tried.__setitem__("a", 3),
    lambda tried: tried.__setitem__("c", 4),
    lambda tried: tried.update(a=5),
    lambda tried: tried.setdefault("d", 6),
    lambda tried: tried.pop("a"),
    lambda tried: tried.__delitem__("b"),
    lambda tried: tried.popitem(),
    lambda tried: tried.__ior__({"e": 7}),
    lambda tried: tried.clear(),
    lambda tried: tried.__setitem__("a", 1),
)


def class_state(cls: type) -> str:
    """Return what the classes of an installed estimator hold: plain values, and which function each method is."""
    members = [(base, member) for base in cls.__mro__ if base is not object for member in _members(base)]
    return "\n".join(sorted(f"{base.__module__}.{base.__qualname__}.{name}={value}" for base, (name, value) in members))


def _members(cls: type) -> Iterator[tuple[str, str]]:
    for name, value in list(vars(cls).items()):
        if name in _BOOKKEEPING:
            continue
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        if isinstance(value, types.FunctionType):
            yield name, f"{value.__module__}.{value.__qualname__}:{value.__code__.co_firstlineno}"
        elif type(value) in _PLAIN and not name.startswith("__"):
            yield name, repr(value)


#: Settings of scikit-learn that change what a fit does.
_SETTINGS = (
    *("transform_output", "enable_metadata_routing", "array_api_dispatch"),
    *("assume_finite", "skip_parameter_validation"),
)


class _Known(NamedTuple):
    """What depends on the estimator alone."""

    fingerprint: bytes | None  # None where it cannot be identified by content
    origin: Origin
    open_seeds: tuple[OpenSeed, ...]
    wants_groups: bool


class Keys:
    """Gives the tasks on one table their keys and seeds; what depends on the estimator alone is computed once.

    With ``shared``, outcomes may be used beyond this call or computed in another process: the keys then include what
    the names of installed packages stand for in this process. With ``stored``, outcomes may be used beyond this
    process: the keys then include the files of the packages too.
    """

    def __init__(self, data: Data, *, shared: bool = False, stored: bool = False) -> None:
        self.data = data
        self._shared = shared or stored
        self._stored = stored
        self._environments = Environments()
        settings = {name: get_config().get(name) for name in _SETTINGS}
        self._schema = blake2b(f"{data.schema} {settings} {np.geterr()}".encode(), digest_size=16).digest()
        self._estimators: dict[int, tuple[Any, _Known]] = {}
        self._labelled = LabelledRows(data)
        self._labels: dict[tuple[int, int], tuple[Any, Rows, tuple[int, int]]] = {}

    def fit(self, task: FitTask) -> Fit:
        """Return the fit that a task stands for, with the task's own asks."""
        estimator_key, origin, open_paths, grouped = self._estimator(task.estimator)
        train = b"%016x%016x" % self.data.digest(task.train)
        seeds = seeds_for(open_paths, train, task.repeat) if open_paths else ()
        train_key = b"%b|%d %d" % (train, len(task.train), task.repeat)
        if task.y is not None:
            train_key += b"|labels %016x%016x" % self._label_digest(task.train, task.y)
        if grouped and self.data.groups is not None:
            train_key += b"|groups %016x%016x" % self._label_digest(task.train, self.data.groups)
        if isinstance(task.estimator, WithFitParams) and task.estimator.by_row:
            # Which value a row has is known by where it stands in the table.
            train_key += b"|table %b|places %b" % (self.data.rowset, _digest(task.train.index))
        if task.each_left_out:
            train_key += b"|each left out"
        if estimator_key is None:
            key = private_key()
        else:
            content = b"%d|%b|%b|%b|%b" % (
                IDENTITY_VERSION, self._schema, estimator_key, origin.environment or b"", train_key,
            )  # fmt: skip
            if origin.own_code:
                content += self._order(task.train)
            key = blake2b(content, digest_size=16).hexdigest()
        return Fit(
            key, estimator_key or key.encode(), train_key, task.estimator, task.train, task.asks, seeds, task.y,
            task.keep is not None, keep=task.keep if isinstance(task.estimator, AtStage) else None,
            each_left_out=task.each_left_out, origin=origin,
        )  # fmt: skip

    def _order(self, rows: Rows) -> bytes:
        """Return the order of rows and their integer index, on which code of the user's own may depend."""
        order = b"|order %b" % self.data.rowset_of(rows)
        index = getattr(self.data.X, "index", None)
        if index is None or not hasattr(index, "to_numpy") or index.dtype.kind not in "iu":
            return order
        labels = index.to_numpy()
        return order + b"|index %b" % _digest(labels if rows.whole else labels[rows.index])

    def _estimator(self, estimator: Any) -> _Known:
        known = self._estimators.get(id(estimator))
        if known is None:
            found = Fingerprint(estimator, tolerant=True)
            unknown = list(found.unknown)
            environment: bytes | None = None
            if self._shared:
                try:
                    environment = self._environments.digest(found.packages, found.classes, files=self._stored)
                except NotComparable as reason:
                    unknown.append(str(reason))
            if unknown:
                warnings.warn(
                    f"{type(bare(estimator)).__name__} cannot be identified by its content: {unknown[0]}. Its fits are "
                    "run each time, never shared or stored. Give it parameters that are plain values, arrays, "
                    "functions or estimators.",
                    stacklevel=2,
                )
            origin = Origin(found.digest, environment, self._stored, found.own_code)
            digest = None if unknown else found.digest
            # The estimator is held so that its id stays its own.
            known = estimator, _Known(digest, origin, open_seeds(estimator), wants_groups(estimator))
            self._estimators[id(estimator)] = known
        return known[1]

    def _label_digest(self, rows: Rows, labels: Any) -> tuple[int, int]:
        place = (id(rows), id(labels))
        known = self._labels.get(place)
        if known is None or known[0] is not labels or known[1] is not rows:
            known = (labels, rows, self._labelled.digest(rows, labels))
            self._labels = {place: known}  # tasks come in runs of the same labels: one is enough
        return known[2]


def _digest(numbers: npt.NDArray[np.integer]) -> bytes:
    return blake2b(np.ascontiguousarray(numbers).astype(np.int64).data, digest_size=16).digest()
