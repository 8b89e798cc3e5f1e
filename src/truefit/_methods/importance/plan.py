"""Plan of permutation importance: the fold models are kept, and predict their held-out rows with permuted columns.

Permuted rows do not go through the engine (docs/decisions/0036-permuted-rows.md): they are predicted here, by models
that are kept or refitted once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import FitError, InvalidInput, reasons
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Keep, Plan
from truefit._methods.importance.columns import Stop, column_names, correlated_sets, never
from truefit._methods.importance.fewest import fewest_plan
from truefit._methods.importance.fold_model import FoldModel, measured_columns
from truefit._methods.importance.result import Importance, Measured
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.splits import Splits
from truefit._metrics.metric import Metric


@dataclass(frozen=True, slots=True, eq=False)
class ImportanceConfig:
    """Whose importances are measured, on which splits and by which metric.

    ``correlated`` is the association from which columns are also permuted together, or None. ``stop`` says whether the
    time is up; it is asked before each column. ``fewest``: find the fewest columns that do as well, too.
    """

    name: str
    estimator: Any
    splits: Splits
    metric: Metric
    repeats: int = 5
    correlated: float | None = 0.8
    level: float = 0.95
    seed: int | None = None
    stop: Stop = field(default=never)
    fewest: bool = False

    def check(self, data: Data) -> None:
        """Refuse what cannot be measured."""
        if data.weight is not None:
            check_takes_weights(self.estimator)
        if self.fewest and (self.splits.repeats > 1 or not has_triangle(self.splits)):
            raise InvalidInput(
                "fewest=True needs at least 3 folds that hold out each row once, since pairs of them are left out. Got "
                f"{self.splits.description}."
            )
        if self.correlated is not None and not (
            isinstance(self.correlated, int | float) and 0 < self.correlated <= 1 and self.correlated is not True
        ):
            raise InvalidInput(
                "The 'correlated' parameter must be an association above 0 and at most 1, from which columns are "
                f"permuted together, or None. Got {self.correlated!r} instead."
            )


def importance_plan(config: ImportanceConfig, data: Data) -> Plan[Importance]:
    """Fit the model of each fold, keep it, and measure every column on the fold's rows."""
    config.check(data)
    names = column_names(data.X)
    (response,) = config.metric.responses(config.estimator)
    tasks = [
        FitTask(config.estimator, split.train, (Ask(split.test, response),), keep=Keep(("importance", place)))
        for place, split in enumerate(config.splits)
    ]
    outcomes = yield tasks
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        raise FitError(
            f"Importance needs the model of every fold. {len(failures)} of {len(tasks)} could not be fitted. "
            f"{reasons(failures)}",
            failures,
        )
    folds = [
        FoldModel(outcome, split, response, data, config, place)
        for place, (outcome, split) in enumerate(zip(outcomes, config.splits, strict=True))
    ]
    columns = measured_columns([[place] for place in range(len(names))], folds, config)
    sets: list[list[int]] = []
    if config.correlated is not None and len(columns) == len(names):
        sets = correlated_sets(data.X, config.correlated)
    together = measured_columns(sets, folds, config)
    whole = Measured.of([fold.shuffled() for fold in folds])
    result = Importance(config, data, names, columns, (sets, together), whole, [fold.base for fold in folds])
    if config.fewest:
        order = np.argsort(-np.array([each.increases.mean() for each in columns]), kind="stable")
        result.fewest = yield from fewest_plan(config, data, names, order)
    return result
