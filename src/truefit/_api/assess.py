"""How good is a learner?"""

from __future__ import annotations

from typing import Any

from truefit._api.deprecation import DESIGN_TO_CV, K_TO_CV, renamed_keywords
from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_metric, resolve_seed
from truefit._methods.assessment.estimate import IntervalChoice, check_interval_choice
from truefit._methods.assessment.plan import assess_plan
from truefit._methods.assessment.result import Assessment
from truefit._methods.splitting.designs import make_design


@renamed_keywords(DESIGN_TO_CV, K_TO_CV)
def assess(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    design: str | None = None,
    repeats: int | None = None,
    metric: str | None = None,
    interval: IntervalChoice = "auto",
    conservative: bool = False,
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Assessment:
    """Say how good a learner is, with an interval.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    cv : int, splitter, or iterable of (train, test), default=5
        A number of folds, each tested on by the model trained on the others; or a scikit-learn splitter, or the
        splits themselves. The folds of a number depend on the rows, the number and ``random_state`` alone, so that
        other methods on the same engine share the fits.
    design : str, optional
        How rows are split, where it is not by a splitter. By default "kfold": cross-validation by ``cv``. For the
        other designs ``cv`` is a number of folds, or of no effect.

        - "holdout": the first of ``cv`` folds is tested on. "threeway": a second one is to choose on, so that the
          test rows have no part in the choice of ``best``.
        - "nested": ``cv`` folds, and every pair of folds left out too, which shows how much the learner itself varies.
        - "loo": leave-one-out.
        - "bootstrap": rows left out of samples drawn with replacement; ".632" and ".632+" weigh them with the error
          on the training rows (Efron and Tibshirani 1997).
    repeats : int, optional
        How many partitions or hold-outs are made, by default 1; how many bootstrap samples, by default 100.
    metric : str, optional
        Such as "error", "accuracy", "auc", "mse", "r2", or any scikit-learn scorer name. By default the error of a
        classification and the mean squared error of a regression.
    interval : {"auto", "pooled", "bayle", "corrected_t", "triangle", "nested_cv", "conservative_z"}, default="auto"
        How the interval is made; "auto" takes what was seen to cover for the design and the metric
        (docs/coverage.md), and ``interval_method`` says which that is. "triangle" and "nested_cv" ask for the fits
        without each pair of folds, "conservative_z" for hold-outs within halves of the table.
    conservative : bool, default=False
        Take the wide corrected t interval where ``interval`` is "auto".
    level : float, default=0.95
    pos_label : label, optional
        The positive class where a metric needs one.
    groups, sample_weight : array-like, optional
        Rows of one group are never split up by a number of folds. Weights go to fit and to scores.
    random_state : int, RandomState or None
    engine : Engine, optional

    Returns
    -------
    Assessment

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> result = assess(GaussianNB(), X, y)
    >>> low, high = result.interval
    >>> low < result.estimate < high
    True
    >>> result.score("accuracy") == 1 - result.estimate
    True
    """
    check_interval_choice(interval, level)
    candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight)
    chosen = resolve_metric(data, metric, pos_label)
    method = "corrected_t" if conservative and interval == "auto" else interval
    splits = make_design(
        data, chosen, cv=cv, design=design, repeats=repeats, interval=method, random_state=resolve_seed(random_state)
    )
    plan = assess_plan(candidates, data, splits, chosen, level=level)
    return engine_or_new(engine).run(plan, data, description="assess")
