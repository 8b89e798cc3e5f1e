import io
import multiprocessing
import os
import pickle
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import pytest

from truefit._core.errors import ExecutorError, InvalidInput
from truefit._core.protocols import Executor
from truefit._executors.cluster import ExternalPool
from truefit._executors.dataset_file import DatasetCache, DatasetFile
from truefit._executors.environment import inside_worker
from truefit._executors.futures import FuturesExecutor
from truefit._executors.remote_worker import BatchCall
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


def process_pool(workers: int = 2) -> ProcessPoolExecutor:
    # Forked from a server that has nothing but imports: fast, and none of this process's threads are lost.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["truefit.testing.executor_contract", "truefit._executors.remote_worker"])
    return ProcessPoolExecutor(workers, mp_context=context)


class OnAPool(ExecutorContract):
    @classmethod
    def dispose(cls, executor: Executor) -> None:
        assert isinstance(executor, FuturesExecutor)
        executor.close()
        executor.executor.shutdown()


class TestOnThreads(OnAPool):
    survives_death = False

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        return FuturesExecutor(ThreadPoolExecutor(2), timeout=timeout)

    @classmethod
    def dispose(cls, executor: Executor) -> None:
        assert isinstance(executor, FuturesExecutor)
        executor.close()
        executor.executor.shutdown(wait=False)  # a thread cannot be stopped: a fit past its timeout ends by itself


class TestOnProcesses(OnAPool):
    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        return FuturesExecutor(process_pool(), timeout=timeout)


class Inline(ThreadPoolExecutor.__base__):
    """Runs what is submitted at once, as a worker elsewhere would: with what can be pickled only."""

    def __init__(self):
        self.submitted = []

    def submit(self, function, /, *arguments):
        self.submitted.append(arguments)
        future = Future()
        future.set_result(function(*arguments))
        return future


class Opener(pickle.Unpickler):
    """Gives the batch of a message, where loading the message would run its jobs."""

    def find_class(self, module, name):
        return (lambda batch: batch) if name == "run_batch" else super().find_class(module, name)


def batch_of(content):
    return Opener(io.BytesIO(content)).load()


class Elsewhere(Inline):
    """A worker on another machine: no path leads to the data."""

    def submit(self, function, /, content):
        batch = batch_of(content)
        abroad = DatasetFile(batch.dataset.identity, "/nowhere")
        return super().submit(function, BatchCall(replace(batch, dataset=abroad)).content())


class Forgetful(dict):
    def __setitem__(self, key, value):
        pass


@pytest.fixture
def no_tables(monkeypatch):
    # As in a process that has never seen the data.
    monkeypatch.setattr("truefit._executors.remote_worker._datasets", DatasetCache())
    monkeypatch.setattr("truefit._executors.dataset_file._datasets_here", Forgetful())


def test_a_worker_elsewhere_is_sent_the_data_once(no_tables):
    pool = Elsewhere()
    data = some_data()
    jobs = some_jobs(data, 200)
    with FuturesExecutor(pool) as executor:
        assert_as_here(executor.map(jobs, data), jobs, data)
    # Those that were on their way before the first was sent along.
    batches = [batch_of(content) for (content,) in pool.submitted]
    assert 1 <= sum(batch.content is not None for batch in batches) <= 8
    assert batches[-1].content is None


def test_small_jobs_travel_together():
    pool, data = Inline(), some_data()
    jobs = some_jobs(data, 200)
    with FuturesExecutor(pool) as executor:
        assert_as_here(executor.map(jobs, data), jobs, data)
    assert len(pool.submitted) < 100


def test_with_a_limit_each_job_travels_alone():
    pool, data = Inline(), some_data()
    with FuturesExecutor(pool, timeout=60.0) as executor:
        assert len(list(executor.map(some_jobs(data, 20), data))) == 20
    assert len(pool.submitted) == 20


class Nosy(ScriptedSolver):
    def solve(self, job, data):
        assert inside_worker()
        return super().solve(job, data)


def test_a_job_knows_that_it_is_inside_a_worker():
    data = some_data()
    nosy = replace(job(data, Script(), name="a"), solver=Nosy())
    with ThreadPoolExecutor(1) as pool, FuturesExecutor(pool) as executor:
        assert by_key(executor.map([nosy], data))["a/0"].error is None
    assert not inside_worker()


def test_classes_of_a_script_reach_a_pool():
    data = some_data()
    local = type("Local", (ScriptedSolver,), {"__module__": "__main__"})()
    with process_pool(1) as pool, FuturesExecutor(pool) as executor:
        outcomes = by_key(executor.map([replace(job(data, Script(), name="a"), solver=local)], data))
    assert outcomes["a/0"].error is None


def test_the_users_executor_is_left_open_and_ours_are_not():
    data = some_data()
    with process_pool(1) as pool:
        executor = FuturesExecutor(pool)
        [[outcome]] = executor.map([job(data, Script("die"))], data)
        assert outcome.error.kind == "died"
        ours = executor._pool.executor
        assert ours is not pool
        assert (ours._max_workers, ours._mp_context) == (1, pool._mp_context)
        executor.close()
        with pytest.raises(RuntimeError, match="after shutdown"):
            ours.submit(int)
    with ThreadPoolExecutor(1) as threads:
        FuturesExecutor(threads).close()
        assert threads.submit(int).result() == 0


class Breaking(ProcessPoolExecutor):
    """Breaks while something is submitted to it."""

    def submit(self, function, /, *arguments):
        raise OSError("handle is closed")


def test_a_pool_that_breaks_while_it_is_submitted_to_is_broken():
    with Breaking(1) as pool, pytest.raises(BrokenProcessPool, match="handle is closed"):
        ExternalPool(pool).submit(int)


def fail_to_start() -> None:
    os._exit(1)


def test_a_pool_that_cannot_start_is_an_error():
    data = some_data()
    context = multiprocessing.get_context("forkserver")
    with (
        ProcessPoolExecutor(1, context, initializer=fail_to_start) as pool,
        FuturesExecutor(pool) as executor,
        pytest.raises(ExecutorError, match="must be able to start"),
    ):
        list(executor.map([job(data, Script())], data))


def test_an_executor_that_breaks_and_is_not_ours_to_build():
    def refuse() -> None:
        raise RuntimeError("no thread today")

    data = some_data()
    with (
        ThreadPoolExecutor(1, initializer=refuse) as pool,
        FuturesExecutor(pool) as executor,
        pytest.raises(ExecutorError, match=r"ThreadPoolExecutor broke.*Pass a new executor"),
    ):
        list(executor.map([job(data, Script())], data))


def test_an_executor_that_is_shut_down():
    pool, data = ThreadPoolExecutor(1), some_data()
    pool.shutdown()
    with FuturesExecutor(pool) as executor, pytest.raises(ExecutorError, match="must accept work"):
        list(executor.map([job(data, Script())], data))


def test_all_workers_held_by_fits_past_their_limit():
    data = some_data()
    jobs = [job(data, Script(seconds=2.0), name=str(i)) for i in range(6)]
    with ThreadPoolExecutor(2) as pool, FuturesExecutor(pool, timeout=0.2) as executor:
        got = []
        with pytest.raises(ExecutorError, match="All 2 are held by fits that ran past the limit"):
            got.extend(executor.map(jobs, data))
    assert [outcome.error.kind for [outcome] in got] == ["timeout", "timeout"]


def test_data_that_cannot_be_loaded_are_an_error(no_tables, monkeypatch):
    def refuse(self) -> None:
        raise ImportError("no such package here")

    monkeypatch.setattr(DatasetFile, "open", refuse)
    data = some_data()
    with (
        FuturesExecutor(Inline()) as executor,
        pytest.raises(ExecutorError, match=r"(?s)load the data.*no such package"),
    ):
        list(executor.map([job(data, Script())], data))


class NotInstalled(Inline):
    """A worker that does not have what an estimator needs, or truefit, or has another truefit."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def submit(self, function, /, *arguments):
        future = Future()
        if function is pickle.loads:
            future.set_exception(self.error)
        else:
            future.set_result("0.0.1")
        return future


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("truefit._executors"), AttributeError("run_batch"), TypeError("run_batch")]
)
def test_a_worker_that_cannot_read_its_message_has_another_truefit(error):
    data = some_data()
    with (
        FuturesExecutor(NotInstalled(error)) as executor,
        pytest.raises(ExecutorError, match=r"must have truefit [\w.]+, as this process has\. Some have 0\.0\.1"),
    ):
        list(executor.map([job(data, Script())], data))


class Failing(Inline):
    """Runs some calls, and cancels all others when the first of those is looked at: as a client that is cut off."""

    def submit(self, function, /, *arguments):
        if len(self.submitted) < 3:
            return super().submit(function, *arguments)
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_what_was_finished_comes_before_the_error():
    data, got = some_data(), []
    jobs = [job(data, Script(number=i), name=str(i)) for i in range(10)]
    with FuturesExecutor(Failing()) as executor, pytest.raises(ExecutorError, match="It cancelled fits"):
        got.extend(executor.map(jobs, data))
    assert_as_here(got, jobs[:3], data)


@pytest.mark.parametrize("executor", [None, 2, object()])
def test_executor_must_be_one(executor):
    with pytest.raises(InvalidInput, match=r"concurrent\.futures\.Executor"):
        FuturesExecutor(executor)
