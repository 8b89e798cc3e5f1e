"""LassoPathSolver: lassos and elastic nets of several penalties along one path; equal to plain fitting up to tol."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, enet_path
from sklearn.utils.validation import validate_data

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Job
from truefit._core.task import Fit
from truefit._solvers.families import Families
from truefit._solvers.parameters import is_seed, is_size, is_switch
from truefit._solvers.plain import fit_plain, or_plain, respond
from truefit._solvers.same_rows import full_precision


class LassoPathSolver:
    """Lassos and elastic nets that differ only in their penalty (``alpha``), on the same rows: one path visits all.

    Coordinate descent goes from the largest penalty to the smallest, and starts at each from where it was at the one
    before (Friedman, Hastie and Tibshirani 2010, section 2.5), on rows that are centred once. It stops there when plain
    fitting would: the duality gap is at most ``tol`` times the sum of squares of y. So the objective is as close to the
    least as that of a separate fit. But the two stop at different points, and where columns are collinear those may be
    far apart. That is why this solver is used only where it is named: ``Engine(solvers=("lasso path", "auto"))``.

    A penalty at which the path does not get so far in ``max_iter`` rounds is fitted plainly; where a separate fit would
    not, and the path does, it answers. The time of the path is charged to all fits in equal parts.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> data = Data(np.arange(5.0).reshape(5, 1), [0.0, 1.0, 2.0, 3.0, 4.0], task="regression")
    >>> keys, rows = Keys(data), Rows.all(5)
    >>> fits = [keys.fit(FitTask(Lasso(alpha), rows, (Ask(rows),))) for alpha in (0.5, 1.0, 3.0)]
    >>> [job] = LassoPathSolver().claim(fits, data)
    >>> [outcome.answer(data, rows).round(6).tolist() for outcome in job.run(data)]
    [[0.5, 1.25, 2.0, 2.75, 3.5], [1.0, 1.5, 2.0, 2.5, 3.0], [2.0, 2.0, 2.0, 2.0, 2.0]]
    """

    name = "lasso path"
    exact = False
    kinds = (Lasso, ElasticNet)
    #: Fits that go together behind the same steps of a pipeline.
    most = 64

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of penalties on each set of training rows."""
        if get_config()["enable_metadata_routing"] or data.weight is not None or data.task != "regression":
            return []
        families = Families(("alpha",))
        groups: dict[tuple[bytes, bytes], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is None and type(fit.estimator) in self.kinds and _has_a_path(fit.estimator):
                family = families.of(fit)
                if family is not None and (data.y if fit.y is None else fit.y).ndim == 1:
                    groups[family, fit.train_key].append(fit)
        several = [group for group in groups.values() if len(group) > 1]
        return [Job(self, tuple(group)) for group in several] if several and full_precision(data) else []

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Go along the path, and let the model at each penalty answer."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        first = job.fits[0]
        index = first.train.index
        X, y = data.take(index), (data.y if first.y is None else first.y)[index]
        start = time.perf_counter()
        models = path_of(seeded(first.estimator, first.seeds), X, y, [fit.estimator.alpha for fit in job.fits])
        share = (time.perf_counter() - start) / len(job.fits)
        outcomes = []
        for fit, model in zip(job.fits, models, strict=True):
            if model is None:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + share))
            else:
                outcomes.append(Outcome(fit.key, respond(model, fit.asks, data, None), share, self.name, None, model))
        return outcomes


def path_of(lasso: Any, X: Any, y: Any, alphas: Sequence[float]) -> list[Any]:
    """Return the models of one estimator at several penalties; None where it has not come close to the least."""
    X, y = validate_data(lasso, X, y, dtype=np.float64, order="F", copy=True, y_numeric=True)
    y = y.astype(np.float64)
    X_mean, y_mean = np.zeros(X.shape[1]), np.float64(0.0)
    if lasso.fit_intercept:
        X_mean, y_mean = X.mean(axis=0), y.mean()
        X -= X_mean
        y -= y_mean
    order = np.argsort(-np.asarray(alphas, dtype=np.float64), kind="stable")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # plain fitting says so itself, if it comes to that
        _, coefs, gaps, rounds = enet_path(
            X,
            y,
            alphas=[float(alphas[i]) for i in order],
            l1_ratio=float(lasso.l1_ratio),
            precompute=bool(lasso.precompute),
            copy_X=False,
            positive=bool(lasso.positive),
            max_iter=lasso.max_iter,
            tol=lasso.tol,
            return_n_iter=True,
        )
    models: list[Any] = [None] * len(alphas)
    enough = lasso.tol * (y @ y) / len(y)
    for place, coef, gap, count in zip(order, coefs.T, gaps, rounds, strict=True):
        if gap <= enough and np.isfinite(coef).all():
            model = copy(lasso)
            model.alpha, model.coef_, model.dual_gap_, model.n_iter_ = alphas[place], coef.copy(), gap, count
            model.intercept_ = y_mean - X_mean @ coef if lasso.fit_intercept else 0.0
            models[place] = model
    return models


def _has_a_path(lasso: Any) -> bool:
    """Whether there is a penalty, columns are gone through in order, and all starts anew."""
    penalised = is_size(lasso.alpha) and lasso.alpha > 0 and is_size(lasso.l1_ratio) and 0 < lasso.l1_ratio <= 1
    count = lasso.max_iter
    counted = isinstance(count, int | np.integer) and not is_switch(count) and bool(count >= 1)
    switches = all(is_switch(one) for one in (lasso.fit_intercept, lasso.precompute, lasso.copy_X, lasso.positive))
    in_order = isinstance(lasso.selection, str) and lasso.selection == "cyclic"
    ends = is_size(lasso.tol) and lasso.tol > 0
    anew = is_switch(lasso.warm_start) and not lasso.warm_start
    return bool(penalised and counted and switches and in_order and ends and anew and is_seed(lasso.random_state))
