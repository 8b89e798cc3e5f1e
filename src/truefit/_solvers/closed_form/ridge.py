"""Ridge and least squares: other labels and penalties on the same rows, and leave-one-out in closed form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from truefit._core.data import Data
from truefit._core.parameters import params_of
from truefit._core.protocols import Fit, Response
from truefit._core.typing import Array, Floats, Positions
from truefit._solvers.closed_form.left_out import LeftOutSolver, LeftOutValues
from truefit._solvers.closed_form.linear_left_out import Conditioning, LeaveOneOut, LinearProblem, ordinary
from truefit._solvers.plain import labels_of
from truefit._solvers.registry import SharedResult, is_seed, is_size, is_switch, rows_requests
from truefit._solvers.relabelled.driver import (
    LabelSweep,
    RelabelledSolver,
    add_responses,
    as_floats,
    centred,
    classes_for,
    label_sweeps,
)

#: Returns the coefficients for prepared targets, a row for each column of these.
Solve = Callable[[Floats], Floats]


class RidgeSolver(RelabelledSolver):
    """``Ridge`` and ``RidgeClassifier`` on the same rows, with any penalties and labels.

    In (XᵀX + αI) w = Xᵀy the product XᵀX depends neither on α nor on the labels, and takes most of the time: it is
    computed once (or an SVD), and factorised once for each α. The rest is done as in scikit-learn, one fit at a time,
    so answers equal plain fitting bit for bit. A classifier is a regression on columns of -1 and 1.
    """

    name = "ridge"
    kinds = (Ridge, RidgeClassifier)
    responses = frozenset({"predict", "decision_function"})
    path = ("alpha",)

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the solution is exact, not iterated, and classes weigh the same."""
        classifier = type(fit.estimator) is RidgeClassifier
        if classifier != (data.task == "classification"):
            return False
        balanced = classifier and fit.estimator.class_weight is not None
        return problem_of(fit.estimator) is not None and not balanced

    def _takes_weights(self, data: Data) -> bool:
        return True

    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Make the matrix once, factorise it for each penalty, then solve for each label vector."""
        index = fits[0].train.index
        weight = None if data.weight is None else data.weight[index]
        X = data.X if fits[0].train.whole else data.take(index)
        ridge = RidgeTable(as_floats(X), fits[0].estimator, weight)
        results: list[SharedResult | None] = [None] * len(fits)
        models: dict[int, LinearModel] = {}
        targets = self._targets(fits, data, index, ridge)
        places: dict[float, list[int]] = defaultdict(list)
        for place in targets:
            places[float(fits[place].estimator.alpha)].append(place)
        for alpha, some in places.items():
            try:
                solve = ridge.solver(alpha)
            except NearlySingular:
                continue
            for place in some:
                target = targets[place]
                results[place] = SharedResult(target.classes)
                models[place] = ridge.model(target, solve)
        for request in rows_requests(fits):
            own = request.rows == fits[0].train

            def scores_of(block: Positions, own: bool = own) -> Callable[[Response, int], Array]:
                X = ridge.X if own and len(block) == len(index) else as_floats(data.take(block))
                return lambda response, place: models[place].answer(response, X)

            add_responses(request, results, data, scores_of)
        return results

    def _targets(self, fits: Sequence[Fit], data: Data, index: Positions, ridge: RidgeTable) -> dict[int, Targets]:
        made: dict[int, Targets] = {}  # labels of fits that differ in their penalties are the same object
        if data.task == "classification":
            for sweep in label_sweeps(fits, data, index):
                for v, place in enumerate(sweep.places):
                    if id(fits[place].y) not in made:
                        classes = classes_for(fits[place], sweep.classes)
                        made[id(fits[place].y)] = ridge.class_targets(sweep, v, classes)
        else:
            for fit in fits:
                labels = labels_of(fit, data)
                if id(fit.y) not in made and labels.ndim == 1 and labels.dtype.kind in "iuf":
                    made[id(fit.y)] = ridge.targets(labels[index].astype(np.float64), None)
        return {place: made[id(fit.y)] for place, fit in enumerate(fits) if id(fit.y) in made}


class NearlySingular(ValueError):
    """A matrix is so close to singular that scikit-learn uses an SVD, or warns."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Targets, centred, weighted and ready to be solved for; ``classes`` where they stand for these."""

    prepared: Floats
    mean: Array
    classes: Array | None


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Coefficients (a vector for one target, else a matrix with a row for each) and intercept."""

    coef: Floats
    intercept: Array
    classifier: bool

    def answer(self, response: Response, X: Floats) -> Array:
        """Return decisions, or the codes of the labels, or predictions."""
        scores: Floats = X @ self.coef.T + self.intercept
        if response == "decision_function" or not self.classifier:
            return scores
        if scores.ndim == 1:
            return np.asarray((scores > 0).view(np.uint8))
        return np.asarray(np.argmax(scores, axis=1).astype(np.min_scalar_type(scores.shape[1] - 1)))


class RidgeTable:
    """A table made ready for regressions on any targets with any penalties."""

    def __init__(self, X: Floats, estimator: Any, weight: Floats | None = None) -> None:
        self.X = X
        self.intercept = bool(estimator.fit_intercept)
        self.weight = weight
        self.root = None if weight is None else np.sqrt(weight)[:, None]
        self.offset = np.zeros(X.shape[1])
        self.centred = X
        if self.intercept:
            self.offset = np.average(X, axis=0, weights=weight)
            self.centred = centred(X, self.offset)
        if self.root is not None:
            self.centred = self.centred * self.root
        route = _by_svd if estimator.solver == "svd" else _by_dual if X.shape[1] > X.shape[0] else _by_cholesky
        #: What is done with targets whatever the penalty, and what makes a solver of a penalty.
        self.prepare, self.solver = route(self.centred)

    def class_targets(self, sweep: LabelSweep, v: int, classes: Array) -> Targets:
        """Return columns of -1 and 1, one for two classes, else one for each."""
        codes, n = sweep.codes[v], len(self.X)
        if len(classes) == 2 and self.intercept and self.weight is None:
            # In one pass, bit for bit: a sum of 1 and -1 is exact, in whichever order.
            mean = (2.0 * sweep.counts[v][1:] - n) / n
            return Targets(self.prepare(np.where(codes, 1 - mean, -1 - mean)[:, None]), mean, classes)
        wanted = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
        return self.targets(2 * (codes[:, None] == wanted).astype(np.float64) - 1, classes)

    def targets(self, columns: Floats, classes: Array | None) -> Targets:
        """Return targets (a vector, or columns) centred and weighted as the rows are."""
        mean: Array = np.zeros(columns.shape[1:])
        if self.intercept:
            mean = np.asarray(np.average(columns, axis=0, weights=self.weight))
            columns = columns - mean
        columns = columns.reshape(len(columns), -1)
        return Targets(self.prepare(columns if self.root is None else columns * self.root), mean, classes)

    def model(self, targets: Targets, solve: Solve) -> LinearModel:
        """Return the model of targets under one penalty."""
        coef = solve(targets.prepared)
        if len(coef) == 1:
            coef = coef.ravel()
        classifier = targets.classes is not None
        no_intercept = np.zeros(1 if classifier else ())
        intercept = targets.mean - self.offset @ coef.T if self.intercept else no_intercept
        return LinearModel(coef, intercept, classifier)


def step_by_step(fit: Fit, data: Data) -> SharedResult | None:
    """Fit a single ridge regression bit for bit as scikit-learn does; None where it is close to singular."""
    index = fit.train.index
    table = RidgeTable(as_floats(data.take(index)), fit.estimator)
    labels = labels_of(fit, data)[index]
    try:
        model = table.model(table.targets(labels.astype(np.float64), None), table.solver(float(fit.estimator.alpha)))
    except NearlySingular:
        return None
    results: list[SharedResult | None] = [SharedResult()]
    for request in rows_requests([fit]):

        def scores_of(block: Positions) -> Callable[[Response, int], Array]:
            X = as_floats(data.take(block))
            return lambda response, _: model.answer(response, X)

        add_responses(request, results, data, scores_of)
    return results[0]


def _by_cholesky(X: Floats) -> tuple[Solve, Callable[[float], Solve]]:
    gram = X.T @ X

    def penalised(alpha: float) -> Solve:
        factor = _factor(gram, alpha)
        return lambda product: _solved(factor, product).T

    return lambda targets: X.T @ targets, penalised


def _by_dual(X: Floats) -> tuple[Solve, Callable[[float], Solve]]:
    gram = X @ X.T

    def penalised(alpha: float) -> Solve:
        factor = _factor(gram, alpha)
        return lambda targets: (X.T @ _solved(factor, targets)).T

    return lambda targets: targets, penalised


def _by_svd(X: Floats) -> tuple[Solve, Callable[[float], Solve]]:
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    used = s > 1e-15

    def penalised(alpha: float) -> Solve:
        shrunk = np.zeros((len(s), 1))
        shrunk[used, 0] = s[used] / (s[used] ** 2 + alpha)
        return lambda product: (Vt.T @ (shrunk * product)).T

    return lambda targets: U.T @ targets, penalised


def _factor(gram: Floats, alpha: float) -> Floats:
    """Return the Cholesky factor with a penalty; NearlySingular where scikit-learn would use an SVD, or warn."""
    gram = gram.copy(order="K")
    gram.flat[:: len(gram) + 1] += alpha
    if len(gram) == 1 and gram[0, 0] > 0:
        return gram  # nothing to factorise, and scipy.linalg.solve divides
    factor, failed = lapack.dpotrf(gram, lower=0)
    if not failed:
        norm = np.abs(gram).sum(axis=0).max()
        condition, failed = lapack.dpocon(factor, norm, uplo="U")
    if failed or not condition > np.finfo(np.float64).eps:
        raise NearlySingular("The matrix is close to singular.")
    return np.asarray(factor)


def _solved(factor: Floats, right: Floats) -> Floats:
    if len(factor) == 1:
        return np.asarray(right / factor)
    solution, failed = lapack.dpotrs(factor, right, lower=0)
    assert not failed  # the arguments are of the right kind
    return np.ascontiguousarray(solution)  # as scipy.linalg.solve has it: a product's last bits go with the layout


class LinearLooSolver(LeftOutSolver):
    """Leave-one-out of ``Ridge`` and ``LinearRegression`` from one factorisation; untrusted rows are refitted."""

    name = "linear loo"
    kinds = (Ridge, LinearRegression)

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those whose solution is exact, on a table that is well conditioned enough for most rows to be trusted."""
        if not _dense(data):
            return []
        conditions: dict[bool, Conditioning] = {}
        served = []
        for group in groups:
            problem = problem_of(group[0].estimator)
            if problem is None or not plain_numbers(labels_of(group[0], data)):
                continue
            if problem.intercept not in conditions:
                conditions[problem.intercept] = Conditioning(data.X, problem.intercept)
                if data.release is not None:
                    data.release()
            if conditions[problem.intercept].serves(problem):
                served.append(group)
        return served

    def left_out(self, estimator: Any, labels: Array, data: Data, rows: Positions) -> LeftOutValues:
        """Factorise once and read off every prediction."""
        problem = problem_of(estimator)
        assert problem is not None  # or it would not have been claimed
        loo = LeaveOneOut(data.X, labels, problem)
        return LeftOutValues({"predict": loo.predictions[rows]}, loo.trusted[rows])


def problem_of(estimator: Any) -> LinearProblem | None:
    """Return the problem that an estimator solves; None where a parameter asks for something else, or is wrong."""
    params = params_of(estimator)
    intercept, tol = params["fit_intercept"], params["tol"]
    if not (is_switch(intercept) and is_switch(params["copy_X"]) and is_size(tol)) or params["positive"] is not False:
        return None
    if type(estimator) is LinearRegression:
        known = isinstance(params["n_jobs"], int | None)
        return LinearProblem(0.0, bool(intercept), "lstsq", float(tol)) if known else None
    alpha, solver = params["alpha"], params["solver"]
    # The other solvers stop at a tolerance of their own: what they give is not the exact solution.
    exact = isinstance(solver, str) and solver in ("auto", "cholesky", "svd") and params["max_iter"] is None
    if not (exact and is_size(alpha) and is_seed(params["random_state"])):
        return None
    return LinearProblem(float(alpha), bool(intercept), "svd" if solver == "svd" else "cholesky")


def _dense(data: Data) -> bool:
    X = data.X
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > 0 and X.dtype == np.float64 and ordinary(X)


def plain_numbers(y: Array) -> bool:
    """Whether targets are a vector of numbers whose squares are numbers too."""
    return y.ndim == 1 and (y.dtype.kind in "iu" or y.dtype in (np.float32, np.float64)) and ordinary(y)
