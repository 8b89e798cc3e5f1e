"""Fingerprint: what an estimator, a parameter or a piece of code is known by.

Things from installed distributions are known by name (their version is part of every key); functions and classes
of the user's own by their code and by what it refers to, so that an edited function is another function.
"""

from __future__ import annotations

import copyreg
import datetime
import dis
import enum
import functools
import importlib.util
import os
import pathlib
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from importlib import metadata
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from truefit.core.identity import IDENTITY_VERSION
from truefit.core.params import params_of

_ALWAYS = ("sklearn", "numpy", "scipy")
_PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    datetime.date,
    datetime.timedelta,
    datetime.time,
    pathlib.PurePath,
)


class Unkeyable(Exception):
    """The thing cannot be known by its content."""


class Fingerprint:
    """Digest of an object's content, and the packages that it comes from.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> Fingerprint(Ridge(alpha=1.0)).digest == Fingerprint(Ridge()).digest
    True
    >>> Fingerprint(Ridge(alpha=2.0)).digest == Fingerprint(Ridge()).digest
    False
    """

    def __init__(self, thing: Any) -> None:
        self._hash = blake2b(digest_size=16)
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # ids stay unique only while their objects live
        self._stateful = False
        self.packages: set[str] = set(_ALWAYS)
        self._add(thing)
        for package in sorted(self.packages):
            self._text(f"{package}=={package_version(package)}")
        self.digest: bytes = self._hash.digest()

    def _text(self, text: str) -> None:
        content = text.encode("utf-8", "surrogatepass")
        self._hash.update(b"%d:" % len(content))
        self._hash.update(content)

    def _bytes(self, tag: str, content: Any) -> None:
        self._text(tag)
        view = memoryview(content)
        self._hash.update(b"%d:" % view.nbytes)
        self._hash.update(view)

    def _add(self, thing: Any) -> None:
        if thing is None or thing is Ellipsis or thing is NotImplemented:
            self._text(repr(thing))
        elif isinstance(thing, enum.Enum):
            self._text("enum")
            self._add(type(thing))
            self._text(thing.name)
        elif type(thing) in _PLAIN or isinstance(thing, datetime.date | pathlib.PurePath):
            self._text(f"{type(thing).__name__} {thing!r}")
        elif isinstance(thing, np.generic):
            # A grid made by numpy holds its float64, and means Python's float.
            value = thing.item()
            same = type(value) in _PLAIN and np.asarray(value).dtype == thing.dtype
            self._text(f"{type(value).__name__} {value!r}" if same else f"numpy {thing.dtype.str} {value!r}")
        elif isinstance(thing, np.dtype):
            self._text(f"dtype {thing.str} {thing.descr if thing.names else ''}")
        elif isinstance(thing, types.ModuleType):
            self._add_module(thing)
        elif not self._met_before(thing):
            self._add_compound(thing)

    def _met_before(self, thing: Any) -> bool:
        if id(thing) in self._seen:
            self._text(f"again {self._seen[id(thing)]}")
            return True
        self._seen[id(thing)] = len(self._seen)
        self._alive.append(thing)
        return False

    def _add_compound(self, thing: Any) -> None:
        hook = getattr(type(thing), "__truefit_key__", None)
        if hook is not None:
            self._text("keyed")
            self._add(hook(thing))
        elif type(thing) is dict:
            self._text(f"dict {len(thing)}")  # in its order, which an estimator may go by
            for item in thing.items():
                self._add(item)
        elif type(thing) in (set, frozenset):
            self._add_unordered("set", thing)
        elif type(thing) in (list, tuple):
            self._text(f"{type(thing).__name__} {len(thing)}")
            for item in thing:
                self._add(item)
        elif isinstance(thing, slice | range):
            self._text(repr(thing))
        elif type(thing) in (np.ndarray, np.memmap):
            self._add_array(thing)
        elif sparse.issparse(thing):
            rows = thing.tocsr()
            self._text(f"sparse {rows.shape}")
            for part in (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data):
                self._add_array(part)
        elif isinstance(thing, type):
            self._add_class(thing)
        elif isinstance(thing, types.FunctionType):
            self._add_with_state(self._add_function, thing)
        elif isinstance(thing, staticmethod | classmethod):
            self._text(type(thing).__name__)
            self._add(thing.__func__)
        elif isinstance(thing, property):
            self._text("property")
            self._add((thing.fget, thing.fset, thing.fdel))
        elif isinstance(thing, functools.cached_property):
            self._text("cached property")
            self._add(thing.func)
        elif isinstance(thing, types.MemberDescriptorType | types.GetSetDescriptorType):
            self._text(f"member {thing.__qualname__}")
        elif hasattr(thing, "get_params") and not self._stateful and _clones_by_params(type(thing)):
            # What is fitted is a clone, so whatever else the object carries takes no part.
            self._text("estimator")
            self._add(type(thing))
            self._add_unordered("params", params_of(thing).items())
            # Set by set_fit_request and set_output; a clone has them too.
            for name in ("_metadata_request", "_sklearn_output_config"):
                self._add(vars(thing).get(name) if hasattr(thing, "__dict__") else None)
        else:
            self._add_with_state(self._add_reduced, thing)

    def _add_with_state(self, add: Callable[[Any], None], thing: Any) -> None:
        """Add something whose parts are kept as they are, not cloned: what is fitted in them counts."""
        stateful, self._stateful = self._stateful, True
        add(thing)
        self._stateful = stateful

    def _add_array(self, array: np.ndarray[Any, Any]) -> None:
        if array.dtype.hasobject:
            self._text(f"objects {array.shape}")
            for item in array.reshape(-1):
                self._add(item)
        else:
            self._bytes(
                f"array {array.dtype.str} {array.shape}",
                np.ascontiguousarray(array).reshape(-1).view(np.uint8),
            )

    def _add_unordered(self, tag: str, items: Any) -> None:
        digests = sorted(self._digest_of(item) for item in items)
        self._text(f"{tag} {len(digests)}")
        for digest in digests:
            self._hash.update(digest)

    def _digest_of(self, thing: Any) -> bytes:
        outer, self._hash = self._hash, blake2b(digest_size=16)
        # Back-references count from the container: the order in which its items come must not matter.
        seen, self._seen = self._seen, dict(self._seen)
        try:
            self._add(thing)
            return self._hash.digest()
        finally:
            self._hash, self._seen = outer, seen

    def _add_class(self, cls: type) -> None:
        if self._known_by_name(cls, cls.__module__, cls.__qualname__):
            return
        self._text(f"class {cls.__qualname__}")
        for base in cls.__bases__:
            self._add(base)
        members = vars(cls).items()
        self._add_unordered("members", [item for item in members if item[0] not in _CLASS_BOOKKEEPING])

    def _add_function(self, function: types.FunctionType) -> None:
        if self._known_by_name(function, function.__module__, function.__qualname__):
            return
        self._text(f"function {function.__qualname__}")
        self._add_code(function.__code__)
        self._add(function.__defaults__)
        self._add(function.__kwdefaults__)
        self._add(function.__dict__)
        for cell in function.__closure__ or ():
            self._add(_cell_contents(cell))
        for name in sorted(set(_names_used(function.__code__))):
            if name in function.__globals__:
                self._text(f"global {name}")
                self._add(function.__globals__[name])
        for name in sorted(set(_modules_imported(function.__code__, function.__globals__))):
            self._add_import(name)

    def _add_code(self, code: types.CodeType) -> None:
        self._text(f"code {sys.version_info[:2]} {code.co_flags} {code.co_argcount} {code.co_kwonlyargcount}")
        self._bytes("bytecode", code.co_code)
        self._add((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
        self._bytes("exceptions", code.co_exceptiontable)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant)
            else:
                self._add(constant)

    def _add_module(self, module: types.ModuleType) -> None:
        if installed(module.__name__):
            self._text(f"module {module.__name__}")
            self.packages.add(module.__name__.partition(".")[0])
            return
        if self._met_before(module):
            return
        # Any name may be looked up in a module of the user's own: all of its text counts, the values it has by now,
        # and what it has imported from other modules of the user's.
        self._add_source(module.__name__, getattr(module, "__file__", None))
        for name, value in sorted(vars(module).items()):
            if name.startswith("__"):
                continue
            home = (
                value if isinstance(value, types.ModuleType) else sys.modules.get(str(getattr(value, "__module__", "")))
            )
            if type(value) in _PLAIN:
                self._text(f"value {name} {value!r}")
            elif home is not None and home is not module and not installed(home.__name__):
                self._add_module(home)

    def _add_source(self, name: str, path: str | None) -> None:
        if path is None or not os.path.isfile(path):
            raise Unkeyable(f"the module {name!r}, which has no source file")
        self._bytes("source", pathlib.Path(path).read_bytes())

    def _add_import(self, name: str) -> None:
        """Add a module that a function imports when it is called."""
        if installed(name):
            self._text(f"module {name}")
        elif name in sys.modules:
            self._add_module(sys.modules[name])
        else:
            try:
                found = importlib.util.find_spec(name)
            except (ImportError, ValueError) as error:
                raise Unkeyable(f"a function that imports {name!r}, which cannot be found") from error
            if found is None:
                raise Unkeyable(f"a function that imports {name!r}, which cannot be found")
            if found.origin is None or not _under_installed_root(found.origin):
                self._add_source(name, found.origin)

    def _add_reduced(self, thing: Any) -> None:
        try:
            reducer = copyreg.dispatch_table.get(type(thing))
            reduced = reducer(thing) if reducer is not None else thing.__reduce_ex__(4)
        except Exception as error:
            raise Unkeyable(f"{type(thing).__name__} object ({error})") from error
        if isinstance(reduced, str):
            self._add_named(thing, reduced)
            return
        self._text("reduced")
        constructor, arguments, *state = reduced
        self._add(constructor)
        self._add(tuple(arguments))
        for part in state:
            self._add(list(part) if isinstance(part, Iterator) else part)

    def _add_named(self, thing: Any, name: str) -> None:
        homes = (getattr(thing, "__module__", None), type(thing).__module__, "numpy", "scipy.special")
        if any(isinstance(home, str) and self._known_by_name(thing, home, name) for home in homes):
            return
        raise Unkeyable(f"{type(thing).__name__} object {name!r}, which is no part of an installed package")

    def _known_by_name(self, thing: Any, module: str | None, qualname: str) -> bool:
        """Add a name in the place of the content, where an installed module has the very thing under that name."""
        if module is None or not installed(module):
            return False
        found: Any = sys.modules.get(module)
        for name in qualname.split("."):
            found = getattr(found, name, None)
        self.packages.add(module.partition(".")[0])
        if found is not thing:
            return False
        self._text(f"name {module}.{qualname}")
        return True


_CLASS_BOOKKEEPING = frozenset(
    {
        "__module__",
        "__dict__",
        "__weakref__",
        "__doc__",
        "__qualname__",
        "__firstlineno__",
        "__static_attributes__",
        "__annotations__",
        "__abstractmethods__",
        "_abc_impl",
        "__parameters__",
        "__orig_bases__",
        "_sklearn_auto_wrap_output_keys",
        "__slotnames__",
    }
)


def _clones_by_params(cls: type) -> bool:
    own = getattr(cls, "__sklearn_clone__", None)
    return own is None or own is BaseEstimator.__sklearn_clone__


def _cell_contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet: a class body that refers to itself
        return "empty cell"


def _names_used(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_used(constant)


def _modules_imported(code: types.CodeType, space: Mapping[str, Any]) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            name = str(step.argval)
            yield name if name else str(space.get("__package__") or name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _modules_imported(constant, space)


@functools.cache
def _installed_roots() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple({os.path.realpath(path) + os.sep for path in paths if path})


@functools.cache
def _under_installed_root(path: str) -> bool:
    return os.path.realpath(path).startswith(_installed_roots())


def installed(module_name: str | None) -> bool:
    """Whether a module comes from an installed distribution (or Python itself), not from the user's own files."""
    if not module_name or module_name == "__main__":
        return False
    top = module_name.partition(".")[0]
    if top == "truefit":
        return True
    path = getattr(sys.modules.get(module_name) or sys.modules.get(top), "__file__", None)
    if path is not None:
        return _under_installed_root(path)
    return top in sys.builtin_module_names or top in sys.stdlib_module_names


@functools.cache
def package_version(package: str) -> str:
    """Version of an importable package; truefit's own is the version of its identities."""
    if package == "truefit":
        return str(IDENTITY_VERSION)
    if package in sys.stdlib_module_names or package in sys.builtin_module_names:
        return ".".join(map(str, sys.version_info[:2]))
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(package, [])
        return ",".join(f"{name}=={metadata.version(name)}" for name in sorted(set(names))) or "unknown"
