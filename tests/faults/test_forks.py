"""A fit that forks is an ordinary fit: its child does not go on with the run."""

import os
import sqlite3
import sys
import warnings

import numpy as np
import pandas as pd
import psutil
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from truefit import Engine, assess

X, y = make_classification(90, 4, random_state=0)


def fork(how, log):
    child = os.fork()
    if child == 0:
        if how == "raises":
            raise RuntimeError("in the child")
        if how == "exits":
            sys.exit(0)
        return
    os.waitpid(child, 0)
    with open(log, "a") as file:
        file.write(f"{os.getpid()}\n")


class Forks(ClassifierMixin, BaseEstimator):
    def __init__(self, how="returns", log=os.devnull):
        self.how = how
        self.log = log

    def fit(self, X, y):
        fork(self.how, self.log)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


class ForksFirst(TransformerMixin, BaseEstimator):
    def __init__(self, log):
        self.log = log

    def fit(self, X, y=None):
        fork("returns", self.log)
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize("workers", [1, 2])
def test_children_of_fits_do_not_go_on_with_the_run(workers, tmp_path):
    store, log = tmp_path / "runs.db", tmp_path / "log"
    ways = ("returns", "raises", "exits")
    models = {"nb": GaussianNB(), **{how: Forks(how, str(log)) for how in ways}}
    # Two pipelines on one forking step: its job has several fits, and fits that step once for both.
    models |= {str(s): make_pipeline(ForksFirst(str(log)), GaussianNB(var_smoothing=s)) for s in (1e-9, 1e-3)}
    owner, before = os.getpid(), psutil.Process().children()
    with warnings.catch_warnings(), Engine(store, workers=workers) as engine:
        warnings.simplefilter("ignore", DeprecationWarning)  # later versions of Python warn of forks beside threads
        result = assess(models, X, y, cv=3, engine=engine)
        assert os.getpid() == owner
        assert engine.stats.failed == 0
        if workers == 2:
            assert list(engine._executor._pool.writer.folder.iterdir()), "a child has removed the parent's files"
    children = [child for child in psutil.Process().children() if child not in before]
    assert not [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    forked = log.read_text().splitlines()
    assert len(forked) == 3 * (len(ways) + 1), "a child has gone on to other fits"
    connection = sqlite3.connect(store)
    assert connection.execute("SELECT count(*) FROM outcomes").fetchone() == (3 * len(models),)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    pd.testing.assert_frame_equal(result.predictions["nb"], assess(GaussianNB(), X, y, cv=3).predictions)
