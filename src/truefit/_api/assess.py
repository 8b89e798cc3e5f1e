"""How good is a learner?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.metric import metric_for
from truefit._api.seed import seed_of
from truefit._core.data import Data
from truefit._methods.assessment.estimate import IntervalChoice, check_interval_choice
from truefit._methods.assessment.plan import assess_plan
from truefit._methods.assessment.result import Assessment
from truefit._methods.candidates import Candidates
from truefit._methods.splitting.designs import make_design


def assess(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    design: Any = "kfold",
    k: int = 5,
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
    design : str, splitter, or iterable of (train, test), default="kfold"
        How rows are split. With a name the folds depend on the rows, ``k`` and ``random_state`` alone, so that
        other methods on the same engine share the fits.

        - "kfold": each of k folds is tested on by the model trained on the others.
        - "holdout": the first of ``k`` folds is tested on. "threeway": a second one is to choose on, so that the
          test rows have no part in the choice of ``best``.
        - "nested": k folds, and every pair of folds left out too, which shows how much the learner itself varies.
        - "loo": leave-one-out.
        - "bootstrap": rows left out of samples drawn with replacement; ".632" and ".632+" weigh them with the error
          on the training rows (Efron and Tibshirani 1997).
    k : int, default=5
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
        Rows of one group are never split up by "kfold" and "holdout". Weights go to fit and to scores.
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
    candidates = Candidates(estimator, y)
    data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
    chosen = metric_for(data, metric, pos_label)
    method = "corrected_t" if conservative and interval == "auto" else interval
    spelled_out = make_design(
        data, design, chosen, k=k, repeats=repeats, interval=method, random_state=seed_of(random_state)
    )
    plan = assess_plan(candidates, data, spelled_out, chosen, level=level)
    return engine_or_new(engine).run(plan, data, description="assess")
