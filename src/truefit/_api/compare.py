"""Which of several learners is best?"""

from __future__ import annotations

from typing import Any

from truefit._api.deprecation import DESIGN_TO_CV, K_TO_CV, renamed_keywords
from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_metric, resolve_seed
from truefit._methods.assessment.estimate import check_interval_choice
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
    test: TestChoice = "corrected_t",
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Comparison:
    """Say which of several learners is best, and which of the others cannot be told apart from it.

    All are fitted on the same splits and compared pair by pair.

    Parameters
    ----------
    estimators : dict of names to estimators, or list of estimators
        At least two.
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    cv : int, splitter, or iterable of (train, test), default=5
    design : {"kfold", "holdout", "threeway", "nested", "loo"}, optional
        As for :func:`assess`.
    repeats : int, optional
        How many partitions are made, by default 1. One shows large differences only; four show about twice as many.
    reference : str, optional
        Name of the estimator that the others are compared with; "all" for each with each. By default the best.
    rope : float, optional
        Region of practical equivalence: differences of the metric up to this much do not matter. Adds the
        probabilities that a candidate is better, equivalent or worse (Bayesian correlated t test).
    test : {"corrected_t", "pooled"}, default="corrected_t"
        The corrected resampled t test on the scores of the test sets, or a t test on the losses of single rows, which
        sees more from one partition, but too much where learners are unstable.
    level : float, default=0.95
        Level of the intervals; what is seen as different has an adjusted p-value of at most 1 - level.
    metric, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`.

    Returns
    -------
    Comparison

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
    check_interval_choice("auto", level)
    candidates, data = read_input(estimators, X, y, groups=groups, sample_weight=sample_weight)
    chosen = resolve_metric(data, metric, pos_label)
    splits = make_design(
        data, chosen, cv=cv, design=design, repeats=repeats, interval="auto", random_state=resolve_seed(random_state)
    )
    config = CompareConfig(reference, rope, test, level)
    plan = compare_plan(candidates, data, splits, chosen, config)
    return engine_or_new(engine).run(plan, data, description="compare")
