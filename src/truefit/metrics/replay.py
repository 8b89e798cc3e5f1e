"""Replay: stored predictions in the shape of a fitted estimator, so that any scikit-learn scorer can judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags, TargetTags

from truefit.core.data import Data
from truefit.core.outcome import Outcome
from truefit.core.rows import Rows
from truefit.core.task import RESPONSES, Response

Array = npt.NDArray[Any]


class Replay:
    """Answers ``predict`` and the rest with what a fit said of some rows, whatever X it is given.

    Probabilities have a column for every class of the data, 0 where the model has not seen the class.
    """

    def __init__(self, answers: Mapping[Response, Array], data: Data) -> None:
        self._task = data.task
        self._answers = answers
        self._said: dict[tuple[Response, Any], Array] = {}
        self.classes_ = data.classes
        for response, values in answers.items():
            # Only what was answered is there, so that a scorer that can do with either finds the right one.
            setattr(self, response, _saying(response, values))

    @classmethod
    def of(cls, outcome: Outcome, data: Data, rows: Rows) -> Replay:
        """Replay what a fit said of ``rows``."""
        answers = {response: aligned_answer(outcome, data, rows, response) for response in RESPONSES}
        return cls({response: values for response, values in answers.items() if values is not None}, data)

    @classmethod
    def joined(cls, parts: Sequence[Replay], data: Data) -> Replay:
        """Several replays one after the other, with the responses that all of them have."""
        common = [response for response in RESPONSES if all(response in part._answers for part in parts)]
        return cls({r: np.concatenate([part._answers[r] for part in parts]) for r in common}, data)

    def answer(self, response: Response) -> Array:
        """Return a response as it was given.

        Raises
        ------
        AttributeError
            If the fit was not asked for it.
        """
        if response not in self._answers:
            raise AttributeError(f"no {response} among {', '.join(self._answers)}")
        return self._answers[response]

    def said(self, accepted: Sequence[Response], positive: Any = None) -> Array:
        """Return the first of some responses that is there, as scikit-learn's scorers hand it to a score function.

        Of two classes that is a score for one of them, ``positive`` or else the second.

        Raises
        ------
        AttributeError
            If none of them is there.
        """
        response = next((each for each in accepted if each in self._answers), accepted[0])
        values = self.answer(response)
        if response == "predict" or self.classes_ is None or len(self.classes_) != 2:
            return values
        second = positive is None or bool(self.classes_[1] == positive)
        key = (response, second)
        if key not in self._said:
            if response == "predict_proba":
                self._said[key] = values[:, 1 if second else 0]
            else:
                self._said[key] = values if second else -values
        return self._said[key]

    def score(self, X: Any, y: Array, sample_weight: Array | None = None) -> float:
        """Accuracy or R², as scikit-learn's own estimators have it."""
        judge = accuracy_score if self._task == "classification" else r2_score
        return float(judge(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        kind = "classifier" if self._task == "classification" else "regressor"
        return Tags(estimator_type=kind, target_tags=TargetTags(required=True), transformer_tags=None)


def _saying(response: Response, values: Array) -> Callable[[Any], Array]:
    def say(X: Any) -> Array:
        return values

    say.__name__ = response  # scorers go by the name of the method they found
    return say


def aligned_answer(outcome: Outcome, data: Data, rows: Rows, response: Response) -> Array | None:
    """Return what a fit said of rows, with a column for every class of the data; None where it was not asked for it."""
    try:
        values = outcome.answer(data, rows, response)
    except KeyError:
        return None
    if data.classes is None or outcome.classes is None or response == "predict":
        return values
    if values.ndim == 2 and not np.array_equal(outcome.classes, data.classes):
        column = {label: place for place, label in enumerate(data.classes.tolist())}
        fill = 0.0 if response == "predict_proba" else -np.inf
        aligned = np.full((len(values), len(data.classes)), fill, dtype=values.dtype)
        aligned[:, [column[label] for label in outcome.classes.tolist()]] = values
        return aligned
    return values
