"""Stages: the models that one training run passes through, each a candidate of its own.

An estimator offers its stages in one of these ways, looked for in this order:

- ``fit_stages(X, y, sample_weight=None)``: an iterator that trains step by step and yields the model after each step.
  It may yield the same object each time; ``n_stages`` says how many steps there are.
- ``partial_fit`` and ``max_iter``: a stage is one more pass over the rows (networks, stochastic gradient descent). This
  is a family of its own: e passes are not what ``fit`` does with ``max_iter=e``.
- ``partial_fit`` and ``max_epochs``, as skorch's networks have them: a stage is one more epoch. They have no seed of
  their own: unless ``initialize`` sets torch's, two runs differ.
- ``warm_start`` with ``n_estimators``: a stage is one more tree (forests, bagging).

A ``Pipeline`` offers the stages of its last step; the steps before it are fitted once.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from truefit._core.errors import InvalidEstimator


def offers_stages(estimator: Any) -> bool:
    """Whether an estimator is trained in stages that can be evaluated."""
    last = last_step(estimator)
    # One looks at rows of its own to stop by, the other has no passes over the rows.
    if getattr(last, "early_stopping", False) is True or getattr(last, "solver", None) == "lbfgs":
        return False
    return hasattr(last, "fit_stages") or _passes(last) or _has_epochs(last) or _grows(last)


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or what a pipeline ends in."""
    return estimator.steps[-1][1] if type(estimator) is Pipeline and estimator.steps else estimator


def run_stages(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None) -> Iterator[Any]:
    """Train in stages and yield the model after each; the same object, further trained, may come each time."""
    if type(estimator) is not Pipeline:
        yield from _stages(estimator, X, y, sample_weight)
        return
    steps = estimator.steps[:-1]
    for _, step in steps:
        if step is not None and step != "passthrough":
            X = step.fit_transform(X, y)
    name, last = estimator.steps[-1]
    for model in _stages(last, X, y, sample_weight):
        estimator.steps[-1] = (name, model)
        yield estimator


def _stages(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[Any]:
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    if hasattr(estimator, "fit_stages"):
        yield from estimator.fit_stages(X, y, **weight)
        return
    if _passes(estimator):
        if get_tags(estimator).estimator_type == "classifier":
            estimator.partial_fit(X, y, classes=np.unique(y), **weight)
        else:
            estimator.partial_fit(X, y, **weight)
        yield estimator
        while True:
            estimator.partial_fit(X, y, **weight)
            yield estimator
    if _has_epochs(estimator):
        while True:
            yield estimator.partial_fit(X, y, epochs=1, **weight)
    if not _grows(estimator):
        raise InvalidEstimator(
            "An estimator with stages must have fit_stages, partial_fit and max_iter or max_epochs, or warm_start and "
            f"n_estimators. {type(estimator).__name__} has none of them."
        )
    estimator.set_params(warm_start=True, n_estimators=0)
    while True:
        estimator.set_params(n_estimators=estimator.n_estimators + 1)
        yield estimator.fit(X, y, **weight)


def _passes(estimator: Any) -> bool:
    # Naive Bayes has partial_fit too, but nothing to gain from seeing the same rows again.
    return hasattr(estimator, "partial_fit") and hasattr(estimator, "max_iter")


def _has_epochs(estimator: Any) -> bool:
    return hasattr(estimator, "partial_fit") and hasattr(estimator, "max_epochs") and hasattr(estimator, "fit_loop")


def _grows(estimator: Any) -> bool:
    return hasattr(estimator, "n_estimators") and hasattr(estimator, "warm_start")


def snapshot(model: Any) -> Any:
    """Return a copy that further training does not touch; the trees of an ensemble are shared, since they are done."""
    last = last_step(model)
    taken = copy.copy(last) if _grows(last) else copy.deepcopy(last)
    if _grows(last):
        # Lists of trees are appended to in place; arrays of them are replaced.
        vars(taken).update({name: value[:] for name, value in vars(last).items() if isinstance(value, list)})
    if type(model) is not Pipeline:
        return taken
    whole = copy.copy(model)
    whole.steps = [*model.steps[:-1], (model.steps[-1][0], taken)]
    return whole


def _method_of_model(name: str) -> Any:
    """Return a method that calls that of the trained model, available where the model has it."""

    def call(self: AtStage, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.model_, name)(X)

    call.__name__ = name
    return available_if(lambda self: hasattr(getattr(self, "model_", self.estimator), name))(call)


class AtStage(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator trained for a number of stages, so that stages are candidates like any others.

    Fits that differ in ``stage`` alone are answered by one run.

    >>> from sklearn.linear_model import SGDRegressor
    >>> X, y = np.arange(6.0).reshape(-1, 1) / 6, np.arange(6.0)
    >>> AtStage(SGDRegressor(random_state=0), stage=30).fit(X, y).model_.t_
    181.0
    """

    def __init__(self, estimator: Any, stage: int = 1) -> None:
        self.estimator = estimator
        self.stage = stage

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AtStage:
        """Train for ``stage`` stages."""
        reached = 0
        for reached, model in enumerate(run_stages(clone(self.estimator), X, y, sample_weight=sample_weight), start=1):
            if reached == self.stage:
                return self.hold(model)
        raise InvalidEstimator(
            f"A stage must be one that the training run reached. Got stage {self.stage}, and "
            f"{type(last_step(self.estimator)).__name__} ended after {reached}."
        )

    def hold(self, model: Any) -> AtStage:
        """Take a model that was trained so far."""
        self.model_ = model
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_
        return self

    predict = _method_of_model("predict")
    predict_proba = _method_of_model("predict_proba")
    decision_function = _method_of_model("decision_function")

    def get_metadata_routing(self) -> Any:
        """Return what the estimator itself requests."""
        return get_routing_for_object(self.estimator)

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)
