import os
import signal
import threading

import numpy as np
import pytest

from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._executors.serial import run_job
from truefit.testing.executor_contract import Script, job, some_data


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
