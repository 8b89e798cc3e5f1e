"""Which of several learners is best?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import DESIGN_TO_CV, K_TO_CV, read_input, renamed_keywords, resolve_metric, resolve_seed
from truefit._core.validation import check_level
from truefit._methods.comparison.plan import CompareConfig, TestChoice, compare_plan
from truefit._methods.comparison.result import Comparison
from truefit._methods.splitting.designs import make_design


@renamed_keywords(DESIGN_TO_CV, K_TO_CV)
def compare(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    design: str | None = None,
    repeats: int | None = None,
    metric: str | None = None,
    reference: str | None = None,
    rope: float | None = None,
    test: TestChoice = "auto",
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Comparison:
    """Find the best of several learners, and those that do not differ significantly from it.

    All are fitted on the same splits and compared in pairs.

    Parameters
    ----------
    estimators : dict of names to estimators, or list of estimators
        At least two candidates.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table. pandas and polars frames are accepted.
    y : array-like of shape (n_samples,)
        The target.
    cv : int, splitter, or iterable of (train, test), default=5
        Number of folds, a scikit-learn splitter, or the splits themselves. The folds of a number depend on the rows,
        the number and ``random_state`` alone, so other methods on the same engine share the fits.
    design : {"kfold", "holdout", "threeway", "nested", "loo"}, optional
        How rows are split where it is not by a splitter; see :func:`assess`.
    repeats : int, optional
        Number of partitions, by default 1. One partition shows large differences only; four show about twice as many.
    metric : str, optional
        Name of a metric, such as "error", "accuracy", "auc", "mse", "r2", or of any scikit-learn scorer. By default
        "error" for a classification and "mse" for a regression.
    reference : str, optional
        Name of the estimator that the others are compared with, or "all" for every pair. By default the best one.
    rope : float, optional
        Region of practical equivalence: the largest difference of the metric that does not matter. Adds the
        probabilities that a candidate is better, equivalent or worse (Bayesian correlated t test).
    test : {"auto", "corrected_t", "pooled"}, default="auto"
        The corrected resampled t test on the scores of the test sets, or a t test on the losses of single rows. The
        latter has more power with one partition, and too many false positives for unstable learners. "auto" is the
        former; with 20 or more groups and a 0-1 loss it is the latter, with a standard error from whole groups.
    level : float, default=0.95
        Confidence level of the intervals. A difference is significant if its adjusted p-value is at most 1 - level.
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
    Comparison
        The best candidate, those tied with it, and the differences with p-values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"dummy": DummyClassifier(), "bayes": GaussianNB(), "logistic": LogisticRegression(max_iter=500)}
    >>> result = compare(models, X, y)
    >>> result.best, result.ties
    ('logistic', ['bayes', 'logistic'])
    """
    check_level(level)
    candidates, data = read_input(estimators, X, y, groups=groups, sample_weight=sample_weight, time=time)
    chosen = resolve_metric(data, metric, pos_label)
    splits = make_design(
        data, chosen, cv=cv, design=design, repeats=repeats, interval="auto", random_state=resolve_seed(random_state)
    )
    config = CompareConfig(reference, rope, test, level)
    plan = compare_plan(candidates, data, splits, chosen, config)
    return engine_or_new(engine).run(plan, data, description="compare")
