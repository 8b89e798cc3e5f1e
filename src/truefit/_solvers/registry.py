"""The registry: which solver is offered which fits, and in which order; and what solvers of groups share."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint
from truefit._core.outcome import Outcome, Predictions
from truefit._core.parameters import plain_params
from truefit._core.protocols import Fit, Job, Response, Solver
from truefit._core.rows import Rows
from truefit._core.stages import AtStage
from truefit._core.typing import Array
from truefit._sklearn import is_tested
from truefit._solvers.plain import PlainSolver, fit_plain, log_fallback, or_plain


@dataclass(eq=False)
class Offer:
    """A solver and the fits that it is offered; it is imported with the first of them.

    ``path`` is its module and class in this package, ``arguments`` are what it is made with. ``final`` has the class
    names of the final estimators that it is for ("*" for any), ``place`` says whether these are the last step of a
    ``Pipeline``, and ``first`` has the class names of the first step.
    """

    name: str
    path: str
    final: str
    place: Literal["alone", "pipeline", "either"]
    first: str = "*"
    arguments: tuple[Any, ...] = ()
    #: The engine offers such fits too; ``claim`` holds them back from solvers that cannot take them.
    leaves_out_each = True

    @cached_property
    def solver(self) -> Solver:
        """The solver itself."""
        module, _, name = self.path.rpartition(".")
        solver: Solver = getattr(import_module(f"truefit._solvers.{module}"), name)(*self.arguments)
        return solver

    def suits(self, estimator: Any) -> bool:
        """Whether fits of an estimator are offered to the solver."""
        in_pipeline = type(estimator) is Pipeline
        if self.place == ("alone" if in_pipeline else "pipeline"):
            return False
        if not in_pipeline:
            return _is_named(estimator, self.final)
        steps = [step for _, step in estimator.steps if not (step is None or isinstance(step, str))]
        return bool(steps) and _is_named(steps[0], self.first) and _is_named(steps[-1], self.final)

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs for the fits that the solver is offered and takes."""
        known: dict[bytes, bool] = {}
        offered = []
        for fit in fits:
            if fit.estimator_key not in known:
                known[fit.estimator_key] = self.suits(fit.estimator)
            if known[fit.estimator_key]:
                offered.append(fit)
        if offered and not getattr(self.solver, "leaves_out_each", False):
            offered = [fit for fit in offered if not fit.each_left_out]
        return self.solver.claim(offered, data) if offered else []

    def most_for(self, estimator: Any) -> int:
        """Return how many fits of an estimator the solver takes in one job; 0 if it is not for it."""
        return getattr(self.solver, "most", 0) if self.suits(estimator) else 0

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Jobs are answered by the solver itself; this is never called."""
        raise NotImplementedError


def _is_named(estimator: Any, names: str) -> bool:
    return names == "*" or type(estimator).__name__ in names.split()


_LINEAR = "Ridge LinearRegression"
_NEIGHBOURS = "KNeighborsClassifier KNeighborsRegressor"
_BOOSTING = (
    "GradientBoostingClassifier GradientBoostingRegressor HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor LGBMClassifier LGBMRegressor XGBClassifier XGBRegressor"
)
_FORESTS = (
    "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor "
    "BaggingClassifier BaggingRegressor"
)
_TREES = "DecisionTreeClassifier RandomForestClassifier ExtraTreesClassifier"
_DISCRIMINANT = "LinearDiscriminantAnalysis"
_STAGES = Offer("stages", "paths.stages.StagesSolver", "AtStage", "alone")

#: Solvers of fits that have the same estimator but other rows, or that are stages of one run.
_FIRST: tuple[Solver, ...] = (
    Offer("linear loo", "closed_form.ridge.LinearLooSolver", _LINEAR, "alone"),
    Offer("naive bayes loo", "closed_form.gaussian_nb.NaiveBayesLooSolver", "GaussianNB", "alone"),
    Offer("discriminant loo", "closed_form.lda.DiscriminantLooSolver", _DISCRIMINANT, "alone"),
    Offer("neighbours loo", "closed_form.knn.NeighboursLooSolver", _NEIGHBOURS, "alone"),
    Offer("kernel loo", "closed_form.kernels.KernelLooSolver", "KernelRidge GaussianProcessRegressor", "alone"),
    Offer("naive bayes sets", "closed_form.gaussian_nb.NaiveBayesSetsSolver", "GaussianNB", "either"),
    Offer("linear sets", "closed_form.linear_row_sets.LinearSetsSolver", _LINEAR, "either"),
    Offer("discriminant sets", "closed_form.lda.DiscriminantSetsSolver", _DISCRIMINANT, "either"),
    Offer("scaled neighbours", "closed_form.knn_row_sets.ScaledNeighboursSolver", _NEIGHBOURS, "pipeline"),
    Offer("boosting stages", "paths.boosting.BoostingStagesSolver", _BOOSTING, "either"),
    _STAGES,
)
#: Solvers of fits on the same rows; they also answer what follows on the shared steps of pipelines.
_SAME_ROWS: tuple[Solver, ...] = (
    Offer("forest sizes", "paths.stages.ForestSizesSolver", _FORESTS, "alone"),
    Offer("network epochs", "paths.stages.NetworkEpochsSolver", "MLPClassifier MLPRegressor", "alone"),
    Offer("naive bayes", "closed_form.gaussian_nb.NaiveBayesSolver", "GaussianNB", "alone"),
    Offer("discriminant", "closed_form.lda.DiscriminantSolver", _DISCRIMINANT, "alone"),
    Offer("ridge", "closed_form.ridge.RidgeSolver", "Ridge RidgeClassifier", "alone"),
    Offer("neighbours", "closed_form.knn.NeighboursSolver", _NEIGHBOURS, "alone"),
    Offer("support vectors", "relabelled.support_vectors.SupportVectorsSolver", "SVC", "alone"),
    Offer("sparse trees", "pipelines.sparse_trees.SparseTreesSolver", _TREES, "alone"),
    PlainSolver(),
)
_STEP_PATHS = Offer(
    "step paths", "pipelines.step_paths.StepPathSolver", "*", "pipeline", "PCA SelectKBest", (_SAME_ROWS,)
)
_PREFIXES = Offer(
    "shared prefix", "pipelines.shared_prefix.PrefixSolver", "*", "pipeline", "*", (_SAME_ROWS, (_STEP_PATHS,))
)


def all_solvers() -> tuple[Solver, ...]:
    """Return the solvers in the order in which they may claim fits; plain fitting comes last and takes the rest.

    On a version of scikit-learn that was not tested there are only those that compute nothing themselves.
    """
    if not is_tested():
        return EstimatorSolver(), _STAGES, PlainSolver()
    return EstimatorSolver(), *_FIRST, _STEP_PATHS, _PREFIXES, *_SAME_ROWS


class EstimatorSolver:
    """Lets the solvers that estimators provide, by a static method ``__truefit_solver__``, claim fits of their class.

    Such a solver is imported with its estimator. Stages of a training run are offered to it too.
    """

    name = "estimator"

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs of the solvers that estimators provide."""
        groups: dict[Any, list[Fit]] = defaultdict(list)
        for fit in fits:
            factory = solver_factory(fit.estimator)
            if factory is not None:
                groups[factory].append(fit)
        return [job for factory, group in groups.items() for job in factory().claim(group, data)]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Jobs are answered by the solver that claimed them; this is never called."""
        raise NotImplementedError


def solver_factory(estimator: Any) -> Any:
    """Return the factory of the solver that an estimator provides; None if it provides none."""
    inner = estimator.estimator if type(estimator) is AtStage else estimator
    return getattr(type(inner), "__truefit_solver__", None)


def is_switch(value: Any) -> bool:
    """Whether a value is a boolean."""
    return isinstance(value, bool | np.bool_)


def is_size(value: Any) -> bool:
    """Whether a value is a finite number, not negative."""
    number = isinstance(value, int | float | np.integer | np.floating) and not is_switch(value)
    return number and bool(0 <= value < math.inf)


def is_count(value: Any, most: float = math.inf) -> bool:
    """Whether a value is a whole number from 1 to ``most``."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(1 <= value <= most)


def is_seed(value: Any) -> bool:
    """Whether a value can stand as ``random_state``, and is no stream that gives other numbers each time."""
    return value is None or (type(value) is int and 0 <= value < 2**32)


def are_priors(value: Any, classes: int) -> bool:
    """Whether a value has a share above 0 for each class, with a sum of 1."""
    try:
        shares = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return shares.shape == (classes,) and bool((shares > 0).all()) and abs(float(shares.sum()) - 1) < 1e-8


def is_number_vector(labels: Array) -> bool:
    """Whether labels are a vector of numbers of full precision."""
    return labels.ndim == 1 and labels.dtype.kind in "iuf" and labels.dtype.itemsize == 8


def key_without(estimator: Any, parameters: Sequence[str]) -> bytes | None:
    """Return what estimators have in common that differ in some parameters only; None if it has no key (logged)."""
    try:
        common = copy(estimator)
        for name in parameters:
            setattr(common, name, None)
        return Fingerprint(common).digest
    except Exception as error:
        log_fallback("the key of an estimator", type(estimator).__name__, error)
        return None


class EstimatorFamilies:
    """Groups fits whose estimators are the same but for the parameters along a path; each estimator is read once."""

    def __init__(self, path: Sequence[str]) -> None:
        self.path = tuple(path)
        self._known: dict[bytes, bytes | None] = {}
        self._by_values: dict[tuple[Any, ...], bytes | None] = {}

    def of(self, fit: Fit) -> bytes | None:
        """Return the key that the estimators of a family share; None where there is none."""
        if not self.path:
            return fit.estimator_key
        if fit.estimator_key not in self._known:
            self._known[fit.estimator_key] = self._key(fit.estimator)
        return self._known[fit.estimator_key]

    def _key(self, estimator: Any) -> bytes | None:
        others = plain_params(estimator, but=self.path)
        if others is None:
            return key_without(estimator, self.path)
        # Of a grid the values are compared: that is faster than to make each key.
        values = (type(estimator), *((name, type(value), repr(value)) for name, value in others.items()))
        if values not in self._by_values:
            self._by_values[values] = key_without(estimator, self.path)
        return self._by_values[values]


RowsKey = tuple[int | None, str, bytes]

#: So many predictions are computed at a time: they stay in the processor's cache.
BATCH_ROWS = 16384


@dataclass(frozen=True, slots=True, eq=False)
class RowsRequest:
    """Rows, and which of the fits (by their positions) want which response on them."""

    rows: Rows
    wanted: dict[Response, list[int]] = field(default_factory=dict)


def rows_key(rows: Rows) -> RowsKey:
    """Return what equal rows in the same form have in common."""
    return rows.total, rows.listed.dtype.str, rows.listed.tobytes()


def rows_requests(fits: Sequence[Fit]) -> list[RowsRequest]:
    """Gather the asks of several fits: each set of rows once, without empty ones."""
    by_rows: dict[RowsKey, RowsRequest] = {}
    known: dict[int, RowsRequest] = {}  # plans ask all their fits about the same object: its bytes are made once
    for place, fit in enumerate(fits):
        for ask in fit.asks:
            if len(ask.rows) == 0:
                continue
            request = known.get(id(ask.rows))
            if request is None:
                request = known[id(ask.rows)] = by_rows.setdefault(rows_key(ask.rows), RowsRequest(ask.rows))
            places = request.wanted.setdefault(ask.response, [])
            if not places or places[-1] != place:
                places.append(place)
    return list(by_rows.values())


@dataclass(frozen=True, slots=True)
class RequestBatch:
    """Fits with the same responses, all on the same rows or each on as many of its own."""

    places: list[int]
    responses: tuple[Response, ...]
    rows: list[Rows]


def request_batches(fits: Sequence[Fit]) -> Iterator[RequestBatch]:
    """Group fits whose rows can be predicted at once: the same rows for all, or as many for each."""
    alone: dict[tuple[int, tuple[Response, ...]], list[tuple[int, Rows]]] = defaultdict(list)
    for request in rows_requests(fits):
        by_places: dict[tuple[int, ...], list[Response]] = defaultdict(list)
        for response, places in request.wanted.items():
            by_places[tuple(places)].append(response)
        for several, responses in by_places.items():
            if len(several) == 1:
                alone[len(request.rows), tuple(responses)].append((several[0], request.rows))
                continue
            step = max(1, BATCH_ROWS // len(request.rows))
            for start in range(0, len(several), step):
                yield RequestBatch(list(several[start : start + step]), tuple(responses), [request.rows])
    for (length, wanted), pairs in alone.items():
        step = max(1, BATCH_ROWS // length)
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            yield RequestBatch([place for place, _ in some], wanted, [rows for _, rows in some])


@dataclass(slots=True)
class SharedResult:
    """The answers of a fit; not ``trusted`` where they cannot be shown to equal plain fitting."""

    classes: Array | None = None
    answers: list[Predictions] = field(default_factory=list)
    trusted: bool = True


class GroupSolver(ABC):
    """Fits of a family of estimators that are answered together.

    A subclass names its estimators (``kinds``, exact types), responses and parameters. Estimators may differ in the
    parameters of its ``path``. Fits without a trusted result are fitted plainly. Time is charged in equal parts.
    """

    name: str
    kinds: tuple[type, ...] = ()
    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})
    #: Parameters on which the shared work does not depend.
    path: tuple[str, ...] = ()
    #: Fits in one job; fewer where each still takes long, so that several workers can share them.
    most: int = 1000

    @abstractmethod
    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Return jobs of fits that have something in common."""

    @abstractmethod
    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether parameters and sizes are such that answers are exact."""

    @abstractmethod
    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Return a result for each fit; None for those that are to be fitted plainly."""

    def _takes_weights(self, data: Data) -> bool:
        return data.weight is None

    def _can_answer(self, fit: Fit) -> bool:
        known = all(ask.response in self.responses and hasattr(type(fit.estimator), ask.response) for ask in fit.asks)
        # A shortcut has no model to return, and a model that is there answers faster.
        return known and fit.model is None and not fit.keep_model

    def _served(self, group: Sequence[Fit], data: Data) -> list[Fit]:
        """Return those that are served; the same estimator is judged once."""
        served: dict[bytes, bool] = {}
        for fit in group if len(group) > 1 else ():
            if fit.estimator_key not in served:
                served[fit.estimator_key] = self.serves(fit, data)
        return [fit for fit in group if served.get(fit.estimator_key)]

    def _job(self, fits: Sequence[Fit]) -> Job:
        return Job(self, tuple(fits))

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all fits together."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        start = time.perf_counter()
        results = self.results(job.fits, data)
        seconds = (time.perf_counter() - start) / len(job.fits)
        if data.release is not None:
            data.release()
        outcomes = []
        for fit, result in zip(job.fits, results, strict=True):
            if result is not None and result.trusted:
                outcomes.append(Outcome(fit.key, tuple(result.answers), seconds, self.name, result.classes))
            else:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + seconds))
        return outcomes
