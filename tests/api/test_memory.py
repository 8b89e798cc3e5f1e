"""The memory of a run must not grow with the number of its fits."""

import gc
import tracemalloc

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import RepeatedKFold

from truefit import Engine, assess
from truefit._stores.codec import ArrayCache
from truefit._stores.memory import MemoryStore

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), np.arange(60) % 2

FEW, MANY = 400, 1_600


class Sign(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def memory_of(design):
    """Bytes that are held after a run, and the most that were held until its estimate was known."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    engine = Engine(MemoryStore(limit_bytes=100_000))
    result = assess(Sign(), X, y, cv=design, engine=engine)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    assert 0 < result.estimate < 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held - before, peak - before


@pytest.mark.slow
def test_a_fit_leaves_few_bytes_behind(monkeypatch):
    # So that both runs have as many tasks under way at once.
    monkeypatch.setattr("truefit._methods.assessment.plan._TASKS", 100)
    # The answers last read are held up to a limit, which both runs must reach.
    monkeypatch.setattr(ArrayCache.__init__, "__defaults__", (50_000,))

    def run(fits):
        return memory_of(RepeatedKFold(n_splits=5, n_repeats=fits // 5, random_state=0))

    run(50)  # what is imported and cached once is not counted
    held_few, peak_few = run(FEW)
    held_many, peak_many = run(MANY)
    assert held_many - held_few < 250 * (MANY - FEW)
    assert peak_many - peak_few < 600 * (MANY - FEW)
