"""A Dask scheduler and its workers as processes of their own, to be killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import truefit

_ROOT = str(Path(__file__).parents[2])
_SOURCE = str(Path(truefit.__file__).parents[1])


class DaskProcesses:
    """Use as a context manager; all processes are gone after it."""

    def __init__(self, workers: int = 2, **scheduler_environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._scheduler_environment = scheduler_environment
        self._to_start = workers
        self.workers: list[subprocess.Popen] = []

    def __enter__(self) -> "DaskProcesses":
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard",
            **self._scheduler_environment,
        )  # fmt: skip
        for _ in range(self._to_start):
            self.start_worker()
        return self

    def start_worker(self, path: str = "") -> subprocess.Popen:
        """Start a worker; ``path`` comes before truefit's folder and that of the tests in its import path."""
        places = [place for place in (path, _SOURCE, _ROOT) if place]
        worker = self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60",
            PYTHONPATH=os.pathsep.join(places),
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def kill_scheduler(self) -> None:
        """End the scheduler by SIGKILL."""
        self.scheduler.kill()
        self.scheduler.wait()

    def stop_scheduler(self) -> None:
        """Let the scheduler hang: its connections stay open, but it does not answer."""
        self.scheduler.send_signal(signal.SIGSTOP)

    def __exit__(self, *exception: object) -> None:
        for process in (self.scheduler, *self.workers):
            process.kill()
        for process in (self.scheduler, *self.workers):
            process.wait()

    def _start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        return subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": _SOURCE, **environment},
            cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def wait_until(condition, seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
