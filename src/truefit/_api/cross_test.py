"""How good is Agghoo on new rows?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_for_one_call, engine_or_new
from truefit._api.validation import refuse_time, resolve_metric, resolve_seed
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.validation import check_level
from truefit._methods.agghoo.cross_test import (
    Correction,
    CrossTest,
    CrossTestConfig,
    check_correction,
    cross_test_plan,
    is_triangle,
    nested_splits,
)
from truefit._methods.splitting.splits import cv_splits


def cross_test(
    agghoo: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    inner_cv: Any = None,
    metric: str | None = None,
    correction: Correction | None = None,
    baseline: bool = True,
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> CrossTest:
    """Estimate how good Agghoo is on new rows: train it without each test set, and evaluate it there.

    The members' validation scores are optimistically biased: they are the best of many, and those of single models.

    Parameters
    ----------
    agghoo : AgghooRegressor or AgghooClassifier
        Its candidates, scoring and aggregation are used. Its own ``cv`` is for fitting it.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table. pandas and polars frames are accepted.
    y : array-like of shape (n_samples,)
        The target.
    cv : int, splitter, or iterable of (train, test), default=5
        The test sets.
    inner_cv : int or splitter, optional
        How the rows outside of a test set are split for Agghoo. By default by the other folds of the same partition, so
        that K(K-1)/2 fits of each candidate serve all K test sets. A number or a splitter gives each training set
        splits of its own, as in the paper, for K times as many fits as Agghoo takes.
    metric : str, optional
        The metric that is reported; by default the one that Agghoo selects by.
    correction : {"learning_curve"}, optional
        Add the change of the validation score from inner training sets to those without one fold: the estimate is then
        that of Agghoo trained on all rows. In simulation it had the smaller bias in 4 of 11 settings: see
        docs/agghoo.md.
    baseline : bool, default=True
        Fit every candidate without each single fold too, for ``mean_validation`` and ``cv_refit``: K more fits of each.
    level : float, default=0.95
        Confidence level of the intervals.
    pos_label : label, optional
        The positive class of a metric that needs one. By default the second class in sorted order.
    groups : array-like, optional
        The group of each row. No group is in training and test rows alike; a splitter that splits one is refused.
    time : None
        Refused, with the reason: Agghoo would average models of the first periods with those of the last ones. Select
        with ``HonestSearchCV.fit(X, y, time=...)``.
    sample_weight : array-like, optional
        The weight of each row, passed to ``fit`` and used in the scores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds. With None they depend on the rows alone, so they are the same in every run.
    engine : Engine, optional
        Runs the fits and keeps their predictions. By default the engine of ``agghoo``.

    Returns
    -------
    CrossTest
        The estimate with its interval, and those of the baselines.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from truefit import AgghooRegressor, Engine, cross_test
    >>> X, y = load_diabetes(return_X_y=True)
    >>> engine = Engine(solvers="plain")
    >>> agghoo = AgghooRegressor(KNeighborsRegressor(), {"n_neighbors": [5, 15, 45]}, engine=engine)
    >>> result = cross_test(agghoo, X, y)
    >>> result.aggregation_gain > 0, engine.stats.run == (10 + 5) * 3
    (True, True)
    >>> agghoo = agghoo.fit(X, y)
    >>> engine.stats.run == (10 + 5) * 3
    True
    """
    refuse_time(
        time,
        "cross_test",
        "Agghoo would average models trained on the first periods only. Use HonestSearchCV with fit(X, y, time=...).",
    )
    check_level(level)
    check_correction(correction, baseline)
    if not hasattr(agghoo, "agghoo_config"):
        raise InvalidInput(
            "cross_test needs an AgghooRegressor or AgghooClassifier. Got "
            f"{type(agghoo).__name__}; use assess for other estimators, and put preprocessing into Agghoo's candidates."
        )
    config = agghoo.agghoo_config(y)
    data = Data(X, y, task=config.task, groups=groups, weight=sample_weight)
    config.check(data)
    chosen = config.metric if metric is None else resolve_metric(data, metric, pos_label)
    chosen.responses(agghoo)
    seed = resolve_seed(random_state)
    splits = cv_splits(data, 5 if cv is None else cv, random_state=seed)
    inner = nested_splits(data, splits, cv, inner_cv, seed)
    triangle = is_triangle(splits, inner_cv)
    plan = cross_test_plan(CrossTestConfig(config, splits, inner, triangle, chosen, baseline, correction, level), data)
    shared = agghoo.engine if engine is None else engine
    if shared is not None:
        return engine_or_new(shared).run(plan, data, description="cross-test")
    own = engine_for_one_call(workers=1 if agghoo.n_jobs is None else agghoo.n_jobs, on_error="record")
    try:
        return own.run(plan, data, description="cross-test")
    finally:
        own.stop_workers()
