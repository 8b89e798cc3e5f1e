"""Forests, bags and networks of several sizes from the fit of the largest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

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
from truefit._core.parameters import seeded
from truefit._core.protocols import Fit
from truefit._sklearn import best_weights, cut_bagging, on_each_epoch
from truefit._solvers.paths.stages import LargestFitSolver
from truefit._solvers.plain import train
from truefit._solvers.registry import is_count, is_seed

BAGS = (BaggingClassifier, BaggingRegressor)
FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor, *BAGS)


def _is_counted(estimator: Any, parameter: str) -> bool:
    """Whether an estimator has a size, and starts from nothing."""
    counted = is_count(getattr(estimator, parameter))
    return counted and estimator.warm_start is False and is_seed(estimator.random_state)


class ForestSizesSolver(LargestFitSolver):
    """Forests and bags that differ only in their number of trees, on the same rows: the largest is fitted, and cut.

    Trees get their seeds one after the other, so the first m trees of a larger forest are the forest of m trees, bit
    for bit.
    """

    name = "forest sizes"
    kinds = FORESTS
    parameter = "n_estimators"

    def serves(self, fit: Fit) -> bool:
        """Whether nothing depends on all trees: out-of-bag rows are predicted by the whole forest."""
        return _is_counted(fit.estimator, self.parameter) and fit.estimator.oob_score is False

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

    An epoch does not depend on how many follow: the weights after m epochs, copied while scikit-learn trains, are those
    of the network with ``max_iter=m``, bit for bit.
    """

    name = "network epochs"
    kinds = (MLPClassifier, MLPRegressor)
    parameter = "max_iter"
    keeps_all = False  # weights alone are no model that could be kept

    def serves(self, fit: Fit) -> bool:
        """Whether training goes by epochs, and prints nothing."""
        solver = fit.estimator.solver
        by_epochs = isinstance(solver, str) and solver in ("sgd", "adam") and fit.estimator.verbose is False
        return by_epochs and _is_counted(fit.estimator, self.parameter)

    def largest(self, fit: Fit, sizes: Sequence[int], data: Data) -> tuple[Callable[[int], Any], float]:
        """Train the longest, and copy its weights at each number of epochs."""
        network = seeded(fit.estimator, fit.seeds)
        snapshots = WeightSnapshots(network, set(sizes))
        _, seconds = train(fit, data, network)
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
