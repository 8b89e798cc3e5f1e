"""How good is a learner?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import DESIGN_TO_CV, K_TO_CV, read_input, renamed_keywords, resolve_metric, resolve_seed
from truefit._core.validation import check_level
from truefit._methods.assessment.plan import assess_plan
from truefit._methods.assessment.result import Assessment
from truefit._methods.splitting.designs import IntervalChoice, make_design


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
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Assessment:
    """Estimate how good a learner is on new rows, with a confidence interval.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        What is assessed. With several, each number of the result is a dict by name.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table. pandas and polars frames are accepted.
    y : array-like of shape (n_samples,)
        The target.
    cv : int, splitter, or iterable of (train, test), default=5
        Number of folds, a scikit-learn splitter, or the splits themselves. The folds of a number depend on the rows,
        the number and ``random_state`` alone, so other methods on the same engine share the fits.
    design : str, optional
        How rows are split where it is not by a splitter. By default "kfold": cross-validation by ``cv``. For the other
        designs ``cv`` is a number of folds, or has no effect.

        - "holdout": the first of ``cv`` folds holds the test rows. "threeway": a second fold holds validation rows, by
          which ``best`` is selected, so that the test rows have no part in the selection.
        - "nested": ``cv`` folds, and fits without every pair of folds, which show how much the learner itself varies.
        - "loo": leave-one-out.
        - "bootstrap": the rows not drawn into samples with replacement are the test rows; ".632" and ".632+" weigh
          their error with the training error (Efron and Tibshirani 1997).
    repeats : int, optional
        Number of partitions or hold-outs, by default 1; number of bootstrap samples, by default 100.
    metric : str, optional
        Name of a metric, such as "error", "accuracy", "auc", "mse", "r2", or of any scikit-learn scorer. By default
        "error" for a classification and "mse" for a regression. Both are means over rows, which all designs and tests
        accept. ``under("rmse")`` of the result gives the root mean squared error, which :func:`study` reports, with its
        interval and without further fits.
    interval : {"auto", "pooled", "bayle", "corrected_t", "triangle", "nested_cv", "conservative_z"}, default="auto"
        Method of the interval. "auto" takes the one that was measured to cover for the design and the metric
        (docs/coverage.md); ``interval_method`` names it. "triangle" and "nested_cv" request the fits without each pair
        of folds, "conservative_z" hold-outs within halves of the table.
    conservative : bool, default=False
        Take the wide corrected t interval where ``interval`` is "auto".
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
    Assessment
        The estimate, its interval, and the predictions behind them.

    Notes
    -----
    Rows are identified by the bits of their values: float32, float64 and integer copies of a table are
    different tables, with other folds, and may give slightly different numbers. The same values in pandas and polars
    frames are the same.

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
    check_level(level)
    candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight, time=time)
    chosen = resolve_metric(data, metric, pos_label)
    # With time the interval is always that of the next period, which is wide.
    method = "corrected_t" if conservative and interval == "auto" and time is None else interval
    splits = make_design(
        data, chosen, cv=cv, design=design, repeats=repeats, interval=method, random_state=resolve_seed(random_state)
    )
    plan = assess_plan(candidates, data, splits, chosen, level=level, pos_label=pos_label)
    return engine_or_new(engine).run(plan, data, description="assess")
