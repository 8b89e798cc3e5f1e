"""Ridge and least squares: other labels and penalties on the same rows, and leave-one-out in closed form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from truefit._core.data import Data
from truefit._core.parameters import params_of
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._solvers.base import SharedResult, is_seed, is_size, is_switch, rows_requests
from truefit._solvers.closed_form.left_out import LeftOutSolver, LeftOutValues, labels_of
from truefit._solvers.closed_form.linear_left_out import Conditioning, LeaveOneOut, LinearProblem, ordinary
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
    """``Ridge`` and ``RidgeClassifier`` on the same rows, whatever their penalties and labels.

    Of (XᵀX + αI) w = Xᵀy with X and y centred, the product XᵀX depends neither on α nor on the labels, and takes most
    of the time: it is made once (an SVD, where that is asked for). Each α is factorised once for all labels. Everything
    else is worked out as scikit-learn does it, one fit at a time, so answers are those of plain fitting bit for bit,
    however badly conditioned X may be. A classifier is a regression on columns of -1 and 1.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X, rows = np.array([[0.0], [1.0], [4.0], [6.0]]), Rows.all(4)
    >>> data = Data(X, ["a", "a", "b", "b"], task="classification")
    >>> keys, ridge = Keys(data), RidgeClassifier()
    >>> tasks = [FitTask(ridge, rows, (Ask(rows),), y=y) for y in (None, np.array(["b", "a", "b", "b"]))]
    >>> [job] = RidgeSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, rows).tolist() for outcome in job.run(data)]
    [['a', 'a', 'b', 'b'], ['b', 'b', 'b', 'b']]
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
        ridge = fit.estimator
        exact = isinstance(ridge.solver, str) and ridge.solver in ("auto", "cholesky", "svd")
        usual = ridge.positive is False and ridge.max_iter is None
        switches = is_switch(ridge.fit_intercept) and is_switch(ridge.copy_X)
        numbers = is_size(ridge.alpha) and is_size(ridge.tol) and is_seed(ridge.random_state)
        return exact and usual and switches and numbers and not (classifier and ridge.class_weight is not None)

    def _takes_weights(self, data: Data) -> bool:
        return True

    def _can_answer(self, fit: Fit) -> bool:
        regressor = type(fit.estimator) is Ridge
        return super()._can_answer(fit) and not (regressor and any(ask.response != "predict" for ask in fit.asks))

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

            def scores_of(block: Positions, own: bool = own) -> Callable[[Response, int], npt.NDArray[Any]]:
                X = ridge.X if own and len(block) == len(index) else as_floats(data.take(block))
                return lambda response, place: models[place].answer(response, X)

            add_responses(request, results, data, scores_of)
        return results

    def _targets(self, fits: Sequence[Fit], data: Data, index: Positions, ridge: RidgeTable) -> dict[int, Targets]:
        targets: dict[int, Targets] = {}
        if data.task == "classification":
            made: dict[int, Targets] = {}  # labels of fits that differ in their penalties are the same object
            for sweep in label_sweeps(fits, data, index):
                for v, place in enumerate(sweep.places):
                    given = id(fits[place].y)
                    if given not in made:
                        made[given] = ridge.class_targets(sweep, v, classes_for(fits[place], sweep.classes))
                    targets[place] = made[given]
            return targets
        known: dict[int, Targets] = {}
        for place, fit in enumerate(fits):
            labels = data.y if fit.y is None else fit.y
            if labels.ndim == 1 and labels.dtype.kind in "iuf":
                if id(fit.y) not in known:
                    known[id(fit.y)] = ridge.targets(labels[index].astype(np.float64), None)
                targets[place] = known[id(fit.y)]
        return targets


class NearlySingular(ValueError):
    """A matrix is so close to singular that scikit-learn goes another way, or says so."""


class Targets:
    """What is regressed on, centred, weighted, and made ready to be solved for; for a regression on classes these."""

    def __init__(self, prepared: Floats, mean: npt.NDArray[Any], classes: npt.NDArray[Any] | None) -> None:
        self.prepared, self.mean, self.classes = prepared, mean, classes


class LinearModel:
    """Coefficients (a vector for one target, else a matrix with a row for each) and intercept."""

    def __init__(self, coef: Floats, intercept: npt.NDArray[Any], classifier: bool) -> None:
        self.coef, self.intercept, self.classifier = coef, intercept, classifier

    def answer(self, response: Response, X: Floats) -> npt.NDArray[Any]:
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

    def class_targets(self, sweep: LabelSweep, v: int, classes: npt.NDArray[Any]) -> Targets:
        """Return columns of -1 and 1, one for two classes, else one for each."""
        codes, n = sweep.codes[v], len(self.X)
        if len(classes) == 2 and self.intercept and self.weight is None:
            # In one pass, bit for bit: a sum of 1 and -1 is exact, in whichever order.
            mean = (2.0 * sweep.counts[v][1:] - n) / n
            return Targets(self.prepare(np.where(codes, 1 - mean, -1 - mean)[:, None]), mean, classes)
        wanted = np.arange(len(classes)) if len(classes) > 2 else np.array([1])
        return self.targets(2 * (codes[:, None] == wanted).astype(np.float64) - 1, classes)

    def targets(self, columns: Floats, classes: npt.NDArray[Any] | None) -> Targets:
        """Return targets (a vector, or columns) centred and weighted as the rows are."""
        mean: npt.NDArray[Any] = np.zeros(columns.shape[1:])
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
    """Reply for a single ridge regression, bit for bit as scikit-learn does, without all that it looks at before.

    None where the matrix is close to singular.
    """
    index = fit.train.index
    table = RidgeTable(as_floats(data.take(index)), fit.estimator)
    labels = (data.y if fit.y is None else fit.y)[index]
    try:
        model = table.model(table.targets(labels.astype(np.float64), None), table.solver(float(fit.estimator.alpha)))
    except NearlySingular:
        return None
    results: list[SharedResult | None] = [SharedResult()]
    for request in rows_requests([fit]):

        def scores_of(block: Positions) -> Callable[[Response, int], npt.NDArray[Any]]:
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
    """Return the Cholesky factor with a penalty.

    Raises
    ------
    NearlySingular
        If the matrix is so close to singular that scikit-learn goes another way, or says so.
    """
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
    """Leave-one-out fits of ``Ridge`` and ``LinearRegression``, each asked for the row that it leaves out.

    The prediction without row i is yᵢ − eᵢ / (1 − hᵢ), see
    :mod:`truefit._solvers.closed_form.linear_left_out`: one factorisation instead of n fits. Rows for which this cannot
    be shown to equal a refit within 1e-8 relative (a leverage near 1, a prediction that all but cancels out) are
    refitted, and their outcomes say "plain".

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.arange(20.0).reshape(10, 2) ** 0.5
    >>> data = Data(X, X @ [1.0, 2.0], task="regression")
    >>> keys, ridge = Keys(data), Ridge(alpha=0.1)
    >>> tasks = [FitTask(ridge, Rows.without(10, i), (Ask(Rows.of([i])),)) for i in range(10)]
    >>> [job] = LinearLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> outcomes = job.run(data)
    >>> outcomes[3].solver, outcomes[3].answer(data, Rows.of([3])).round(3).tolist()
    ('linear loo', [7.79])
    """

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

    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOutValues:
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
        if not isinstance(params["n_jobs"], int | None):
            return None
        return LinearProblem(0.0, bool(intercept), "lstsq", float(tol))
    alpha, solver, seed = params["alpha"], params["solver"], params["random_state"]
    # The other solvers stop at a tolerance of their own: what they give is not the exact solution.
    if not (isinstance(solver, str) and solver in ("auto", "cholesky", "svd")) or params["max_iter"] is not None:
        return None
    if not is_size(alpha) or not is_seed(seed):
        return None
    return LinearProblem(float(alpha), bool(intercept), "svd" if solver == "svd" else "cholesky")


def _dense(data: Data) -> bool:
    X = data.X
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] > 0 and X.dtype == np.float64 and ordinary(X)


def plain_numbers(y: npt.NDArray[Any]) -> bool:
    """Whether targets are a vector of numbers whose squares are numbers too."""
    return y.ndim == 1 and (y.dtype.kind in "iu" or y.dtype in (np.float32, np.float64)) and ordinary(y)
