"""Config of a study: the table, the candidates, the limits, and the rows sampled from a large table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from truefit._core.data import Data
from truefit._core.metadata import check_takes_weights
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask, Response
from truefit._methods.candidates import Candidates, default_responses
from truefit._methods.selection.plan import inner_splits
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.splits import Split, Splits
from truefit._metrics.metric import Metric
from truefit._study.budget import TimeBudget
from truefit._study.checks import Suspect


@dataclass(frozen=True, eq=False)
class StudyConfig:
    """What is studied, on which folds, by which metric, and how long it may take."""

    candidates: Candidates
    data: Data
    splits: Splits
    metric: Metric
    level: float
    time_budget: TimeBudget
    random_state: int | None
    suspects: Sequence[Suspect] = ()

    def check(self) -> None:
        """Refuse candidates that the weights cannot be given to."""
        if self.data.weight is not None:
            for _, estimator in self.candidates:
                check_takes_weights(estimator)

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return len(self.splits)

    @cached_property
    def inner(self) -> list[list[Split]]:
        """For each fold the splits of the others, on which the choice is made anew."""
        return inner_splits(self.data, self.splits, self.folds, random_state=self.random_state)

    @property
    def triangle(self) -> bool:
        """Whether every two folds that are left out together are one fit."""
        return has_triangle(self.splits)

    def work(self, *, nested: bool) -> float:
        """Return how many times the first fit of a candidate its whole search takes."""
        found = float(self.folds)
        if nested:
            pairs = self.folds * (self.folds - 1) / 2 if self.triangle else sum(len(group) for group in self.inner)
            found += pairs * max(self.folds - 2, 1) / (self.folds - 1)
        return found

    def responses(self, name: str) -> tuple[Response, ...]:
        """Return what is asked of a candidate, so that a metric thought of later needs no refit."""
        estimator = self.candidates.estimators[name]
        wanted = (*default_responses(estimator, self.data.task), *self.metric.responses(estimator))
        return tuple(dict.fromkeys(wanted))

    def task(self, name: str, split: Split) -> FitTask:
        """Return a fit of a candidate on a split, as the search asks for it."""
        asks = tuple(Ask(split.test, response) for response in self.responses(name))
        return FitTask(self.candidates.estimators[name], split.train, asks)

    def on_all_rows(self, name: str) -> FitTask:
        """Return a fit of a candidate on all rows, which answers for these too."""
        everything = Rows.all(self.data.n)
        asks = tuple(Ask(everything, response) for response in self.responses(name))
        return FitTask(self.candidates.estimators[name], everything, asks)

    def only(self, names: Iterable[str]) -> Candidates:
        """Return some of the candidates."""
        some = copy(self.candidates)
        some.estimators = {name: self.candidates.estimators[name] for name in names}
        some.single = False
        return some


def is_baseline(estimator: Any) -> bool:
    """Whether an estimator, or what a pipeline ends in, is one of scikit-learn's dummies."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if isinstance(steps, list) and steps else estimator
    return isinstance(last, DummyClassifier | DummyRegressor)
