"""Hand: one worker process as its parent sees it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from truefit._core.errors import ExecutorError
from truefit._core.protocols import Job
from truefit._executors.channel import FORGET, JOB, ORDERS, PART, Channel
from truefit._executors.packing import Memory, PackedJob
from truefit._executors.surroundings import MARKER
from truefit._executors.threads import VARIABLES

# The import path comes before the import: truefit itself may be found only by it. Of what is used until then
# nothing can be shadowed by a file in the working folder.
_BOOT = "import sys; sys.path[:] = {path!r}; from truefit._executors.worker import main; main({arguments})"


@dataclass
class Errand:
    """A job that is under way, and how many workers have died of it."""

    number: int
    job: Job
    packed: PackedJob
    kills: int = 0


class Hand:
    """A process, the channel to it, and the errands that it has been given, the one that runs first."""

    def __init__(self, threads: int, memory: int | None = None) -> None:
        self.errands: deque[Errand] = deque()
        self.ready = False  # has said that it is there
        self.loaded = False  # has the data of the orders that it was given last
        self.alone = False  # runs an errand that has killed before: nothing may wait behind it
        self.clock: float | None = None  # from when the limit of the running errand counts
        self.jobs_done = 0
        self.born = time.monotonic()
        self.last_words = ""  # of one that never got ready: the end of what it wrote to stderr
        self._orders: bytes | None = None
        self._memory = Memory()
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115 - the worker writes to it
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.channel = Channel(ours)
        with theirs:
            self.process = self._start(theirs.fileno(), threads, memory)

    def _start(self, end: int, threads: int, memory: int | None) -> subprocess.Popen[bytes]:
        environment = {**os.environ, MARKER: "1", **dict.fromkeys(VARIABLES, str(threads))}
        path = [entry for entry in sys.path if isinstance(entry, str)]
        stderr = _copy_of_stderr()
        code = _BOOT.format(path=path, arguments=f"{end}, {stderr}, {os.getpid()}, {threads}, {memory}")
        try:
            return subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,  # what the worker's life hangs on
                stderr=self._noise,
                env=environment,
                pass_fds=(end, stderr),
                process_group=0,  # out of reach of Ctrl-C, and stopped together with what its fits have started
            )
        except OSError as error:
            self.channel.socket.close()
            self._noise.close()
            raise ExecutorError(
                f"A worker process must be able to start. Starting {sys.executable!r} gave: {error}. Use fewer "
                "workers, or run with workers=1."
            ) from error
        finally:
            os.close(stderr)

    def give(self, errand: Errand, orders: bytes) -> None:
        """Hand over an errand, to be run after those that it has."""
        self.errands.append(errand)  # first, so that it counts as busy if we are interrupted
        if self._orders is not orders:
            self.loaded = False
            self._orders = orders
            self._memory.clear()
            self.channel.send(ORDERS, body=orders)
        full, lacking = self._memory.missing(errand.packed.parts)
        if full:
            self.channel.send(FORGET)
        for part in lacking:
            self.channel.send(PART, part.number, part.content)
        self.channel.send(JOB, errand.number, errand.packed.content)

    def greet(self) -> None:
        """Note that the worker is there."""
        self.ready = True
        self._noise.close()

    @property
    def exited(self) -> bool:
        """Whether the process has ended; it is not reaped, so that its number stays its own."""
        if self.process.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # somebody else has reaped it
            return True

    def kill(self) -> None:
        """Stop the process and all that its fits have started."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.channel.socket.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if not self._noise.closed:
            size = self._noise.seek(0, os.SEEK_END)
            self._noise.seek(max(0, size - 4000))
            self.last_words = self._noise.read().decode(errors="replace").strip()
            self._noise.close()

    def fate(self) -> str:
        """Return what the process died of."""
        code = self.process.wait()
        if code >= 0:
            return f"exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "unknown"
        return f"signal {-code}, {name}"


def _copy_of_stderr() -> int:
    try:
        return os.dup(2)
    except OSError:  # closed, as in a service
        return os.open(os.devnull, os.O_WRONLY)
