"""A Dask cluster that loses its scheduler, has no workers, or workers that do not fit: with real processes."""

import threading
import time

import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from tests.executors.dask_processes import DaskProcesses, wait_until
from tests.executors.worker_environments import another_version, hidden, stub

from truefit import Engine, assess
from truefit._core.errors import ExecutorError

distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::distributed.versions.VersionMismatchWarning")]

X, y = load_iris(return_X_y=True)


class SlowTree(DecisionTreeClassifier):
    """A tree that takes a while."""

    def fit(self, X, y):
        time.sleep(0.1)
        return super().fit(X, y)


def predictions(store=None, executor=None, repeats: int = 8):
    """Predictions of 5 * repeats slow fits, and the engine."""
    engine = Engine(store, executor=executor, progress=False)
    result = assess(SlowTree(random_state=0), X, y, repeats=repeats, random_state=0, engine=engine)
    return result.predictions.to_numpy().tobytes(), engine


@pytest.fixture(scope="module")
def expected():
    found, engine = predictions()
    assert engine.stats.run == 40
    return found


def client_of(cluster: DaskProcesses):
    return distributed.Client(cluster.address, timeout=30, set_as_default=False)


def interrupted_run(cluster, store, end_scheduler) -> tuple[str, float, float]:
    """Run until the scheduler is ended after some fits; return the message, its seconds, and those of another call."""
    engine = Engine(store, executor=client_of(cluster).get_executor(), progress=False)

    def run() -> str:
        with pytest.raises(ExecutorError) as failure:
            assess(SlowTree(random_state=0), X, y, repeats=8, random_state=0, engine=engine)
        return str(failure.value)

    said = []
    aside = threading.Thread(target=lambda: said.append(run()))
    aside.start()
    wait_until(lambda: engine.stats.run >= 8)
    ended = time.monotonic()
    end_scheduler()
    aside.join(100)
    first = time.monotonic() - ended
    assert said
    start = time.monotonic()
    again = run()
    second = time.monotonic() - start
    assert "Dask cluster at" in again
    kept = engine.stats.run
    assert f"{kept} of 40 fits are done and stored" in said[0]
    assert f"{kept} of 40 fits are done and stored" in again, "what was restored counts as done"
    return said[0], first, second


@pytest.mark.parametrize("kept_in", ["file", "memory"])
def test_the_scheduler_is_killed_and_the_run_resumes_on_another_cluster(tmp_path, expected, kept_in):
    store = tmp_path / "runs.db" if kept_in == "file" else Engine().store
    with DaskProcesses() as cluster:
        message, first, second = interrupted_run(cluster, store, cluster.kill_scheduler)
    print(f"scheduler killed: error after {first:.2f} s, the next call's after {second:.2f} s: {message}")
    assert "was lost: its scheduler died" in message
    assert ("runs.db: rerun to resume" if kept_in == "file" else "pass store=engine.store") in message
    assert second < 5, "a call on a lost cluster must not wait for it"
    with DaskProcesses() as cluster, client_of(cluster) as client:
        found, engine = predictions(store, client.get_executor())
    assert found == expected
    assert engine.stats.stored >= 8
    assert engine.stats.run == 40 - engine.stats.stored


def test_a_scheduler_that_hangs_is_given_up(tmp_path, expected, monkeypatch):
    monkeypatch.setattr("truefit._executors.cluster._SILENT_SECONDS", 6.0)
    monkeypatch.setattr("truefit._executors.cluster._ANSWER_SECONDS", 1.0)
    with DaskProcesses() as cluster:
        message, first, second = interrupted_run(cluster, tmp_path / "runs.db", cluster.stop_scheduler)
        print(f"scheduler stopped: error after {first:.2f} s, the next call's after {second:.2f} s: {message}")
    assert "must answer. It has not for" in message
    found, engine = predictions(tmp_path / "runs.db")
    assert found == expected
    assert engine.stats.stored >= 8


def test_workers_are_killed_and_others_go_on(expected):
    with DaskProcesses() as cluster, client_of(cluster) as client:
        engine = Engine(executor=client.get_executor(), progress=False)
        found = []

        def run() -> None:
            result = assess(SlowTree(random_state=0), X, y, repeats=8, random_state=0, engine=engine)
            found.append(result.predictions.to_numpy().tobytes())

        aside = threading.Thread(target=run)
        aside.start()
        for deaths in range(1, 4):
            wait_until(lambda least=8 * deaths: engine.stats.run >= least)
            cluster.start_worker()
            cluster.workers[deaths - 1].kill()
        aside.join(100)
    assert found == [expected]
    assert engine.stats.run == 40


def test_no_workers_is_said_and_fits_go_on_when_one_comes(expected, monkeypatch):
    monkeypatch.setattr("truefit._executors.cluster._COUNT_SECONDS", 0.5)
    monkeypatch.setattr("truefit._executors.cluster._WARN_AFTER", (0.5, 3600.0))
    with DaskProcesses(workers=0) as cluster, client_of(cluster) as client:
        aside = threading.Timer(3.0, cluster.start_worker)
        aside.start()
        with pytest.warns(RuntimeWarning, match=r"The Dask cluster at tcp://127.* has no workers") as said:
            found, _ = predictions(executor=client.get_executor())
        aside.join()
    assert found == expected
    assert len(said) == 1


def test_a_limit_of_dask_for_waiting_is_an_error():
    with (
        DaskProcesses(workers=0, DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT="1s") as cluster,
        client_of(cluster) as client,
        pytest.raises(ExecutorError, match=r"must be able to run fits.*NoWorker"),
    ):
        predictions(executor=client.get_executor())


@pytest.mark.parametrize(
    ("change", "package", "message"),
    [
        (stub, "truefit", r"Workers must have truefit [\w.]+, as this process has. Some have 99\.0\.0\."),
        (another_version, "truefit", r"truefit [\w.]+ here, 99\.0\.0 on the worker"),
        (another_version, "sklearn", r"scikit-learn [\d.]+ here, 99\.0\.0 on the worker"),
        (another_version, "numpy", r"numpy [\d.]+ here, 99\.0\.0 on the worker"),
        (another_version, "scipy", r"scipy [\d.]+ here, 99\.0\.0 on the worker"),
        (hidden, "truefit", r"must have truefit [\w.]+ and what it needs. .*No module named 'truefit'\. Install"),
        (hidden, "sklearn", r"must have truefit [\w.]+ and what it needs. .*No module named 'sklearn'\. Install"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:12]),
)
def test_workers_that_do_not_fit_are_an_error_and_nothing_is_kept(tmp_path, change, package, message):
    place = change(tmp_path, package)
    with DaskProcesses(workers=0) as cluster, client_of(cluster) as client:
        cluster.start_worker(path=place)
        with pytest.raises(ExecutorError, match=message) as failure:
            predictions(tmp_path / "runs.db", client.get_executor())
    print(failure.value)
    assert "\n" not in str(failure.value)
    _, engine = predictions(tmp_path / "runs.db", repeats=1)
    assert engine.stats.stored == 0


def test_one_worker_of_two_has_another_version(tmp_path):
    with DaskProcesses(workers=1) as cluster, client_of(cluster) as client:
        cluster.start_worker(path=another_version(tmp_path, "sklearn"))
        client.wait_for_workers(2, timeout=60)
        with pytest.raises(ExecutorError, match=r"scikit-learn [\d.]+ here, 99\.0\.0 on the worker"):
            predictions(executor=client.get_executor())


def test_a_module_of_ones_own_that_workers_do_not_have(tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\nclass OwnTree(DecisionTreeClassifier):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import own_models

    with DaskProcesses(workers=1) as cluster, client_of(cluster) as client:
        engine = Engine(executor=client.get_executor(), on_error="record", progress=False)
        with pytest.raises(ExecutorError, match=r"Workers must be able to import 'own_models'"):
            assess(own_models.OwnTree(), X, y, engine=engine)


def test_the_scheduler_needs_no_truefit(tmp_path, expected):
    with DaskProcesses(workers=0, PYTHONPATH=hidden(tmp_path, "truefit")) as cluster, client_of(cluster) as client:
        cluster.start_worker()
        found, _ = predictions(executor=client.get_executor())
    assert found == expected
