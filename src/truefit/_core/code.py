"""Code: what compiled code refers to, and functions of installed packages that were replaced at run time."""

from __future__ import annotations

import dis
import functools
import importlib.util
import operator
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from truefit._core.packages import closure, installed, under_installed_root

#: Builtins by which code looks up names that cannot be seen in it.
_DYNAMIC = frozenset({"globals", "eval", "exec", "compile", "__import__", "input"})
#: Attributes by which code reaches modules or frames behind its names, or the environment: variables, folders, clocks.
_HIDING = frozenset(
    {
        *("environ", "environb", "getenv", "getenvb", "expandvars"),
        *("import_module", "__import__", "spec_from_file_location", "exec_module", "load_module"),
        *("run_path", "run_module", "_getframe", "_current_frames", "currentframe"),
        *("exists", "lexists", "isfile", "is_file", "isdir", "is_dir", "getmtime", "getsize", "stat", "lstat"),
        *("listdir", "scandir", "iterdir", "glob", "iglob", "rglob", "walk", "gethostname"),
        *("now", "utcnow", "today", "uuid1", "uuid4", "urandom", "token_bytes", "token_hex"),
        *("__globals__", "__builtins__", "__subclasses__", "get_objects", "get_referrers"),
    }
)
#: Readers of files and databases that do not go through Python's ``open``, so that nobody sees them at work.
_NATIVE_READERS = frozenset(
    {
        *("read_csv", "read_parquet", "read_feather", "read_ipc", "read_ndjson", "read_json", "read_excel"),
        *("read_table", "read_database", "read_database_uri", "read_sql", "read_sql_table", "read_sql_query"),
        *("read_hdf", "read_orc", "read_avro", "read_delta", "scan_csv", "scan_parquet", "scan_ipc"),
        *("scan_ndjson", "scan_delta", "ParquetFile", "ParquetDataset", "imread", "open_dataset"),
    }
)
_NATIVE_PACKAGES = frozenset({"h5py", "netCDF4", "zarr", "duckdb", "tables", "rasterio"})


@dataclass(frozen=True)
class Import:
    """An import statement in a function."""

    name: str
    level: int
    taken: tuple[str, ...]

    def resolved(self, space: Mapping[str, Any]) -> str:
        """Return the full name of the module, from the globals of the function as Python does.

        Examples
        --------
        >>> Import("types", 1, ()).resolved({"__package__": "mine.models"})
        'mine.models.types'
        """
        if not self.level:
            return self.name
        package = space.get("__package__")
        if package is None:
            spec = space.get("__spec__")
            package = spec.parent if spec is not None else str(space.get("__name__", "")).rpartition(".")[0]
        return importlib.util.resolve_name("." * self.level + self.name, package)


@dataclass(frozen=True)
class CodeFacts:
    """What a piece of code refers to, the functions and classes inside it included.

    Attributes
    ----------
    globals : frozenset of str
        Names looked up in the module or among the builtins.
    names : frozenset of str
        All names, attributes included.
    imports : tuple of Import
    hidden : frozenset of str
        Names by which it depends on what cannot be seen in it.
    """

    globals: frozenset[str]
    names: frozenset[str]
    imports: tuple[Import, ...]
    hidden: frozenset[str]


@functools.lru_cache(maxsize=10_000)
def facts_of(code: types.CodeType) -> CodeFacts:
    """Return what code refers to.

    Examples
    --------
    >>> def f(x):
    ...     from os import path
    ...     return SCALE * x
    >>> facts = facts_of(f.__code__)
    >>> sorted(facts.globals), facts.imports
    (['SCALE'], (Import(name='os', level=0, taken=('path',)),))
    >>> sorted(facts_of((lambda: globals()["SCALE"]).__code__).hidden)
    ['globals']
    """
    found_globals: set[str] = set()
    names: set[str] = set()
    imports: list[Import] = []
    for part in _parts(code):
        names.update(part.co_names)
        before: list[Any] = []
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                found_globals.add(str(step.argval))
            elif step.opname == "IMPORT_NAME":
                level, taken = before[-2:]
                imports.append(Import(str(step.argval), int(level or 0), tuple(taken or ())))
            before.append(step.argval)
    hidden = (found_globals & _DYNAMIC) | (names & (_HIDING | _NATIVE_READERS))
    if "modules" in names and ("sys" in found_globals or any(found.name == "sys" for found in imports)):
        hidden |= {"sys.modules"}
    reached = found_globals | {found.name.partition(".")[0] for found in imports}
    return CodeFacts(
        frozenset(found_globals), frozenset(names), tuple(imports), frozenset(hidden | (reached & _NATIVE_PACKAGES))
    )


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _parts(constant)


# A class of an installed package is identified by its name and its package. Somebody who assigns to
# ``sklearn.linear_model.Ridge.fit`` changes what the name stands for; then the name alone must not be its identity.


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
