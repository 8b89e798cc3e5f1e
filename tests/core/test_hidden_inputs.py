import ast
import contextlib
import os
import random
import socket
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from truefit._core.hidden_inputs import HiddenInputs


def in_a_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def parse(source):
    with contextlib.suppress(SyntaxError):
        ast.parse(source)


def connect():
    with socket.socket() as end:
        end.settimeout(1)
        end.connect_ex(("127.0.0.1", 9))


INPUTS = {
    "file": (lambda path: open(path).close(), "reads the file"),
    "missing file": (lambda path: os.path.exists(path) and open(path).close(), "reads the file"),
    "file by its number": (lambda path: os.close(os.open(path, os.O_RDONLY)), "reads the file"),
    "array": (lambda path: np.loadtxt(path), "reads the file"),
    "in a thread": (lambda path: in_a_thread(lambda: open(path).close()), "reads the file"),
    "folder": (lambda path: os.listdir(path.parent), "lists the folder"),
    "program": (lambda path: subprocess.run(["true"], check=True), "runs the program"),
    "database": (lambda path: sqlite3.connect(path.parent / "x.db").close(), "opens a database"),
    "network": (lambda path: connect(), "network"),
    "random numbers of numpy": (lambda path: np.random.normal(), "random state"),  # noqa: NPY002
    "random numbers of Python": (lambda path: random.random(), "random state"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_what_is_read_is_heard(case, tmp_path, monkeypatch):
    call, said = INPUTS[case]
    # Threads of the test runner are no reason to overlook random numbers.
    monkeypatch.setattr(threading, "enumerate", lambda: [threading.current_thread()])
    path = tmp_path / "value.txt"
    path.write_text("1")
    with HiddenInputs(own_code=True) as watch:
        call(path)
    assert said in watch.reason


NO_INPUTS = {
    "nothing": lambda path: None,
    "a file that is written": lambda path: path.write_text("2"),
    "a file that is written first": lambda path: (path.write_text("2"), path.read_text()),
    "a file that is appended to": lambda path: path.open("a").close(),
    "a file of an installed package": lambda path: open(np.__file__).close(),
    "Python itself": lambda path: subprocess.run([sys.executable, "-c", ""], check=True),
    "random numbers of one's own": lambda path: np.random.default_rng(0).normal(),
    "a database in memory": lambda path: sqlite3.connect(":memory:").close(),
    # Python looks for the line that a SyntaxError shows.
    "source without a file": lambda path: parse("f(1"),
}


@pytest.mark.parametrize("case", NO_INPUTS)
def test_what_is_no_input_is_not(case, tmp_path):
    with HiddenInputs(own_code=True) as watch:
        NO_INPUTS[case](tmp_path / "value.txt")
    assert watch.reason is None


def test_what_others_do_meanwhile_does_not_count(tmp_path):
    path = tmp_path / "value.txt"
    path.write_text("1")
    begin, done = threading.Event(), threading.Event()

    def read():
        begin.wait()
        path.read_text()
        done.set()

    thread = threading.Thread(target=read)
    thread.start()
    with HiddenInputs(own_code=True) as watch:
        begin.set()
        done.wait()
    thread.join()
    assert watch.reason is None
