import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from truefit._core.protocols import Executor, Job
from truefit._executors.futures import FuturesExecutor
from truefit.testing.executor_contract import (
    ExecutorContract,
    Script,
    ScriptedSolver,
    assert_as_here,
    by_key,
    job,
    some_data,
    some_jobs,
)

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    # On a busy machine it can take a minute until a worker is there again.
    pytest.mark.filterwarnings("default:The cluster has no workers:RuntimeWarning"),
]


def start_cluster(workers: int = 2, threads: int = 1):
    return distributed.Client(
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address="127.0.0.1:0"
        )
    )


def stop_cluster(client) -> None:
    client.close()
    client.cluster.close()


@contextmanager
def on_dask(timeout: float | None = None, threads: int = 1, **settings):
    """An executor on a cluster of its own."""
    with dask.config.set({f"distributed.{name}": value for name, value in settings.items()}):
        client = start_cluster(threads=threads)
        try:
            with FuturesExecutor(client.get_executor(), timeout=timeout) as executor:
                yield executor
        finally:
            stop_cluster(client)


class TestOnDask(ExecutorContract):
    """A cluster of two processes."""

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        return FuturesExecutor(start_cluster().get_executor(), timeout=timeout)

    @classmethod
    def dispose(cls, executor: Executor) -> None:
        assert isinstance(executor, FuturesExecutor)
        executor.close()
        stop_cluster(executor.executor._client)


def noting(one: Job, path: Path) -> Job:
    """The job, that also adds a letter to a file whenever it is run."""

    def solve(self, job, data):
        with open(path, "a") as file:
            file.write("x")
        return ScriptedSolver.solve(self, job, data)

    return replace(one, solver=type("Noting", (ScriptedSolver,), {"__module__": "__main__", "solve": solve})())


def assert_all_but(killers, jobs, got, data) -> None:
    """Check that those jobs were convicted and the others are as run here."""
    names = {one.fits[0].key for one in killers}
    outcomes = list(got)
    convicted = {key: outcome for key, outcome in by_key(outcomes).items() if key in names}
    assert convicted.keys() == names
    assert {outcome.error.kind for outcome in convicted.values()} == {"died"}
    innocent = [one for one in jobs if one.fits[0].key not in names]
    assert_as_here([one for one in outcomes if one[0].key not in names], innocent, data)


def test_one_of_a_hundred_kills_its_worker(tmp_path):
    data = some_data()
    killer = noting(job(data, Script("kill"), name="killer"), tmp_path / "runs")
    jobs = [job(data, Script(number=i), name=str(i)) for i in range(99)]
    jobs[50:50] = [killer]
    with on_dask() as executor:
        assert_all_but([killer], jobs, executor.map(jobs, data), data)
    assert (tmp_path / "runs").read_text() == "xx", "one death may be bad luck, two are enough"


def test_a_worker_is_killed_from_outside_while_a_hundred_fits_are_in_flight():
    data = some_data()
    jobs = [job(data, Script(number=i, seconds=0.01), name=str(i)) for i in range(100)]
    with on_dask() as executor:
        pids = executor.executor._client.run(os.getpid)
        outcomes = executor.map(jobs, data)
        got = list(islice(outcomes, 10))
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        assert_as_here([*got, *outcomes], jobs, data)


def test_fits_beside_a_killer_in_one_process_are_innocent():
    data = some_data()
    killer = job(data, Script("die", seconds=0.1), name="killer")
    jobs = [job(data, Script(number=i, seconds=0.2), name=str(i)) for i in range(12)]
    jobs[5:5] = [killer]
    with on_dask(threads=3) as executor:
        assert_all_but([killer], jobs, executor.map(jobs, data), data)


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_scheduler_that_forgives_no_death(allowed):
    data = some_data()
    killer = job(data, Script("die"), name="killer")
    jobs = [job(data, Script(number=i, seconds=0.02), name=str(i)) for i in range(30)]
    jobs[5:5] = [killer]
    with on_dask(**{"scheduler.allowed-failures": allowed}) as executor:
        assert_all_but([killer], jobs, executor.map(jobs, data), data)


def test_workers_that_the_cluster_has_given_up_are_asked_for_again():
    data = some_data()
    killers = [job(data, Script("die"), name=f"killer {i}") for i in range(3)]
    jobs = [job(data, Script(number=i), name=str(i)) for i in range(30)]
    jobs[10:10] = killers
    # No worker is back as fast as that: each death is for good.
    with on_dask(**{"deploy.lost-worker-timeout": "50ms"}) as executor:
        cluster = executor.executor._client.cluster
        assert_all_but(killers, jobs, executor.map(jobs, data), data)
        assert_as_here(executor.map(jobs[:5], data), jobs[:5], data)
        assert len(cluster.worker_spec) == 2
        assert not {0, 1}.issubset(cluster.worker_spec), "none was given up"


def test_a_cluster_that_was_made_smaller_stays_so():
    data, jobs = some_data(), some_jobs(some_data(), 5)
    with on_dask() as executor:
        client = executor.executor._client
        assert_as_here(executor.map(jobs, data), jobs, data)
        client.cluster.scale(1)
        while len(client.nthreads()) > 1:
            time.sleep(0.05)
        assert_as_here(executor.map(jobs, data), jobs, data)
        assert len(client.cluster.worker_spec) == 1


def test_a_death_is_no_timeout_however_long_the_next_worker_takes():
    data = some_data()
    killer = job(data, Script("die"), name="killer")
    jobs = [job(data, Script(number=i), name=str(i)) for i in range(10)]
    jobs[5:5] = [killer]
    with on_dask(timeout=1.0) as executor:
        assert_all_but([killer], jobs, executor.map(jobs, data), data)


def test_a_worker_that_leaves_in_good_order_is_not_held_against_its_fit(tmp_path):
    data, noted = some_data(), tmp_path / "runs"
    [expected] = job(data, Script(), name="long").run(data)
    long = noting(job(data, Script(seconds=8.0), name="long"), noted)

    def runs() -> int:
        return len(noted.read_text()) if noted.exists() else 0

    with on_dask() as executor, ThreadPoolExecutor(1) as aside:
        client = executor.executor._client
        result = aside.submit(lambda: by_key(executor.map([long], data)))
        for departures in (1, 2):
            while runs() < departures:
                assert not result.done()
                time.sleep(0.05)
            client.restart_workers([worker for worker, keys in client.processing().items() if keys])
        outcome = result.result()["long/0"]
    assert outcome.error is None
    assert outcome.answers[0].values.tobytes() == expected.answers[0].values.tobytes()
    assert runs() == 3
