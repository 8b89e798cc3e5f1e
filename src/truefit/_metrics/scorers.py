"""Scorers: scikit-learn's scorers applied to stored predictions, many of them from one reading."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import Tags, TargetTags

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import RESPONSES, Response
from truefit._core.rows import Rows
from truefit._core.typing import Array
from truefit._sklearn import d2_brier_score

if TYPE_CHECKING:
    from truefit._metrics.metric import Metric


def positive_label(data: Data, pos_label: Any = None) -> Any:
    """Return the positive class of two: the one named, or 1 where that is a class.

    Examples
    --------
    >>> positive_label(Data([[0], [1]], [0, 1], task="classification"))
    1
    >>> positive_label(Data([[0], [1]], ["no", "yes"], task="classification"), "yes")
    'yes'
    >>> positive_label(Data([[0], [1]], ["no", "yes"], task="classification"))
    Traceback (most recent call last):
    ...
    truefit._core.errors.InvalidInput: The positive class must be named. The classes are 'no', 'yes'; pass one ...
    """
    classes = [] if data.classes is None else data.classes.tolist()
    if len(classes) > 2:
        raise InvalidInput(
            f"A metric of a positive class is for 2 classes. The target has {len(classes)}. Use an average over the "
            "classes, such as 'f1_macro' or 'balanced_accuracy'."
        )
    listed = ", ".join(map(repr, classes))
    if pos_label is None and 1 not in classes:
        raise InvalidInput(
            f"The positive class must be named. The classes are {listed}; pass one of them as pos_label."
        )
    wanted = 1 if pos_label is None else pos_label
    if wanted not in classes:
        raise InvalidInput(f"The 'pos_label' parameter must be a class of y. Got {wanted!r}; the classes are {listed}.")
    return classes[classes.index(wanted)]


class StoredPredictor:
    """Returns the stored predictions of a fit from ``predict`` and the rest, whatever X is.

    Probabilities have a column for every class of the data, 0 where the model has not seen the class.
    """

    def __init__(self, answers: Mapping[Response, Array], data: Data) -> None:
        self._task = data.task
        self._answers = answers
        self.classes_ = data.classes
        for response, values in answers.items():
            # Only stored responses are there: a scorer takes the first that it finds.
            setattr(self, response, _method(response, values))

    @classmethod
    def of(cls, outcome: Outcome, data: Data, rows: Rows) -> StoredPredictor:
        """Return the stored predictions of a fit for ``rows``."""
        answers = {response: aligned_answer(outcome, data, rows, response) for response in RESPONSES}
        return cls({response: values for response, values in answers.items() if values is not None}, data)

    @classmethod
    def joined(cls, parts: Sequence[StoredPredictor], data: Data) -> StoredPredictor:
        """Join several, with the responses that all of them have."""
        common = [response for response in RESPONSES if all(response in part._answers for part in parts)]
        return cls({r: np.concatenate([part._answers[r] for part in parts]) for r in common}, data)

    def subset(self, kept: Array, data: Data) -> StoredPredictor:
        """Return the predictions of some of the rows."""
        return StoredPredictor({response: values[kept] for response, values in self._answers.items()}, data)

    def answer(self, response: Response) -> Array:
        """Return a response as it is stored; AttributeError if it is not."""
        if response not in self._answers:
            raise AttributeError(f"no {response} among {', '.join(self._answers)}")
        return self._answers[response]

    def response_values(self, accepted: Sequence[Response], positive: Any = None) -> Array:
        """Return the first stored response, as scikit-learn's scorers pass it to a score function.

        Of two classes that is a score for one of them, ``positive`` or else the second.
        """
        response = next((each for each in accepted if each in self._answers), accepted[0])
        values = self.answer(response)
        if response == "predict" or self.classes_ is None or len(self.classes_) != 2:
            return values
        second = positive is None or bool(self.classes_[1] == positive)
        if response == "predict_proba":
            return values[:, 1 if second else 0]
        return values if second else -values

    def score(self, X: Any, y: Array, sample_weight: Array | None = None) -> float:
        """Accuracy or R², as scikit-learn's own estimators have it."""
        judge = sk.accuracy_score if self._task == "classification" else sk.r2_score
        return float(judge(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        kind = "classifier" if self._task == "classification" else "regressor"
        return Tags(estimator_type=kind, target_tags=TargetTags(required=True), transformer_tags=None)


def _method(response: Response, values: Array) -> Callable[[Any], Array]:
    def method(X: Any) -> Array:
        return values

    method.__name__ = response  # scorers go by the name of the method they found
    return method


def aligned_answer(outcome: Outcome, data: Data, rows: Rows, response: Response) -> Array | None:
    """Return the predictions of a fit for rows, with a column for every class of the data; None if not stored."""
    try:
        values = outcome.answer(data, rows, response)
    except KeyError:
        return None
    if data.classes is None or outcome.classes is None or response == "predict":
        return values
    if values.ndim == 1 and len(data.classes) > 2 and len(outcome.classes) == 2:
        values = np.column_stack([-values, values])  # the training rows had two of the classes
    if values.ndim == 2 and not np.array_equal(outcome.classes, data.classes):
        column = {label: place for place, label in enumerate(data.classes.tolist())}
        fill = 0.0 if response == "predict_proba" else float(values.min(initial=0.0)) - 1
        aligned = np.full((len(values), len(data.classes)), fill, dtype=values.dtype)
        aligned[:, [column[label] for label in outcome.classes.tolist()]] = values
        return aligned
    return values


_SCORER = type(sk.get_scorer("accuracy"))
#: These take columns of probabilities, and need the classes even where the test rows lack one.
_BY_COLUMNS = (sk.log_loss, sk.brier_score_loss, sk.d2_log_loss_score, d2_brier_score, sk.top_k_accuracy_score)


@dataclass(frozen=True)
class DecomposedScorer:
    """A score function with its options, and the responses that it can work with.

    A rate with denominator 0 is 0, without a warning.
    """

    name: str
    scorer: Any
    function: Callable[..., Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    accepted: tuple[Response, ...] = RESPONSES
    takes_weight: bool = True
    needs_positive: bool = False

    @classmethod
    def of(cls, name: str, scorer: Any, *, needs_positive: bool) -> DecomposedScorer:
        """Decompose a scorer of a known function; any other is called as it is."""
        accepted = getattr(scorer, "_response_method", RESPONSES)
        accepted = (accepted,) if isinstance(accepted, str) else tuple(accepted)
        accepted = tuple("predict" if each == "default" else each for each in accepted)
        made = type(scorer) is _SCORER
        takes_weight = _takes(scorer._score_func if made else scorer, "sample_weight")
        if not (made and scorer._score_func.__module__.startswith(("sklearn.", "truefit."))):
            return cls(name, scorer, accepted=accepted, takes_weight=takes_weight)
        function, options = scorer._score_func, dict(scorer._kwargs)
        if _takes(function, "zero_division"):
            options.setdefault("zero_division", 0.0)
        return cls(name, scorer, function, options, accepted, takes_weight, needs_positive)

    def __call__(self, replay: StoredPredictor, data: Data, index: Array) -> float:
        """Return the score of replayed predictions on the rows at ``index``, as the scorer has it."""
        weight = {} if data.weight is None else {"sample_weight": data.weight[index]}
        if self.function is None:
            return float(self.scorer(replay, index, data.y[index], **weight))
        options, positive = {**self.options, **weight}, None
        if data.classes is not None:
            positive = self._positive(data, options)
            self._check_classes(data, index, positive)
            by_columns = self.function in _BY_COLUMNS and _takes(self.function, "labels")
            if by_columns or (self.function is sk.roc_auc_score and len(data.classes) > 2):
                options.setdefault("labels", data.classes)
        predicted = replay.response_values(self.accepted, positive)
        if data.codes is not None and self._lacks_class(data.codes[index], predicted):
            return self._of_present(data.codes[index], predicted, weight.get("sample_weight"))
        # The options are valid, and checking them takes as long as many a metric.
        with config_context(skip_parameter_validation=True), warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedMetricWarning)
            try:
                return float(self.scorer._sign * self.function(data.y[index], predicted, **options))
            except (UndefinedMetricWarning, ValueError) as error:
                raise InvalidInput(
                    f"The metric {self.name!r} has no value on a test set of {len(index)} "
                    f"row{'' if len(index) == 1 else 's'}: {error} Choose another metric, or larger test sets."
                ) from error

    def _positive(self, data: Data, options: dict[str, Any]) -> Any:
        """Return the class whose scores a function of two classes takes, and add it to the options."""
        assert data.classes is not None
        if len(data.classes) > 2:
            if self.needs_positive:
                options.pop("pos_label", None)
            return None
        if self.needs_positive:
            options["pos_label"] = positive_label(data, options.get("pos_label"))
        elif self.function in (sk.brier_score_loss, d2_brier_score):
            # Which of two classes is taken does not matter to them, as long as it is that of the probabilities.
            options.setdefault("pos_label", data.classes[1])
        return options.get("pos_label")

    @property
    def _ranks(self) -> bool:
        return self.function in (sk.roc_auc_score, sk.average_precision_score)

    def _lacks_class(self, codes: Array, predicted: Array) -> bool:
        return self._ranks and predicted.ndim == 2 and len(np.unique(codes)) < predicted.shape[1]

    def _of_present(self, codes: Array, predicted: Array, weight: Array | None) -> float:
        """Return the average over the classes that the rows have, as balanced accuracy takes it."""
        present, counts = np.unique(codes, return_counts=True)
        rows = counts if weight is None else np.bincount(codes, weight)[present]
        average = self.options.get("average", "macro")
        if self.options.get("multi_class") == "ovo":
            return _of_pairs(codes, predicted, present, rows if average == "weighted" else None)
        if self.function is sk.average_precision_score:
            indicator = (codes[:, None] == present).astype(np.intp)
            return float(self.function(indicator, predicted[:, present], average=average, sample_weight=weight))
        if weight is None:
            ranks = rankdata(predicted[:, present], axis=0)
            above = (ranks * (codes[:, None] == present)).sum(axis=0) - counts * (counts + 1) / 2
            each = above / (counts * (len(codes) - counts))
        else:
            each = [sk.roc_auc_score(codes == code, predicted[:, code], sample_weight=weight) for code in present]
        return float(np.average(each, weights=rows if average == "weighted" else None))

    def required(self, data: Data, positive: Any = None) -> Array | None:
        """Return which classes each test set must have, for a ranking: of several classes any two, here the largest."""
        if not self._ranks or data.classes is None or data.codes is None:
            return None
        if len(data.classes) > 2:
            needed = np.zeros(len(data.classes), dtype=bool)
            needed[np.argsort(-np.bincount(data.codes), kind="stable")[:2]] = True
            return needed
        return np.ones(len(data.classes), dtype=bool) if positive is None else data.classes == positive

    def missing(self, data: Data, index: Array, positive: Any = None) -> list[Any]:
        """Return the classes that a ranking of these rows needs and that they lack."""
        needed = self.required(data, positive)
        if needed is None:
            return []
        assert data.classes is not None
        assert data.codes is not None
        present = np.bincount(data.codes[index], minlength=len(data.classes)) > 0
        if len(data.classes) > 2:
            needed = np.full(len(data.classes), present.sum() < 2)
        return data.classes[needed & ~present].tolist()  # type: ignore[no-any-return]

    def _check_classes(self, data: Data, index: Array, positive: Any) -> None:
        """Refuse rows of too few classes for a ranking."""
        missing = self.missing(data, index, positive)
        if missing:
            assert data.classes is not None
            several = "two classes" if len(data.classes) > 2 else "every class"
            raise InvalidInput(
                f"The metric {self.name!r} needs rows of {several if positive is None else 'the positive class'} in "
                f"each test set. One of {len(index)} rows has none of class {', '.join(map(repr, missing))}. Use fewer "
                "folds or stratified ones, or a metric that does without, such as 'log_loss'."
            )


def _of_pairs(codes: Array, predicted: Array, present: Array, rows: Array | None) -> float:
    """Return the mean AUC of all pairs of the classes that the rows have, each by both of their columns."""
    place, counts = np.searchsorted(present, codes), np.bincount(codes)[present]
    above = np.empty((len(present), len(present)))
    for first, code in enumerate(present):
        order = np.argsort(predicted[:, code], kind="stable")
        scores, own = predicted[order, code], predicted[codes == code, code]
        below = np.zeros((len(codes) + 1, len(present)))
        np.cumsum(place[order, None] == np.arange(len(present)), axis=0, out=below[1:])
        ends = below[np.searchsorted(scores, own)] + below[np.searchsorted(scores, own, side="right")]
        above[first] = ends.mean(axis=0) / 2 / counts
    pairs = np.triu_indices(len(present), 1)
    weights = None if rows is None else rows[pairs[0]] + rows[pairs[1]]
    return float(np.average((above + above.T)[pairs] / 2, weights=weights))


def _takes(function: Any, name: str) -> bool:
    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())


def is_auc(metric: Metric, data: Data) -> bool:
    """Whether a metric is the area under the ROC curve of two classes."""
    same = getattr(metric.scorer, "_score_func", None) is sk.roc_auc_score
    return same and data.classes is not None and len(data.classes) == 2


def positive_class(data: Data, pos_label: Any = None) -> Any:
    """Return the positive class of a two-class target: the one named, or the second in order."""
    if data.classes is None or len(data.classes) != 2:
        found = "a regression" if data.classes is None else f"{len(data.classes)} classes"
        raise InvalidInput(f"A ROC curve is of 2 classes. This is {found}. See .confusion() or .predictions.")
    return positive_label(data, data.classes[1] if pos_label is None else pos_label)


def ranked(
    outcome: Outcome, data: Data, rows: Rows, positive: Any, *, probabilities: bool | None = False
) -> tuple[Array, Array]:
    """Return whether each row is of the positive class, and its score or, on request, its probability.

    With ``probabilities=None`` it is the probability where there is one, and otherwise the score.
    """
    assert data.classes is not None
    replay: Any = StoredPredictor.of(outcome, data, rows)
    second = positive == data.classes[1]
    if probabilities is None:
        probabilities = hasattr(replay, "predict_proba")
    if hasattr(replay, "decision_function") and not probabilities:  # as scikit-learn's scorer of the AUC prefers
        score = replay.decision_function(None) * (1 if second else -1)
    elif hasattr(replay, "predict_proba"):
        score = replay.predict_proba(None)[:, 1 if second else 0]
    else:
        wanted = "predict_proba" if probabilities else "predict_proba or decision_function"
        raise InvalidInput(f"This needs {wanted}. The estimator does not have it; choose one that does.")
    return (data.y[rows.index] == positive).astype(np.int8), np.asarray(score, dtype=np.float64)
