"""Metric: a number for predictions, with the response it needs, its direction and the positive class."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn import metrics as sk

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Response
from truefit._core.rows import Rows
from truefit._core.typing import Array
from truefit._core.validation import Task
from truefit._metrics import properties
from truefit._metrics.row_loss import RowLoss, absolute, squared, summed_squares
from truefit._metrics.scorers import DecomposedScorer, StoredPredictor, aligned_answer, positive_label
from truefit._metrics.smooth import Ratios, RootMeanSquare, Total


@dataclass(frozen=True)
class Metric(properties.MetricProperties):
    """A scikit-learn scorer with its natural sign.

    A per-sample metric, a mean over rows, has a ``row_loss``: the value of each row, from which intervals are computed.
    ``zero_one`` says that a row's value is 0 or 1. A smooth function of several means over rows has a ``smooth``.

    A ``total`` is a sum over rows. It is scaled to the number of rows of the table: their number times the mean over
    the test rows. Over one partition that is the sum over all rows.
    """

    name: str
    scorer: Any
    sign: int = 1
    greater_is_better: bool = True
    total: bool = False

    @cached_property
    def _judge(self) -> DecomposedScorer:
        return DecomposedScorer.of(self.name, self.scorer, needs_positive=self.needs_positive)

    @property
    def pos_label(self) -> Any:
        """The positive class that was named, or None."""
        return getattr(self.scorer, "_kwargs", {}).get("pos_label")

    @property
    def accepted(self) -> tuple[Response, ...]:
        """The responses that it can work with."""
        return self._judge.accepted

    def check(self, data: Data) -> None:
        """Refuse a target or weights that do not suit the metric, before anything is fitted."""
        several = 0 if data.classes is None else len(data.classes)
        if self._of_numbers and data.classes is not None and data.classes.dtype.kind not in "biuf":
            raise InvalidInput(
                f"The metric {self.name!r} is for numbers. The target has classes such as {data.classes[0]!r}. "
                f"Choose one of: {', '.join(metric_names('classification'))}."
            )
        if isinstance(self.smooth, Ratios) and data.classes is None:
            raise InvalidInput(
                f"The metric {self.name!r} is for classes, but this is a regression. Choose one of: "
                f"{', '.join(metric_names('regression'))}."
            )
        if self.two_classes and several > 2:
            raise InvalidInput(
                f"The metric {self.name!r} is for 2 classes. The target has {several}. {self._instead()}"
            )
        if self.needs_positive and several == 2:
            positive_label(data, self.pos_label)
        pairwise = several > 2 and getattr(self.scorer, "_kwargs", {}).get("multi_class") == "ovo"
        if data.weight is not None and (not self._judge.takes_weight or pairwise):
            raise InvalidInput(
                f"With sample_weight the metric must take weights. {self.name!r} does not. Choose another one, such as "
                f"{'error' if data.task == 'classification' else 'mse'!r}, or leave the weights out."
            )

    @property
    def _of_numbers(self) -> bool:
        """Whether it takes differences between targets and predictions."""
        return isinstance(self.smooth, RootMeanSquare) or (
            self.row_loss is not None and self.row_loss.of in (squared, absolute, summed_squares)
        )

    def _instead(self) -> str:
        function = getattr(self.scorer, "_score_func", None)
        if function is sk.roc_auc_score:
            return "Use 'roc_auc_ovr'."
        if function in (properties.specificity, properties.false_positive_rate):
            return "Use 'recall_macro', or make the target one class against the rest."
        named = {sk.recall_score: "recall", sk.precision_score: "precision", sk.f1_score: "f1"}
        return f"Use '{named.get(function, self.name)}_macro'."

    def required_class(self, data: Data) -> tuple[Any, int] | None:
        """Return the rarest of the classes that each test set must have, and in how many rows or groups it is."""
        needed = self._judge.required(data)
        if needed is None or data.codes is None or data.classes is None:
            return None
        units = np.arange(data.n) if data.groups is None else data.groups
        counts = [len(np.unique(units[data.codes == code])) for code in np.flatnonzero(needed)]
        rarest = int(np.argmin(counts))
        return data.classes[needed][rarest].item(), counts[rarest]

    def missing_class(self, data: Data, rows: Rows) -> Any | None:
        """Return a class that the metric needs and that these rows lack; None where they lack none."""
        return next(iter(self._judge.missing(data, rows.index, self.pos_label)), None)

    def clipped(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return the part of an interval that the metric can take."""
        low, high = self.bounds
        return max(interval[0], low), min(interval[1], high)

    def responses(self, estimator: Any) -> tuple[Response, ...]:
        """Return the first response of an estimator that the metric can work with."""
        accepted = self.accepted
        for name in accepted:
            # Before it is fitted a stack does not have its responses; its class does.
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
        return self._of_rows(data, rows.index, self._predictions(outcome, data, rows, self.row_loss.response))

    def rows_of_all(self, tested: Iterable[tuple[Outcome, Rows]], data: Data) -> Array:
        """Value of each row of several fits, one after the other, computed for all rows at once."""
        assert self.row_loss is not None
        pairs = [
            (rows.index, self._predictions(outcome, data, rows, self.row_loss.response)) for outcome, rows in tested
        ]
        index, predicted = zip(*pairs, strict=True)
        return self._of_rows(data, np.concatenate(index), np.concatenate(predicted))

    def _predictions(self, outcome: Outcome, data: Data, rows: Rows, response: Response) -> Array:
        predicted = aligned_answer(outcome, data, rows, response)
        if predicted is None:
            raise self._unanswered(f"no {response}")
        return predicted

    def value(self, outcome: Outcome, data: Data, rows: Rows) -> float:
        """Return the metric of a fit on some rows."""
        each = self.rows(outcome, data, rows)
        if each is not None:
            return _mean(each, data, rows.index)
        return self.of(StoredPredictor.of(outcome, data, rows), data, rows.index)

    def of(self, replay: StoredPredictor, data: Data, index: Array) -> float:
        """Return the metric of replayed predictions on the rows at ``index``."""
        try:
            if self.row_loss is not None:
                return _mean(self.rows_of(replay, data, index), data, index)
            self.check(data)
            if isinstance(self.smooth, Ratios | RootMeanSquare):
                # The same numbers as scikit-learn's, from a few counts.
                return self.smooth.value(self.smooth.means(data, index, replay.answer("predict")))
            return self.sign * self._judge(replay, data, index)
        except AttributeError as error:
            raise self._unanswered(str(error)) from error
        except ValueError as error:
            if "pos_label" in str(error) and not isinstance(error, InvalidInput):
                raise InvalidInput(
                    f"The metric {self.name!r} must know which class is the positive one: {error}. Give its scorer a "
                    "pos_label."
                ) from error
            raise

    def rows_of(self, replay: StoredPredictor, data: Data, index: Array) -> Array:
        """Value of each of the rows at ``index`` by replayed predictions, of a metric that is a mean over rows."""
        assert self.row_loss is not None
        return self._of_rows(data, index, replay.answer(self.row_loss.response))

    def _of_rows(self, data: Data, index: Array, predicted: Array) -> Array:
        assert self.row_loss is not None
        each = self.row_loss(data, index, predicted)
        if not self.total:
            return each
        return each * (data.n if data.weight is None else data.weight.sum())

    def _unanswered(self, found: str) -> InvalidInput:
        return InvalidInput(
            f"The metric {self.name!r} needs a response that the fits do not have ({found}). Choose another metric, or "
            "an estimator that has it."
        )


def _mean(each: Array, data: Data, index: Array) -> float:
    weight = data.weights_of(index)
    return float(each.mean() if weight is None else np.average(each, weights=weight))


def _built_in() -> dict[str, tuple[Task, Metric]]:
    classification = [
        _loss("error", sk.zero_one_loss),
        *(_natural(name, sk.get_scorer(name)) for name in ("accuracy", "balanced_accuracy")),
        *(_natural(name, sk.make_scorer(sk.recall_score)) for name in ("recall", "sensitivity", "tpr")),
        *(_natural(name, sk.make_scorer(properties.specificity)) for name in ("specificity", "tnr")),
        _loss("fpr", properties.false_positive_rate),
        _natural("precision", sk.make_scorer(sk.precision_score)),
        _natural("f1", sk.make_scorer(sk.f1_score)),
        _natural("auc", sk.get_scorer("roc_auc")),
        _natural("average_precision", sk.get_scorer("average_precision")),
        _loss("log_loss", sk.log_loss, response_method="predict_proba"),
        _loss("brier", sk.brier_score_loss, response_method="predict_proba"),
    ]
    mse = _loss("mse", sk.mean_squared_error)
    regression = [
        mse,
        replace(mse, name="rss", row_loss=RowLoss(summed_squares), smooth=Total(), total=True),
        _loss("rmse", sk.root_mean_squared_error),
        _loss("rse", properties.relative_squared_error),
        _loss("mae", sk.mean_absolute_error),
        _natural("r2", sk.get_scorer("r2")),
    ]
    by_task: dict[Task, list[Metric]] = {"classification": classification, "regression": regression}
    return {metric.name: (task, metric) for task, metrics in by_task.items() for metric in metrics}


def _natural(name: str, scorer: Any) -> Metric:
    """Return a scorer of a known function as a metric with the function's own sign."""
    known = properties.metric_properties(scorer._score_func, scorer._kwargs)
    return Metric(name, scorer, scorer._sign, scorer._sign > 0, **vars(known))


def _loss(name: str, function: Any, **options: Any) -> Metric:
    return _natural(name, sk.make_scorer(function, greater_is_better=False, **options))


_BUILT_IN = _built_in()


def metric_of_scorer(name: str, scorer: Any, task: Task) -> Metric:
    """Return a scikit-learn scorer as a metric with the scorer's sign; per-sample metrics are recognised."""
    function = getattr(scorer, "_score_func", None)
    if type(scorer).__name__ == "_PassthroughScorer":  # an estimator's own score, by default accuracy or R²
        function = sk.accuracy_score if task == "classification" else sk.r2_score
    known = properties.metric_properties(function, getattr(scorer, "_kwargs", {}), getattr(scorer, "_sign", 1))
    return Metric(name, scorer, **vars(known))


def metric_names(task: Task) -> list[str]:
    """Names that ``get_metric`` knows for a task, besides scikit-learn's scorers."""
    return [name for name, (owner, _) in _BUILT_IN.items() if owner == task]


def task_of_metric(name: str | None) -> Task | None:
    """Return the task of one of truefit's metrics; None for any other name."""
    return _BUILT_IN[name][0] if isinstance(name, str) and name in _BUILT_IN else None


def get_metric(name: str | Metric | None, task: Task, *, pos_label: Any = None) -> Metric:
    """Return the metric of that name.

    A rate with denominator 0, such as the precision of a model that never predicts the positive class, is 0 (a false
    positive rate 1).

    Parameters
    ----------
    name : str, Metric or None
        One of truefit's, or any scikit-learn scorer name, with scikit-learn's sign. None: ``error`` for a
        classification, ``mse`` for a regression.

        - Labels: ``error``, ``accuracy``, ``balanced_accuracy``.
        - Labels of two classes: ``recall`` (``sensitivity``, ``tpr``), ``specificity`` (``tnr``), ``fpr``,
          ``precision``, ``f1``. For several classes scikit-learn has averages: ``recall_macro``, ``f1_weighted``, ...
        - Rankings: ``auc``, ``average_precision`` (the area under the precision-recall curve).
        - Probabilities: ``log_loss``, ``brier``.
        - Numbers: ``mse``, ``rmse``, ``mae``, ``r2``; ``rse``, the relative squared error 1 - R²; ``rss``, the
          sum of squared residuals over as many rows as the table has.
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
    truefit._core.errors.InvalidInput: Unknown metric 'eror'. ... Did you mean 'error'?...
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
    if not metric.needs_positive or pos_label is None:
        return metric
    scorer = metric.scorer
    made = sk.make_scorer(
        scorer._score_func,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0,
        **{**scorer._kwargs, "pos_label": pos_label},
    )
    natural = metric.greater_is_better == (scorer._sign > 0)
    return _natural(name, made) if natural else metric_of_scorer(name, made, task)


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
