"""Versions of namespaces: whether any of thousands of modules and classes has changed, without looking at their values.

CPython 3.11 to 3.13 gives each dictionary a version, a number that is new after every change (PEP 509). Python code
cannot read it, so ``ctypes`` does. Comparing the values instead touches every function of numpy, scipy and
scikit-learn in memory, which takes longer than a short cross-validation. Where versions cannot be read (later versions
of Python, other interpreters), nothing is reported as unchanged, and the caller has to look at the values.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

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
