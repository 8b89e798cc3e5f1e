import subprocess
import sys

import pytest
from threadpoolctl import ThreadpoolController

from truefit._core.errors import InvalidInput
from truefit._core.protocols import Executor
from truefit._executors.environment import inside_worker
from truefit._executors.serial import SerialExecutor
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
