"""How much of the error is bias, and how much is variance?"""

from __future__ import annotations

from typing import Any, Literal

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import read_input, refuse_time, resolve_seed
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
    time: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> BiasVariance:
    """Split a learner's expected loss into bias and variance.

    The learner is trained on bootstrap samples. Each model is evaluated on the rows that are not in its sample, or on a
    test set. The loss of each row is split over the models that were evaluated on it, and the parts are averaged over
    the rows, so that they sum to the expected loss.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        What is assessed. With several, each number of the result is a dict by name.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table. pandas and polars frames are accepted.
    y : array-like of shape (n_samples,)
        The target.
    rounds : int, default=200
        Number of bootstrap samples.
    loss : {"auto", "squared", "0-1"}, default="auto"
        By default squared loss for a regression and 0-1 loss for a classification (Domingos 2000, with noise 0). The
        squared loss of a classification is that of its probabilities, the Brier score.
    X_test : array-like, sparse matrix or data frame, optional
        Rows to evaluate on in place of those outside of the samples. Nothing is trained on them.
    y_test : array-like, optional
        The target of ``X_test``.
    noise : float, optional
        The variance of the noise in y, where it is known. It is then reported apart from the squared bias.
    groups : array-like, optional
        The group of each row. Whole groups are drawn.
    time : None
        Refused, with the reason: bootstrap samples mix rows of all times. Pass later rows as ``X_test``.
    sample_weight : array-like, optional
        The weight of each row, passed to ``fit`` and used in the mean over the rows. Rows of ``X_test`` have equal
        weights.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the bootstrap samples. With None they depend on the rows alone, so they are the same in every run.
    engine : Engine, optional
        Runs the fits and keeps their predictions. Calls that share an engine share equal fits. By default a new engine
        in memory.

    Returns
    -------
    BiasVariance
        Expected loss, bias, variance and noise of each estimator.

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
    refuse_time(time, "bias_variance", "its samples mix rows of all times. Pass later rows as X_test and y_test.")
    if X_test is None and y_test is None:
        candidates, data = read_input(estimator, X, y, groups=groups, sample_weight=sample_weight)
        trained = data.n
    else:
        candidates = Candidates(estimator, y)
        data, trained = stacked_data(X, y, X_test, y_test, task=candidates.task, groups=groups, weight=sample_weight)
    config = bias_variance_config(
        candidates,
        data,
        trained=trained,
        rounds=rounds,
        loss=loss,
        noise=noise,
        random_state=resolve_seed(random_state),
    )
    return engine_or_new(engine).run(bias_variance_plan(candidates, config), data, description="bias and variance")
