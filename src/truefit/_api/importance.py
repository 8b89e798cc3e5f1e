"""Which columns matter?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_metric, resolve_seed
from truefit._core.errors import InvalidInput
from truefit._core.validation import check_level
from truefit._methods.importance.plan import ImportanceConfig, importance_plan
from truefit._methods.importance.result import Importance
from truefit._methods.splitting.splits import cv_splits, whole_number


def importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    metric: str | None = None,
    cv: Any = 5,
    repeats: int = 5,
    correlated: float | None = 0.8,
    fewest: bool = False,
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Importance:
    """Measure which columns a model needs: by how much worse it predicts held-out rows when a column is permuted.

    The model of each fold predicts the rows that it was not trained on, with the values of one column permuted among
    them (Breiman 2001). Columns are those of X as it is given: text, dates and categories in a pipeline that encodes
    them are each permuted as a whole. Columns that are correlated stand in for each other when one of them is permuted
    alone, so they are also permuted together.

    Parameters
    ----------
    estimator : estimator, or dict of a name to an estimator
        Whose importances are measured.
    X : array-like or data frame of shape (n_samples, n_features)
        The table. pandas and polars frames are accepted.
    y : array-like of shape (n_samples,)
        The target.
    metric : str, optional
        Name of a metric. By default "error" for a classification and "mse" for a regression.
    cv : int, splitter, or iterable of (train, test), default=5
        Number of folds, a scikit-learn splitter, or the splits themselves.
    repeats : int, default=5
        Number of permutations of each column on each fold.
    correlated : float or None, default=0.8
        Columns in which each two have an association of at least this are also permuted together: Spearman's rank
        correlation of numbers, Cramér's V of categories, the correlation ratio between the two. None: no sets.
    fewest : bool, default=False
        Find the fewest columns that do as well as all, within one standard error. Columns are left out from the least
        important on, within each outer fold, so that ``result.fewest`` can say how well the choice does on new rows.
        Takes some 60 fits per doubling of the number of columns.
    level : float, default=0.95
        Confidence level of the intervals.
    pos_label : label, optional
        The positive class of a metric that needs one. By default the second class in sorted order.
    groups : array-like, optional
        The group of each row. Folds never split a group, and the intervals count groups.
    time : array-like or str, optional
        The time of each row, or the name of a column of X, which is then no feature. Each period is predicted by a
        model trained on the rows before it, and permuted within the period.
    sample_weight : array-like, optional
        The weight of each row, passed to ``fit`` and used in the metric.
    random_state : int, RandomState, Generator or None, default=None
        Seed of folds and permutations. With None they depend on the rows alone, so they are the same in every run.
    engine : Engine, optional
        Runs the fits. Folds that the engine has fitted for another method are refitted at most once, to have their
        models.

    Returns
    -------
    Importance
        The importance of each column with its interval and its range of ranks.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> result = importance(Ridge(alpha=0.1), X, y, metric="rmse")
    >>> result.table.index[0], bool(result.table["important"].iloc[0])
    ('bmi', True)
    >>> result.sets.index.tolist()
    ['s1 + s2']
    """
    check_level(level)
    repeats = whole_number(repeats, "The 'repeats' parameter")
    candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight, time=time)
    if len(candidates) > 1:
        raise InvalidInput(
            f"importance is of one estimator. Got {len(candidates)}: {', '.join(candidates.names)}; call it for each, "
            "with one engine."
        )
    chosen, seed = resolve_metric(data, metric, pos_label), resolve_seed(random_state)
    (name, settled), splits = next(iter(candidates)), cv_splits(data, cv, random_state=seed)
    config = ImportanceConfig(name, settled, splits, chosen, repeats, correlated, level, seed, fewest=fewest)
    return engine_or_new(engine).run(importance_plan(config, data), data, description="importance")
