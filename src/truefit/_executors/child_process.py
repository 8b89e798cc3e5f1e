"""Child process: an interpreter that is connected to its parent, stopped with all it has started, and ends with it.

On POSIX it inherits its end of the connection, is a process group of its own, and is ended by a signal. On Windows its
end of the connection is handed over once it runs, and psutil finds what it has started.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None  # type: ignore[no-redef]

#: Where a connection can be handed to a running process, which is Windows, nothing is inherited by its number.
_HANDED_OVER = hasattr(socket, "fromshare")
#: Numbers of the connection and of standard error, where they are inherited.
Inherited = tuple[int | None, int | None]


def start_interpreter(
    code: Callable[[Inherited], str], end: socket.socket, environment: dict[str, str], log: Any
) -> subprocess.Popen[bytes]:
    """Start Python with some code, which passes on what the process inherits to ``take_connection``.

    What it writes to standard error goes to ``log`` until it is connected, where it inherits standard error.
    """
    if _HANDED_OVER:
        return _start_and_hand_over(code((None, None)), end, environment)
    errors = _duplicate_stderr()
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code((end.fileno(), errors))],
            stdin=subprocess.PIPE,  # when it closes, the child ends
            stderr=log,
            env=environment,
            pass_fds=(end.fileno(), errors),
            process_group=0,  # out of reach of Ctrl-C, and stopped together with what its fits have started
        )
    finally:
        os.close(errors)


def _start_and_hand_over(code: str, end: Any, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    # The python.exe of a virtual environment on Windows only starts another one, whose number would not be known.
    interpreter = sys.executable
    if sys.platform == "win32":
        interpreter = sys._base_executable
        environment = {**environment, "__PYVENV_LAUNCHER__": sys.executable}
    process = subprocess.Popen(
        [interpreter, "-c", code],
        stdin=subprocess.PIPE,
        env=environment,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    assert process.stdin is not None
    with suppress(OSError):  # it has ended, which its parent will see
        shared = end.share(process.pid)
        process.stdin.write(len(shared).to_bytes(4, "big") + shared)
        process.stdin.flush()
    return process


def _duplicate_stderr() -> int:
    try:
        return os.dup(2)
    except OSError:  # closed, as in a service
        return os.open(os.devnull, os.O_WRONLY)


def take_connection(inherited: Inherited, parent: int) -> socket.socket:
    """Return the child's end of the connection to its parent, with which it ends from now on."""
    number, _ = inherited
    pipe = _taken_input()
    if number is None:
        size = int.from_bytes(os.read(pipe, 4), "big")
        shared = b""
        while len(shared) < size:
            shared += os.read(pipe, size - len(shared)) or _end()
        connection: socket.socket = socket.fromshare(shared)  # type: ignore[attr-defined]
    else:
        os.set_inheritable(number, False)
        connection = socket.socket(fileno=number)
    _end_with_parent(pipe, parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    return connection


def take_stderr(inherited: Inherited) -> None:
    """Let standard error be that of the parent from now on."""
    _, errors = inherited
    if errors is not None:
        os.dup2(errors, 2)
        os.close(errors)


def _taken_input() -> int:
    """Return standard input under another number, and let fits read an empty one."""
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return pipe


def _end_with_parent(pipe: int, parent: int) -> None:
    """Be killed, with every process that a fit has started, as soon as the parent is gone.

    The pipe is one that the parent holds open and does not write to any more. When it closes, Linux itself sends the
    signal: a fit that never lets another Python thread run is stopped as well.
    """
    if _HANDED_OVER:
        threading.Thread(target=_watch_pipe, args=(pipe,), daemon=True, name="truefit-parent").start()
        return
    alone = os.getpgrp() == os.getpid()
    if hasattr(fcntl, "F_SETSIG"):  # Linux
        fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpid() if alone else os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([pipe], [], [], 0)[0] or os.getppid() != parent:
        os._exit(1)  # the parent ended before
    # A child that the parent has forked holds the pipe open too, so the parent's number is checked as well.
    threading.Thread(target=_watch_parent, args=(parent, alone), daemon=True, name="truefit-parent").start()


def _watch_parent(parent: int, alone: bool) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    if alone:
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _watch_pipe(pipe: int) -> None:
    os.read(pipe, 1)
    _end()


def _end() -> Any:
    _kill_descendants(os.getpid())
    os._exit(1)


def has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; it is not reaped where that can be, so that its number stays its own."""
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # reaped by other code
        return True


def kill(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and all that it has started."""
    if process.returncode is None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            _kill_descendants(process.pid)
            process.kill()
    process.wait()


def _kill_descendants(number: int) -> None:
    import psutil

    with suppress(psutil.Error):
        for each in psutil.Process(number).children(recursive=True):
            with suppress(psutil.Error):
                each.kill()
