import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from truefit._core.data import Data
from truefit._executors.processes import ProcessExecutor
from truefit._executors.width import affordable, memory_left
from truefit.testing.executor_contract import some_data, some_jobs

MB = 1 << 20
X = np.zeros((1000, 131_072 // 8), dtype=np.float64)  # 125 MB: a worker may need 150 + 2 * 125 of them
DATA = Data(X, np.arange(1000.0), task="regression")


@pytest.mark.parametrize(("left", "workers"), [(10_000 * MB, 4), (1_250 * MB, 3), (850 * MB, 2), (401 * MB, 1), (0, 1)])
def test_as_many_workers_as_there_is_memory_for_and_never_none(left, workers):
    if workers == 4:
        assert affordable(4, DATA, available=left) == 4
    else:
        with pytest.warns(RuntimeWarning, match=f"memory for {workers} of the 4 workers"):
            assert affordable(4, DATA, available=left) == workers


def test_one_worker_needs_no_look():
    assert affordable(1, DATA, available=0) == 1


def test_a_sparse_table_takes_what_is_in_it():
    sparse = Data(
        random_sparse(1000, 50_000, density=1e-4, random_state=0).tocsr(), np.arange(1000.0), task="regression"
    )
    assert affordable(4, sparse, available=1000 * MB) == 4


def test_what_the_system_says_is_a_number_of_bytes():
    left = memory_left()
    assert left is None or left > MB


def test_a_process_executor_keeps_to_it(monkeypatch):
    monkeypatch.setattr("truefit._executors.width.memory_left", lambda: 0)
    data = some_data()
    with ProcessExecutor(3) as executor:
        with pytest.warns(RuntimeWarning, match="memory for 1 of the 3"):
            assert len(list(executor.map(some_jobs(data, 4), data))) == 4
        assert len(executor._crew.hands) == 1
