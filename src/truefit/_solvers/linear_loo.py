"""LinearLooSolver: leave-one-out of ridge and least squares in closed form, all rows from one factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression, Ridge

from truefit._core.data import Data
from truefit._core.parameters import params_of
from truefit._core.task import Fit
from truefit._core.typing import Positions
from truefit._solvers.leave_one_out import Conditioning, LeaveOneOut, LinearProblem, ordinary
from truefit._solvers.left_out import LeftOut, LeftOutSolver, labels_of
from truefit._solvers.parameters import is_seed, is_size, is_switch


class LinearLooSolver(LeftOutSolver):
    """Leave-one-out fits of ``Ridge`` and ``LinearRegression``, each asked for the row that it leaves out.

    The prediction without row i is yᵢ − eᵢ / (1 − hᵢ), see :mod:`truefit._solvers.leave_one_out`: one factorisation
    instead of n fits. Rows for which this cannot be shown to equal a refit within 1e-8 relative (a leverage near 1, a
    prediction that all but cancels out) are refitted, and their outcomes say "plain".

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

    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOut:
        """Factorise once and read off every prediction."""
        problem = problem_of(estimator)
        assert problem is not None  # or it would not have been claimed
        loo = LeaveOneOut(data.X, labels, problem)
        return LeftOut({"predict": loo.predictions[rows]}, loo.trusted[rows])


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
