"""Does a learner fit?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_seed
from truefit._methods.assessment.estimate import check_interval_choice
from truefit._methods.perturbation.config import Mode, PerturbationKind, perturbation_config
from truefit._methods.perturbation.plan import perturb_plan
from truefit._methods.perturbation.result import Perturbation


def perturb(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    levels: Any = None,
    repeats: int | None = None,
    perturbation: PerturbationKind = "auto",
    mode: Mode = "default",
    cv: int | None = 5,
    bounds: bool = False,
    level: float = 0.95,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Perturbation:
    """Say whether a learner fits: put noise into its training data, and see how much of it the learner follows.

    The learner is trained anew on the table with a share r of the labels flipped, and its accuracy on these very labels
    is measured. The decrease rate is minus the slope of the line through (r, accuracy): large where the learner fits
    the concept, near 0 where it memorises or has learned nothing (Perturbed Model Validation, Zhang et al. 2019).

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        All are given the same noise, so that their rates are compared in pairs.
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    levels : list of shares from 0 to 0.5, or "adaptive", optional
        By default those of the paper: 0.05 to 0.50 in steps of 0.05. The undisturbed table is always among them.
        "adaptive" looks at 0, 0.25 and 0.5 first, and goes on with the candidates that cannot be told apart from the
        leader.
    repeats : int, optional
        How often the noise is drawn, by default 10; in paper mode once.
    perturbation : {"auto", "label", "random", "boundary", "feature", "target"}, default="auto"
        What is disturbed; by default labels of a classification and targets of a regression.

        - "label": a share of each class's labels, each flipped to one of the other classes.
        - "random": the same, but a share of all labels.
        - "boundary": a share of each class's labels, most of them near the decision boundary of the first estimator, as
          models see it that had not been trained on the rows.
        - "feature": in a share of the rows each value comes from another row, for each column from one drawn anew.
          Agreement is with the targets, which stay, on the rows as they were trained on.
        - "target": a share of a regression's targets, handed on among themselves; agreement is the correlation of
          fitted and disturbed targets.
    mode : {"default", "paper"}, default="default"
        "paper": one draw, rates without their sign, no cross-validation.
    cv : int or None, default=5
        Folds on which candidates are compared to tell overfitting from harmless memorising; None leaves that out.
    bounds : bool, default=False
        Measure the Rademacher complexity too, and bound the true error by it (Eq. 2 of the paper); for two classes.
    level : float, default=0.95
        Level of the intervals, and of telling rates apart.
    groups, sample_weight : array-like, optional
        Groups are kept together in folds. Weights go to fit and to accuracies.
    random_state : int, RandomState or None
    engine : Engine, optional

    Returns
    -------
    Perturbation

    Notes
    -----
    A learner *memorises* when it follows more than half of the noise (of noise in features or near the boundary, which
    can partly be learned, more than 90%). It is *overfitted* when it memorises and a candidate that memorises less is
    not worse on rows left out, by more than a standard error of their paired difference. It is *underfitted* when its
    training accuracy is not above the share of the largest class by more than 0.05.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = perturb({"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}, X, y, repeats=3)
    >>> result.verdict
    {'bayes': 'no flag', 'tree': 'overfitted'}
    >>> abs(result.rate["tree"]) < 1e-12, result.memorisation["tree"]
    (True, 1.0)
    """
    check_interval_choice("auto", level)
    candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight)
    config = perturbation_config(
        candidates,
        data,
        levels=levels,
        repeats=repeats,
        perturbation=perturbation,
        mode=mode,
        cv=cv,
        bounds=bounds,
        level=level,
        random_state=resolve_seed(random_state),
    )
    return engine_or_new(engine).run(perturb_plan(candidates, config), config.data, description="perturb")
