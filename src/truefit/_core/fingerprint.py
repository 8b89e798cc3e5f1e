"""Fingerprint: the identity of an estimator, a parameter or a piece of code, as a digest of its content.

Things from installed packages are identified by name (``packages.py`` identifies the packages). Functions and
classes of the user's own are identified by what this process would run: their compiled code, the values of the globals
it refers to, and the modules it imports, however far that reaches. Files are not looked at: a module that was edited
after it was imported still runs as it was.

What cannot be seen in this way (names looked up at run time, environment variables, objects without a comparable
content) raises ``NotComparable``: such fits are run each time, never shared or stored. What a fit reads while it runs
is watched by ``side_effects.py``. ``content.py`` has the content of values, this module that of code.
"""

from __future__ import annotations

import builtins
import importlib
import logging
import os
import pathlib
import sys
import threading
import time
import types
import typing
from typing import Any

from truefit._core.code import CodeFacts, Import, facts_of, installed_function
from truefit._core.content import ContentDigest
from truefit._core.content import NotComparable as NotComparable
from truefit._core.packages import installed

#: Types of globals that hold nothing a fit could depend on.
_WITHOUT_CONTENT = (
    type(threading.Lock()),
    type(threading.RLock()),
    threading.Condition,
    threading.Event,
    threading.Semaphore,
    logging.Logger,
    typing.TypeVar,
    typing.ParamSpec,
)
_STARTED = time.time()
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


class Fingerprint(ContentDigest):
    """Digest of an object's content, and the packages that it comes from.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> Fingerprint(Ridge(alpha=1.0)).digest == Fingerprint(Ridge()).digest
    True
    >>> Fingerprint(Ridge(alpha=2.0)).digest == Fingerprint(Ridge()).digest
    False
    """

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
        elif isinstance(value, _WITHOUT_CONTENT):
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
        elif isinstance(value, _WITHOUT_CONTENT):
            self._text(f"a {type(value).__name__}")
        else:
            self._add_with_state(self._add, value)

    def _add_compiled(self, path: str) -> None:
        """Add an extension module of the user's own, as it was when it was loaded."""
        state = os.stat(path)
        if state.st_mtime > _STARTED:
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
                if inner is not None:
                    self._add_module(inner, facts.names)
            elif isinstance(getattr(module, attribute, None), types.ModuleType):
                self._add_module(getattr(module, attribute), facts.names)

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
    prefix = f"{module.__name__}."
    return {
        name: value
        for name, value in list(vars(module).items())
        if isinstance(value, types.ModuleType) and value.__name__ == prefix + name
    }
