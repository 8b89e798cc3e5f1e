"""A run on a disk that is full ends with a sentence, loses nothing, and continues when there is room again."""

import os
import sqlite3
import subprocess

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess
from truefit._core.errors import StoreUnusable

X, y = make_classification(400, 5, random_state=0)
TREES = {str(depth): DecisionTreeClassifier(max_depth=depth) for depth in range(1, 6)}


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)):
        pytest.skip("only root may make a small disk")
    yield disk
    # Lazily: results may still hold the store open.
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_was_finished_before_the_disk_was_full_is_kept(small_disk, workers):
    store = small_disk / "runs.db"
    with Engine(store, workers=workers) as engine:
        with pytest.raises(StoreUnusable, match="finished fits are kept") as caught:
            assess(TREES, X, y, cv=10, repeats=10, engine=engine)
        finished = engine.stats.run
    assert len(str(caught.value).splitlines()) == 1
    assert mount("-o", "remount,size=50m", str(small_disk))
    connection = sqlite3.connect(store)
    kept = connection.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert kept >= finished > 0
    with Engine(store, workers=workers) as engine:
        result = assess(TREES, X, y, cv=10, repeats=10, engine=engine)
        assert (engine.stats.stored, engine.stats.run) == (kept, 500 - kept)
    alone = assess(TREES, X, y, cv=10, repeats=10).predictions
    for name, frame in result.predictions.items():
        pd.testing.assert_frame_equal(frame, alone[name], check_exact=True)
