"""A hundred epochs are a hundred candidates, but not a hundred models in memory."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from truefit import AgghooRegressor, Engine

EPOCHS, ROWS, VALIDATION = 100, 60, 20


@pytest.mark.slow
def test_the_peak_is_within_three_models_and_the_predictions():
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
    try:
        agghoo = AgghooRegressor(network, cv=splits, engine=engine).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    (member,) = agghoo.members_
    model = len(pickle.dumps(member))
    assert engine.stats.run == 1
    assert model > 7_000_000  # weights, and as much twice for what the optimiser remembers
    better = np.minimum.accumulate(agghoo.validation_scores_[0])
    assert (np.diff(better) < 0).sum() > 10  # so that copies were taken many times
    predictions = EPOCHS * VALIDATION * 8
    book_keeping = 1_000_000  # keys and outcomes of a hundred candidates, whatever their models weigh
    assert peak <= 3 * model + predictions + book_keeping, f"{peak / model:.2f} models"
    print(f"peak {peak / 1e6:.1f} MB, a model {model / 1e6:.1f} MB: {peak / model:.2f} of it")
