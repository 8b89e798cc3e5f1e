import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.sparse import random as random_sparse

from truefit._core.data import Data
from truefit._core.errors import Failure, InvalidInput
from truefit._executors.memory import (
    available_memory,
    exceeds,
    format_bytes,
    memory_of,
    parse_memory,
    workers_within_memory,
)
from truefit._executors.processes import ProcessExecutor
from truefit.testing.executor_contract import some_data, some_jobs

MB = 1 << 20
X = np.zeros((1000, 131_072 // 8), dtype=np.float64)  # 125 MB: a worker may need 150 + 2 * 125 of them
DATA = Data(X, np.arange(1000.0), task="regression")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        (300_000_000, 300_000_000),
        ("500MB", 500_000_000),
        ("500 mb", 500_000_000),
        ("1.5GB", 1_500_000_000),
        ("2GiB", 2 << 30),
        ("2g", 2_000_000_000),
        ("1TiB", 1 << 40),
        ("1000000000", 1_000_000_000),
        ("1000000000B", 1_000_000_000),
    ],
)
def test_limits_are_read(given, expected):
    assert parse_memory(given) == expected


@pytest.mark.parametrize("given", ["", "much", "-4GB", "4 G B", "4XB", "GB", "nan", 0, -1, True, 2.5, [4], b"4GB"])
def test_other_limits_are_refused(given):
    with pytest.raises(InvalidInput, match="'memory' parameter must be a number of bytes, or text such as"):
        parse_memory(given)


@pytest.mark.parametrize("given", ["100MB", 1, "4"])
def test_a_limit_below_what_a_worker_takes_is_refused(given):
    with pytest.raises(InvalidInput, match="at least 256 MB"):
        parse_memory(given)


def test_sizes_are_written_as_they_were_given():
    for text in ("4 GB", "2 GiB", "512 MiB", "1.5 GB", "300 MB"):
        assert format_bytes(parse_memory(text)) == text


def test_memory_of_a_process_is_its_own_without_files(tmp_path):
    np.zeros(200 << 20, dtype=np.uint8).tofile(tmp_path / "mapped")
    before = memory_of(os.getpid())
    mapped = np.memmap(tmp_path / "mapped", dtype=np.uint8, mode="r")
    assert mapped.sum() == 0
    assert memory_of(os.getpid()) - before < 50 << 20
    held = np.ones(200 << 20, dtype=np.uint8)
    assert 150 << 20 < memory_of(os.getpid()) - before < 300 << 20
    assert held[0] == 1


def test_memory_of_children_counts_and_that_of_the_dead_does_not():
    code = "x = bytearray(b'1') * (100 << 20); print('there', flush=True); input()"
    started = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"there\n"
        assert memory_of(process.pid) > 100 << 20
        process.communicate(b"\n")
    assert memory_of(process.pid) == 0


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12: there are other threads
def test_pages_that_a_forked_child_shares_count_once():
    held = np.ones(200 << 20, dtype=np.uint8)
    reader, writer = os.pipe()
    children = []
    for _ in range(3):
        children.append(os.fork())
        if children[-1] == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
    used = memory_of(os.getpid())
    assert used > 4 * held.nbytes
    assert not exceeds(os.getpid(), used // 2)
    assert exceeds(os.getpid(), held.nbytes)
    os.close(writer)
    for child in children:
        os.waitpid(child, 0)
    assert exceeds(os.getpid(), held.nbytes)
    assert not exceeds(os.getpid(), used)


def test_allocations_beyond_a_limit_raise():
    code = """
        import numpy as np
        from truefit._executors.memory import limit_allocations
        limit_allocations(300 << 20)
        held = np.ones(100 << 20, dtype=np.uint8)
        try:
            np.ones(400 << 20, dtype=np.uint8)
        except MemoryError:
            print("refused")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


def test_a_memory_error_is_a_failure_of_its_own_kind():
    assert Failure.of(MemoryError("no room")).kind == "memory"
    assert Failure.of(ValueError("no room")).kind == "raised"


@pytest.mark.parametrize(("left", "workers"), [(10_000 * MB, 4), (1_250 * MB, 3), (850 * MB, 2), (401 * MB, 1), (0, 1)])
def test_as_many_workers_as_there_is_memory_for_and_never_none(left, workers):
    if workers == 4:
        assert workers_within_memory(4, DATA, available=left) == 4
    else:
        with pytest.warns(RuntimeWarning, match=f"memory for {workers} of the 4 workers"):
            assert workers_within_memory(4, DATA, available=left) == workers


def test_one_worker_needs_no_look():
    assert workers_within_memory(1, DATA, available=0) == 1


def test_a_sparse_table_takes_what_is_in_it():
    sparse = Data(
        random_sparse(1000, 50_000, density=1e-4, random_state=0).tocsr(), np.arange(1000.0), task="regression"
    )
    assert workers_within_memory(4, sparse, available=1000 * MB) == 4


def test_what_the_system_says_is_a_number_of_bytes():
    left = available_memory()
    assert left is None or left > MB


def test_a_process_executor_keeps_to_it(monkeypatch):
    monkeypatch.setattr("truefit._executors.memory.available_memory", lambda: 0)
    data = some_data()
    with ProcessExecutor(3) as executor:
        with pytest.warns(RuntimeWarning, match="memory for 1 of the 3"):
            assert len(list(executor.map(some_jobs(data, 4), data))) == 4
        assert len(executor._pool.workers) == 1
