"""How much of the error is bias, and how much is variance?"""

from __future__ import annotations

from typing import Any, Literal

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, resolve_seed
from truefit._core.concatenation import stacked_data
from truefit._methods.bias_variance import BiasVariance, bias_variance_config, bias_variance_plan
from truefit._methods.candidates import Candidates


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    rounds: int = 200,
    loss: Literal["auto", "squared", "0-1"] = "auto",
    X_test: Any = None,
    y_test: Any = None,
    noise: float | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> BiasVariance:
    """Say how much of a learner's error is bias and how much is variance.

    The learner is trained on bootstrap samples. Each model is judged on the rows that its sample left out, or on a
    test set. For each row the loss is split up over the models that judged it, and the parts are averaged over the
    rows, so that they sum to the expected loss.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
    X, y : table and target
    rounds : int, default=200
        How many bootstrap samples.
    loss : {"auto", "squared", "0-1"}, default="auto"
        By default squared loss for a regression and 0-1 loss for a classification (Domingos 2000, with noise 0). The
        squared loss of a classification is that of its probabilities, the Brier score.
    X_test, y_test : table and target, optional
        Rows to judge on in the place of those left out; nothing is trained on them.
    noise : float, optional
        The variance of the noise in y, where it is known: it is set apart from the squared bias.
    groups, sample_weight : array-like, optional
        Whole groups are drawn. Weights go to fit and to the mean over the rows; test rows count alike.
    random_state : int, RandomState or None
    engine : Engine, optional

    Returns
    -------
    BiasVariance

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = {"stump": DecisionTreeRegressor(max_depth=1), "full tree": DecisionTreeRegressor()}
    >>> result = bias_variance(trees, X, y, rounds=50)
    >>> result.bias["stump"] > result.bias["full tree"], result.variance["stump"] < result.variance["full tree"]
    (True, True)
    >>> abs(result.bias["stump"] + result.variance["stump"] - result.expected_loss["stump"]) < 1e-10
    True
    """
    if X_test is None and y_test is None:
        candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight)
        trained = data.n
    else:
        candidates = Candidates(estimator, y)
        data, trained = stacked_data(X, y, X_test, y_test, task=candidates.task, groups=groups, weight=sample_weight)
    setup = bias_variance_config(
        candidates,
        data,
        trained=trained,
        rounds=rounds,
        loss=loss,
        noise=noise,
        random_state=resolve_seed(random_state),
    )
    return engine_or_new(engine).run(bias_variance_plan(candidates, setup), data, description="bias and variance")
