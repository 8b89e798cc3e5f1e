"""Networks together and one by one: the largest difference in probabilities of a cross-test, and the selected epochs.

Run with ``python -m benchmarks.networks_equality`` where torch is installed; on a GPU where there is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from truefit import AgghooClassifier, Engine, cross_test
from truefit._solvers.registry import EstimatorSolver
from truefit.torch import MLP, ConvNet, TorchClassifier

SMALL = {"hidden": (16,)}
CASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "MLP": (MLP, SMALL, {}),
    "MLP, SGD with momentum and schedule": (
        MLP,
        SMALL,
        {"optimizer": "sgd", "optimizer_params": {"momentum": 0.9}, "schedule": "cosine"},
    ),
    "MLP, RMSprop": (MLP, SMALL, {"optimizer": "rmsprop"}),
    "MLP, AdamW": (MLP, SMALL, {"optimizer": "adamw", "weight_decay": 0.01}),
    "CNN": (ConvNet, {"channels": (4, 8)}, {}),
    "CNN with group normalisation": (ConvNet, {"channels": (4, 8), "norm": "group"}, {}),
    "CNN with batch normalisation": (ConvNet, {"channels": (4, 8), "norm": "batch"}, {}),
}


def one_by_one() -> Engine:
    """Return an engine that knows every solver but those that estimators bring."""
    engine = Engine()
    engine._solvers = tuple(solver for solver in engine._solvers if not isinstance(solver, EstimatorSolver))
    return engine


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(203, 3, 8, 8))
    y = (X.mean(axis=(1, 2, 3)) > 0).astype(int)
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name() if torch.cuda.is_available() else 'the CPU'}")
    for name, (module, params, more) in CASES.items():
        network = TorchClassifier(
            module, module_params=params, max_epochs=6, batch_size=32, lr=0.01, dtype="float64", **more
        )
        agghoo = AgghooClassifier(network, scoring="neg_log_loss")
        together = cross_test(agghoo, X, y, engine=Engine())
        alone = cross_test(agghoo, X, y, engine=one_by_one())
        columns = ["p(0)", "p(1)"]
        apart = np.abs(together.predictions[columns].to_numpy() - alone.predictions[columns].to_numpy()).max()
        same = "equal" if together.chosen == alone.chosen else "DIFFERENT"
        print(f"{name:36} {apart:.1e}  selected epochs {same}", flush=True)


if __name__ == "__main__":
    main()
