"""Fingerprint: the identity of an estimator, a parameter or a piece of code, as a digest of its content.

Things from installed packages are identified by name (``packages.py`` identifies the packages). Functions and
classes of the user's own are identified by what this process would run: their compiled code, the values of the globals
it refers to, and the modules it imports, however far that reaches. Files are not looked at: a module that was edited
after it was imported still runs as it was.

What cannot be seen in this way (names looked up at run time, environment variables, objects without a comparable
content) raises ``NotComparable``: such fits are run each time, never shared or stored. ``hidden_inputs.py`` watches
what a fit reads while it runs.
"""

from __future__ import annotations

import builtins
import copyreg
import datetime
import enum
import functools
import importlib
import logging
import os
import pathlib
import sys
import threading
import time
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b, file_digest
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from truefit._core.hidden_inputs import CodeFacts, Import, facts_of
from truefit._core.packages import installed, installed_function, package_version
from truefit._core.parameters import params_of

_ALWAYS = ("sklearn", "numpy", "scipy")
_PLAIN = (bool, int, float, complex, str, bytes, datetime.date, datetime.timedelta, datetime.time)
#: Files named by parameters of installed estimators count with their content, up to this size.
_FILE_BYTES = 1 << 30
#: Types of globals that hold nothing a fit could depend on.
_WITHOUT_CONTENT = (
    *(type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event, threading.Semaphore),
    *(logging.Logger, typing.TypeVar, typing.ParamSpec),
)
_STARTED = time.time()
_CLASS_BOOKKEEPING = frozenset(
    {
        *("__module__", "__dict__", "__weakref__", "__doc__", "__qualname__", "__firstlineno__", "__annotations__"),
        *("__static_attributes__", "__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__"),
        *("_sklearn_auto_wrap_output_keys", "__slotnames__"),
    }
)
#: Wrappers of functions: the tag of each, and what it wraps.
_WRAPPERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    staticmethod: ("staticmethod", lambda wrapper: wrapper.__func__),
    classmethod: ("classmethod", lambda wrapper: wrapper.__func__),
    property: ("property", lambda wrapper: (wrapper.fget, wrapper.fset, wrapper.fdel)),
    functools.cached_property: ("cached property", lambda wrapper: wrapper.func),
}


#: Digests are remembered of values that are written in at most so many characters.
_SHORT = 100


def _framed(text: str) -> bytes:
    content = text.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(content), content)


def _written(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r}"


@functools.lru_cache(maxsize=10_000)
def _digest_of_plain(name: str, written: str) -> bytes:
    """Return the digest of a parameter with its plain value, as ``Fingerprint`` makes it of a tuple of the two."""
    content = b"".join(map(_framed, ("tuple 2", _written(name), written)))
    return blake2b(content, digest_size=16).digest()


class NotComparable(Exception):
    """The thing cannot be identified by its content."""


class Fingerprint:
    """Digest of an object's content, and the packages that it comes from.

    A ``tolerant`` one lists parts without comparable content in ``unknown``, where others raise ``NotComparable``.
    """

    def __init__(self, thing: Any, *, tolerant: bool = False) -> None:
        #: What has no content that could be compared; anything but a tolerant fingerprint raises there instead.
        self.unknown: list[str] = []
        self._tolerant = tolerant
        self._hash = blake2b(digest_size=16)
        self._seen: dict[int, int] = {}
        self._open: set[int] = set()  # containers that are being added
        self._alive: list[Any] = []  # ids stay unique only while their objects live
        self._stateful = False
        #: Packages that it comes from, and their classes: what has to be identified besides.
        self.packages: set[str] = set(_ALWAYS)
        self.classes: set[type] = set()
        #: Whether code that is not of an installed package takes part.
        self.own_code = False
        try:
            self._add(thing)
        except RecursionError as error:
            self._not_comparable(f"{type(thing).__name__} object, whose parts are nested too deeply", error)
        for package in sorted(self.packages):
            self._text(f"{package}=={package_version(package)}")
        self.digest: bytes = self._hash.digest()

    def _not_comparable(self, reason: str, cause: Exception | None = None) -> None:
        if not self._tolerant:
            raise NotComparable(reason) from cause
        self.unknown.append(reason)
        self._text("not comparable")

    def _text(self, text: str) -> None:
        self._hash.update(_framed(text))

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
        elif type(thing) in _PLAIN or isinstance(thing, datetime.date):
            self._text(_written(thing))
        elif isinstance(thing, pathlib.PurePath):
            self._text(f"path {thing!s}")
        elif isinstance(thing, np.generic):
            # A grid made by numpy holds its float64, and means Python's float.
            value = thing.item()
            same = type(value) in _PLAIN and np.asarray(value).dtype == thing.dtype
            self._text(f"{type(value).__name__} {value!r}" if same else f"numpy {thing.dtype.str} {value!r}")
        elif isinstance(thing, np.dtype):
            self._text(f"dtype {thing.str} {thing.descr if thing.names else ''}")
        elif isinstance(thing, types.ModuleType):
            self._add_module(thing)
        elif type(thing) in (dict, set, frozenset, list, tuple):
            self._add_container(thing)
        elif not self._met_before(thing):
            self._add_compound(thing)

    def _add_container(self, thing: Any) -> None:
        # By content each time: whether two places hold one list or two equal ones differs between processes.
        if id(thing) in self._open:
            self._text("within itself")
            return
        self._open.add(id(thing))
        if type(thing) is dict:
            self._text(f"dict {len(thing)}")  # in its order, which an estimator may go by
            for part in chain.from_iterable(list(thing.items())):
                self._add(part)
        elif type(thing) in (set, frozenset):
            self._add_unordered("set", thing)
        else:
            self._text(f"{type(thing).__name__} {len(thing)}")
            for item in list(thing):
                self._add(item)
        self._open.discard(id(thing))

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
        elif wrapper := next((kind for kind in _WRAPPERS if isinstance(thing, kind)), None):
            tag, wrapped = _WRAPPERS[wrapper]
            self._text(tag)
            self._add(wrapped(thing))
        elif isinstance(thing, types.MemberDescriptorType | types.GetSetDescriptorType):
            self._text(f"member {thing.__qualname__}")
        elif hasattr(type(thing), "cache_info") and hasattr(thing, "__wrapped__"):
            self._text("cached function")  # what it has cached follows from what it is
            self._add(thing.__wrapped__)
        elif hasattr(thing, "get_params") and not self._stateful and _own_clone(type(thing)) is None:
            # What is fitted is a clone, so whatever else the object carries takes no part.
            self._text("estimator")
            self._add(type(thing))
            params = params_of(thing)
            self._add_digests("params", map(self._digest_of_param, params.items()))
            if installed(type(thing).__module__):
                self._add_files(params)
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
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self._bytes(f"array {array.dtype.str} {array.shape}", content)

    def _add_unordered(self, tag: str, items: Any) -> None:
        self._add_digests(tag, map(self._digest_of, items))

    def _add_digests(self, tag: str, digests: Iterable[bytes]) -> None:
        ordered = sorted(digests)
        self._text(f"{tag} {len(ordered)}")
        for digest in ordered:
            self._hash.update(digest)

    def _digest_of_param(self, item: tuple[str, Any]) -> bytes:
        name, value = item
        # Of the estimators of a grid most parameters are the same.
        if type(name) is str and (value is None or type(value) in _PLAIN):
            written = _written(value)
            if len(written) <= _SHORT:
                return _digest_of_plain(name, written)
        return self._digest_of(item)

    def _digest_of(self, thing: Any) -> bytes:
        outer, self._hash = self._hash, blake2b(digest_size=16)
        # Back-references count from the container: the order in which its items come must not matter.
        seen, self._seen = self._seen, dict(self._seen)
        try:
            self._add(thing)
            return self._hash.digest()
        finally:
            self._hash, self._seen = outer, seen

    def _add_files(self, params: dict[str, Any]) -> None:
        """Add the content of files that parameters of an installed estimator name: compiled code may read them."""
        for name, value in sorted(params.items()):
            path = str(value) if isinstance(value, str | pathlib.PurePath) else ""
            if (os.sep in path or "." in path) and os.path.isfile(path):
                if os.path.getsize(path) > _FILE_BYTES:
                    self._not_comparable(f"the file {path!r}, which is too large to be compared")
                    continue
                try:
                    with open(path, "rb") as file:
                        digest = file_digest(file, lambda: blake2b(digest_size=16))
                    self._text(f"file of {name} {digest.hexdigest()}")
                except OSError as error:
                    self._not_comparable(f"the file {path!r} ({error.strerror})", error)

    def _add_reduced(self, thing: Any) -> None:
        try:
            reducer = copyreg.dispatch_table.get(type(thing))
            reduced = reducer(thing) if reducer is not None else thing.__reduce_ex__(4)
        except Exception as error:
            self._not_comparable(f"{type(thing).__name__} object ({error})", error)
            return
        if isinstance(reduced, str):
            if not any(self._known_by_name(thing, home, reduced) for home in _homes(thing, reduced)):
                kind = type(thing).__name__
                self._not_comparable(f"{kind} object {reduced!r}, which is not part of an installed package")
            return
        self._text("reduced")
        if not installed(type(thing).__module__):
            self._add(type(thing))  # also where it says to be made in another way
        constructor, arguments, *state = reduced
        self._add(constructor)
        self._add(tuple(arguments))
        for part in state:
            self._add(list(part) if isinstance(part, Iterator) else part)

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

    def _add_class(self, cls: type) -> None:
        if self._known_by_name(cls, cls.__module__, cls.__qualname__):
            self.classes.add(cls)
            return
        self.own_code = True
        self._text(f"class {cls.__qualname__}")
        self._add(type(cls))
        for base in cls.__bases__:
            self._add(base)
        members = list(vars(cls).items())
        self._add_unordered("members", [item for item in members if item[0] not in _CLASS_BOOKKEEPING])

    def _add_function(self, function: types.FunctionType) -> None:
        # Where its code is from counts: a function put in the place of an installed one may bear its name.
        if installed_function(function) and self._known_by_name(function, function.__module__, function.__qualname__):
            return
        self.own_code = True
        self._text(f"function {function.__qualname__}")
        facts = facts_of(function.__code__)
        hidden = facts.hidden.difference(function.__globals__)
        if hidden:
            names = ", ".join(sorted(hidden))
            self._not_comparable(f"the function {function.__qualname__!r}, which uses {names}")
        self._add_code(function.__code__)
        self._add(function.__defaults__)
        self._add(function.__kwdefaults__)
        self._add(function.__dict__)
        for cell in function.__closure__ or ():
            self._add_global(_cell_contents(cell), facts)
        for name in sorted(facts.globals):
            self._text(f"global {name}")
            if name in function.__globals__:
                self._add_global(function.__globals__[name], facts)
            else:
                self._add(getattr(builtins, name, None))  # somebody's own may stand among those of Python
        for found in facts.imports:
            self._add_import(found, function.__globals__, facts)

    def _add_global(self, value: Any, facts: CodeFacts) -> None:
        if isinstance(value, types.ModuleType):
            self._add_module(value, facts.names)
        else:
            self._add_value(value)

    def _add_value(self, value: Any) -> None:
        if isinstance(value, _WITHOUT_CONTENT):
            self._text(f"a {type(value).__name__}")
        else:
            self._add(value)

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

    def _add_module(self, module: types.ModuleType, names: frozenset[str] = frozenset()) -> None:
        """Add a module that code refers to, with those of its submodules that the code names."""
        if installed(module.__name__):
            self._text(f"module {module.__name__}")
            self.packages.add(module.__name__.partition(".")[0])
            return
        submodules = _submodules(module)
        for name in sorted(names & submodules.keys()):
            self._text(f"submodule {name}")
            self._add_module(submodules[name], names)
        if self._met_before(module):
            return
        self.own_code = True
        self._text(f"own module {module.__name__}")
        path = getattr(module, "__file__", None)
        if path is None and not hasattr(module, "__path__"):
            self._not_comparable(f"the module {module.__name__!r}, which has no file")
        if path is not None and not path.endswith((".py", ".pyc", ".pyw")):
            self._add_compiled(path)
        # Any name may be looked up in it. Its values are what code in this process would see, whatever its file says.
        values = {name: value for name, value in vars(module).items() if name not in submodules}
        for name in sorted(values):
            if not name.startswith("__") or name in ("__getattr__", "__dir__"):
                self._text(f"value {name}")
                self._add_module_value(module, name, values[name])

    def _add_module_value(self, module: types.ModuleType, name: str, value: Any) -> None:
        if isinstance(value, types.ModuleType):
            self._add_module(value, frozenset(_submodules(value)) if not installed(value.__name__) else frozenset())
        elif isinstance(value, types.BuiltinFunctionType) and value.__module__ == module.__name__:
            self._text(f"compiled {name}")  # its file counts
        else:
            self._add_with_state(self._add_value, value)

    def _add_compiled(self, path: str) -> None:
        """Add an extension module of the user's own, as it was when it was loaded."""
        if os.stat(path).st_mtime > _STARTED:
            self._not_comparable(f"the compiled module {os.path.basename(path)!r}, built after this process began")
        else:
            self._bytes("compiled", pathlib.Path(path).read_bytes())

    def _add_import(self, found: Import, space: dict[str, Any], facts: CodeFacts) -> None:
        """Add a module that a function imports when it is called, and what the function takes from it."""
        try:
            name = found.resolved(space)
        except ImportError as error:
            self._not_comparable(f"an import that cannot be resolved ({error})", error)
            return
        module = self._imported(name)
        if module is None:
            return
        self._add_module(module, facts.names)
        for attribute in found.taken:
            if not hasattr(module, attribute) and hasattr(module, "__path__"):
                inner = self._imported(f"{name}.{attribute}")
            else:
                inner = getattr(module, attribute, None)
            if isinstance(inner, types.ModuleType):
                self._add_module(inner, facts.names)

    def _imported(self, name: str) -> types.ModuleType | None:
        if name in sys.modules or not installed(name):
            try:
                # The function would import it. What it is can be known only when it is loaded.
                importlib.import_module(name)
            except ImportError:
                self._text(f"no module {name}")
                return None
            except Exception as error:
                self._not_comparable(f"the module {name!r}, which cannot be imported ({error})", error)
                return None
            if "." in name:  # `import a.b` gives a, through which any of a may be used
                self._add_module(sys.modules[name.partition(".")[0]], frozenset())
            return sys.modules.get(name)
        self._text(f"module {name}")
        self.packages.add(name.partition(".")[0])
        return None


def _cell_contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet: a class body that refers to itself
        return "empty cell"


def _submodules(module: types.ModuleType) -> dict[str, types.ModuleType]:
    """Return the submodules that imports have put into a package: which ones depends on what else was imported."""
    found = {name: value for name, value in list(vars(module).items()) if isinstance(value, types.ModuleType)}
    return {name: value for name, value in found.items() if value.__name__ == f"{module.__name__}.{name}"}


def _own_clone(cls: type) -> Any:
    own = getattr(cls, "__sklearn_clone__", None)
    return None if own is BaseEstimator.__sklearn_clone__ else own


def _homes(thing: Any, name: str) -> Iterator[str]:
    """Yield the modules that may define a thing: a ufunc does not name its own, and scipy has some in private ones."""
    named = (getattr(thing, "__module__", None), type(thing).__module__, "numpy", "scipy.special")
    yield from (home for home in named if isinstance(home, str))
    for home, module in sorted(sys.modules.items()):
        if getattr(module, "__dict__", {}).get(name) is thing:
            yield home
