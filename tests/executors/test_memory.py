import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._core.outcome import Failure
from truefit._executors.memory import bytes_of, exceeds, in_words, memory_of


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
    assert bytes_of(given) == expected


@pytest.mark.parametrize("given", ["", "much", "-4GB", "4 G B", "4XB", "GB", "nan", 0, -1, True, 2.5, [4], b"4GB"])
def test_other_limits_are_refused(given):
    with pytest.raises(InvalidInput, match="'memory' parameter must be a number of bytes, or text such as"):
        bytes_of(given)


@pytest.mark.parametrize("given", ["100MB", 1, "4"])
def test_a_limit_below_what_a_worker_takes_is_refused(given):
    with pytest.raises(InvalidInput, match="at least 256 MB"):
        bytes_of(given)


def test_sizes_are_written_as_they_were_given():
    for text in ("4 GB", "2 GiB", "512 MiB", "1.5 GB", "300 MB"):
        assert in_words(bytes_of(text)) == text


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
