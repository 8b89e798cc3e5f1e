"""Patches: functions and classes of installed packages that were replaced at run time.

A class of an installed package is identified by its name and its package. Somebody who assigns to
``sklearn.linear_model.Ridge.fit`` changes what the name stands for; then the name alone must not be its identity.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from truefit.core.packages import closure, installed, under_installed_root

#: What Python and scikit-learn write into a class by themselves, at a time that says nothing about it.
_BOOKKEEPING = frozenset(
    {"__doc__", "__module__", "__dict__", "__weakref__", "__slotnames__", "_abc_impl", "__abstractmethods__"}
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def installed_function(function: types.FunctionType) -> bool:
    """Whether the code of a function, wherever the function is found now, comes from an installed package."""
    filename = function.__code__.co_filename
    home = str(function.__globals__.get("__name__", ""))
    if filename.startswith("<"):  # generated, or typed in somewhere
        return installed(home) or home.startswith("namedtuple_")
    return under_installed_root(filename)


def replaced(packages: Iterable[str]) -> list[tuple[str, Any]]:
    """Return what is not of an installed package, but found in one of these packages or in what they need.

    Examples
    --------
    >>> import sklearn.linear_model
    >>> replaced(["sklearn"])
    []
    """
    wanted = closure(packages)
    found: list[tuple[str, Any]] = []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in wanted and isinstance(module, types.ModuleType):
            found.extend(_replaced_in(name, module))
    return sorted(found, key=lambda item: item[0])


class _Seen:
    """Values of modules and classes in which nothing is replaced, to compare with the next time: that is quick."""

    def __init__(self) -> None:
        self.modules: dict[str, tuple[types.ModuleType, list[Any], list[tuple[type, list[Any]]]]] = {}


_seen = _Seen()


def _replaced_in(name: str, module: types.ModuleType) -> list[tuple[str, Any]]:
    known = _seen.modules.get(name)
    values = list(vars(module).values())
    if (
        known is not None
        and known[0] is module
        and _identical(values, known[1])
        and all(_identical(list(vars(cls).values()), members) for cls, members in known[2])
    ):
        return []
    found = []
    classes = []
    for attribute, value in list(vars(module).items()):
        if _foreign(value):
            found.append((f"{name}.{attribute}", value))
        elif _is_class(value) and value.__module__ == name:
            members = list(vars(value).items())
            classes.append((value, [member for _, member in members]))
            found += [(f"{name}.{attribute}.{key}", member) for key, member in members if _foreign(member)]
    if found:
        _seen.modules.pop(name, None)
    else:
        _seen.modules[name] = (module, values, classes)
    return found


def _identical(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _foreign(value: Any) -> bool:
    kind = type(value)
    if kind is types.FunctionType:
        return not installed_function(value)
    if kind in (staticmethod, classmethod):
        return _foreign(value.__func__)
    if kind is property:
        return any(_foreign(part) for part in (value.fget, value.fset, value.fdel))
    if kind is functools.partial:
        return _foreign(value.func)
    if kind is types.MethodType:
        return _foreign(value.__func__)
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


def class_state(cls: type) -> str:
    """Return what the classes of an installed estimator hold: plain values, and which function each method is.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> before = class_state(Ridge)
    >>> Ridge.flag = True
    >>> after = class_state(Ridge)
    >>> del Ridge.flag
    >>> before == class_state(Ridge), before == after
    (True, False)
    """
    parts = []
    for base in cls.__mro__:
        if base is object:
            continue
        for name, value in _members(base):
            parts.append(f"{base.__module__}.{base.__qualname__}.{name}={value}")
    return "\n".join(sorted(parts))


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
