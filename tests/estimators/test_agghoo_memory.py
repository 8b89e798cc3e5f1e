"""A hundred epochs are a hundred candidates, but not a hundred models in memory."""

import json
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from truefit import AgghooRegressor, Engine

EPOCHS, ROWS, VALIDATION = 100, 60, 20


def measure() -> dict[str, float]:
    """Fit a network whose epochs are candidates, and return the peak of memory beside the size of a model."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=ROWS)
    X = y[:, None] + rng.normal(size=(ROWS, 200))
    network = MLPRegressor(hidden_layer_sizes=(1500,), max_iter=EPOCHS, learning_rate_init=1e-5, random_state=0)
    splits = [(range(VALIDATION, ROWS), range(VALIDATION))]
    # What is imported, and remembered of each imported module, is not what is measured: the first fit imports modules,
    # the second reads these.
    for _ in range(2):
        AgghooRegressor(MLPRegressor(hidden_layer_sizes=(2,), max_iter=2), cv=splits, engine=Engine()).fit(X, y)
    engine = Engine()
    tracemalloc.start()
    agghoo = AgghooRegressor(network, cv=splits, engine=engine).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    (member,) = agghoo.members_
    better = np.minimum.accumulate(agghoo.validation_scores_[0])
    copies = int((np.diff(better) < 0).sum())
    return {"peak": peak, "model": len(pickle.dumps(member)), "run": engine.stats.run, "copies": copies}


@pytest.mark.slow
def test_the_peak_is_within_three_models_and_the_predictions():
    # In a process of its own: what other tests have imported would count.
    out = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True).stdout
    seen = json.loads(out)
    assert seen["run"] == 1
    assert seen["model"] > 7_000_000  # weights, and as much twice for what the optimiser remembers
    assert seen["copies"] > 10  # copies of the model were taken many times
    predictions = EPOCHS * VALIDATION * 8
    book_keeping = 1_000_000  # keys and outcomes of a hundred candidates, whatever their models weigh
    assert seen["peak"] <= 3 * seen["model"] + predictions + book_keeping, f"{seen['peak'] / seen['model']:.2f} models"


if __name__ == "__main__":
    print(json.dumps(measure()))
