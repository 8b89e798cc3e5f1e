"""Candidates that differ only in how far they are trained: the stages of one run, or one fit of the largest.

Forests, bags and networks of several sizes are answered by the fit of the largest.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from math import inf, isnan
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
from truefit._core.outcome import Outcome, Predictions
from truefit._core.parameters import fit_metadata, seeded
from truefit._core.protocols import Fit, Job
from truefit._core.stages import AtStage, run_stages, snapshot
from truefit._core.typing import Array
from truefit._sklearn import best_weights, cut_bagging, on_each_epoch
from truefit._solvers.plain import model_classes, or_plain, respond, train, training_data
from truefit._solvers.registry import is_count, is_seed, key_without


class StagesSolver:
    """Candidates that differ only in how far they are trained, on the same rows: one run passes through them all.

    Where models are kept, the run holds two: the one it trains, and a copy of the best so far, by the loss of the fit's
    ``keep``. Time is charged to the candidates in proportion to their stages.
    """

    name = "stages"
    kinds = (AtStage,)

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each training run."""
        families: dict[int, tuple[Any, bytes | None]] = {}
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            if type(fit.estimator) is not AtStage or fit.model is not None or (fit.keep_model and fit.keep is None):
                continue
            inner = fit.estimator.estimator
            if id(inner) not in families:
                families[id(inner)] = (inner, key_without(inner, ()))  # held, so that its id stays its own
            family = families[id(inner)][1]
            if family is not None:
                groups[family, fit.train_key, fit.seeds].append(fit)
        return [Job(self, tuple(group)) for group in groups.values() if len(group) > 1]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Train once, and answer along the way."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        by_stage: dict[int, list[Fit]] = defaultdict(list)
        for fit in job.fits:
            by_stage[fit.estimator.stage].append(fit)
        first, last = job.fits[0], max(by_stage)
        index = first.train.index
        estimator = seeded(first.estimator, first.seeds).estimator
        X, y = training_data(first, data)
        run = run_stages(estimator, X, y, **fit_metadata(first.estimator, data, index))
        best = _Best()
        found: dict[str, Outcome] = {}
        seconds = 0.0
        for stage in range(1, last + 1):
            start = time.perf_counter()
            model = next(run)
            seconds += time.perf_counter() - start
            for fit in by_stage.get(stage, ()):
                classes = model_classes(model, data)
                outcome = Outcome(fit.key, respond(model, fit.asks, data, classes), 0.0, self.name, classes)
                best.offer(fit, outcome, model)
                found[fit.key] = outcome
        unit = seconds / sum(fit.estimator.stage for fit in job.fits)
        return [
            replace(found[fit.key], fit_seconds=unit * fit.estimator.stage, model=best.model(fit)) for fit in job.fits
        ]


class _Best:
    """The best stage so far of each group that models are kept for, the first of equal ones."""

    def __init__(self) -> None:
        self._held: dict[Hashable, tuple[float, Fit, Any]] = {}

    def offer(self, fit: Fit, outcome: Outcome, model: Any) -> None:
        """Take a copy of a model that leads."""
        if fit.keep is None:
            return
        loss = 0.0 if fit.keep.metric is None else float(fit.keep.metric(outcome))
        loss = inf if isnan(loss) else loss
        held = self._held.get(fit.keep.group)
        if held is None or loss < held[0]:
            self._held.pop(fit.keep.group, None)  # let go of the old copy before the new one is made
            self._held[fit.keep.group] = (loss, fit, snapshot(model))

    def model(self, fit: Fit) -> Any:
        """Return the copy of a stage that leads, as plain fitting would have it; None for the others."""
        held = None if fit.keep is None else self._held.get(fit.keep.group)
        return seeded(fit.estimator, fit.seeds).hold(held[2]) if held is not None and held[1] is fit else None


class LargestFitSolver(ABC):
    """Estimators that differ only in a size, on the same rows: the largest is fitted, and contains the others.

    Time is charged to the candidates in proportion to their sizes.
    """

    name: str
    kinds: tuple[type, ...] = ()
    #: The parameter that is the size.
    parameter: str
    #: Whether each size has a model of its own that can be returned, or only the largest.
    keeps_all = True
    #: Fits that go together behind the same steps of a pipeline.
    most = 64

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of estimators on each set of training rows."""
        families: dict[bytes, bytes | None] = {}
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is not None or (self.kinds and type(fit.estimator) not in self.kinds) or not self.serves(fit):
                continue
            if fit.estimator_key not in families:
                families[fit.estimator_key] = self.family(fit.estimator)
            family = families[fit.estimator_key]
            if family is not None:
                groups[family, fit.train_key, fit.seeds].append(fit)
        jobs = []
        for group in groups.values():
            largest = max(self.size(fit.estimator) for fit in group)
            some = [f for f in group if self.keeps_all or not f.keep_model or self.size(f.estimator) == largest]
            if len(some) > 1:
                jobs.append(Job(self, tuple(some)))
        return jobs

    def size(self, estimator: Any) -> int:
        """Return the size of an estimator."""
        return int(getattr(estimator, self.parameter))

    def family(self, estimator: Any) -> bytes | None:
        """Return the key of all estimators that differ in their size only; None if there is none."""
        return key_without(estimator, (self.parameter,))

    @abstractmethod
    def serves(self, fit: Fit) -> bool:
        """Whether the size is reached step by step, and no step depends on how many there are."""

    @abstractmethod
    def largest(self, fit: Fit, sizes: Sequence[int], data: Data) -> tuple[Callable[[int], Any], float]:
        """Fit the largest; return what gives the model of a size, and the seconds that fitting took."""

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit the largest, and compute the predictions of all sizes from it."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        sizes = [self.size(fit.estimator) for fit in job.fits]
        model_of, seconds = self.largest(job.fits[sizes.index(max(sizes))], sizes, data)
        classes = model_classes(model_of(max(sizes)), data)
        answers = self.answers(model_of, job.fits, sizes, data, classes)
        unit = seconds / sum(sizes)
        outcomes = []
        for fit, size, given in zip(job.fits, sizes, answers, strict=True):
            model = model_of(size) if self.keeps_all or size == max(sizes) else None
            outcomes.append(Outcome(fit.key, tuple(given), unit * size, self.name, classes, model))
        return outcomes

    def answers(
        self,
        model_of: Callable[[int], Any],
        fits: Sequence[Fit],
        sizes: Sequence[int],
        data: Data,
        classes: Array | None,
    ) -> Iterable[Sequence[Predictions]]:
        """Return what the model of each fit answers."""
        return [respond(model_of(size), fit.asks, data, classes) for fit, size in zip(fits, sizes, strict=True)]


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
