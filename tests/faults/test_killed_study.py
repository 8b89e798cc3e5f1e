"""A study that was killed with all its workers goes on where it was, and says what it would have said."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

MODELS = """
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.naive_bayes import GaussianNB

candidates = {"dummy": DummyClassifier(), "bayes": GaussianNB(), "trees": ExtraTreesClassifier(20, min_samples_leaf=3)}
"""
COMMAND = (sys.executable, "-m", "truefit", "study", "rows.csv", "--target", "y", "--models", "mine.py:candidates")


@pytest.fixture
def folder(tmp_path):
    from sklearn.datasets import make_classification

    X, y = make_classification(200, 6, n_informative=4, random_state=3)
    lines = [
        "a,b,c,d,e,f,y",
        *(",".join([*(f"{v:.5f}" for v in row), f"c{label}"]) for row, label in zip(X, y, strict=True)),
    ]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    (tmp_path / "mine.py").write_text(MODELS)
    return tmp_path


def run(folder, store):
    command = [*COMMAND, "--store", store, "--workers", "2", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def said(found):
    """What does not depend on how long fits took."""
    parts = found["parts"]
    return (
        found["best"],
        found["estimate"],
        found["interval"],
        [each["estimate"] for each in parts["assessment"]["estimators"]],
        parts["cross_test"]["fold_risks"],
    )


def kept(store):
    if not store.exists():
        return 0
    connection = sqlite3.connect(store)
    try:
        return connection.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    except sqlite3.OperationalError:  # the table is not made yet
        return 0
    finally:
        connection.close()


@pytest.mark.slow
def test_a_killed_study_goes_on_where_it_was(folder):
    whole = run(folder, "whole.db")
    store = folder / "killed.db"
    for fits in (10, 40, 70):
        command = [*COMMAND, "--store", store.name, "--workers", "2", "--json"]
        process = subprocess.Popen(
            command, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and kept(store) < fits:
            time.sleep(0.02)
        assert process.poll() is None, "it was over before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = kept(store)
    assert before >= 70
    resumed = run(folder, store.name)
    assert resumed["fits"]["stored"] >= before
    assert said(resumed) == said(whole)
    again = run(folder, store.name)
    assert again["fits"]["run"] == again["fits"]["refitted"] == 0
    assert {**again, "fits": None} == {**resumed, "fits": None}
