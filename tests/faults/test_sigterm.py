"""A run that is ended by a signal leaves no temporary files and no processes, and its store can be resumed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import psutil
import pytest

RUN = """
import sys, time
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from truefit import Engine, assess

class Slow(ClassifierMixin, BaseEstimator):
    def __init__(self, number, seconds):
        self.number = number
        self.seconds = seconds
    def fit(self, X, y):
        time.sleep(self.seconds)
        self.classes_ = np.unique(y)
        return self
    def predict(self, X):
        return np.zeros(len(X), dtype=int)

X, y = make_classification(90, 4, random_state=0)
with Engine("runs.db", workers=2) as engine:
    models = {str(i): Slow(i, 0.01 if i < 3 else float(sys.argv[1])) for i in range(4)}
    assess({name: models[name] for name in "012"}, X, y, cv=3, engine=engine)
    print("begun", flush=True)
    assess(models, X, y, cv=3, engine=engine)
    print(engine.stats.stored, engine.stats.run)
"""


def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_leaves_nothing_behind(number, tmp_path):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as it is under nohup")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", RUN]
    with subprocess.Popen(
        [*command, "300"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) >= 2
        assert len(list(temporary.iterdir())) == 1
        os.kill(process.pid, number)
        assert process.wait(20) == -number
    wait_until(lambda: not any(worker.is_running() and worker.status() != "zombie" for worker in workers))
    wait_until(lambda: not list(temporary.iterdir()))
    connection = sqlite3.connect(tmp_path / "runs.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("SELECT count(*) FROM outcomes").fetchone() == (9,)
    connection.close()
    done = subprocess.run([*command, "0.02"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["begun", "18 3"]
    assert not list(temporary.iterdir())
