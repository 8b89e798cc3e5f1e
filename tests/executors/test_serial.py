import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Executor, Job
from truefit._executors.environment import inside_worker
from truefit._executors.serial import SerialExecutor, run_job
from truefit.testing.executor_contract import ExecutorContract, Script, job, some_data, some_jobs


class TestSerialExecutor(ExecutorContract):
    has_timeout = False
    survives_death = False
    max_lead = 0

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        return SerialExecutor()


def threads_now() -> list[int]:
    return sorted(library.num_threads for library in ThreadpoolController().lib_controllers)


def test_threads_are_limited_while_a_map_is_under_way_and_restored_after():
    data, before = some_data(), threads_now()
    executor = SerialExecutor(threads=1)
    outcomes = executor.map(some_jobs(data, 3), data)
    next(outcomes)
    assert set(threads_now()) == {1}
    list(outcomes)
    assert threads_now() == before
    outcomes = executor.map(some_jobs(data, 3), data)
    next(outcomes)
    outcomes.close()
    assert threads_now() == before


def test_limits_that_overlap_in_any_order_are_restored():
    data, before = some_data(), threads_now()
    first, second = (SerialExecutor(threads).map(some_jobs(data, 3), data) for threads in (1, 2))
    next(first)
    next(second)
    assert set(threads_now()) == {2}
    first.close()
    assert set(threads_now()) == {2}
    second.close()
    assert threads_now() == before


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, None])
def test_threads_must_be_a_number(threads):
    with pytest.raises(InvalidInput, match="'threads' parameter of SerialExecutor"):
        SerialExecutor(threads)


def test_a_fit_here_is_not_inside_a_worker():
    data = some_data()
    next(SerialExecutor().map([job(data, Script())], data))
    assert not inside_worker()


def test_importing_it_is_light():
    code = "import sys, truefit._executors.serial; print([m for m in sys.modules if m in {names}])"
    names = {"distributed", "dask", "truefit._executors.worker", "truefit._executors.dataset_file"}
    told = subprocess.run([sys.executable, "-c", code.format(names=names)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


class Calls:
    """A solver that calls a function."""

    name = "calls"

    def __init__(self, function):
        self.function = function

    def claim(self, fits, data):
        return []

    def solve(self, job, data):
        self.function()
        return [Outcome(fit.key) for fit in job.fits]


def run(function):
    data = some_data()
    return run_job(Job(Calls(function), job(data, Script()).fits), data)


def ignore(number, frame):
    pass


def change_all(folder):
    os.chdir(folder)
    os.umask(0o012)
    signal.signal(signal.SIGTERM, ignore)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    np.seterr(all="raise")


def state():
    mask = os.umask(0o022)
    os.umask(mask)
    return os.getcwd(), mask, signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), np.geterr()


@pytest.mark.parametrize("end", [None, ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_what_a_fit_changes_for_the_process_is_undone(tmp_path, end):
    def changing():
        change_all(tmp_path)
        if end is not None:
            raise end

    before = state()
    if isinstance(end, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            run(changing)
    else:
        (outcome,) = run(changing)
        assert (outcome.error is None) == (end is None)
    assert state() == before


def test_a_folder_that_a_fit_has_removed_is_no_reason_to_fail(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)

    def removing():
        os.chdir(tmp_path)
        gone.rmdir()

    (outcome,) = run(removing)
    assert outcome.error is None


def test_a_fit_in_a_thread_leaves_the_others_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(os.getcwd())
    thread = threading.Thread(target=run, args=(lambda: os.chdir(tmp_path),))
    thread.start()
    thread.join()
    assert os.getcwd() == str(tmp_path)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12: there are other threads
@pytest.mark.parametrize("end", [None, ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_a_child_that_a_fit_has_forked_does_not_come_back(end):
    owner, child = os.getpid(), 0

    def forking():
        nonlocal child
        child = os.fork()
        if child == 0 and end is not None:
            raise end

    (outcome,) = run(forking)
    if os.getpid() != owner:  # never: else two processes would go on with the tests
        os.kill(os.getpid(), signal.SIGKILL)
    assert outcome.error is None
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if end is None else 1)
