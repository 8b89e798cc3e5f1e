"""ForestSizesSolver: forests and bags of several sizes from one fit, whose first members are the smaller ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._core.task import Fit
from truefit._solvers.families import Families
from truefit._solvers.parameters import is_seed
from truefit._solvers.plain import model_classes, or_plain, respond, train

BAGS = (BaggingClassifier, BaggingRegressor)
FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor, *BAGS)


class ForestSizesSolver:
    """Forests that differ only in their number of trees, on the same rows: the largest is fitted, and cut.

    Trees get their seeds one after the other from the forest's, so the first m trees of a larger forest are the forest
    of m trees; so it is with the members of a ``BaggingClassifier`` or ``BaggingRegressor``. Answers are those of plain
    fitting bit for bit: the same trees, added up in the same order.

    The time of the one fit is charged to the candidates in proportion to their numbers of trees, so that the sum is the
    time really spent.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> data = Data(X, X[:, 0] % 7, task="regression")
    >>> keys, rows, test = Keys(data), Rows.of(range(15)), Rows.of(range(15, 20))
    >>> forests = [RandomForestRegressor(n_estimators=m) for m in (5, 10, 20)]
    >>> fits = [keys.fit(FitTask(forest, rows, (Ask(test),))) for forest in forests]
    >>> [job] = ForestSizesSolver().claim(fits, data)
    >>> [outcome.solver for outcome in job.run(data)]
    ['forest sizes', 'forest sizes', 'forest sizes']
    """

    name = "forest sizes"
    kinds = FORESTS
    #: Fits that go together behind the same steps of a pipeline.
    most = 64

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of forests on each set of training rows."""
        families = Families(("n_estimators",))
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is not None or type(fit.estimator) not in self.kinds:
                continue
            family = families.of(fit) if _grows(fit.estimator) else None
            if family is not None:
                groups[family, fit.train_key, fit.seeds].append(fit)
        return [Job(self, tuple(group)) for group in groups.values() if len(group) > 1]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit the largest, and let its first trees answer for the others."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        sizes = [int(fit.estimator.n_estimators) for fit in job.fits]
        forest, seconds = train(job.fits[sizes.index(max(sizes))], data)
        classes = model_classes(forest, data)
        unit = seconds / sum(sizes)
        outcomes = []
        for fit, size in zip(job.fits, sizes, strict=True):
            model = _first(forest, size)
            answers = respond(model, fit.asks, data, classes)
            outcomes.append(Outcome(fit.key, answers, unit * size, self.name, classes, model))
        return outcomes


def _grows(estimator: Any) -> bool:
    """Whether the size is a number of trees that are grown one after the other, and nothing depends on all of them."""
    size = estimator.n_estimators
    counted = isinstance(size, int | np.integer) and not isinstance(size, bool) and bool(size >= 1)
    # The rows that a tree did not see are judged by the whole forest, and a warm start has trees already.
    alone = estimator.oob_score is False and estimator.warm_start is False
    return counted and alone and is_seed(estimator.random_state)


def _first(forest: Any, size: int) -> Any:
    """Return the forest of the first trees; the trees themselves are shared."""
    model = copy(forest)
    model.n_estimators = size
    model.estimators_ = forest.estimators_[:size]
    if type(forest) in BAGS:
        model.estimators_features_, model._seeds = forest.estimators_features_[:size], forest._seeds[:size]
    return model
