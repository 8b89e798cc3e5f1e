"""Metric: a number for predictions, with the response it needs and its direction."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics as sk

from truefit.core.data import Data, Task
from truefit.core.errors import InvalidInput
from truefit.core.outcome import Outcome
from truefit.core.rows import Rows
from truefit.core.task import RESPONSES, Response
from truefit.metrics.replay import Replay

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Metric:
    """A scikit-learn scorer with its natural sign.

    ``row_loss`` is there where the metric is a mean over rows: it gives the value of each row, from which intervals
    are made. ``zero_one`` says that a row's value is 0 or 1.
    """

    name: str
    scorer: Any
    sign: int = 1
    greater_is_better: bool = True
    row_loss: Callable[[Array, Array], Array] | None = None
    zero_one: bool = False

    def responses(self, estimator: Any) -> tuple[Response, ...]:
        """Responses to ask of an estimator: the first that it has of those that the metric can work with."""
        accepted = getattr(self.scorer, "_response_method", RESPONSES)
        if isinstance(accepted, str):
            accepted = (accepted,)
        accepted = ["predict" if name == "default" else name for name in accepted]
        for name in accepted:
            if hasattr(estimator, name):
                return (name,)
        raise InvalidInput(
            f"The metric {self.name!r} needs {' or '.join(accepted)}. {type(estimator).__name__} does not have it. "
            "Choose another metric, or an estimator that has it."
        )

    def rows(self, outcome: Outcome, data: Data, rows: Rows) -> Array | None:
        """Value of each row, where the metric is a mean over rows."""
        if self.row_loss is None:
            return None
        return self.row_loss(data.y[rows.index], outcome.answer(data, rows))

    def value(self, outcome: Outcome, data: Data, rows: Rows) -> float:
        """Return the metric of a fit on some rows."""
        weight = None if data.weight is None else data.weight[rows.index]
        each = self.rows(outcome, data, rows)
        if each is not None:
            return float(each.mean() if weight is None else np.average(each, weights=weight))
        return self.of(Replay.of(outcome, data, rows), data, rows.index)

    def of(self, replay: Replay, data: Data, index: Array) -> float:
        """Return the metric of replayed predictions on the rows at ``index``."""
        extra = {} if data.weight is None else {"sample_weight": data.weight[index]}
        try:
            return self.sign * float(self.scorer(replay, index, data.y[index], **extra))
        except AttributeError as error:
            raise InvalidInput(
                f"The metric {self.name!r} needs a response that the fits were not asked for ({error}). Choose another "
                "metric, or an estimator that has it."
            ) from error
        except ValueError as error:
            if "pos_label" in str(error):
                raise InvalidInput(
                    f"The metric {self.name!r} must know which class is the positive one. The classes are "
                    f"{_listed(data.classes)}; pass one of them as pos_label."
                ) from error
            raise


def _listed(classes: Array | None) -> str:
    return ", ".join(repr(label) for label in ([] if classes is None else classes.tolist()))


def _wrong(y: Array, predicted: Array) -> Array:
    wrong: Array = (y != predicted).astype(np.float64)
    return wrong


def _right(y: Array, predicted: Array) -> Array:
    right: Array = (y == predicted).astype(np.float64)
    return right


def _squared(y: Array, predicted: Array) -> Array:
    squared: Array = (y - predicted) ** 2
    return squared if squared.ndim == 1 else squared.mean(axis=1)


def _absolute(y: Array, predicted: Array) -> Array:
    absolute: Array = np.abs(y - predicted)
    return absolute if absolute.ndim == 1 else absolute.mean(axis=1)


def _loss(name: str, function: Any, row_loss: Any = None, *, zero_one: bool = False, **options: Any) -> Metric:
    scorer = sk.make_scorer(function, greater_is_better=False, **options)
    return Metric(name, scorer, -1, False, row_loss, zero_one)


def _built_in() -> dict[str, tuple[Task | None, Metric]]:
    entries: list[tuple[Task | None, Metric]] = [
        ("classification", _loss("error", sk.zero_one_loss, _wrong, zero_one=True)),
        ("classification", Metric("accuracy", sk.get_scorer("accuracy"), 1, True, _right, zero_one=True)),
        ("classification", Metric("balanced_accuracy", sk.get_scorer("balanced_accuracy"))),
        ("classification", Metric("auc", sk.get_scorer("roc_auc"))),
        ("classification", _loss("log_loss", sk.log_loss, response_method="predict_proba")),
        ("classification", _loss("brier", sk.brier_score_loss, response_method="predict_proba")),
        ("regression", _loss("mse", sk.mean_squared_error, _squared)),
        ("regression", _loss("rmse", sk.root_mean_squared_error)),
        ("regression", _loss("mae", sk.mean_absolute_error, _absolute)),
        ("regression", Metric("r2", sk.get_scorer("r2"))),
    ]
    return {metric.name: (task, metric) for task, metric in entries}


_BUILT_IN = _built_in()
_WITH_POSITIVE_CLASS = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}


def metric_of_scorer(name: str, scorer: Any, task: Task) -> Metric:
    """Return a scikit-learn scorer as a metric with the scorer's sign; the means over rows among them are known."""
    function = getattr(scorer, "_score_func", None)
    sign = getattr(scorer, "_sign", 1)
    by_default = function is None and not hasattr(scorer, "_scorers") and type(scorer).__name__ == "_PassthroughScorer"
    if getattr(scorer, "_kwargs", None):
        return Metric(name, scorer)
    if function is sk.accuracy_score or (by_default and task == "classification"):
        return Metric(name, scorer, row_loss=_right, zero_one=True)
    for mean_over_rows, row_loss in ((sk.mean_squared_error, _squared), (sk.mean_absolute_error, _absolute)):
        if function is mean_over_rows:
            return Metric(name, scorer, row_loss=_signed(row_loss, sign))
    return Metric(name, scorer)


def _signed(row_loss: Callable[[Array, Array], Array], sign: int) -> Callable[[Array, Array], Array]:
    return lambda y, predicted: sign * row_loss(y, predicted)


def metric_names(task: Task) -> list[str]:
    """Names that ``get_metric`` knows for a task, scikit-learn's scorers aside."""
    named = [name for name, (owner, _) in _BUILT_IN.items() if owner in (task, None)]
    return named + (list(_WITH_POSITIVE_CLASS) if task == "classification" else [])


def get_metric(name: str | Metric | None, task: Task, *, pos_label: Any = None) -> Metric:
    """Return the metric of that name.

    Parameters
    ----------
    name : str, Metric or None
        One of truefit's (``error``, ``accuracy``, ``mse``, ``rmse``, ...), or any scikit-learn scorer name, with
        scikit-learn's sign. None: ``error`` for a classification, ``mse`` for a regression.
    task : {"classification", "regression"}
    pos_label : label, optional
        The positive class, for the metrics that need one.

    Examples
    --------
    >>> get_metric("error", "classification").greater_is_better
    False
    >>> get_metric("eror", "classification")
    Traceback (most recent call last):
    ...
    truefit.core.errors.InvalidInput: Unknown metric 'eror'. ... Did you mean 'error'?...
    """
    if isinstance(name, Metric):
        return name
    if name is None:
        name = "error" if task == "classification" else "mse"
    if not isinstance(name, str):
        raise InvalidInput(f"The 'metric' parameter must be a name. Got {name!r} instead.")
    if name in _WITH_POSITIVE_CLASS:
        options = {} if pos_label is None else {"pos_label": pos_label}
        return Metric(name, sk.make_scorer(_WITH_POSITIVE_CLASS[name], **options))
    owner, metric = _BUILT_IN.get(name, (None, None))
    if metric is None:
        return _from_scikit_learn(name, task)
    if owner not in (task, None):
        raise InvalidInput(
            f"The metric {name!r} is for {owner}, but this is a {task}. Choose one of: {', '.join(metric_names(task))}."
        )
    return metric


def _from_scikit_learn(name: str, task: Task) -> Metric:
    known = sk.get_scorer_names()
    if name not in known:
        choices = metric_names(task)
        near = difflib.get_close_matches(name, [*choices, *known], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInput(
            f"Unknown metric {name!r}. It must be one of {', '.join(choices)}, or the name of a scikit-learn scorer."
            f"{hint}"
        )
    return metric_of_scorer(name, sk.get_scorer(name), task)
