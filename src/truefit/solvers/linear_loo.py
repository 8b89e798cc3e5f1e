"""LinearLooSolver: leave-one-out of ridge and least squares in closed form, all rows from one factorisation."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression, Ridge

from truefit.core.data import Data
from truefit.core.job import Job
from truefit.core.outcome import Answer, Outcome
from truefit.core.task import Fit
from truefit.solvers.leave_one_out import Conditioning, LeaveOneOut, LinearProblem, ordinary
from truefit.solvers.parameters import is_seed, is_size, is_switch
from truefit.solvers.plain import fit_plain, or_plain

#: Below this many fits plain fitting is as fast.
SMALLEST_GROUP = 8


class LinearLooSolver:
    """Leave-one-out fits of ``Ridge`` and ``LinearRegression``, each asked for the row that it leaves out.

    The prediction without row i is yᵢ − eᵢ / (1 − hᵢ), see :mod:`truefit.solvers.leave_one_out`: one factorisation
    instead of n fits. Rows for which this cannot be shown to equal a refit within 1e-8 relative (a leverage near 1, a
    prediction that all but cancels out) are refitted, and their outcomes say "plain".

    The time spent is charged to all fits of the job in equal parts.

    Examples
    --------
    >>> from truefit.core.key import Keys
    >>> from truefit.core.rows import Rows
    >>> from truefit.core.task import Ask, FitTask
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

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each estimator and labels with enough rows left out."""
        if not _dense(data):
            return []
        groups: dict[tuple[bytes, int], list[Fit]] = defaultdict(list)
        for fit in fits:
            if type(fit.estimator) in (Ridge, LinearRegression) and _leaves_out_what_it_asks(fit, data.n):
                groups[fit.estimator_key, id(fit.y)].append(fit)
        conditions: dict[bool, Conditioning] = {}
        jobs = []
        for group in groups.values():
            problem = problem_of(group[0].estimator)
            if problem is None or len(group) < SMALLEST_GROUP or not _plain_numbers(_labels(group[0], data)):
                continue
            if problem.intercept not in conditions:
                conditions[problem.intercept] = Conditioning(data.X, problem.intercept)
                _release(data)
            if conditions[problem.intercept].serves(problem):
                jobs.append(Job(self, tuple(group)))
        return jobs

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Factorise once and read off every prediction."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        first = job.fits[0]
        problem = problem_of(first.estimator)
        assert problem is not None  # or it would not have been claimed
        start = time.perf_counter()
        loo = LeaveOneOut(data.X, _labels(first, data), problem)
        values, trusted = loo.predictions, loo.trusted.tolist()
        seconds = (time.perf_counter() - start) / len(job.fits)
        _release(data)
        tokens, name, outcomes = data.tokens, self.name, []
        for fit in job.fits:
            i = int(fit.train.listed[0])
            if trusted[i]:
                answer = Answer("predict", tokens[i : i + 1], values[i : i + 1])
                outcomes.append(Outcome(fit.key, (answer,), seconds, name))
            else:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + seconds))
        return outcomes


def problem_of(estimator: Any) -> LinearProblem | None:
    """Return the problem that an estimator solves; None where a parameter asks for something else, or is wrong."""
    params = estimator.get_params(deep=False)
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


def _leaves_out_what_it_asks(fit: Fit, n: int) -> bool:
    train = fit.train
    if train.total != n or len(train.listed) != 1 or len(fit.asks) != 1:
        return False
    if fit.keep_model or fit.model is not None:  # no model comes of a closed form, and one that is there answers faster
        return False
    ask, left_out = fit.asks[0], train.listed[0]
    if ask.response != "predict" or len(ask.rows) != 1:
        return False
    return bool((ask.rows.listed[0] if ask.rows.total is None else ask.rows.index[0]) == left_out)


def _dense(data: Data) -> bool:
    X = data.X
    return (
        data.weight is None
        and isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.shape[1] > 0
        and X.dtype == np.float64
        and ordinary(X)
    )


def _plain_numbers(y: npt.NDArray[Any]) -> bool:
    return y.ndim == 1 and (y.dtype.kind in "iu" or y.dtype in (np.float32, np.float64)) and ordinary(y)


def _labels(fit: Fit, data: Data) -> npt.NDArray[Any]:
    return data.y if fit.y is None else fit.y


def _release(data: Data) -> None:
    if data.release is not None:
        data.release()
