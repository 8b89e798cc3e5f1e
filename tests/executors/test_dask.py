import pytest

from truefit.core.job import Executor
from truefit.executors.futures import FuturesExecutor
from truefit.testing.executor_contract import ExecutorContract

distributed = pytest.importorskip("distributed")


@pytest.mark.slow
class TestOnDask(ExecutorContract):
    """A cluster of two processes."""

    # Dask starts the next worker itself, and on a busy machine that can take longer than a test should wait.
    survives_death = False

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        client = distributed.Client(
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
        )
        return FuturesExecutor(client.get_executor(), timeout=timeout)

    @classmethod
    def dispose(cls, executor: Executor) -> None:
        assert isinstance(executor, FuturesExecutor)
        executor.close()
        client = executor.executor._client
        client.close()
        client.cluster.close()
