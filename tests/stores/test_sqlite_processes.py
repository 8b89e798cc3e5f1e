"""Several processes on one store, and processes that are killed in the middle."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from truefit._stores.sqlite import SqliteStore
from truefit.testing.store_contract import assert_same_outcome, some_outcome

WRITER = """
import sys
from truefit._stores.sqlite import SqliteStore
from truefit.testing.store_contract import assert_same_outcome, some_outcome

path, name, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
store = SqliteStore(path)
for i in range(first, last):
    own = some_outcome(f"{name}-{i}", n=300, seed=i)
    shared = some_outcome(f"shared-{i}", n=300, seed=i)
    answers = shared.answers if name == "a" else shared.answers[::-1]
    for answer in answers:  # whoever comes second adds what is missing
        store.put([own, type(shared)(shared.key, (answer,), 0.25, "plain", shared.classes)])
    print(i, flush=True)
    for outcome in (own, shared):
        assert_same_outcome(store.get([outcome.key])[outcome.key], outcome)
store.close()
print("done", flush=True)
"""


@contextlib.contextmanager
def writers(path, names, first=0, last=1_000_000):
    """Processes that write until they are told to stop, started at the same moment."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name, str(first), str(last)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    try:
        for process in started:
            assert process.stdout.readline() == "ready\n"
        for process in started:
            process.stdin.write("go\n")
            process.stdin.flush()
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def committed(process):
    """Return how far a process said it was, after its end."""
    return max((int(line) for line in process.stdout if line.strip().isdecimal()), default=-1)


def check(path, name, last):
    with contextlib.closing(SqliteStore(path)) as store:
        for i in range(last + 1):
            for key in (f"{name}-{i}", f"shared-{i}"):
                assert_same_outcome(store.get([key])[key], some_outcome(key, n=300, seed=i))


def integrity(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall()


def test_two_processes_on_one_store_are_both_right(tmp_path):
    path = tmp_path / "fits.db"
    with writers(path, "ab", last=30) as started:
        for process in started:
            assert committed(process) == 29
            assert process.wait() == 0
    for name in "ab":
        check(path, name, 29)
    assert integrity(path) == [("ok",)]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (3 * 30 * 2,)
        assert connection.execute("SELECT count(*) FROM rowsets").fetchone() == (30,)


def killed(path, names, after):
    """Kill writers one by one, each when it says that it has done its share; return how far each came."""
    with writers(path, names) as started:
        for process, share in zip(started, after, strict=True):
            for _ in range(share):
                process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        return [max(share - 1, committed(process)) for process, share in zip(started, after, strict=True)]


def test_nothing_is_lost_when_processes_are_killed(tmp_path):
    path = tmp_path / "fits.db"
    for last, name in zip(killed(path, "ab", (1, 12)), "ab", strict=True):
        assert last >= 0
        # The first look is at what the kill has left behind: the log has never been written back.
        check(path, name, last)
    assert integrity(path) == [("ok",)]


def test_a_killed_store_opens_with_its_log(tmp_path):
    path = tmp_path / "fits.db"
    (last,) = killed(path, "a", (3,))
    assert path.with_name("fits.db-wal").stat().st_size > 0
    before = path.read_bytes(), path.with_name("fits.db-wal").read_bytes()
    SqliteStore(path)  # looking changes nothing
    assert (path.read_bytes(), path.with_name("fits.db-wal").read_bytes()) == before
    path.with_name("fits.db-shm").unlink()  # as when the files were copied elsewhere
    check(path, "a", last)
    with contextlib.closing(SqliteStore(path)) as store:
        store.put([some_outcome("after")])
    check(path, "a", last)
    assert integrity(path) == [("ok",)]


def test_a_kill_at_any_moment_also_while_the_store_is_made(tmp_path):
    moments = random.Random(0)
    for number in range(12):
        path = tmp_path / f"{number // 3}.db"
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                store = SqliteStore(path)
                for i in range(1_000_000):
                    store.put([some_outcome(f"{number}-{i}", n=50, seed=i)])
                    os.write(writer, b".")
            os._exit(1)
        os.close(writer)
        time.sleep(moments.choice([0.0, 0.002, 0.01, 0.03]) * moments.random())
        os.kill(pid, signal.SIGKILL)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        with open(reader, "rb") as pipe:
            keys = [f"{number}-{i}" for i in range(len(pipe.read()))]
        with contextlib.closing(SqliteStore(path)) as store:
            got = store.get(keys)
            for i, key in enumerate(keys):
                assert_same_outcome(got[key], some_outcome(key, n=50, seed=i))
        if path.exists():
            assert integrity(path) == [("ok",)]


@pytest.mark.slow
def test_nothing_is_lost_over_many_kills(tmp_path):
    path = tmp_path / "fits.db"
    for round_number in range(8):
        names = [f"{round_number}{letter}" for letter in "ab"]
        for last, name in zip(killed(path, names, (1 + round_number, 2 + 3 * round_number)), names, strict=True):
            check(path, name, last)
        assert integrity(path) == [("ok",)]


@pytest.mark.slow
def test_stores_made_at_the_same_moment(tmp_path):
    for round_number in range(4):
        path = tmp_path / f"{round_number}.db"
        with writers(path, "abcd", last=3) as started:
            for process in started:
                assert committed(process) == 2
                assert process.wait() == 0
        for name in "abcd":
            check(path, name, 2)


def test_a_fork_uses_a_connection_of_its_own(tmp_path):
    store = SqliteStore(tmp_path / "fits.db")
    store.put([some_outcome("parent")])
    got = store.get(["parent"])["parent"]
    pid = os.fork()
    if pid == 0:
        status = 1
        with contextlib.suppress(BaseException):
            assert_same_outcome(got, some_outcome("parent"))
            for i in range(20):
                store.put([some_outcome(f"child-{i}", seed=i)])
            store.close()
            status = 0
        os._exit(status)
    for i in range(20):
        store.put([some_outcome(f"parent-{i}", seed=i)])
    assert os.waitpid(pid, 0)[1] == 0
    keys = [f"{who}-{i}" for who in ("parent", "child") for i in range(20)]
    assert set(store.get(keys)) == set(keys)
    store.close()
    assert integrity(tmp_path / "fits.db") == [("ok",)]
