"""Windows and macOS, as far as Linux can show them: without what they do not have."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

SYSTEMS = Path(__file__).parent / "other_systems"

#: Every way to run fits, a store, and a study; then the same from the store.
RUNS = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from truefit import Engine, assess, study

X, y = load_iris(return_X_y=True)
models = {"nb": GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}
here = assess(models, X, y, cv=3).table["estimate"].tolist()
store = os.path.join(sys.argv[1], "runs.db")
for options in ({"workers": 2, "memory": "2GB", "store": store}, {"workers": 1, "store": store}):
    with Engine(**options) as engine:
        assert assess(models, X, y, cv=3, engine=engine).table["estimate"].tolist() == here
        print("fitted" if engine.stats.run else "resumed")
with ThreadPoolExecutor(2) as threads, Engine(executor=threads) as engine:
    assert assess(models, X, y, cv=3, engine=engine).table["estimate"].tolist() == here
    print("threads")
result = study(X[:100], y[:100], {"nb": GaussianNB()}, random_state=0)
result.to_html(os.path.join(sys.argv[1], "report.html"))
print(len(result.answers))
"""

#: A fit that starts a process and hangs, in a worker.
HANGS = """
import os, subprocess, sys, time
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from truefit import Engine, assess

class Hangs(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
        with open(os.environ["STARTED"], "a") as file:
            file.write(f"{child.pid}\\n")
        time.sleep(600)

    def predict(self, X):
        return X

X, y = load_iris(return_X_y=True)
with Engine(workers=2, timeout=float(sys.argv[1])) as engine:
    assess(Hangs(), X, y, cv=2, engine=engine)
"""


def environment(system, **more):
    path = [str(SYSTEMS / system), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), **more}


@pytest.mark.parametrize("system", ["windows", pytest.param("macos", marks=pytest.mark.slow)])
def test_fits_run_in_threads_and_processes_and_are_resumed(system, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUNS, str(tmp_path)],
        env=environment(system), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.stdout.split() == ["fitted", "resumed", "threads", "4"], done.stderr[-3000:]
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["windows", "macos"])
def test_the_command_line_makes_a_study_and_shows_it_again(system, tmp_path):
    study = ["study", "iris", "--model", "naive_bayes", "--workers", "2", "--store", "runs.db", "--out", "report.html"]
    for words in (study, ["show", "runs.db", "--out", "again.html"]):
        done = subprocess.run(
            [sys.executable, "-m", "truefit", *words], env=environment(system), cwd=tmp_path,
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "report.html").read_bytes()


def started_by(process, log):
    """The processes that two hanging fits have started, once they have."""
    deadline = time.monotonic() + 400  # a busy machine takes minutes to import scikit-learn in three processes
    while not log.exists() or len(log.read_text().splitlines()) < 2:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [psutil.Process(int(line)) for line in log.read_text().splitlines()]


@pytest.mark.parametrize("system", ["windows", pytest.param("macos", marks=pytest.mark.slow)])
def test_workers_and_what_they_have_started_end_with_their_parent(system, tmp_path):
    log, source = tmp_path / "log", tmp_path / "script.py"
    source.write_text(HANGS)
    process = subprocess.Popen(
        [sys.executable, str(source), "600"],
        env=environment(system, STARTED=str(log)), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            children = started_by(process, log)
        finally:  # else a failure waits until the fits end
            process.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]


def test_a_worker_past_its_timeout_is_stopped_with_what_it_has_started(tmp_path):
    log, source = tmp_path / "log", tmp_path / "script.py"
    source.write_text(HANGS)
    for seconds in ("5", "60"):
        done = subprocess.run(
            [sys.executable, str(source), seconds],
            env=environment("windows", STARTED=str(log)), capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert "timeout" in done.stderr, done.stderr[-3000:]
        if log.exists():  # on a busy machine a fit has started nothing yet after 5 seconds
            break
    for line in log.read_text().splitlines():
        assert not psutil.pid_exists(int(line)) or psutil.Process(int(line)).status() == psutil.STATUS_ZOMBIE
