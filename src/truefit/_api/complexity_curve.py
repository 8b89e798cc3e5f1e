"""Is a learner too simple or too rich?"""

from __future__ import annotations

from typing import Any

from truefit._api.deprecation import DESIGN_TO_CV, K_TO_CV, renamed_keywords
from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_metric, resolve_seed
from truefit._core.errors import InvalidInput
from truefit._methods.assessment.complexity_curve import ComplexityCurve, complexity_curve_plan, points_along
from truefit._methods.assessment.estimate import IntervalChoice, check_interval_choice
from truefit._methods.splitting.designs import make_design


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
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> ComplexityCurve:
    """Follow the error along a parameter that makes the learner simpler or richer, on training and on test rows.

    Where both are high the learner is too simple; where the training error is low and the test error high it is too
    rich. Parameters along which one fit contains the others, such as the stages of boosting, take one fit per split.

    Parameters
    ----------
    estimator : estimator
    X, y : table and target
    parameter : str
        Name of the parameter, as ``set_params`` takes it.
    values : list
        What it is set to.
    cv, design, repeats, metric, interval, level, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`.

    Returns
    -------
    ComplexityCurve

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = complexity_curve(DecisionTreeClassifier(random_state=0), X, y, parameter="max_depth", values=[1, 3, 9])
    >>> curve.table["train"].round(2).tolist()
    [0.07, 0.03, 0.0]
    """
    check_interval_choice(interval, level)
    candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight)
    if not candidates.single:
        raise InvalidInput(
            f"A complexity curve is of one estimator. Got {len(candidates.names)}; ask for one at a time."
        )
    chosen = resolve_metric(data, metric, pos_label)
    splits = make_design(
        data, chosen, cv=cv, design=design, repeats=repeats, interval=interval, random_state=resolve_seed(random_state)
    )
    points = points_along(candidates.estimators[candidates.names[0]], parameter, values, splits)
    plan = complexity_curve_plan(points, data, chosen, varied=parameter, level=level)
    return engine_or_new(engine).run(plan, data, description="complexity curve")
