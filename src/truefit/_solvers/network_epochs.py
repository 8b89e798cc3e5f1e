"""NetworkEpochsSolver: networks trained for several numbers of epochs, from one training run."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from truefit._core.data import Data, fit_metadata
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Job
from truefit._core.task import Fit
from truefit._solvers.families import Families
from truefit._solvers.parameters import is_seed
from truefit._solvers.plain import model_classes, or_plain, respond


class NetworkEpochsSolver:
    """Networks that differ only in their number of epochs (``max_iter``), on the same rows: the longest is trained.

    An epoch does not depend on how many come after it: the weights after m of them, taken while scikit-learn trains,
    are those of the network with ``max_iter=m``, bit for bit; one that would have stopped by itself has stopped here
    too. The estimator's own ``fit`` does the training: weights are copied where it counts its epochs.

    The time of the run is charged to the candidates in proportion to their epochs, so that the sum is the time spent.

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
    #: Fits that go together behind the same steps of a pipeline.
    most = 64

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of networks on each set of training rows."""
        families = Families(("max_iter",))
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is None and type(fit.estimator) in self.kinds and _counts_epochs(fit.estimator):
                family = families.of(fit)
                if family is not None:
                    groups[family, fit.train_key, fit.seeds].append(fit)
        jobs = []
        for group in groups.values():
            longest = max(fit.estimator.max_iter for fit in group)
            # Weights alone are no model that could be kept; only the last one is.
            kept = [fit for fit in group if not fit.keep_model or fit.estimator.max_iter == longest]
            if len(kept) > 1:
                jobs.append(Job(self, tuple(kept)))
        return jobs

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Train the longest, and let its weights at each number of epochs answer for the others."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        epochs = [int(fit.estimator.max_iter) for fit in job.fits]
        longest = job.fits[epochs.index(max(epochs))]
        network = seeded(longest.estimator, longest.seeds)
        index = longest.train.index
        X, y = data.take(index), (data.y if longest.y is None else longest.y)[index]
        metadata = fit_metadata(network, data, index)
        snapshots = Snapshots(network, set(epochs))
        start = time.perf_counter()
        network.fit(X, y, **metadata)
        seconds = time.perf_counter() - start
        snapshots.end()
        classes = model_classes(network, data)
        unit = seconds / sum(epochs)
        outcomes = []
        for fit, number in zip(job.fits, epochs, strict=True):
            model = snapshots.at(number)
            answers = respond(model, fit.asks, data, classes)
            outcomes.append(
                Outcome(fit.key, answers, unit * number, self.name, classes, model if model is network else None)
            )
        return outcomes


class Snapshots:
    """Copies of a network's weights, taken at some of its epochs while it is trained."""

    def __init__(self, network: Any, wanted: set[int]) -> None:
        self.network, self.wanted = network, wanted
        self._taken: dict[int, tuple[list[Any], list[Any]]] = {}
        self._counted = network._update_no_improvement_count
        # What scikit-learn calls at the end of each epoch, before anything can stop the training.
        network._update_no_improvement_count = self._count

    def _count(self, early_stopping: bool, *validation: Any) -> None:
        self._counted(early_stopping, *validation)
        network = self.network
        if network.n_iter_ in self.wanted and network.n_iter_ < network.max_iter:
            best = network._best_coefs, network._best_intercepts  # put in place at the end, where it stops early
            weights, biases = best if early_stopping else (network.coefs_, network.intercepts_)
            self._taken[network.n_iter_] = [w.copy() for w in weights], [b.copy() for b in biases]

    def end(self) -> None:
        """Leave the network as its own fit would have left it."""
        del self.network._update_no_improvement_count

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


def _counts_epochs(network: Any) -> bool:
    """Whether training goes by epochs, starts anew, and is quiet."""
    count, solver = network.max_iter, network.solver
    counted = isinstance(count, int | np.integer) and not isinstance(count, bool) and bool(count >= 1)
    by_epochs = isinstance(solver, str) and solver in ("sgd", "adam")
    return (
        counted
        and by_epochs
        and network.warm_start is False
        and network.verbose is False
        and is_seed(network.random_state)
    )
