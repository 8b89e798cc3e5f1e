"""Would more data help?"""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import (
    K_TO_CV,
    read_input,
    refuse_time,
    renamed_keywords,
    resolve_folds,
    resolve_metric,
    resolve_seed,
)
from truefit._core.data import Data, RowSource
from truefit._core.errors import InvalidInput
from truefit._methods.candidates import Candidates, fewest_training_rows
from truefit._methods.learning_curve.config import (
    LearningCurveConfig,
    SampledRows,
    learning_curve_config,
    rows_to_begin,
    sampled_source,
    sampled_table,
)
from truefit._methods.learning_curve.plan import learning_curve_plan
from truefit._methods.learning_curve.result import LearningCurve, LearningCurves
from truefit._methods.perturbation.config import Mode

#: A budget counts the seconds in fits; the start of a worker comes on top.
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
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> LearningCurve | LearningCurves:
    """Measure the error on growing samples, until it is known whether more data would help.

    Each sample contains the one before, and is cross-validated in itself. No more rows are used than needed: the curve
    ends where the remaining gain is below the tolerance.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        The learners. Each has a curve of its own, with sizes of its own.
    X : array-like, sparse matrix, data frame or RowSource
        The table; or, without ``y``, rows on demand, of which no more are read than needed.
    y : array-like of shape (n_samples,), optional
        The target; None with rows on demand.
    schedule : {"adaptive", "paper"} or list of int, default="adaptive"
        Sizes to measure. "adaptive": each 1.1 to 2 times the one before, as far as needed for the error to fall by more
        than its noise. "paper": 80, 90, 100, 200, ..., 1000, 2000, ... A list is measured in full.
    cv : int, default=10
        Folds inside each sample. The sample of all rows has the folds of :func:`assess`, and shares its fits.
    tolerance : float, optional
        The change of the error that does not matter. By default 0.02; of a loss 2% of the largest measured.
    horizon : float, optional
        The largest number of rows that could be collected. By default those there are; where all of them are used, ten
        times as many.
    budget : int or dict, optional
        Rows that may be used; or a dict with some of "rows", "seconds" (in fits), and "money" at a "price_per_row".
        Fits still running 3 seconds after "seconds" of wall-clock time are stopped, so with "seconds" they run in a
        worker process, even with one worker.
    target : float, optional
        An error that is low enough.
    mode : {"default", "paper"}, default="default"
        "paper": Procedure 1 of Brumen et al. (2007), with its sizes, fit, intervals and stopping rule.
    metric : str, optional
        A loss, such as "error", "log_loss", "mse" or "mae". By default "error" for a classification and "mse" for a
        regression.
    level : float, default=0.95
        Confidence level of the intervals, from 0.2 to 0.99.
    train : bool, default=False
        Whether to measure the training error too. Fits that were run without it are repeated.
    batches : list of int, optional
        Where rows came in batches: the number of rows after each batch. Earlier rows keep their places in the samples,
        so that with the same store only new rows are fitted. With rows on demand, which keep their places by
        themselves: the numbers of rows at earlier calls.
    pos_label : label, optional
        The positive class of a metric that needs one. By default the second class in sorted order.
    groups : array-like, optional
        The group of each row. Samples hold whole groups, and folds never split one, so sizes may be slightly smaller.
    time : None
        Refused, with the reason: growing samples of rows in time order are older and older rows. Assess with
        ``cv=TimeSeriesSplit(max_train_size=n)`` and several n to see whether older rows help.
    sample_weight : array-like, optional
        The weight of each row, passed to ``fit`` and used in the scores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the samples and folds. With None they depend on the rows alone, so they are the same in every run.
    engine : Engine, optional
        Runs the fits and keeps their predictions. Calls that share an engine share equal fits. By default a new engine
        in memory.

    Returns
    -------
    LearningCurve, or LearningCurves of several estimators
        The measured errors, their extrapolation, and the reason why the curve ended.

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
    refuse_time(
        time,
        "learning_curve",
        "its samples are drawn at random. To see whether older rows help, call assess with time= and "
        "cv=TimeSeriesSplit(max_train_size=n) for several n.",
    )
    started = monotonic()
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
                wanted *= 2  # the first rows may be of one class
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
        left = None if allowed is None else allowed + _START_SECONDS - (monotonic() - started)
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
