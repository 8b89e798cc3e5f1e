"""Ray: a real one on this machine, with worker processes that are killed."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.executors.dask_processes import wait_until
from tests.executors.test_dask import assert_all_but, noting
from tests.executors.worker_environments import another_version, hidden, stub

from truefit import Engine, RayExecutor, assess, compare, study
from truefit._core.errors import ExecutorError, InvalidInput
from truefit._core.protocols import Executor
from truefit._executors.futures import FuturesExecutor
from truefit.testing.executor_contract import ExecutorContract, Script, assert_as_here, job, some_data

ray = pytest.importorskip("ray")
psutil = pytest.importorskip("psutil")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
X, y = load_iris(return_X_y=True)


class SlowTree(DecisionTreeClassifier):
    """A tree that takes a while."""

    def fit(self, X, y):
        time.sleep(0.1)
        return super().fit(X, y)


def start_ray() -> None:
    ray.init(
        num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False, logging_level="error"
    )


@pytest.fixture(scope="module", autouse=True)
def running(tmp_path_factory):
    """Ray with two CPUs, for all tests of this file."""
    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    patch.setenv("RAY_AUTH_MODE", "disabled")
    patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    start_ray()
    yield
    ray.shutdown()
    patch.undo()


class TestOnRay(ExecutorContract):
    """The contract of all executors; Ray stops a fit that is past its time."""

    can_kill = True
    timeout = 3.0  # a worker that was stopped is replaced by a process that has to import everything

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        return FuturesExecutor(RayExecutor(), timeout=timeout)


def test_the_same_bits_as_in_this_process():
    learners = {"tree": DecisionTreeClassifier(random_state=0), "linear": LogisticRegression(max_iter=1000)}
    found = []
    for executor in (None, RayExecutor()):
        engine = Engine(executor=executor, progress=False)
        assessed = assess(learners["tree"], X, y, repeats=3, random_state=0, engine=engine)
        compared = compare(learners, X, y, random_state=0, engine=engine)
        found.append((assessed.predictions.to_numpy().tobytes(), compared.to_dict(), engine.stats.run))
    assert found[0] == found[1]


def without_times(found):
    """Return a result without the seconds that its fits took."""
    if isinstance(found, dict):
        return {name: without_times(value) for name, value in found.items() if "seconds" not in name}
    return [without_times(value) for value in found] if isinstance(found, list) else found


def test_a_study_gives_the_same():
    found = []
    for executor in (None, RayExecutor()):
        engine = Engine(executor=executor, progress=False)
        learners = {"tree": DecisionTreeClassifier(random_state=0), "linear": LogisticRegression(max_iter=1000)}
        found.append(without_times(study(X, y, learners, random_state=0, engine=engine).to_dict()))
    assert found[0] == found[1]


def busy_workers() -> list[int]:
    """Worker processes of this Ray that run a fit: their titles are the functions that they run."""
    processes = psutil.Process().children(recursive=True)
    titles = {each.pid: " ".join(each.cmdline()) for each in processes if each.is_running()}
    return [pid for pid, title in titles.items() if title.startswith("ray::") and "call" in title]


def test_workers_are_killed_from_outside_while_fits_are_in_flight():
    data = some_data()
    jobs = [job(data, Script(number=i, seconds=0.05), name=str(i)) for i in range(60)]
    got, killed = [], 0
    with FuturesExecutor(RayExecutor()) as executor:
        for outcomes in executor.map(jobs, data):
            got.append(outcomes)
            if len(got) in (10, 25, 40):
                wait_until(busy_workers)
                os.kill(busy_workers()[0], signal.SIGKILL)
                killed += 1
    assert_as_here(got, jobs, data)
    print(f"Ray: {killed} worker processes killed, {len(got)} of {len(jobs)} fits as in this process")


def test_a_fit_that_kills_its_worker_is_run_twice(tmp_path):
    data = some_data()
    killer = noting(job(data, Script("kill"), name="killer"), tmp_path / "runs")
    jobs = [job(data, Script(number=i), name=str(i)) for i in range(30)]
    jobs[10:10] = [killer]
    with FuturesExecutor(RayExecutor()) as executor:
        assert_all_but([killer], jobs, executor.map(jobs, data), data)
    assert (tmp_path / "runs").read_text() == "xx", "one death may be bad luck, two are enough"


def test_a_cancelled_call_is_stopped(tmp_path):
    executor = RayExecutor()
    started = tmp_path / "started"
    future = executor.submit(_touch_and_wait, str(started))
    wait_until(started.exists)
    assert future.cancel()
    pid = int(started.read_text())
    wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def _touch_and_wait(place: str) -> None:
    Path(place).write_text(str(os.getpid()))
    time.sleep(300)


def test_results_and_errors_of_calls():
    executor = RayExecutor()
    assert executor.submit(int, "12").result(30) == 12
    with pytest.raises(ValueError, match="invalid literal"):
        executor.submit(int, "twelve").result(30)
    assert list(executor.map(abs, [-1, 2])) == [1, 2]
    executor.shutdown()
    assert ray.is_initialized(), "it is not ours to end"


@pytest.mark.parametrize("cpus", [0, -1])
def test_cpus_must_be_some(cpus):
    with pytest.raises(InvalidInput, match="num_cpus"):
        RayExecutor(num_cpus=cpus)


def test_each_fit_takes_the_cpus_that_it_is_given():
    assert FuturesExecutor(RayExecutor())._pool.size == 2
    assert FuturesExecutor(RayExecutor(num_cpus=2))._pool.size == 1


def test_a_module_of_ones_own_that_workers_do_not_have(tmp_path, monkeypatch):
    (tmp_path / "own_ray_models.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\nclass OwnTree(DecisionTreeClassifier):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import own_ray_models

    engine = Engine(executor=RayExecutor(), on_error="record", progress=False)
    with pytest.raises(ExecutorError, match="Workers must be able to import 'own_ray_models'"):
        assess(own_ray_models.OwnTree(), X, y, engine=engine)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (hidden, "No module named 'truefit'"),
        (stub, r"Workers must have truefit [\w.]+, as this process has\. Some have 99\.0\.0\."),
        (another_version, r"truefit [\w.]+ here, 99\.0\.0 on the worker"),
    ],
)
def test_workers_without_truefit_or_with_another(tmp_path, change, message):
    place = os.pathsep.join([change(tmp_path, "truefit"), str(ROOT / "src")])
    executor = RayExecutor(runtime_env={"env_vars": {"PYTHONPATH": place}})
    with pytest.raises(ExecutorError, match=message):
        assess(DecisionTreeClassifier(), X, y, engine=Engine(executor=executor, progress=False))


def kill_raylet() -> None:
    """End the process that hands out Ray's workers on this machine."""
    [raylet] = [each for each in psutil.Process().children(recursive=True) if each.name() == "raylet"]
    raylet.kill()


@pytest.mark.parametrize("end", [ray.shutdown, kill_raylet], ids=["shut down", "killed"])
def test_ray_ends_during_a_run(end):
    if not ray.is_initialized():
        start_ray()
    engine = Engine(executor=RayExecutor(), progress=False)
    said = []

    def run() -> None:
        with pytest.raises(ExecutorError) as failure:
            assess(SlowTree(random_state=0), X, y, repeats=200, random_state=0, engine=engine)
        said.append(str(failure.value))

    aside = threading.Thread(target=run)
    aside.start()
    wait_until(lambda: engine.stats.run >= 5)
    end()
    aside.join(100)
    ray.shutdown()
    print(said)
    assert said
    assert f"{engine.stats.run} of 1,000 fits are done and stored in this engine's memory" in said[0]
    with pytest.raises(ExecutorError, match="Ray must be running"):
        RayExecutor()
