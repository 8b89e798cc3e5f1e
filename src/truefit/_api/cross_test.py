"""How good is Agghoo on rows that had no part in it?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_for_one_call, engine_or_new
from truefit._api.validation import resolve_metric, resolve_seed
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.agghoo.cross_test import (
    Correction,
    CrossTestConfig,
    check_correction,
    cross_test_plan,
    is_triangle,
    nested_splits,
)
from truefit._methods.agghoo.cross_test_result import CrossTest
from truefit._methods.agghoo.plan import splits_for
from truefit._methods.assessment.estimate import check_interval_choice


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
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> CrossTest:
    """Say how good Agghoo is on rows that had no part in it: trained anew without each test set, and judged there.

    The members' validation scores cannot say it: they are the best of many, and of single models.

    Parameters
    ----------
    agghoo : AgghooRegressor or AgghooClassifier
        Its candidates, its scoring and its way of aggregating are used; its own ``cv`` is for fitting it.
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    cv : int, splitter, or iterable of (train, test), default=5
        The test sets.
    inner_cv : int or splitter, optional
        How the rows outside a test set are split for Agghoo. By default by the other folds of the same partition, so
        that K(K-1)/2 fits of each candidate serve all K test sets; a number or a splitter gives each training set
        splits of its own, as in the paper, for K times as many fits as Agghoo takes.
    metric : str, optional
        What is reported; by default what Agghoo chooses by.
    correction : {"learning_curve"}, optional
        Add what the validation score changes from inner training sets to those without one fold: the estimate is then
        of Agghoo trained on all rows. In simulation it had the smaller bias in 4 of 11 settings: see docs/agghoo.md.
    baseline : bool, default=True
        Fit every candidate without each single fold too, for ``mean_validation`` and ``cv_refit``: K more fits of each.
    level, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`. By default the engine is that of ``agghoo``.

    Returns
    -------
    CrossTest

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
    check_interval_choice("auto", level)
    check_correction(correction, baseline)
    if not hasattr(agghoo, "agghoo_terms"):
        raise InvalidInput(
            "cross_test is for an AgghooRegressor or AgghooClassifier. Got "
            f"{type(agghoo).__name__}; use assess for other estimators, and put preprocessing into Agghoo's candidates."
        )
    config = agghoo.agghoo_terms(y)
    data = Data(X, y, task=config.task, groups=groups, weight=sample_weight)
    config.check(data)
    chosen = config.metric if metric is None else resolve_metric(data, metric, pos_label)
    chosen.responses(agghoo)
    seed = resolve_seed(random_state)
    splits = splits_for(data, cv, seed)
    inner = nested_splits(data, splits, cv, inner_cv, seed)
    spelled_out = CrossTestConfig(
        config, splits, inner, is_triangle(splits, inner_cv), chosen, baseline, correction, level
    )
    plan = cross_test_plan(spelled_out, data)
    shared = agghoo.engine if engine is None else engine
    if shared is not None:
        return engine_or_new(shared).run(plan, data, description="cross-test")
    own = engine_for_one_call(workers=1 if agghoo.n_jobs is None else agghoo.n_jobs, on_error="record")
    try:
        return own.run(plan, data, description="cross-test")
    finally:
        own.stop_workers()
