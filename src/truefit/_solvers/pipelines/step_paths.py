"""StepPathSolver: pipelines whose first step keeps more or fewer columns of what one fit of it makes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from scipy import sparse
from sklearn import get_config
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Fit, Job, Solver
from truefit._sklearn import svd_solver_of
from truefit._solvers.pipelines.shared_prefix import PrefixSolver, SharedSteps, followed
from truefit._solvers.pipelines.steps import FittedSteps, chain_of, claimed_chain, idle, seeds_of
from truefit._solvers.plain import or_plain, training_data
from truefit._solvers.registry import is_count, key_without

#: Fits in one job.
MOST = 64
#: Up to this many rows and columns scikit-learn takes an exact decomposition by default.
MOST_FULL = 500


class StepPathSolver:
    """Pipelines that begin with a ``PCA`` or a ``SelectKBest`` of several sizes, on the same rows: it is fitted once.

    The first k components of an exact decomposition are the decomposition into k, and the ranking of columns does not
    depend on k, so the fitted step is cut to each size, bit for bit as in plain fitting. What follows is answered by
    other solvers. Approximate PCA, and pipelines whose model is wanted, are left alone.
    """

    name = "step paths"
    kinds = (Pipeline,)

    def __init__(self, others: Sequence[Solver]) -> None:
        self.prefixes = PrefixSolver(others)

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs for the pipelines whose first step is the same but for its size."""
        if get_config()["enable_metadata_routing"] or len(data.X.shape) != 2 or sparse.issparse(data.X):
            return []
        columns = int(data.X.shape[1])
        families: dict[bytes, bytes | None] = {}
        groups: dict[tuple[Any, ...], list[Fit]] = defaultdict(list)
        for fit in fits:
            chain = None if fit.model is not None or fit.keep_model else chain_of(fit)
            if chain is None:
                continue
            link = chain.links[0]
            name, step = fit.estimator.steps[link.place]
            route = _route(step, len(fit.train), columns)
            if route is not None and link.key not in families:
                families[link.key] = key_without(step, (_parameter(step),))
            family = None if route is None else families[link.key]
            if family is not None:
                labels = None if link.label_free else fit.train_key
                rows = data.digest(fit.train), len(fit.train)
                groups[family, route, seeds_of(name, fit.seeds), rows, labels].append(fit)
        jobs = []
        for group in groups.values():
            group.sort(key=lambda fit: _size(_first_step(fit)[1], columns))
            for start in range(0, len(group), MOST):
                part = group[start : start + MOST]
                if _size(_first_step(part[0])[1], columns) < _size(_first_step(part[-1])[1], columns):
                    jobs.append(Job(self, tuple(part), work=len(part)))
        return jobs

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit the step at its largest, and hand what follows on each size to the others."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        largest = job.fits[-1]
        X, y = training_data(largest, data)
        name, step = _first_step(largest)
        step = seeded(step, seeds_of(name, largest.seeds))
        start = time.perf_counter()
        whole = step.fit_transform(X, y)
        seconds = (time.perf_counter() - start) / len(job.fits)
        by_size: dict[Any, list[Fit]] = defaultdict(list)
        for fit in job.fits:
            by_size[getattr(_first_step(fit)[1], _parameter(step))].append(fit)
        found: dict[str, Outcome] = {}
        for size, fits in by_size.items():
            cut = _cut_to(step, size)
            steps = FittedSteps([cut], _cut_table(cut, whole, X))
            table, rests = followed(SharedSteps(fits, [claimed_chain(fit) for fit in fits], 1), data, steps)
            found |= {outcome.key: outcome for outcome in self.prefixes.answer(rests, table)}
        outcomes = []
        for fit in job.fits:
            outcome = found[fit.key]
            if outcome.error is None:
                outcome = replace(outcome, solver=self.name, fit_seconds=outcome.fit_seconds + seconds, model=None)
            outcomes.append(outcome)
        return outcomes


def _first_step(fit: Fit) -> tuple[str, Any]:
    return next((name, step) for name, step in fit.estimator.steps if not idle(step))


def _parameter(step: Any) -> str:
    return "k" if type(step) is SelectKBest else "n_components"


def _size(step: Any, columns: int) -> int:
    """Return how many columns a step keeps, of a table that has at least as many rows."""
    size = getattr(step, _parameter(step))
    return columns if size is None or isinstance(size, str) else int(size)


def _route(step: Any, rows: int, columns: int) -> str | None:
    """Return how a step is fitted whatever its size; None where that depends on it, or the step is another."""
    if type(step) is SelectKBest:
        return "ranked" if (isinstance(step.k, str) and step.k == "all") or is_count(step.k, columns) else None
    if type(step) is not PCA or step.copy is not True or not isinstance(step.svd_solver, str):
        return None
    most = min(rows, columns)
    if rows < columns or not (step.n_components is None or is_count(step.n_components, most)):
        return None
    if step.svd_solver != "auto":
        return step.svd_solver if step.svd_solver in ("full", "covariance_eigh") else None
    if columns <= 1000 and rows >= 10 * columns:
        return "covariance_eigh"
    approximated = step.n_components is not None and step.n_components < 0.8 * most
    return None if max(rows, columns) > MOST_FULL and approximated else "full"


def _cut_to(step: Any, size: Any) -> Any:
    """Return the fitted step as it would be at another size."""
    cut = copy(step)
    setattr(cut, _parameter(step), size)
    if type(step) is not SelectKBest and size is not None:
        for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
            setattr(cut, name, getattr(step, name)[:size].copy(order="K"))
        cut.n_components_ = size
    return cut


def _cut_table(cut: Any, whole: Any, X: Any) -> Any:
    """Return what the step makes of its training rows, as its own ``fit_transform`` does."""
    if type(cut) is SelectKBest or svd_solver_of(cut) != "full":
        return cut.transform(X)
    # The rows come out of the decomposition itself, column by column.
    columns = whole.iloc if hasattr(whole, "iloc") else whole
    return columns[:, : len(cut.components_)]
