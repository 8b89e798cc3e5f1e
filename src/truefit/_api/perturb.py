"""Does a learner fit?"""

from __future__ import annotations

from typing import Any

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_seed
from truefit._core.validation import check_level
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
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Perturbation:
    """Test whether a learner overfits: inject noise into its training data, and measure how much of it is memorised.

    The learner is refitted on the table with a share r of the labels flipped, and its accuracy on these noisy labels is
    measured. The decrease rate is minus the slope of the line through (r, accuracy): large where the learner fits the
    concept, near 0 where it memorises or has learned nothing (Perturbed Model Validation, Zhang et al. 2019).

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        The learners. All get the same noise, so that their rates are compared in pairs.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table. pandas and polars frames are accepted.
    y : array-like of shape (n_samples,)
        The target.
    levels : list of shares from 0 to 0.5, or "adaptive", optional
        Noise levels. By default those of the paper: 0.05 to 0.50 in steps of 0.05. The table without noise is always
        included. "adaptive" starts with 0, 0.25 and 0.5, and continues with the candidates that do not differ
        significantly from the leader.
    repeats : int, optional
        Number of noise draws, by default 10; in paper mode 1.
    perturbation : {"auto", "label", "random", "boundary", "feature", "target"}, default="auto"
        What is perturbed. By default the labels of a classification and the targets of a regression.

        - "label": a share of each class's labels, each flipped to one of the other classes.
        - "random": the same, but a share of all labels.
        - "boundary": a share of each class's labels, most of them near the decision boundary of the first estimator, as
          seen by models that were not trained on these rows.
        - "feature": in a share of the rows each value is replaced by that of another row, drawn for each column. The
          targets stay; accuracy is measured on the perturbed rows.
        - "target": a share of a regression's targets, permuted among themselves; the correlation of fitted and
          perturbed targets takes the place of accuracy.
    mode : {"default", "paper"}, default="default"
        "paper": one draw, rates without their sign, no cross-validation.
    cv : int or None, default=5
        Number of folds on which candidates are compared to distinguish overfitting from harmless memorisation. None
        skips that.
    bounds : bool, default=False
        Measure the Rademacher complexity too, and bound the true error by it (Eq. 2 of the paper); for two classes.
    level : float, default=0.95
        Confidence level of the intervals, and of the test between rates.
    groups : array-like, optional
        The group of each row. Folds never split a group between training and test rows.
    time : array-like or str, optional
        The time of each row (numbers or dates), or the name of a column of X, which is then no feature. The errors on
        held-out rows are then those of ``cv`` periods, each tested by a model trained on the rows before it. The noise
        is drawn from all rows.
    sample_weight : array-like, optional
        The weight of each row, passed to ``fit`` and used in the scores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the noise and the folds. With None they depend on the rows alone, so they are the same in every run.
    engine : Engine, optional
        Runs the fits and keeps their predictions. Calls that share an engine share equal fits. By default a new engine
        in memory.

    Returns
    -------
    Perturbation
        Decrease rate, memorisation and verdict of each estimator.

    Notes
    -----
    A learner *memorises* when it follows more than half of the noise (of noise in features or near the
    boundary, which can partly be learned, more than 90%). It is *overfitted* when it memorises and a candidate that
    memorises less is not worse on held-out rows, by more than a standard error of their paired difference. It is
    *underfitted* when its training accuracy is not above the share of the largest class by more than 0.05.

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
    check_level(level)
    candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight, time=time)
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
