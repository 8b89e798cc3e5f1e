"""Worker: one worker process of a ProcessExecutor, as its parent sees it and as it runs, and the channel between them.

It ends with its parent, whatever the parent ends by.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from truefit._core.data import Data
from truefit._core.errors import ExecutorError, Failure
from truefit._executors.child_process import (
    Inherited,
    has_exited,
    kill,
    start_interpreter,
    take_connection,
    take_stderr,
)
from truefit._executors.dataset_file import DatasetCache, DatasetFile
from truefit._executors.environment import CodeCheck, FitEnvironment, limited_threads, worker_variables
from truefit._executors.memory import limit_allocations, with_memory_limit
from truefit._executors.serial import run_checked
from truefit._executors.serialization import MAX_OBJECTS, JobDeserializer, serialize, serialize_outcomes

if TYPE_CHECKING:
    from truefit._executors.scheduler import Submission


_HEAD = struct.Struct("<cQdQ")  # kind, number of a shared object, seconds, length of the body

# What the parent sends.
SETTINGS, FORGET, OBJECT, JOB = b"I", b"F", b"O", b"J"
# What a worker sends.
READY, LOADED, NOT_LOADED, STARTED, DONE = b"R", b"L", b"N", b"S", b"D"


class ChannelMessage(NamedTuple):
    """What is sent at once."""

    kind: bytes
    number: int
    seconds: float
    body: memoryview


class Channel:
    """Sends and receives whole messages over a socket; the parent's end never blocks, a worker's does."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.ended = False
        self._out: deque[memoryview] = deque()
        self._head: tuple[bytes, int, float] | None = None
        self._want = memoryview(bytearray(_HEAD.size))
        self._got = 0

    @property
    def pending(self) -> bool:
        """Whether something waits to be sent until the other end has read more."""
        return bool(self._out)

    def send(self, kind: bytes, number: int = 0, body: bytes = b"", seconds: float = 0.0) -> None:
        """Send a message, or as much of it as goes now."""
        head = _HEAD.pack(kind, number, seconds, len(body))
        if len(body) < 1 << 16:  # one call to the system instead of two
            self._out.append(memoryview(head + body))
        else:
            self._out += (memoryview(head), memoryview(body))
        self.flush()

    def flush(self) -> None:
        """Send what is pending, as far as it goes."""
        while self._out:
            try:
                sent = self.socket.send(self._out[0])
            except BlockingIOError:
                return
            except ConnectionError:  # what the other end sent last may still be there to be read
                self._out.clear()
                return
            if sent == len(self._out[0]):
                self._out.popleft()
            else:
                self._out[0] = self._out[0][sent:]

    def messages(self) -> Iterator[ChannelMessage]:
        """Yield messages that are there; on a socket that blocks, until the other end is closed."""
        while self._fill():
            if self._head is None:
                kind, number, seconds, length = _HEAD.unpack(self._want)
                self._head = kind, number, seconds
                self._expect(length)
                if length:
                    continue
            message = ChannelMessage(*self._head, self._want)
            self._head = None
            self._expect(_HEAD.size)
            yield message

    def _expect(self, length: int) -> None:
        self._want, self._got = memoryview(bytearray(length)), 0

    def _fill(self) -> bool:
        while self._got < len(self._want):
            try:
                size = self.socket.recv_into(self._want[self._got :])
            except BlockingIOError:
                return False
            except ConnectionError:
                size = 0
            if size == 0:
                self.ended = True
                return False
            self._got += size
        return True


# The import path comes before the import: truefit itself may be found only by it. Of what is used until then
# nothing can be shadowed by a file in the working folder.
_START = "import sys; sys.path[:] = {path!r}; from truefit._executors.worker import main; main({arguments})"
#: A job whose classes are being imported has this long to start before its limit counts.
_LOAD_SECONDS = 60.0


@dataclass(frozen=True)
class WorkerSettings:
    """What holds for the jobs that follow: their data and environment, and whether to report when one starts."""

    dataset: DatasetFile
    environment: FitEnvironment
    report_starts: bool


class WorkerProcess:
    """A worker process as its parent sees it: the channel to it, and its submissions, the one that runs first."""

    def __init__(self, threads: int, memory: int | None = None) -> None:
        self.submissions: deque[Submission] = deque()
        self.ready = False  # has started and is connected
        self.loaded = False  # has the data of the settings that it was sent last
        self.jobs_done = 0
        self.start_time = time.monotonic()
        self.error_output = ""  # of one that never got ready: the end of what it wrote to stderr
        self._settings: bytes | None = None
        self._sent: set[int] = set()  # numbers of the shared objects that it has
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - the worker writes to it
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self.channel = Channel(ours)
        with theirs:
            self.process = self._start(theirs, threads, memory)

    def _start(self, end: socket.socket, threads: int, memory: int | None) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **worker_variables(threads)}
        path = [entry for entry in sys.path if isinstance(entry, str)]
        arguments = f"{os.getpid()}, {threads}, {memory}"
        try:
            return start_interpreter(
                lambda inherited: _START.format(path=path, arguments=f"{inherited}, {arguments}"),
                end,
                environment,
                self._stderr,
            )
        except OSError as error:
            self.channel.socket.close()
            self._stderr.close()
            raise ExecutorError(
                f"A worker process must be able to start. Starting {sys.executable!r} gave: {error}. Use fewer "
                "workers, or run with workers=1."
            ) from error

    def send(self, submission: Submission, settings: bytes) -> None:
        """Send a submission, to be run after those that it has."""
        self.submissions.append(submission)  # first, so that it counts as busy if we are interrupted
        if self._settings is not settings:
            self.loaded = False
            self._settings = settings
            self._sent.clear()
            self.channel.send(SETTINGS, body=settings)
        for pending in submission.jobs:
            assert pending.content is not None
            shared = pending.content.shared
            if len(self._sent) + len(shared) > MAX_OBJECTS:
                self._sent.clear()
                self.channel.send(FORGET)
            for item in shared:
                if item.number not in self._sent:
                    self._sent.add(item.number)
                    self.channel.send(OBJECT, item.number, item.content)
            self.channel.send(JOB, body=pending.content.content)
        if len(self.submissions) == 1:
            self.expect_start()

    def expect_start(self) -> None:
        """Let the clock of the first submission count from when it must have started, until the worker reports it."""
        if self.loaded and self.submissions:
            self.submissions[0].clock = time.monotonic() + _LOAD_SECONDS

    def set_ready(self) -> None:
        """Note that the worker is there."""
        self.ready = True
        self._stderr.close()

    @property
    def exited(self) -> bool:
        """Whether the process has ended; it is not reaped, so that its number stays its own."""
        return has_exited(self.process)

    def kill(self) -> None:
        """Stop the process and all that its fits have started."""
        kill(self.process)
        self.channel.socket.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
        if not self._stderr.closed:
            size = self._stderr.seek(0, os.SEEK_END)
            self._stderr.seek(max(0, size - 4000))
            self.error_output = self._stderr.read().decode(errors="replace").strip()
            self._stderr.close()

    def exit_status(self) -> str:
        """Return how the process ended, in words."""
        code = self.process.wait()
        if code >= 0:
            return f"exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "unknown"
        return f"signal {-code}, {name}"


class WorkerLoop:
    """Does in a worker what comes through its channel, one message after the other."""

    def __init__(self, channel: Channel, memory: int | None = None) -> None:
        self.channel = channel
        self.memory = memory
        self.data: Data | None = None
        self.report_starts = False
        self._datasets = DatasetCache()
        self._deserializer = JobDeserializer()
        self._check = CodeCheck()

    def run(self) -> None:
        """Serve until the other end is closed."""
        for message in self.channel.messages():
            if message.kind == JOB:
                self._run_job(message)
            elif message.kind == OBJECT:
                self._deserializer.add(message.number, message.body)
            elif message.kind == FORGET:
                self._deserializer.forget()
            else:
                self._load(message)

    def _load(self, message: ChannelMessage) -> None:
        self.data = None
        self._deserializer.forget()
        try:
            settings: WorkerSettings = pickle.loads(message.body)
            settings.environment.apply()
            self.report_starts = settings.report_starts
            self.data = self._datasets.get(settings.dataset)
        except Exception:
            self.channel.send(NOT_LOADED, body=traceback.format_exc().encode())
        else:
            self.channel.send(LOADED)

    def _run_job(self, message: ChannelMessage) -> None:
        if self.data is None:  # which the parent has been sent
            return
        seconds = 0.0
        job = self._deserializer.job(message.body)
        if isinstance(job, Failure):
            content = serialize(job)
        else:
            if self.report_starts:
                self.channel.send(STARTED)
            start = time.perf_counter()
            outcomes = run_checked(job, self.data, self._check)
            seconds = time.perf_counter() - start
            if self.memory is not None:
                outcomes = with_memory_limit(outcomes, self.memory)
            content = serialize_outcomes(job, outcomes)
        self.channel.send(DONE, body=content, seconds=seconds)
        if self.data.release is not None:
            self.data.release()


def main(inherited: Inherited, parent: int, threads: int, memory: int | None = None) -> None:
    """Serve the parent at the other end of a socket."""
    with take_connection(inherited, parent) as ours, limited_threads(threads):
        channel = Channel(ours)
        channel.send(READY)
        take_stderr(inherited)  # until here what went wrong was kept for the parent to show
        faulthandler.enable()
        if memory is not None:
            limit_allocations(memory)
        WorkerLoop(channel, memory).run()
