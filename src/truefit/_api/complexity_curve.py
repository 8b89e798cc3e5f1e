"""Is a learner too simple or too rich?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import DESIGN_TO_CV, K_TO_CV, read_input, renamed_keywords, resolve_metric, resolve_seed
from truefit._core.errors import InvalidInput
from truefit._core.validation import check_level
from truefit._methods.assessment.complexity_curve import ComplexityCurve, complexity_curve_plan, settings_along
from truefit._methods.splitting.designs import IntervalChoice, make_design


@renamed_keywords(DESIGN_TO_CV, K_TO_CV)
def complexity_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    parameter: str,
    values: Any,
    cv: Any = 5,
    design: str | None = None,
    repeats: int | None = None,
    metric: str | None = None,
    interval: IntervalChoice = "auto",
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> ComplexityCurve:
    """Measure training and test error along a parameter that makes the learner simpler or more complex.

    Where both are high the learner underfits; where the training error is low and the test error high it overfits.
    Parameters along which one fit contains the others, such as the stages of boosting, take one fit per split.

    Parameters
    ----------
    estimator : estimator
        The learner; one at a time.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table. pandas and polars frames are accepted.
    y : array-like of shape (n_samples,)
        The target.
    parameter : str
        Name of the parameter, as ``set_params`` takes it.
    values : list
        Values of the parameter, in the order in which they are drawn.
    cv : int, splitter, or iterable of (train, test), default=5
        Number of folds, a scikit-learn splitter, or the splits themselves. The folds of a number depend on the rows,
        the number and ``random_state`` alone, so other methods on the same engine share the fits.
    design : str, optional
        How rows are split where it is not by a splitter; see :func:`assess`.
    repeats : int, optional
        Number of partitions or hold-outs, by default 1; number of bootstrap samples, by default 100.
    metric : str, optional
        Name of a metric, such as "error", "accuracy", "auc", "mse", "r2", or of any scikit-learn scorer. By default
        "error" for a classification and "mse" for a regression.
    interval : {"auto", "pooled", "bayle", "corrected_t", "triangle", "nested_cv", "conservative_z"}, default="auto"
        Method of the interval of each test value; see :func:`assess`.
    level : float, default=0.95
        Confidence level of the intervals.
    pos_label : label, optional
        The positive class of a metric that needs one. By default the second class in sorted order.
    groups : array-like, optional
        The group of each row. No group is in training and test rows alike; a splitter that splits one is refused.
    time : array-like or str, optional
        The time of each row (numbers or dates), or the name of a column of X, which is then no feature. Rows are not
        shuffled: ``cv`` is a number of periods, each tested by a model trained on the rows before it, or a scikit-learn
        ``TimeSeriesSplit``. The estimate is then for the next period (docs/guide/time.md).
    sample_weight : array-like, optional
        The weight of each row, passed to ``fit`` and used in the scores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds. With None they depend on the rows alone, so they are the same in every run.
    engine : Engine, optional
        Runs the fits and keeps their predictions. Calls that share an engine share equal fits. By default a new engine
        in memory.

    Returns
    -------
    ComplexityCurve
        Training and test values at each value of the parameter.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = complexity_curve(DecisionTreeClassifier(random_state=0), X, y, parameter="max_depth", values=[1, 3, 9])
    >>> curve.table["train"].round(2).tolist()
    [0.07, 0.03, 0.0]
    """
    check_level(level)
    candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight, time=time)
    if not candidates.single:
        raise InvalidInput(f"A complexity curve takes one estimator. Got {len(candidates)}; pass one at a time.")
    chosen = resolve_metric(data, metric, pos_label)
    splits = make_design(
        data, chosen, cv=cv, design=design, repeats=repeats, interval=interval, random_state=resolve_seed(random_state)
    )
    settings = settings_along(candidates.estimators[candidates.names[0]], parameter, values)
    plan = complexity_curve_plan(settings, data, splits, chosen, varied=parameter, level=level)
    return engine_or_new(engine).run(plan, data, description="complexity curve")
