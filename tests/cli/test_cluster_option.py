"""--cluster: the same answers from a Dask cluster, and what is wrong with it in a sentence."""

import contextlib
import json
import socket
import sqlite3
import subprocess
import sys
import time

import pytest
from tests.cli.command import truefit
from tests.executors.dask_processes import DaskProcesses, wait_until

pytest.importorskip("distributed")
ASSESS = ("assess", "iris", "--model", "tree", "--seed", "0")
COMMANDS = (
    ASSESS,
    ("compare", "iris", "--model", "tree", "--model", "linear"),
    ("curve", "iris", "--model", "tree"),
    ("perturb", "iris", "--model", "tree"),
    ("agghoo", "iris", "--model", "tree"),
    ("study", "iris", "--model", "tree"),
    ("reproduce", "pmv-unlimited-tree", "--quick"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_workers_and_a_cluster_are_not_given_together(command):
    said = truefit(*command, "--workers", "2", "--cluster", "tcp://127.0.0.1:9")
    assert said.returncode == 2
    assert "Give --workers or --cluster, not both" in said.stderr


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "ray://127.0.0.1:10001", "tcp://host", "tcp://host/8786"])
def test_an_address_that_is_none(address):
    said = truefit(*ASSESS, "--cluster", address)
    assert said.returncode == 2
    assert f"must be like tcp://HOST:8786. Got {address!r} instead" in said.stderr


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = truefit(*ASSESS, "--cluster", "tcp://127.0.0.1:9")
    assert said.returncode == 2
    assert "pip install truefit[dask]" in said.stderr


@pytest.fixture
def hurried(monkeypatch):
    for name in ("_CONNECT_SECONDS", "_WORKER_SECONDS"):
        monkeypatch.setattr(f"truefit._executors.cluster.{name}", 2.0)


def test_nothing_answers(hurried):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.monotonic()
    said = truefit(*ASSESS, "--cluster", f"tcp://127.0.0.1:{port}")
    assert said.returncode == 1
    assert f"A Dask scheduler must answer at tcp://127.0.0.1:{port}. None did within 2 s" in said.stderr
    assert time.monotonic() - start < 60


def test_something_else_takes_the_call(hurried):
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes calls, and says nothing
        said = truefit(*ASSESS, "--cluster", f"tcp://127.0.0.1:{server.getsockname()[1]}")
    assert said.returncode == 1
    assert "A Dask scheduler must answer at" in said.stderr


def test_a_cluster_without_workers(hurried, monkeypatch):
    monkeypatch.setattr("truefit._executors.cluster._CONNECT_SECONDS", 30.0)  # it has to start first
    with DaskProcesses(workers=0) as cluster:
        said = truefit(*ASSESS, "--cluster", cluster.address)
    assert said.returncode == 1
    assert f"{cluster.address} has no workers yet. Waiting 2 s for the first." in said.stderr
    assert "must have workers. It has none after 2 s. Start some" in said.stderr


def test_the_same_answers_from_a_cluster(monkeypatch):
    monkeypatch.setattr("truefit._executors.cluster._CONNECT_SECONDS", 30.0)
    expected = json.loads(truefit(*ASSESS, "--json").stdout)
    with DaskProcesses(workers=1) as cluster:
        said = truefit(*ASSESS, "--json", "--cluster", cluster.address)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert found.pop("fits")["run"] == expected.pop("fits")["run"] == 5
    assert found == expected


def fits_in(store) -> int:
    """How many fits a store holds, read from beside the command that writes it."""
    if not store.exists():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as reader:
        try:
            return reader.execute("SELECT count(*) FROM outcomes").fetchone()[0]
        except sqlite3.OperationalError:  # not made yet
            return 0


@pytest.mark.slow
def test_the_scheduler_is_killed_while_a_command_runs(tmp_path):
    store = tmp_path / "runs.db"
    command = ("assess", "breast_cancer", "--model", "random_forest", "--cv", "10", "--repeats", "3", "--seed", "0")
    expected = json.loads(truefit(*command, "--json").stdout)
    with DaskProcesses() as cluster:
        words = [*command, "--store", str(store), "--cluster", cluster.address]
        running = subprocess.Popen([sys.executable, "-m", "truefit", *words], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: fits_in(store) >= 5 or running.poll() is not None)
        start = time.monotonic()
        cluster.kill_scheduler()
        _, said = running.communicate(timeout=100)
    print(f"exit code {running.returncode} {time.monotonic() - start:.1f} s after the scheduler was killed: {said}")
    assert running.returncode == 1
    kept = fits_in(store)
    assert "was lost: its scheduler died" in said
    assert f"{kept} of 30 fits are done and stored in {store}: rerun to resume." in said
    assert "Traceback" not in said
    with DaskProcesses() as cluster:
        again = truefit(*command, "--json", "--store", store, "--cluster", cluster.address)
    found = json.loads(again.stdout)
    fits = found.pop("fits")
    assert (fits["run"], fits["stored"]) == (30 - kept, kept)
    assert expected.pop("fits")["run"] == 30
    assert found == expected
