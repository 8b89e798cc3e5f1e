"""RidgeClassesSolver: ridge classification on the same rows with many label vectors, from one factorisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from sklearn.linear_model import RidgeClassifier

from truefit.core.data import Data
from truefit.core.task import Fit, Response
from truefit.solvers.label_sweep import LabelSweep, classes_for, label_sweeps
from truefit.solvers.parameters import is_seed, is_size, is_switch
from truefit.solvers.questions import questions
from truefit.solvers.same_rows import Reply, SameRowsSolver, as_floats, reply_to

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]


class RidgeClassesSolver(SameRowsSolver):
    """``RidgeClassifier`` on the same rows with many label vectors.

    It is a regression on columns of -1 and 1, (XᵀX + αI) w = Xᵀy with X and y centred: the matrix does not depend on
    the labels and is factorised once. Everything that does depend on them is worked out as scikit-learn does it, one
    label vector at a time, so answers are those of plain fitting bit for bit, however badly conditioned X may be.

    Examples
    --------
    >>> from truefit.core.key import Keys
    >>> from truefit.core.rows import Rows
    >>> from truefit.core.task import Ask, FitTask
    >>> X, rows = np.array([[0.0], [1.0], [4.0], [6.0]]), Rows.all(4)
    >>> data = Data(X, ["a", "a", "b", "b"], task="classification")
    >>> keys, ridge = Keys(data), RidgeClassifier()
    >>> tasks = [FitTask(ridge, rows, (Ask(rows),), y=y) for y in (None, np.array(["b", "a", "b", "b"]))]
    >>> [job] = RidgeClassesSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, rows).tolist() for outcome in job.run(data)]
    [['a', 'a', 'b', 'b'], ['b', 'b', 'b', 'b']]
    """

    name = "ridge classes"
    kinds = (RidgeClassifier,)
    responses = frozenset({"predict", "decision_function"})

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the solution is exact, not iterated, and classes weigh the same."""
        params = fit.estimator.get_params(deep=False)
        exact = isinstance(params["solver"], str) and params["solver"] in ("auto", "cholesky", "svd")
        usual = params["class_weight"] is None and params["positive"] is False and params["max_iter"] is None
        switches = is_switch(params["fit_intercept"]) and is_switch(params["copy_X"])
        numbers = is_size(params["alpha"]) and is_size(params["tol"]) and is_seed(params["random_state"])
        return exact and usual and switches and numbers

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Factorise once, then solve for each label vector."""
        estimator, index = fits[0].estimator, fits[0].train.index
        ridge = RidgeTable(as_floats(data.take(index)), estimator)
        replies: list[Reply | None] = [None] * len(fits)
        models: dict[int, LinearModel] = {}
        for sweep in label_sweeps(fits, data, index):
            for v, place in enumerate(sweep.places):
                replies[place] = Reply(classes_for(fits[place], sweep.classes))
                models[place] = ridge.model(sweep, v)
        for question in questions(fits):
            own = question.rows == fits[0].train

            def voice(block: Index, own: bool = own) -> Callable[[Response, int], npt.NDArray[Any]]:
                X = ridge.X if own and len(block) == len(index) else as_floats(data.take(block))
                return lambda response, place: models[place].answer(response, X)

            reply_to(question, replies, data, voice)
        return replies


class LinearModel:
    """Coefficients (a vector between two classes, else a matrix with a row for each) and intercept."""

    def __init__(self, coef: Floats, intercept: Floats) -> None:
        self.coef, self.intercept = coef, intercept

    def answer(self, response: Response, X: Floats) -> npt.NDArray[Any]:
        """Return decisions, or the codes of the labels."""
        scores: Floats = X @ self.coef.T + self.intercept
        if response == "decision_function":
            return scores
        if scores.ndim == 1:
            return np.asarray((scores > 0).view(np.uint8))
        return np.asarray(np.argmax(scores, axis=1).astype(np.min_scalar_type(scores.shape[1] - 1)))


class RidgeTable:
    """A table made ready for regressions on any targets."""

    def __init__(self, X: Floats, estimator: Any) -> None:
        self.X = X
        self.intercept = bool(estimator.fit_intercept)
        self.alpha = float(estimator.alpha)
        self.offset = np.zeros(X.shape[1])
        centred = X
        if self.intercept:
            self.offset = X.sum(axis=0) / len(X)
            centred = X - self.offset
        self.solve: Callable[[Floats], Floats]
        if estimator.solver == "svd":
            self.solve = _by_svd(centred, self.alpha)
        elif X.shape[1] > X.shape[0]:
            self.solve = _by_dual(centred, self.alpha)
        else:
            self.solve = _by_cholesky(centred, self.alpha)

    def model(self, sweep: LabelSweep, v: int) -> LinearModel:
        """Return the model of a label vector."""
        n = len(self.X)
        wanted = np.arange(len(sweep.classes)) if len(sweep.classes) > 2 else np.array([1])
        targets = (sweep.codes[v][:, None] == wanted).astype(np.float64)
        targets *= 2
        targets -= 1
        mean = np.zeros(len(wanted))
        if self.intercept:
            mean = (2.0 * sweep.counts[v][wanted] - n) / n  # a sum of 1 and -1 is exact, in whichever order
            targets -= mean
        coef = self.solve(targets)
        if len(wanted) == 1:
            coef = coef.ravel()
        return LinearModel(coef, mean - self.offset @ coef.T if self.intercept else np.zeros(1))


def _by_cholesky(X: Floats, alpha: float) -> Callable[[Floats], Floats]:
    gram = X.T @ X
    gram.flat[:: len(gram) + 1] += alpha
    factor = _factor(gram)
    return lambda targets: _solved(factor, X.T @ targets).T


def _by_dual(X: Floats, alpha: float) -> Callable[[Floats], Floats]:
    gram = X @ X.T
    gram.flat[:: len(gram) + 1] += alpha
    factor = _factor(gram)
    return lambda targets: (X.T @ _solved(factor, targets)).T


def _by_svd(X: Floats, alpha: float) -> Callable[[Floats], Floats]:
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    used = s > 1e-15
    shrunk = np.zeros((len(s), 1))
    shrunk[used, 0] = s[used] / (s[used] ** 2 + alpha)
    return lambda targets: (Vt.T @ (shrunk * (U.T @ targets))).T


def _factor(gram: Floats) -> Floats:
    """Return the Cholesky factor.

    Raises
    ------
    ValueError
        If the matrix is so close to singular that scikit-learn goes another way, or says so.
    """
    if len(gram) == 1 and gram[0, 0] > 0:
        return gram  # nothing to factorise, and scipy.linalg.solve divides
    factor, failed = lapack.dpotrf(gram, lower=0)
    if not failed:
        norm = np.abs(gram).sum(axis=0).max()
        condition, failed = lapack.dpocon(factor, norm, uplo="U")
    if failed or not condition > np.finfo(np.float64).eps:
        raise ValueError("The matrix is close to singular.")
    return np.asarray(factor)


def _solved(factor: Floats, right: Floats) -> Floats:
    if len(factor) == 1:
        return np.asarray(right / factor)
    solution, failed = lapack.dpotrs(factor, right, lower=0)
    assert not failed  # the arguments are of the right kind
    return np.ascontiguousarray(solution)  # as scipy.linalg.solve has it: a product's last bits go with the layout
