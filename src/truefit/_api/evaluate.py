"""How good are predictions that somebody already has?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truefit._api.validation import resolve_metric
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.typing import Array
from truefit._core.validation import Task, as_array, check_level, checked_target
from truefit._methods.comparison.plan import CompareConfig
from truefit._methods.evaluation.inputs import GivenPredictions, Kind
from truefit._methods.evaluation.result import Evaluation
from truefit._metrics.metric import task_of_metric
from truefit.sources.table import infer_task


def evaluate(
    y_true: Any,
    predictions: Any,
    *,
    metric: str | None = None,
    groups: Any = None,
    pos_label: Any = None,
    classes: Sequence[Any] | None = None,
    sample_weight: Any = None,
    kind: Kind | None = None,
    reference: str | None = None,
    rope: float | None = None,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate predictions: any metric with its confidence interval, and a paired comparison of several models.

    Nothing is fitted. The rows must be ones that the models were not trained on.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels or numbers.
    predictions : array-like of shape (n_samples,) or (n_samples, n_classes), or dict of names to such arrays
        Labels, numbers, probabilities of ``pos_label``, or a column of probabilities for each class. With a dict each
        number of the result is a dict by name, and the models are compared in pairs.
    metric : str, optional
        Name of a metric, such as "error", "auc", "rmse", or of any scikit-learn scorer. By default "error" for classes,
        "rmse" for numbers and "auc" for scores.
    groups : array-like, optional
        The group of each row, such as a patient, or an item that was predicted several times. Intervals and tests then
        count groups, not rows.
    pos_label : label, optional
        The positive class of two. It must be named unless the classes are 0 and 1, -1 and 1, or False and True.
    classes : sequence of labels, optional
        All classes, in the order of the columns of probabilities. By default those of ``y_true``, sorted. Columns of a
        data frame that are named by class are found by their names.
    sample_weight : array-like, optional
        The weight of each row.
    kind : {"label", "probability", "score", "number"}, optional
        What the predictions are, where their values do not show it. "score" is for numbers that rank rows of two
        classes, such as log-odds.
    reference : str, optional
        Name of the model that the others are compared with, or "all" for every pair. By default the best one.
    rope : float, optional
        Region of practical equivalence: the largest difference of the metric that does not matter.
    level : float, default=0.95
        Confidence level of the intervals. A difference is significant if its adjusted p-value is at most 1 - level.

    Returns
    -------
    Evaluation
        Estimates with intervals, ``ties``, ``differences``, and ``score(metric)`` for any other metric.

    Raises
    ------
    InvalidInput
        Where truth and predictions do not fit together; the message says what to do.

    Notes
    -----
    Probabilities become labels by the largest one. The intervals are those of a test set: Wilson's for shares of rows,
    Student's t for other means, the delta method for rates and functions of means, DeLong's for the AUC. With groups
    the standard error of each of them is that of whole groups (a jackknife), with as many degrees of freedom as there
    are groups of effectively equal size, less one. Their coverage was measured (docs/coverage-evaluate.md).

    Examples
    --------
    >>> y = ["sick", "well", "well", "sick", "well", "sick", "well", "well"]
    >>> first = [0.9, 0.2, 0.4, 0.7, 0.1, 0.4, 0.3, 0.6]
    >>> result = evaluate(y, first, pos_label="sick", metric="auc")
    >>> round(result.estimate, 3), [round(end, 2) for end in result.interval]
    (0.9, [0.4, 0.99])
    >>> result = evaluate(y, {"first": first, "constant": [0.5] * 8}, pos_label="sick", metric="brier")
    >>> result.best, result.ties
    ('first', ['first', 'constant'])
    """
    check_level(level)
    truth = as_array(y_true, "y_true")
    if truth.ndim == 2 and truth.shape[1] == 1:
        truth = truth[:, 0]
    if truth.ndim != 1 or not len(truth):
        raise InvalidInput(f"y_true must be one label or number per row, of at least one row. Got shape {truth.shape}.")
    given = GivenPredictions.read(predictions, len(truth), kind)
    for name, values in (("groups", groups), ("sample_weight", sample_weight)):
        if values is not None and len(values) != len(truth):
            raise InvalidInput(f"{name} must have a value for each of the {len(truth):,} rows. Got {len(values):,}.")
    task = _task(y_true, given, metric, classified=classes is not None or pos_label is not None)
    known = None if task == "regression" else _classes(checked_target(truth, len(truth), task), classes)
    rows = np.arange(len(truth)).reshape(-1, 1)
    data = Data(rows, truth, task=task, groups=groups, weight=sample_weight, classes=known)
    outcomes = given.outcomes(data, classes, pos_label)
    default = {"regression": "rmse", "classification": "auc" if given.kind == "score" else "error"}[task]
    chosen = resolve_metric(data, default if metric is None else metric, pos_label)
    config = CompareConfig(reference, rope, "auto", level)
    found = Evaluation(given.models, data, outcomes, chosen, config, pos_label=pos_label)
    assert found.estimates  # computed now: what is wrong with the predictions is not to be said later, elsewhere
    return found


def _task(y_true: Any, given: GivenPredictions, metric: str | None, *, classified: bool) -> Task:
    """Return the task that the options, the metric, the predictions or else the truth decide."""
    stated = given.task if given.kind is not None else None
    if stated is not None or classified:
        return stated or "classification"
    truth = np.asarray(y_true)
    if truth.dtype.kind == "f" and (truth % 1 != 0).any():
        return "regression"
    task = task_of_metric(metric) or given.task or infer_task(y_true).task
    values = len(np.unique(truth)) if truth.dtype.kind in "iuf" else 0
    # A truth of one value may be a class of which there are probabilities; beside other predictions it is a number.
    several = values > 2 or (values == 1 and given.task is None and not given.within_0_and_1)
    # Grades and counts look like classes; predictions between them show that they are numbers.
    if task == "classification" and task_of_metric(metric) is None and given.task is None and several:
        return "classification" if given.whole else "regression"
    return task


def _classes(target: Array, classes: Sequence[Any] | None) -> Array:
    """Return the classes in sorted order, from the argument or from the truth."""
    found = np.unique(target)
    if classes is None:
        if len(found) < 2:
            raise InvalidInput(
                f"y_true must hold at least 2 classes. Got {found.tolist()[0]!r} in all {len(target):,} rows. Name "
                "all classes (classes=, --class) if these rows are meant to have only one."
            )
        return found
    known = np.unique(as_array(list(classes), "classes"))
    unknown = [label for label in found.tolist() if label not in known.tolist()]
    if len(known) < max(len(list(classes)), 2):
        raise InvalidInput(f"The 'classes' parameter must name at least 2 different classes. Got {list(classes)!r}.")
    if unknown:
        raise InvalidInput(
            f"The classes of y_true must be among classes: {', '.join(map(repr, known.tolist()))}. Got {unknown[0]!r}."
        )
    return known
