"""Terms of a study: the table, the candidates, and what it may take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from truefit._core.data import Data, check_takes_weights
from truefit._core.hashing import mix
from truefit._core.rows import Rows, add_tokens
from truefit._core.task import Ask, FitTask, Response
from truefit._core.typing import Positions
from truefit._methods.candidates import Candidates, default_responses
from truefit._methods.selection.plan import inner_splits
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.splits import Split, Splits
from truefit._metrics.metric import Metric
from truefit._study.budget import TimeBudget
from truefit._study.evidence import Suspicion


@dataclass(frozen=True, eq=False)
class StudyConfig:
    """What is studied, on which folds, by which metric, and how long it may take."""

    candidates: Candidates
    data: Data
    splits: Splits
    metric: Metric
    level: float
    allowance: TimeBudget
    random_state: int | None
    suspects: Sequence[Suspicion] = ()

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


def looks_at_no_feature(estimator: Any) -> bool:
    """Whether an estimator, or what a pipeline ends in, is one of scikit-learn's dummies."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if isinstance(steps, list) and steps else estimator
    return isinstance(last, DummyClassifier | DummyRegressor)


# Some rows of a large table, for the questions that these answer as well as all of them.


#: Rounded to so many digits, a number of rows is still read easily.
_DIGITS = 2


def round_rows(rows: float) -> int:
    """Return a number of rows that is read easily, no larger than the one given.

    Examples
    --------
    >>> round_rows(4_871.3), round_rows(87)
    (4800, 87)
    """
    unit: int = 10 ** max(len(str(int(rows))) - _DIGITS, 0)
    return int(rows // unit) * unit


def sample_rows(data: Data, size: int, *, least: int, random_state: int | None) -> Positions:
    """Return the positions of about so many rows, drawn class by class from their content and the seed.

    A class of which there would be fewer than ``least`` is left out, if two others are left: it can be neither split
    nor disturbed.

    Examples
    --------
    >>> data = Data(np.arange(12.0).reshape(-1, 1), list("aaaaaaaabbbc"), task="classification")
    >>> data.y[sample_rows(data, 6, least=1, random_state=None)].tolist()
    ['a', 'a', 'a', 'a', 'b', 'b']
    """
    salt = blake2b(f"study {random_state}".encode(), digest_size=16).digest()
    tokens = mix(data.tokens, np.broadcast_to(np.frombuffer(salt, dtype="<u8"), data.tokens.shape))
    keys = (tokens[:, 1], tokens[:, 0])
    order = np.lexsort(keys if data.codes is None else (*keys, data.codes))
    rows = order[np.floor(np.arange(size) * (data.n / size)).astype(np.intp)]
    if data.codes is not None:
        enough = np.bincount(data.codes[rows])[data.codes[rows]] >= least
        rows = rows[enough] if len(np.unique(data.codes[rows[enough]])) > 1 else rows
    return np.sort(rows)


def part_of(data: Data, rows: Positions) -> Data:
    """Return some rows as a table of their own, each known by the token that it has in the whole.

    It has no X: plans that are made for it are driven on the whole table.
    """
    part = data.without_table()
    part.__dict__.pop("rowset", None)
    part.n, part.y = len(rows), data.y[rows]
    part.tokens = data.tokens[rows]
    part.total = add_tokens(part.tokens)
    part.groups = None if data.groups is None else data.groups[rows]
    part.weight = None if data.weight is None else data.weight[rows]
    if data.task == "classification":
        part.classes, part.codes = np.unique(part.y, return_inverse=True)
    return part
