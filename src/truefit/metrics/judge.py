"""Judge: a scikit-learn scorer taken apart, so that many of them share one reading of the predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import config_context
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.core.task import RESPONSES, Response
from truefit.metrics.positive import positive_label
from truefit.metrics.replay import Replay

Array = npt.NDArray[Any]

_SCORER = type(sk.get_scorer("accuracy"))
#: These look at columns of probabilities, and must know the classes even where the test rows lack one.
_BY_COLUMNS = (sk.log_loss, sk.brier_score_loss, sk.d2_log_loss_score, sk.d2_brier_score, sk.top_k_accuracy_score)


@dataclass(frozen=True)
class Judge:
    """A score function with its options, and the responses that it can work with.

    A rate of a confusion matrix without any row to judge it by is 0, and nothing is warned of.
    """

    name: str
    scorer: Any
    function: Callable[..., Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    accepted: tuple[Response, ...] = RESPONSES
    takes_weight: bool = True
    needs_positive: bool = False

    @classmethod
    def of(cls, name: str, scorer: Any, *, needs_positive: bool) -> Judge:
        """Take a scorer of a known function apart; any other is left whole."""
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

    def __call__(self, replay: Replay, data: Data, index: Array) -> float:
        """Return the score of replayed predictions on the rows at ``index``, as the scorer has it."""
        weight = {} if data.weight is None else {"sample_weight": data.weight[index]}
        if self.function is None:
            return float(self.scorer(replay, index, data.y[index], **weight))
        options, positive = {**self.options, **weight}, None
        if data.classes is not None:
            positive = self._positive(data, options)
            self._check_classes(data, index, positive)
            if self.function in _BY_COLUMNS or (self.function is sk.roc_auc_score and len(data.classes) > 2):
                options.setdefault("labels", data.classes)
        said = replay.said(self.accepted, positive)
        # The options are known to be right, and to check them takes as long as many a metric.
        with config_context(skip_parameter_validation=True), warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedMetricWarning)
            try:
                return float(self.scorer._sign * self.function(data.y[index], said, **options))
            except (UndefinedMetricWarning, ValueError) as error:
                raise InvalidInput(
                    f"The metric {self.name!r} has no value on a test set of {len(index)} rows: {error} Choose another "
                    "metric, or larger test sets."
                ) from error

    def _positive(self, data: Data, options: dict[str, Any]) -> Any:
        """Return the class whose scores a function of two classes looks at, and tell it which that is."""
        assert data.classes is not None
        if len(data.classes) > 2:
            if self.needs_positive:
                options.pop("pos_label", None)
            return None
        if self.needs_positive:
            options["pos_label"] = positive_label(data, options.get("pos_label"))
        elif self.function in (sk.brier_score_loss, sk.d2_brier_score):
            # Which of two classes is taken does not matter to them, as long as it is that of the probabilities.
            options.setdefault("pos_label", data.classes[1])
        return options.get("pos_label")

    def _check_classes(self, data: Data, index: Array, positive: Any) -> None:
        """Refuse rows of too few classes for a ranking."""
        if self.function not in (sk.roc_auc_score, sk.average_precision_score):
            return
        assert data.classes is not None
        assert data.codes is not None
        counts = np.bincount(data.codes[index], minlength=len(data.classes))
        needed = np.ones(len(counts), dtype=bool) if positive is None else data.classes == positive
        missing = data.classes[needed & (counts == 0)].tolist()
        if missing:
            raise InvalidInput(
                f"The metric {self.name!r} needs rows of {'every' if positive is None else 'the positive'} class in "
                f"each test set. One of {len(index)} rows has none of class {', '.join(map(repr, missing))}. Use fewer "
                "folds or stratified ones, or a metric that does without, such as 'log_loss'."
            )


def _takes(function: Any, name: str) -> bool:
    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())
