"""Hidden inputs: what a fit depends on besides its estimator and its rows, found in its code and watched while it runs.

A fit that reads a file, opens a connection, starts a program or draws from a global random state depends on something
that is not part of its identity. It is run as usual, but its outcome must not be stored. Python reports such events to
audit hooks. Compiled code that opens files by itself does not, so ``facts_of`` looks for the names of such readers.
"""

from __future__ import annotations

import dis
import functools
import importlib.util
import os
import random
import sys
import tempfile
import threading
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from truefit._core.packages import under_installed_root

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
        """Return the full name of the module, from the globals of the function as Python does."""
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

    ``globals`` are looked up in the module or among the builtins, ``names`` include attributes, and by those that are
    ``hidden`` the code depends on what cannot be seen in it.
    """

    globals: frozenset[str]
    names: frozenset[str]
    imports: tuple[Import, ...]
    hidden: frozenset[str]


@functools.lru_cache(maxsize=10_000)
def facts_of(code: types.CodeType) -> CodeFacts:
    """Return what code refers to.

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


#: Events that are inputs whatever their arguments are.
_CONNECTIONS = {
    "socket.connect": "opens a network connection",
    "socket.getaddrinfo": "looks up a network address",
    "urllib.Request": "opens a URL",
    "os.system": "runs a program",
}
#: The bits that say how a file is opened; os.O_ACCMODE is not everywhere.
_ACCESS = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
#: Folders of the system that hold no data: processes, devices, time zones.
_SYSTEM = tuple(f"{folder}/" for folder in ("/proc", "/sys", "/dev", "/usr/share/zoneinfo"))
#: Where joblib keeps arrays for workers of its own.
_JOBLIB = os.path.join(tempfile.gettempdir(), "joblib")
_FOLDERS = frozenset({"os.listdir", "os.scandir", "glob.glob"})
_EVENTS = frozenset({"open", "subprocess.Popen", "sqlite3.connect", *_CONNECTIONS, *_FOLDERS})
#: Programs by which joblib counts cores.
_COUNTERS = frozenset({"lscpu", "sysctl", "wmic", "powershell.exe"})


class HiddenInputs:
    """Watches the thread that runs a fit, and those that the fit starts.

    ``own_code`` says whether code of the user's own takes part. Installed packages may start programs and draw random
    numbers for reasons of theirs; of them only the files that they read count.
    """

    def __init__(self, *, own_code: bool = False) -> None:
        self.reason: str | None = None
        self._own_code = own_code
        self._written: set[str] = set()

    def __enter__(self) -> HiddenInputs:
        _install()
        self._thread = threading.get_ident()
        threads = threading.enumerate()
        self._others = {thread.ident for thread in threads}
        # Python's own random numbers are drawn by other threads too: those of a cluster's worker, for instance.
        self._alone = all(each.ident == self._thread or each.name.startswith("truefit") for each in threads)
        self._states = _random_states(self._alone) if self._own_code else None
        _watching.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _watching.remove(self)
        if self._states is not None and self.reason is None and _random_states(self._alone) != self._states:
            self.reason = "draws from the global random state"

    def record(self, event: str, arguments: tuple[Any, ...], thread: int) -> None:
        """Take note of an event, if it is the fit's own and an input."""
        if self.reason is not None or (thread != self._thread and thread in self._others):
            return
        if event == "open":
            self._record_open(arguments)
        elif not self._own_code:
            return
        elif event in _CONNECTIONS:
            self.reason = _CONNECTIONS[event]
        elif event == "subprocess.Popen":
            program = os.fsdecode(arguments[0] or "")
            if program != sys.executable and os.path.basename(program) not in _COUNTERS:  # as joblib does
                self.reason = f"runs the program {program!r}"
        elif event == "sqlite3.connect":
            if str(arguments[0]) != ":memory:":
                self.reason = "opens a database"
        elif event in _FOLDERS:
            path = _path(arguments[0] if arguments and arguments[0] is not None else ".")
            if path is not None and not _ignored(path + os.sep):
                self.reason = f"lists the folder {path!r}"

    def _record_open(self, arguments: tuple[Any, ...]) -> None:
        path = _path(arguments[0])
        if path is None or _ignored(path):
            return
        mode, flags = arguments[1], arguments[2] if len(arguments) > 2 else 0
        if _reads(mode, flags if isinstance(flags, int) else 0):
            if path not in self._written:
                self.reason = f"reads the file {path!r}"
        else:
            self._written.add(path)


_watching: list[HiddenInputs] = []
_thread = threading.local()


@functools.cache
def _install() -> None:
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or event not in _EVENTS or getattr(_thread, "recording", False):
        return
    _thread.recording = True  # what is done here must not be recorded itself
    try:
        thread = threading.get_ident()
        for watch in _watching:
            watch.record(event, arguments, thread)
    finally:
        _thread.recording = False


def _path(given: Any) -> str | None:
    if isinstance(given, int) or given is None:
        return None  # a file that is open already
    try:
        name = os.fsdecode(given)
    except (TypeError, ValueError):
        return None
    # Python looks for the source of code without a file, such as "<string>", when it formats an error.
    no_file = name.startswith("<") and name.endswith(">") and not os.path.exists(name)
    return None if no_file else os.path.abspath(name)


def _ignored(path: str) -> bool:
    if path.startswith((*_SYSTEM, _JOBLIB)) or under_installed_root(path):
        return True
    return path.rstrip(os.sep) in map(os.path.abspath, sys.path)  # an import looks there


def _reads(mode: Any, flags: int) -> bool:
    if isinstance(mode, str):
        return "w" not in mode and "x" not in mode and ("a" not in mode or "+" in mode)
    return flags & _ACCESS != os.O_WRONLY and not flags & (os.O_TRUNC | os.O_EXCL)


def _random_states(alone: bool) -> tuple[Any, ...]:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - the state that user code may draw from
    drawn = hash(random.getstate()) if alone else 0
    return int(state["state"]["pos"]), state["state"]["key"].tobytes(), state["has_gauss"], drawn


@contextmanager
def forks_end_here() -> Iterator[None]:
    """Run code that may fork: a child that returns from it ends at once.

    It is a copy of this process, and would fit the same, write to the store and remove its parent's temporary files.
    """
    owner = os.getpid()
    code = 1
    try:
        yield
        code = 0
    finally:
        if os.getpid() != owner:
            os._exit(code)  # no handlers, no buffers: they are the parent's
