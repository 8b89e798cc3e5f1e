"""Fits that raise, hang, answer nonsense or kill their worker are recorded, and the others go on."""

import os
import signal
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from truefit import Engine, assess
from truefit._core.errors import FitError

X, y = make_classification(90, 4, random_state=0)


class Bad(ClassifierMixin, BaseEstimator):
    def __init__(self, how):
        self.how = how

    def fit(self, X, y):
        if self.how == "raises":
            raise RuntimeError("no luck")
        if self.how == "hangs":
            time.sleep(600)
        if self.how == "exits":
            os._exit(3)
        if self.how == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "fills memory":
            held = [np.ones(10 << 20, dtype=np.uint8) for _ in range(100) if time.sleep(0.005) is None]
            raise AssertionError(f"{len(held)} blocks were held")
        if self.how == "allocates too much":
            np.ones(10 << 30, dtype=np.uint8)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        n = len(X) - 1 if self.how == "is short" else len(X)
        if self.how == "has two columns":
            return np.zeros((n, 2))
        return np.full(n, np.nan if self.how == "is nan" else 0)


KINDS = {
    "raises": "raised",
    "hangs": "timeout",
    "exits": "died",
    "is killed": "died",
    "is short": "wrong answer",
    "is nan": "wrong answer",
    "has two columns": "wrong answer",
    "allocates too much": "memory",
}


@pytest.mark.slow
def test_bad_fits_of_all_kinds_are_recorded_while_the_others_go_on(tmp_path):
    models = {"nb": GaussianNB(), **{how: Bad(how) for how in KINDS}}
    with Engine(tmp_path / "runs.db", workers=2, timeout=3, memory="500MB", on_error="record") as engine:
        with pytest.warns(UserWarning, match="16 of 18 fits failed") as caught:
            result = assess(models, X, y, cv=2, engine=engine)
        assert engine.stats.failed == 16
    text = str(caught[0].message)
    for kind, count in {"raised": 2, "timeout": 2, "died": 4, "wrong answer": 6, "memory": 2}.items():
        assert text.count(f"({kind})") >= 1, text
        assert count == 2 * list(KINDS.values()).count(kind)
    assert "The fit used more than the memory limit of 500 MB (Engine(memory=...))." in text
    assert np.isfinite(result.estimate["nb"])
    assert all(np.isnan(result.estimate[how]) for how in KINDS)


@pytest.mark.parametrize("how", ["raises", "hangs", "exits"])
def test_by_default_a_bad_fit_is_raised(how):
    with Engine(workers=2, timeout=3) as engine, pytest.raises(FitError, match="A fit failed"):
        assess(Bad(how), X, y, cv=2, engine=engine)


def test_a_time_limit_holds_with_one_worker_too():
    with Engine(timeout=2) as engine, pytest.raises(FitError, match="timeout"):
        assess(Bad("hangs"), X, y, cv=2, engine=engine)


def test_a_fit_beyond_the_memory_limit_is_raised_with_one_worker_too():
    with Engine(memory="500MB") as engine, pytest.raises(FitError, match="A fit failed: The fit used more than"):
        assess(Bad("fills memory"), X, y, cv=2, engine=engine)


def test_a_fit_that_changes_folder_does_not_move_the_run(tmp_path, monkeypatch):
    class Moves(GaussianNB):
        def fit(self, X, y):
            os.chdir("/")
            return super().fit(X, y)

    monkeypatch.chdir(tmp_path)
    with Engine("runs.db") as engine:
        assess(Moves(), X, y, cv=2, engine=engine)
        assert os.getcwd() == str(tmp_path)
    assert (tmp_path / "runs.db").exists()
