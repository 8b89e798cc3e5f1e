"""Is a learner too simple or too rich?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.metric import metric_for
from truefit._api.seed import seed_of
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.assessment.complexity_curve import ComplexityCurve, complexity_curve_plan, points_along
from truefit._methods.assessment.estimate import IntervalChoice, check_interval_choice
from truefit._methods.candidates import Candidates
from truefit._methods.splitting.designs import make_design


def complexity_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    parameter: str,
    values: Any,
    design: Any = "kfold",
    k: int = 5,
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
    design, k, repeats, metric, interval, level, pos_label, groups, sample_weight, random_state, engine
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
    candidates = Candidates(estimator, y)
    if not candidates.single:
        raise InvalidInput(
            f"A complexity curve is of one estimator. Got {len(candidates.names)}; ask for one at a time."
        )
    data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
    chosen = metric_for(data, metric, pos_label)
    spelled_out = make_design(
        data, design, chosen, k=k, repeats=repeats, interval=interval, random_state=seed_of(random_state)
    )
    points = points_along(candidates.estimators[candidates.names[0]], parameter, values, spelled_out)
    plan = complexity_curve_plan(points, data, chosen, varied=parameter, level=level)
    return engine_or_new(engine).run(plan, data, description="complexity curve")
