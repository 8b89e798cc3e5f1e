"""Folds: accuracies on training and test rows, split by split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit import Engine
from truefit._core.data import Data
from truefit._core.protocols import Ask, FitTask, Plan
from truefit._core.rows import Rows

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Accuracies:
    """Accuracy of a classifier on the rows it was trained on and on others, one number per split."""

    train: Floats
    test: Floats

    @property
    def gap(self) -> float:
        """Mean training accuracy minus mean test accuracy."""
        return float(self.train.mean() - self.test.mean())


def accuracies(
    models: Mapping[str, Any], X: Any, y: Any, splits: Iterable[tuple[Any, Any]], *, engine: Engine, repeat: int = 0
) -> dict[str, Accuracies]:
    """Fit classifiers on each split.

    Parameters
    ----------
    models : dict of names to classifiers
    X, y : table and target
    splits : pairs of (train, test) positions, as scikit-learn's splitters yield them
    engine : Engine
    repeat : int
        Another number lets learners draw other random numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import KFold
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> found = accuracies({"tree": DecisionTreeClassifier()}, X, y, KFold(3).split(X), engine=Engine())
    >>> found["tree"].train.tolist(), found["tree"].test.tolist()  # ordered by species: no fold's class is trained on
    ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    """
    data = Data(X, y, task="classification")
    pairs = [(Rows.of(train), Rows.of(test)) for train, test in splits]
    return engine.run(_plan(models, data, pairs, repeat), data, description="cross-validation")


def _plan(
    models: Mapping[str, Any], data: Data, pairs: list[tuple[Rows, Rows]], repeat: int
) -> Plan[dict[str, Accuracies]]:
    outcomes = iter(
        (
            yield [
                FitTask(model, train, (Ask(train), Ask(test)), repeat=repeat)
                for model in models.values()
                for train, test in pairs
            ]
        )
    )
    found = {}
    for name in models:
        measured = []
        for train, test in pairs:
            outcome = next(outcomes)
            measured.append([np.mean(outcome.answer(data, rows) == data.y[rows.index]) for rows in (train, test)])
        train_values, test_values = np.array(measured).T
        found[name] = Accuracies(train_values, test_values)
    return found
