"""Forests, bags and networks of several sizes from the fit of the largest."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
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
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from truefit._core.data import Data
from truefit._core.metadata import fit_metadata
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Job
from truefit._core.task import Fit
from truefit._sklearn import best_weights, cut_bagging, on_each_epoch
from truefit._solvers.base import EstimatorFamilies, is_seed
from truefit._solvers.plain import model_classes, or_plain, respond, train

BAGS = (BaggingClassifier, BaggingRegressor)
FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor, *BAGS)


class LargestFitSolver(ABC):
    """Estimators that differ only in a size, on the same rows: the largest is fitted, and has the others in it.

    The time of the one fit is charged to the candidates in proportion to their sizes, so the sum is the time spent.
    """

    name: str
    kinds: tuple[type, ...]
    #: The parameter that is the size.
    parameter: str
    #: Whether each size has a model of its own that can be returned, or only the largest.
    keeps_all = True
    #: Fits that go together behind the same steps of a pipeline.
    most = 64

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of estimators on each set of training rows."""
        families = EstimatorFamilies((self.parameter,))
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is not None or type(fit.estimator) not in self.kinds or not self._serves(fit.estimator):
                continue
            family = families.of(fit)
            if family is not None:
                groups[family, fit.train_key, fit.seeds].append(fit)
        jobs = []
        for group in groups.values():
            largest = max(getattr(fit.estimator, self.parameter) for fit in group)
            some = [
                fit
                for fit in group
                if self.keeps_all or not fit.keep_model or getattr(fit.estimator, self.parameter) == largest
            ]
            if len(some) > 1:
                jobs.append(Job(self, tuple(some)))
        return jobs

    def _serves(self, estimator: Any) -> bool:
        size = getattr(estimator, self.parameter)
        counted = isinstance(size, int | np.integer) and not isinstance(size, bool) and bool(size >= 1)
        # A warm start has members or weights already.
        return counted and estimator.warm_start is False and is_seed(estimator.random_state) and self.grows(estimator)

    @abstractmethod
    def grows(self, estimator: Any) -> bool:
        """Whether the size is reached step by step, and no step depends on how many there are."""

    @abstractmethod
    def largest(self, fit: Fit, sizes: Sequence[int], data: Data) -> tuple[Callable[[int], Any], float]:
        """Fit the largest; return what gives the model of a size, and the seconds that fitting took."""

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit the largest, and compute the predictions of all sizes from it."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        sizes = [int(getattr(fit.estimator, self.parameter)) for fit in job.fits]
        model_of, seconds = self.largest(job.fits[sizes.index(max(sizes))], sizes, data)
        classes = model_classes(model_of(max(sizes)), data)
        unit = seconds / sum(sizes)
        outcomes = []
        for fit, size in zip(job.fits, sizes, strict=True):
            model = model_of(size)
            answers = respond(model, fit.asks, data, classes)
            kept = model if self.keeps_all or size == max(sizes) else None
            outcomes.append(Outcome(fit.key, answers, unit * size, self.name, classes, kept))
        return outcomes


class ForestSizesSolver(LargestFitSolver):
    """Forests that differ only in their number of trees, on the same rows: the largest is fitted, and cut.

    Trees get their seeds one after the other from the forest's, so the first m trees of a larger forest are the forest
    of m trees; so it is with the members of a ``BaggingClassifier`` or ``BaggingRegressor``. Answers are those of plain
    fitting bit for bit: the same trees, added up in the same order.

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
    parameter = "n_estimators"

    def grows(self, estimator: Any) -> bool:
        """Whether nothing depends on all trees: rows that a tree did not see are judged by the whole forest."""
        return estimator.oob_score is False

    def largest(self, fit: Fit, sizes: Sequence[int], data: Data) -> tuple[Callable[[int], Any], float]:
        """Fit the largest forest."""
        forest, seconds = train(fit, data)
        return partial(_first, forest), seconds


def _first(forest: Any, size: int) -> Any:
    """Return the forest of the first trees; the trees themselves are shared."""
    model = copy(forest)
    model.n_estimators = size
    model.estimators_ = forest.estimators_[:size]
    if type(forest) in BAGS:
        cut_bagging(model, forest, size)
    return model


class NetworkEpochsSolver(LargestFitSolver):
    """Networks that differ only in their number of epochs (``max_iter``), on the same rows: the longest is trained.

    An epoch does not depend on how many come after it: the weights after m of them, taken while scikit-learn trains,
    are those of the network with ``max_iter=m``, bit for bit; one that would have stopped by itself has stopped here
    too. The estimator's own ``fit`` does the training: weights are copied where it counts its epochs.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.arange(40.0).reshape(20, 2) / 40
    >>> data = Data(X, X[:, 0] * 3, task="regression")
    >>> keys, rows, test = Keys(data), Rows.of(range(15)), Rows.of(range(15, 20))
    >>> networks = [MLPRegressor(5, max_iter=m) for m in (2, 5, 10)]
    >>> fits = [keys.fit(FitTask(network, rows, (Ask(test),))) for network in networks]
    >>> [job] = NetworkEpochsSolver().claim(fits, data)
    >>> len(job.fits), job.work
    (3, 1)
    """

    name = "network epochs"
    kinds = (MLPClassifier, MLPRegressor)
    parameter = "max_iter"
    keeps_all = False  # weights alone are no model that could be kept

    def grows(self, estimator: Any) -> bool:
        """Whether training goes by epochs, and prints nothing."""
        solver = estimator.solver
        return isinstance(solver, str) and solver in ("sgd", "adam") and estimator.verbose is False

    def largest(self, fit: Fit, sizes: Sequence[int], data: Data) -> tuple[Callable[[int], Any], float]:
        """Train the longest, and copy its weights at each number of epochs."""
        network = seeded(fit.estimator, fit.seeds)
        index = fit.train.index
        X, y = data.take(index), (data.y if fit.y is None else fit.y)[index]
        metadata = fit_metadata(network, data, index)
        snapshots = WeightSnapshots(network, set(sizes))
        start = time.perf_counter()
        network.fit(X, y, **metadata)
        seconds = time.perf_counter() - start
        snapshots.end()
        return snapshots.at, seconds


class WeightSnapshots:
    """Copies of a network's weights, taken at some of its epochs while it is trained."""

    def __init__(self, network: Any, wanted: set[int]) -> None:
        self.network, self.wanted = network, wanted
        self._taken: dict[int, tuple[list[Any], list[Any]]] = {}
        #: Leaves the network as its own fit would have left it.
        self.end = on_each_epoch(network, self._take)

    def _take(self, early_stopping: bool) -> None:
        network = self.network
        if network.n_iter_ in self.wanted and network.n_iter_ < network.max_iter:
            weights, biases = best_weights(network) if early_stopping else (network.coefs_, network.intercepts_)
            self._taken[network.n_iter_] = [w.copy() for w in weights], [b.copy() for b in biases]

    def at(self, epochs: int) -> Any:
        """Return the network after so many epochs; it warns as it would have by itself."""
        network = self.network
        if epochs >= network.n_iter_:
            if epochs == network.max_iter:
                return network
            stopped = copy(network)  # it had stopped by itself
            stopped.max_iter = epochs
            return stopped
        message = (
            f"Stochastic Optimizer: Maximum iterations ({epochs}) reached and the optimization hasn't converged yet."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
        shorter = copy(network)
        shorter.coefs_, shorter.intercepts_ = self._taken[epochs]
        shorter.max_iter = shorter.n_iter_ = epochs
        return shorter
