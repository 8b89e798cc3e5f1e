import copy
import gc
import importlib
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import psutil
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier

from truefit._core.data import Data
from truefit._core.errors import ExecutorError, InvalidInput
from truefit._core.identity import Keys
from truefit._core.outcome import Outcome
from truefit._core.protocols import Ask, Executor, FitTask, Job
from truefit._core.rows import Rows
from truefit._executors.processes import ProcessExecutor
from truefit._executors.serial import SerialExecutor
from truefit._solvers.plain import PlainSolver
from truefit.testing.executor_contract import (
    ExecutorContract,
    Script,
    assert_as_here,
    by_key,
    job,
    some_data,
    some_jobs,
)

PATIENCE = 60.0


class TestProcessExecutor(ExecutorContract):
    can_kill = True
    exit_messages: ClassVar = {"die": "exit code 7", "kill": "SIGKILL"}

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        return ProcessExecutor(2, timeout=timeout)


@pytest.fixture(scope="module")
def shared():
    with ProcessExecutor(2, timeout=PATIENCE) as executor:
        yield executor


class Told:
    """A solver that answers with what a function says, in the place of values."""

    name = "told"

    def __init__(self, function):
        self.function = function

    def claim(self, fits, data):
        return []

    def solve(self, job, data):
        return [Outcome(fit.key, model=self.function()) for fit in job.fits]


def told(code: str, data: Data) -> Job:
    """A job that evaluates an expression in a worker and gives it back as a model."""
    solver = Told(eval(f"lambda: {code}"))
    solver.__class__ = by_value(Told)
    return Job(solver, job(data, Script(), name="told", keep_model=True).fits)


def ask_worker(executor, code: str, data: Data | None = None):
    """Value of an expression in a worker."""
    data = data or some_data()
    [[outcome]] = executor.map([told(code, data)], data)
    assert outcome.error is None, outcome.error.traceback
    return outcome.model


def by_value(cls: type) -> type:
    # As a class of a script is: nothing can be imported to find it again.
    return type(
        cls.__name__, (object,), {**{k: v for k, v in vars(cls).items() if k[:2] != "__"}, "__module__": "__main__"}
    )


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def plain_jobs(estimator, data: Data, count: int) -> list[Job]:
    keys = Keys(data)
    fits = [keys.fit(FitTask(estimator, Rows.without(data.n, [i]), (Ask(Rows.of([i])),))) for i in range(count)]
    return PlainSolver().claim(fits, data)


def test_real_fits_equal_serial_ones(shared):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    data = Data(X, np.where(X[:, 0] > 0, "yes", "no"), task="classification")
    jobs = plain_jobs(RandomForestClassifier(n_estimators=5), data, 8)
    here, there = by_key(SerialExecutor().map(jobs, data)), by_key(shared.map(jobs, data))
    for key, outcome in here.items():
        assert there[key].error is None
        assert there[key].model is None, "a model travelled that nobody asked for"
        assert there[key].answers[0].values.tobytes() == outcome.answers[0].values.tobytes()
        assert there[key].classes.tolist() == outcome.classes.tolist()


def test_workers_are_reused_and_know_what_they_are(shared):
    first = {ask_worker(shared, "__import__('os').getpid()") for _ in range(3)}
    second = {ask_worker(shared, "__import__('os').getpid()") for _ in range(3)}
    assert first & second
    assert os.getpid() not in first
    inside = "__import__('truefit._executors.environment', fromlist=['x']).inside_worker()"
    assert ask_worker(shared, inside) is True


def test_the_environment_reaches_workers(shared, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("only_here.py").write_text("answer = 42")
    assert ask_worker(shared, "__import__('only_here').answer") == 42
    assert ask_worker(shared, "__import__('os').getcwd()") == str(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=ImportWarning)
        assert ask_worker(shared, "__import__('warnings').filters[0][:3]") == ("ignore", None, ImportWarning)


def test_what_a_fit_changes_in_its_worker_is_undone(shared):
    before = ask_worker(shared, "__import__('os').getcwd()")
    ask_worker(shared, "__import__('os').chdir('/')")
    ask_worker(shared, "__import__('numpy').seterr(all='raise') and None")
    for _ in range(4):  # by any of the workers
        assert ask_worker(shared, "__import__('os').getcwd()") == before
        assert ask_worker(shared, "__import__('numpy').geterr()['over']") == "warn"


def test_memory_left_from_earlier_fits_is_not_held_against_a_fit():
    data = some_data()
    leak = "setattr(__import__('sys'), 'leak', bytearray(b'1') * 300_000_000)"
    need = "(lambda block: __import__('time').sleep(0.5) or len(block))(bytearray(b'1') * 200_000_000)"
    with ProcessExecutor(1, memory="550MB") as executor:
        ask_worker(executor, leak, data)
        assert ask_worker(executor, need, data) == 200_000_000
        [[outcome]] = executor.map([told(need.replace("200_", "600_"), data)], data)
    assert outcome.error.kind == "memory"
    assert outcome.error.message.startswith("The fit used more than the memory limit of 550 MB")


def test_threads_inside_a_fit_are_fixed(shared):
    code = "sorted({l.num_threads for l in __import__('threadpoolctl').ThreadpoolController().lib_controllers})"
    assert ask_worker(shared, code) == [1]
    assert ask_worker(shared, "__import__('os').environ['OMP_NUM_THREADS']") == "1"


def test_workers_ignore_ctrl_c(shared):
    pid = ask_worker(shared, "__import__('os').getpid()")
    os.kill(pid, signal.SIGINT)
    assert ask_worker(shared, "1 + 1") == 2
    assert psutil.pid_exists(pid)


def test_one_map_at_a_time(shared):
    data = some_data()
    first = shared.map(some_jobs(data, 5), data)
    next(first)
    with pytest.raises(ExecutorError, match="one map at a time"):
        next(shared.map(some_jobs(data, 5), data))
    assert len(list(first)) == 4


def test_closing_the_executor_ends_a_map_that_is_under_way(shared):
    data = some_data()
    executor = copy.deepcopy(shared)
    outcomes = executor.map(some_jobs(data, 50, seconds=0.01), data)
    next(outcomes)
    executor.close()
    with pytest.raises(ExecutorError, match="must stay open"):
        list(outcomes)


def test_what_cannot_be_loaded_in_a_worker_is_a_failure(shared, tmp_path, monkeypatch):
    # It can be imported here, but a worker does not find it any more.
    (tmp_path / "gone_by_then.py").write_text("class Gone:\n    pass")
    monkeypatch.syspath_prepend(str(tmp_path))
    gone = importlib.import_module("gone_by_then").Gone()
    (tmp_path / "gone_by_then.py").unlink()
    data = some_data()
    in_fit = job(data, Script(), name="b")
    in_fit = replace(in_fit, fits=(replace(in_fit.fits[0], y=np.array([gone], dtype=object)),))
    jobs = [job(data, Script(payload=gone), name="a"), in_fit, job(data, Script(), name="c")]
    found = by_key(shared.map(jobs, data))
    for key, kind in (("a/0", "other code"), ("b/0", "raised")):
        assert found[key].error.kind == kind
        assert "gone_by_then" in found[key].error.message
    assert found["c/0"].error is None


def test_workers_start_only_when_there_is_work_for_them():
    data = some_data()
    with ProcessExecutor(3) as executor:
        assert executor._pool.workers == []
        list(executor.map([], data))
        assert executor._pool.workers == []
        list(executor.map([job(data, Script())], data))
        assert len(executor._pool.workers) == 1


def test_large_messages_both_ways_do_not_block(shared):
    # Jobs and answers beyond what a socket holds, so that neither side may wait for the other.
    data = some_data(n=100_000)
    jobs = [job(data, Script(number=i, payload=bytes(3_000_000)), name=str(i), keep_model=True) for i in range(6)]
    assert_as_here(shared.map(jobs, data), jobs, data)


def test_many_estimators_are_not_all_remembered(shared, monkeypatch):
    monkeypatch.setattr("truefit._executors.serialization.MAX_OBJECTS", 3)
    monkeypatch.setattr("truefit._executors.worker.MAX_OBJECTS", 3)
    data = some_data()
    scripts = [Script(number=i) for i in range(10)]
    jobs = [job(data, scripts[i % 10], scripts[(i * 7) % 10], name=str(i)) for i in range(40)]
    assert_as_here(shared.map(jobs, data), jobs, data)


def test_a_fit_is_stopped_whatever_it_does_with_all_that_it_has_started():
    # A regular expression that never ends holds the interpreter: no other thread of the worker can run.
    started = ["sleep", f"600.{os.getpid()}"]  # no other program's
    child = f"__import__('subprocess').Popen({started})"
    stuck = "__import__('re').match(r'(a+)+$', 'a' * 64 + 'b')"
    data = some_data()
    with ProcessExecutor(1, timeout=1.0) as executor:
        jobs = [job(data, Script(), name="a"), told(f"({child}, {stuck})", data), job(data, Script(), name="b")]
        found = by_key(executor.map(jobs, data))
    assert found["told/0"].error.kind == "timeout"
    assert (found["a/0"].error, found["b/0"].error) == (None, None)
    left = [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == started]
    wait_until(lambda: not any(p.is_running() and p.status() != "zombie" for p in left), "its child is still there")


def test_workers_that_cannot_start(monkeypatch):
    monkeypatch.setattr("truefit._executors.worker._START", "raise SystemExit('no luck today')  # {path} {arguments}")
    data = some_data()
    with ProcessExecutor(2) as executor:
        with pytest.raises(ExecutorError, match=r"(?s)must be able to start.*no luck today"):
            list(executor.map(some_jobs(data, 4), data))
        monkeypatch.undo()
        assert len(list(executor.map(some_jobs(data, 4), data))) == 4


def test_a_worker_that_is_not_ready_in_time_is_stopped_and_the_error_says_so(monkeypatch):
    monkeypatch.setattr("truefit._executors.worker._START", "import time; time.sleep(600)  # {path} {arguments}")
    monkeypatch.setattr("truefit._executors.processes._START_SECONDS", 0.25)
    monkeypatch.setattr("truefit._executors.processes._MAX_FAILED_STARTS", 1)
    data = some_data()
    with ProcessExecutor(1) as executor, pytest.raises(ExecutorError, match=r"not ready after 0\.25 s and was stopped"):
        list(executor.map([job(data, Script())], data))


class Explosive:
    def __reduce__(self):
        return os._exit, (5,)


def test_data_that_kill_a_worker_are_an_error(monkeypatch):
    monkeypatch.setattr("truefit._executors.processes._MAX_FAILED_STARTS", 1)
    X = np.empty((4, 1), dtype=object)
    X[:, 0] = 1.0
    data = Data(X, np.arange(4.0), task="regression")
    data.X[0, 0] = Explosive()
    with ProcessExecutor(1) as executor, pytest.raises(ExecutorError, match="exit code 5"):
        list(executor.map([job(data, Script())], data))


def test_a_copy_has_the_settings(shared):
    twin = copy.deepcopy(shared)
    assert repr(twin) == repr(shared)
    assert twin._pool is not shared._pool


def test_a_forked_child_starts_its_own_workers():
    executor, data = ProcessExecutor(1), some_data()
    parents = executor._pool
    parents._owner += 1  # as it looks from a child
    list(executor.map([], data))
    assert executor._pool is not parents
    parents.close()
    assert parents.closed == 0


@pytest.mark.parametrize("workers", [0, -2, 1.5, True, "2"])
def test_workers_must_be_a_number(workers):
    with pytest.raises(InvalidInput, match="'workers' parameter of ProcessExecutor"):
        ProcessExecutor(workers)


@pytest.mark.parametrize("timeout", [0, -1.0, "1", float("nan")])
def test_timeout_must_be_seconds(timeout):
    with pytest.raises(InvalidInput, match="'timeout' parameter of ProcessExecutor"):
        ProcessExecutor(1, timeout=timeout)


def test_workers_stop_on_close_and_with_an_executor_that_is_forgotten():
    data = some_data()
    executor = ProcessExecutor(1)
    pid = ask_worker(executor, "__import__('os').getpid()", data)
    executor.close()
    assert not psutil.pid_exists(pid)
    later = ask_worker(executor, "__import__('os').getpid()", data)
    assert later != pid
    del executor
    gc.collect()
    assert not psutil.pid_exists(later)


def run_script(tmp_path: Path, code: str) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


PREAMBLE = """
    import os, sys, time
    import numpy as np
    from sklearn.base import BaseEstimator, RegressorMixin
    from truefit._core.data import Data
    from truefit._core.identity import Keys
    from truefit._core.rows import Rows
    from truefit._core.protocols import Ask, FitTask, Keep
    from truefit._executors.processes import ProcessExecutor
    from truefit._solvers.plain import PlainSolver

    def middle(values):
        return float(np.median(values))

    class Median(RegressorMixin, BaseEstimator):
        def __init__(self, seconds=0.0):
            self.seconds = seconds
        def fit(self, X, y):
            time.sleep(self.seconds)
            self.value_ = middle(y)
            return self
        def predict(self, X):
            return np.full(len(X), self.value_)

    print("imported", flush=True)
    data = Data(np.arange(20.0).reshape(-1, 1), np.arange(20.0), task="regression")
    keys = Keys(data)
    def jobs(estimator, keep=None):
        tasks = [FitTask(estimator, Rows.without(20, [i]), (Ask(Rows.of([i])),), keep=keep) for i in range(4)]
        return PlainSolver().claim([keys.fit(task) for task in tasks], data)
"""


def test_a_script_without_a_guard(tmp_path):
    script = run_script(
        tmp_path,
        PREAMBLE
        + """
    executor = ProcessExecutor(2)
    for [outcome] in executor.map(jobs(Median(), Keep("a")), data):
        assert outcome.error is None, outcome.error
        print(outcome.answers[0].values.tolist(), type(outcome.model) is Median)
    """,
    )
    told, errors = script.communicate(timeout=PATIENCE)
    assert script.returncode == 0, errors
    assert told.splitlines().count("imported") == 1
    assert sorted(told.splitlines())[:2] == ["[10.0] True", "[10.0] True"]
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"], "temporary files are left at exit"


def test_workers_die_with_a_parent_that_is_killed(tmp_path):
    script = run_script(
        tmp_path,
        PREAMBLE
        + """
    class Stuck(Median):
        def fit(self, X, y):
            os.write(1, b"worker %d\\n" % os.getpid())  # in one piece: both write at once
            __import__("re").match(r"(a+)+$", "a" * 64 + "b")
    list(ProcessExecutor(2).map(jobs(Stuck()), data))
    """,
    )
    lines = [script.stdout.readline() for _ in range(3)]
    pids = [int(line.split()[1]) for line in lines if line.startswith("worker")]
    assert len(pids) == 2
    script.kill()
    script.communicate()
    wait_until(lambda: not any(map(psutil.pid_exists, pids)), "workers outlived their parent")


def test_ctrl_c_ends_a_script_and_its_workers(tmp_path):
    script = run_script(tmp_path, PREAMBLE + "\n    list(ProcessExecutor(1).map(jobs(Median(seconds=600)), data))")
    assert script.stdout.readline() == "imported\n"
    # One is the worker; another removes the temporary folder, should the script be killed.
    wait_until(lambda: len(psutil.Process(script.pid).children()) == 2, "no workers came up")
    workers = psutil.Process(script.pid).children()
    script.send_signal(signal.SIGINT)
    _, errors = script.communicate(timeout=PATIENCE)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE)  # the one that removes the folder ends after the script
    assert not alive
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_dummy_fits_at_length(shared):
    data = some_data(n=300)
    outcomes = by_key(shared.map(plain_jobs(DummyRegressor(), data, 300), data))
    assert len(outcomes) == 300
    assert all(outcome.error is None for outcome in outcomes.values())
