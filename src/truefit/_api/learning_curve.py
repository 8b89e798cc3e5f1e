"""Would more data help?"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from truefit._api.deprecation import K_TO_CV, renamed_keywords
from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_folds, resolve_metric, resolve_seed
from truefit._core.data import Data, RowSource
from truefit._core.errors import InvalidInput
from truefit._methods.candidates import Candidates, fewest_training_rows
from truefit._methods.learning_curve.config import LearningCurveConfig, learning_curve_config, rows_to_begin
from truefit._methods.learning_curve.plan import learning_curve_plan
from truefit._methods.learning_curve.result import LearningCurve, LearningCurves
from truefit._methods.learning_curve.samples import SampledRows, sampled_source, sampled_table
from truefit._methods.perturbation.config import Mode

#: A budget counts the seconds in fits; by the clock the start of a worker comes on top.
_START_SECONDS = 3.0


@renamed_keywords(K_TO_CV)
def learning_curve(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    schedule: Any = "adaptive",
    cv: int = 10,
    tolerance: float | None = None,
    horizon: float | None = None,
    budget: Any = None,
    target: float | None = None,
    mode: Mode = "default",
    metric: str | None = None,
    level: float = 0.95,
    train: bool = False,
    batches: Any = None,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> LearningCurve | LearningCurves:
    """Say whether more data would help: measure the error in samples that grow, until that is known.

    Each sample contains the one before, and is cross-validated in itself. Rows are used only as far as they are
    needed: where what is still to be gained does not matter any more, the curve ends.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        Each has a curve of its own, with sizes of its own.
    X, y : table and target
        Whatever scikit-learn takes; or, in place of both, rows on demand (:class:`truefit._core.data.RowSource`),
        of which no more are read than are needed.
    schedule : {"adaptive", "paper"} or list of int, default="adaptive"
        At which sizes to measure. "adaptive": each 1.1 to 2 times the one before, as far as it takes for the error to
        fall by more than its noise. "paper": 80, 90, 100, 200, ..., 1000, 2000, ... A list is measured in full.
    cv : int, default=10
        Folds inside each sample. That of all rows has the folds of :func:`assess`, and shares its fits.
    tolerance : float, optional
        How much of an error does not matter. By default 0.02; of a loss 2% of the largest measured.
    horizon : float, optional
        Rows that could be had at most, by default those there are; where all of them are used, ten times as many.
    budget : int or dict, optional
        Rows that may be used; or a dict with some of "rows", "seconds" (in fits), and "money" at a "price_per_row".
        Fits that are still running when so many seconds have passed by the clock, and 3 more, are stopped; so with
        "seconds" they are run in a worker process, even by one worker.
    target : float, optional
        An error that is enough.
    mode : {"default", "paper"}, default="default"
        "paper": Procedure 1 of Brumen et al. (2007), with its sizes, fit, intervals and stopping rule.
    metric : str, optional
        A loss, such as "error", "log_loss", "mse" or "mae". By default the error of a classification and the mean
        squared error of a regression.
    level : float, default=0.95
        Level of the intervals, from 0.2 to 0.99.
    train : bool, default=False
        Whether to measure the error on the training rows too. Fits that were made without it are made again.
    batches : list of int, optional
        Where rows came one batch after the other: the number of rows after each batch. Rows that were there before keep
        their places in the samples, so that with the same store only what is new is fitted. Of rows on demand, which
        keep their places by themselves: how many there were at earlier calls.
    pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`.

    Returns
    -------
    LearningCurve, or LearningCurves of several estimators

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_digits(return_X_y=True)
    >>> curve = learning_curve(GaussianNB(), X, y, cv=5)
    >>> curve.stopped, curve.rule, curve.refused
    (True, 'gain', None)
    >>> value, low, high = curve.predict(10_000)
    >>> bool(low < value < curve.errors[-1])
    True
    """
    started = time.monotonic()
    engine, seed = engine_or_new(engine), resolve_seed(random_state)
    source = X if y is None and isinstance(X, RowSource) else None
    if source is not None and not (groups is None and sample_weight is None):
        raise InvalidInput("Groups and weights must come with a table in memory. Got rows on demand; leave them out.")
    folds = resolve_folds(cv, why="each sample is cross-validated in itself")
    wanted = rows_to_begin(schedule)
    while True:
        if source is None:
            candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight)
            sampled = sampled_table(data, batches=batches, random_state=seed)
        else:
            taken = source.take(wanted)
            candidates = Candidates(estimator, taken[1])
            if candidates.task == "classification" and len(taken[1]) == wanted and len(np.unique(taken[1])) < 2:
                wanted *= 2  # the first rows may well be of one class
                continue
            sampled = sampled_source(source, wanted, Data(*taken, task=candidates.task), batches=batches)
        chosen = resolve_metric(sampled.data, metric, pos_label)
        config = learning_curve_config(
            sampled,
            chosen,
            schedule=schedule,
            k=folds,
            budget=budget,
            mode=mode,
            level=level,
            tolerance=tolerance,
            horizon=horizon,
            target=target,
            train=train,
            random_state=seed,
            trained_on=fewest_training_rows(candidates.estimators.values()),
        )
        if config is None:
            wanted *= 2
            continue
        allowed = config.budget.seconds
        left = None if allowed is None else allowed + _START_SECONDS - (time.monotonic() - started)
        curves = _curves(candidates, sampled, config, engine, left)
        ahead = [curve.next_size for curve in curves.values() if not curve.stopped and curve.next_size is not None]
        if not ahead:
            return curves[candidates.names[0]] if candidates.single else LearningCurves(curves)
        wanted = min(ahead)


def _curves(
    candidates: Candidates, sampled: SampledRows, config: LearningCurveConfig, engine: Engine, seconds: float | None
) -> dict[str, LearningCurve]:
    plans = [(learning_curve_plan(name, each, sampled, config), sampled.data) for name, each in candidates]
    found = engine.run_all(plans, seconds=seconds, description="learning curve")
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return dict(zip(candidates.names, found, strict=True))
