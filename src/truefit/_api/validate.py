"""Does a fitted model hold up on the rows of another table?"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from truefit._api.validation import resolve_metric
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.typing import Array
from truefit._core.validation import Task, check_level, checked_table, checked_target
from truefit._methods.candidates import default_responses
from truefit._methods.comparison.plan import CompareConfig
from truefit._methods.evaluation.inputs import (
    Models,
    categories_of,
    check_two_classes,
    expected_columns,
    outcome_of,
    unseen_categories,
    unseen_classes,
    with_columns,
)
from truefit._methods.evaluation.promise import Promise
from truefit._methods.evaluation.validation import Validation
from truefit._metrics.metric import get_metric
from truefit._models import LoadedModel, load_model


def validate(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: str | None = None,
    groups: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    trust: Sequence[str] = (),
) -> Validation:
    """Evaluate a fitted model on new rows, and compare with what its study promised.

    Nothing is fitted. The rows must be ones that neither the model nor the study has seen.

    Parameters
    ----------
    model : fitted estimator, path of a model saved by ``truefit study --save``, or Study
        A saved model and a study carry the study's estimate, which the new rows are compared with.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The new table. Columns of a frame are found by their names.
    y : array-like of shape (n_samples,)
        The true target.
    metric : str, optional
        Name of a metric or of a scikit-learn scorer. By default that of the study; without one "error" for a
        classifier and "rmse" for a regressor.
    groups : array-like, optional
        The group of each row, such as a patient. The interval then counts groups, not rows.
    pos_label : label, optional
        The positive class, for metrics that need one. By default that of the study.
    sample_weight : array-like, optional
        The weight of each row.
    level : float, default=0.95
        Confidence level of the interval. The comparison with the study is made at the study's own level.
    trust : sequence of str, default=()
        Full names of types beyond truefit's list that a saved model may contain; their code runs.

    Returns
    -------
    Validation
        Estimate, interval, ``promise``, ``difference``, ``difference_interval`` and ``agrees``.

    Raises
    ------
    InvalidInput
        Where the model is not fitted or cannot be loaded, or the table does not suit it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = validate(GaussianNB().fit(X[:300], y[:300]), X[300:], y[300:], metric="auc")
    >>> result.interval[0] < result.estimate < result.interval[1], result.agrees
    (True, None)
    """
    check_level(level)
    loaded = _loaded(model, trust)
    estimator, promise = loaded.estimator, loaded.promise
    names = None if loaded.columns is None else list(loaded.columns)
    table = with_columns(checked_table(X), names or expected_columns(estimator), estimator)
    task: Task = "classification" if is_classifier(estimator) else "regression"
    target = checked_target(y, int(table.shape[0]), task)
    known = np.asarray(estimator.classes_) if task == "classification" else None
    if known is not None:
        _check_classes(target, known)
    rows = np.arange(len(target)).reshape(-1, 1)
    data = Data(rows, target, task=task, groups=groups, weight=sample_weight, classes=known)
    if metric is None:
        metric = promise.metric if promise is not None else {"regression": "rmse", "classification": "error"}[task]
    if pos_label is None and promise is not None:
        pos_label = promise.pos_label
    check_two_classes(get_metric(metric, task, pos_label=pos_label), target, known)
    chosen = resolve_metric(data, metric, pos_label)
    responses = dict.fromkeys((*default_responses(estimator, task), *chosen.responses(estimator)))
    advice = f"Check that its columns hold the same kinds of values as the training rows{loaded.saved_by}."
    outcome = outcome_of(estimator, table, data, responses, advice=advice)
    return Validation(
        Models(["model"], single=True), data, {"model": outcome}, chosen, CompareConfig(level=level),
        pos_label=pos_label, promise=promise, unseen_classes=unseen_classes(target, known),
        unseen_categories=unseen_categories(table, categories_of(estimator)),
    )  # fmt: skip


def _loaded(model: Any, trust: Sequence[str]) -> LoadedModel:
    """Return a model from a file, a study or as it is."""
    if isinstance(model, str | os.PathLike):
        place = Path(model).expanduser()
        if not place.is_file():
            raise InvalidInput(f"There is no model {str(model)!r}. Check the path; `truefit study --save` writes one.")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InconsistentVersionWarning)
            loaded = load_model(place, trust)
        for each in caught:
            if not isinstance(each.message, InconsistentVersionWarning):
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        others = [each.message for each in caught if isinstance(each.message, InconsistentVersionWarning)]
        if others:
            was, now = others[0].original_sklearn_version, others[0].current_sklearn_version
            warnings.warn(
                f"{place.name!r} was saved with scikit-learn {was}; this is {now}. Its predictions may differ from "
                "those that the study saw.",
                UserWarning,
                stacklevel=3,
            )
    elif isinstance(model, LoadedModel):
        loaded = model
    else:
        promise = getattr(model, "promise", None)
        loaded = LoadedModel(model.model if isinstance(promise, Promise) else model, promise=promise)
    estimator = loaded.estimator
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        raise InvalidInput(
            f"The 'model' parameter must be a fitted estimator, a Study, or the path of a saved model. Got {model!r}."
        )
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise InvalidInput(f"The model must be fitted. {error}") from error
    except TypeError:  # an estimator that is none of scikit-learn's: whether it predicts is seen below
        pass
    return loaded


def _check_classes(target: Array, known: Array) -> None:
    if known.dtype.kind != target.dtype.kind and not np.isin(target, known).any():
        raise InvalidInput(
            f"y must hold classes of the model, such as {known[0].item()!r}. Got {target[0].item()!r}; check the type "
            "of the target."
        )
