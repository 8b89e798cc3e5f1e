"""Side effects of a fit: what it reads besides its estimator and its rows, and the processes it forks.

A fit that reads a file, opens a connection, starts a program or draws from a global random state depends on something
that is not part of its identity. It is run as usual, but its outcome must not be stored. Python reports such events to
audit hooks; code that is compiled and opens files by itself does not, which is why ``code.py`` looks for its names.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from truefit._core.packages import under_installed_root

#: Events that are inputs whatever their arguments are.
_CONNECTIONS = {
    "socket.connect": "opens a network connection",
    "socket.getaddrinfo": "looks up a network address",
    "urllib.Request": "opens a URL",
    "os.system": "runs a program",
}
#: Folders of the system that hold no data: processes, devices, time zones.
_SYSTEM = tuple(f"{folder}/" for folder in ("/proc", "/sys", "/dev", "/usr/share/zoneinfo"))
#: Where joblib keeps arrays for workers of its own.
_JOBLIB = os.path.join(tempfile.gettempdir(), "joblib")
_FOLDERS = frozenset({"os.listdir", "os.scandir", "glob.glob"})


#: Programs by which joblib counts cores.
_COUNTERS = frozenset({"lscpu", "sysctl", "wmic", "powershell.exe"})


class HiddenInputs:
    """Watches the thread that runs a fit, and those that the fit starts.

    Parameters
    ----------
    own_code : bool, default=False
        Whether code of the user's own takes part. Installed packages may start programs and draw random numbers for
        reasons of theirs; of them only the files that they read count.

    Examples
    --------
    >>> with HiddenInputs() as watch:
    ...     _ = sorted([3, 1, 2])
    >>> watch.reason
    >>> with HiddenInputs(own_code=True) as watch:
    ...     _ = np.random.rand()
    >>> watch.reason
    'draws from the global random state'
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
_installed = False


def _install() -> None:
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or event not in _EVENTS or getattr(_thread, "hearing", False):
        return
    _thread.hearing = True  # what is done here must not be heard itself
    try:
        thread = threading.get_ident()
        for watch in _watching:
            watch.record(event, arguments, thread)
    finally:
        _thread.hearing = False


_EVENTS = frozenset({"open", "subprocess.Popen", "sqlite3.connect", *_CONNECTIONS, *_FOLDERS})


def _path(given: Any) -> str | None:
    if isinstance(given, int) or given is None:
        return None  # a file that is open already
    try:
        return os.path.abspath(os.fsdecode(given))
    except (TypeError, ValueError):
        return None


def _ignored(path: str) -> bool:
    if path.startswith((*_SYSTEM, _JOBLIB)) or under_installed_root(path):
        return True
    return path.rstrip(os.sep) in map(os.path.abspath, sys.path)  # an import looks there


def _reads(mode: Any, flags: int) -> bool:
    if isinstance(mode, str):
        return "w" not in mode and "x" not in mode and ("a" not in mode or "+" in mode)
    return flags & os.O_ACCMODE != os.O_WRONLY and not flags & (os.O_TRUNC | os.O_EXCL)


def _random_states(alone: bool) -> tuple[Any, ...]:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002 - the state that user code may draw from
    drawn = hash(random.getstate()) if alone else 0
    return int(state["state"]["pos"]), state["state"]["key"].tobytes(), state["has_gauss"], drawn


@contextmanager
def forks_end_here() -> Iterator[None]:
    """Run code that may fork: a child that comes back from it ends at once.

    Such a child is a copy of this process. It would go on with the run: fit the same things, write to the store,
    answer in the place of its parent, and remove its parent's temporary files when it ends.
    """
    owner = os.getpid()
    code = 1
    try:
        yield
        code = 0
    finally:
        if os.getpid() != owner:
            os._exit(code)  # no handlers, no buffers: they are the parent's
