"""Metric: a number for predictions, with the response it needs and its direction."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
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
    bounds: tuple[float, float] = (-np.inf, np.inf)
    two_classes: bool = False

    def check(self, data: Data) -> None:
        """Refuse a target that the metric is not for, before anything is fitted."""
        if self.two_classes and data.classes is not None and len(data.classes) > 2:
            several = {"auc": "roc_auc_ovr"}.get(self.name, f"{self.name}_macro")
            raise InvalidInput(
                f"The metric {self.name!r} is for 2 classes. The target has {len(data.classes)}. Use {several!r}."
            )

    def clipped(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return the part of an interval that the metric can take."""
        low, high = self.bounds
        return max(interval[0], low), min(interval[1], high)

    def responses(self, estimator: Any) -> tuple[Response, ...]:
        """Responses to ask of an estimator: the first that it has of those that the metric can work with."""
        accepted = getattr(self.scorer, "_response_method", RESPONSES)
        if isinstance(accepted, str):
            accepted = (accepted,)
        accepted = ["predict" if name == "default" else name for name in accepted]
        for name in accepted:
            # Before it is fitted a stack does not say what it will have; its class does.
            if hasattr(estimator, name) or (not hasattr(estimator, "predict") and hasattr(type(estimator), name)):
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


_SHARE, _LOSS, _GAIN = (0.0, 1.0), (0.0, np.inf), (-np.inf, 1.0)


def _loss(name: str, function: Any, row_loss: Any = None, *, zero_one: bool = False, **options: Any) -> Metric:
    scorer = sk.make_scorer(function, greater_is_better=False, **options)
    return Metric(name, scorer, -1, False, row_loss, zero_one, _SHARE if zero_one else _LOSS)


def _built_in() -> dict[str, tuple[Task, Metric]]:
    error = _loss("error", sk.zero_one_loss, _wrong, zero_one=True)
    accuracy = Metric("accuracy", sk.get_scorer("accuracy"), row_loss=_right, zero_one=True, bounds=_SHARE)
    by_task: dict[Task, list[Metric]] = {
        "classification": [
            error,
            accuracy,
            Metric("balanced_accuracy", sk.get_scorer("balanced_accuracy"), bounds=_SHARE),
            Metric("auc", sk.get_scorer("roc_auc"), bounds=_SHARE, two_classes=True),
            _loss("log_loss", sk.log_loss, response_method="predict_proba"),
            _loss("brier", sk.brier_score_loss, response_method="predict_proba"),
            *(
                Metric(name, sk.make_scorer(function), bounds=_SHARE, two_classes=True)
                for name, function in (
                    ("precision", sk.precision_score),
                    ("recall", sk.recall_score),
                    ("f1", sk.f1_score),
                )
            ),
        ],
        "regression": [
            _loss("mse", sk.mean_squared_error, _squared),
            _loss("rmse", sk.root_mean_squared_error),
            _loss("mae", sk.mean_absolute_error, _absolute),
            Metric("r2", sk.get_scorer("r2"), bounds=_GAIN),
        ],
    }
    return {metric.name: (task, metric) for task, metrics in by_task.items() for metric in metrics}


_BUILT_IN = _built_in()
#: Scorers of scikit-learn that are shares; others are taken to have no bounds.
_SHARES = ("accuracy", "roc_auc", "f1", "precision", "recall", "average_precision", "jaccard", "balanced", "top_k")


def metric_of_scorer(name: str, scorer: Any, task: Task) -> Metric:
    """Return a scikit-learn scorer as a metric with the scorer's sign; the means over rows among them are known."""
    function = getattr(scorer, "_score_func", None)
    sign = getattr(scorer, "_sign", 1)
    by_default = type(scorer).__name__ == "_PassthroughScorer"
    share = name.startswith(_SHARES) or function in (sk.accuracy_score, sk.roc_auc_score)
    if not getattr(scorer, "_kwargs", None):
        if function is sk.accuracy_score or (by_default and task == "classification"):
            return Metric(name, scorer, row_loss=_right, zero_one=True, bounds=_SHARE)
        for mean_over_rows, row_loss in ((sk.mean_squared_error, _squared), (sk.mean_absolute_error, _absolute)):
            if function is mean_over_rows:
                return Metric(name, scorer, row_loss=_signed(row_loss, sign))
    return Metric(name, scorer, bounds=_SHARE if share else (-np.inf, np.inf))


def _signed(row_loss: Callable[[Array, Array], Array], sign: int) -> Callable[[Array, Array], Array]:
    return lambda y, predicted: sign * row_loss(y, predicted)


def metric_names(task: Task) -> list[str]:
    """Names that ``get_metric`` knows for a task, scikit-learn's scorers aside."""
    return [name for name, (owner, _) in _BUILT_IN.items() if owner == task]


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
    owner, metric = _BUILT_IN.get(name, (task, None))
    if owner != task:
        raise InvalidInput(
            f"The metric {name!r} is for {owner}, but this is a {task}. Choose one of: {', '.join(metric_names(task))}."
        )
    if metric is None:
        metric = _from_scikit_learn(name, task)
    return metric if pos_label is None else _with_positive(metric, pos_label)


def _with_positive(metric: Metric, pos_label: Any) -> Metric:
    """Return a metric that takes this class as the positive one, if it knows of such a thing."""
    scorer = metric.scorer
    function = getattr(scorer, "_score_func", None)
    if function is None or "pos_label" not in signature(function).parameters:
        return metric
    options = {**scorer._kwargs, "pos_label": pos_label}
    made = sk.make_scorer(
        function, response_method=scorer._response_method, greater_is_better=scorer._sign > 0, **options
    )
    return replace(metric, scorer=made)


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
