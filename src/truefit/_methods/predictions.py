"""ModelPredictions: the truth and the predictions of one model on rows it was not trained on; the frame of these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.typing import Array, Floats
from truefit._methods.splitting.splits import Split
from truefit._metrics.scorers import StoredPredictor

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class ModelPredictions:
    """Truth and predictions of one model on rows that it was not trained on, one value per row.

    Attributes
    ----------
    y : ndarray of shape (n,)
        True labels or numbers.
    predicted : ndarray of shape (n,) or None
        Predicted labels or numbers.
    probability : ndarray of shape (n, n_classes) or None
        Predicted probabilities, a column for each of the classes.
    classes : ndarray of shape (n_classes,) or None
        The classes in order; None for a regression.
    groups : ndarray of shape (n,) or None
        The group of each row: rows of one group are not independent.
    weight : ndarray of shape (n,) or None
        The weight of each row.
    folds : ndarray of shape (n,) or None
        The test fold of each row, predicted by a model trained on the other folds; None for one test set.
    pos_label : label or None
        The positive class of two; None for the second one.
    """

    y: Array
    predicted: Array | None
    probability: Array | None
    classes: Array | None
    groups: Array | None
    weight: Array | None
    folds: Array | None = None
    pos_label: Any = None

    def positive(self, pos_label: Any = None) -> int:
        """Return the place of the positive class of two: the one named here, or before, or else the second."""
        if self.classes is None or len(self.classes) != 2:
            advice = "make the target one class against the rest, to ask about one class"
            found = "a regression" if self.classes is None else f"{len(self.classes)} classes; {advice}"
            raise InvalidInput(f"Thresholds, decision curves and a positive class need 2 classes. Got {found}.")
        wanted = self.pos_label if pos_label is None else pos_label
        if wanted is None:
            return 1
        known = self.classes.tolist()
        if wanted not in known:
            raise InvalidInput(
                f"The 'pos_label' parameter must be a class of y. Got {wanted!r}; the classes are "
                f"{', '.join(map(repr, known))}."
            )
        return int(known.index(wanted))

    def chance_of(self, place: int, what: str) -> tuple[Floats, Floats]:
        """Return whether each row is of a class, as 0 or 1, and its predicted probability of that class."""
        assert self.classes is not None
        label = self.classes.tolist()[place]
        if self.probability is None:
            raise InvalidInput(
                f"{what} needs predicted probabilities. Got labels or scores only; pass probabilities, or use an "
                "estimator with predict_proba."
            )
        y01 = (self.y == label).astype(np.float64)
        counted = y01 if self.weight is None else y01[self.weight > 0]
        if not 0 < counted.sum() < len(counted):
            raise InvalidInput(
                f"{what} needs rows of class {label!r} and of another class. Got "
                f"{'none' if not counted.any() else 'only rows'} of it among {len(counted)} rows"
                f"{'' if self.weight is None else ' with a weight above 0'}."
            )
        probability = np.asarray(self.probability[:, place], dtype=np.float64)
        if np.isnan(probability).any():
            raise InvalidInput(
                f"{what} needs a probability for every row. Got NaN at {int(np.isnan(probability).sum())} of "
                f"{len(probability)} rows; drop these rows, or predict them."
            )
        if probability.min() < 0 or probability.max() > 1:
            raise InvalidInput(
                f"Probabilities must lie within 0 and 1. Got {probability.min():g} to {probability.max():g}. Use an "
                "estimator that predicts probabilities."
            )
        return y01, probability


#: Number of a split, the split, and what came of its fit.
Tested = Iterable[tuple[int, Split, Outcome]]


def held_out_frame(tested: Tested, data: Data) -> pd.DataFrame:
    """Return a line for each row of each test set: row, split, repeat, y, prediction and probabilities."""
    import pandas as pd

    frames = []
    for i, split, outcome in tested:
        rows, replay = split.test.index, StoredPredictor.of(outcome, data, split.test)
        columns: dict[str, Any] = {"row": rows, "split": i, "repeat": split.repeat, "y": data.y[rows]}
        if hasattr(replay, "predict"):
            columns["prediction"] = replay.predict(None)
        else:  # scores that somebody else made
            columns["score"] = replay.decision_function(None)  # type: ignore[attr-defined]
        if hasattr(replay, "predict_proba") and data.classes is not None:
            proba = replay.predict_proba(None)
            columns |= {f"p({label})": proba[:, j] for j, label in enumerate(data.classes)}
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["row", "split", "repeat", "y"])


def first_predictions(tested: Tested, data: Data, *, several: bool, pos_label: Any) -> ModelPredictions:
    """Return the first prediction of each row, in the order of the rows; rows that were never tested are not there.

    Of repeated cross-validation these are those of the first partition: their mean over the repeats would be the
    prediction of an average of models, which is better calibrated than one of them. ``several`` is whether there is
    more than one test set.
    """
    found = held_out_frame(tested, data).drop_duplicates("row").sort_values("row", ignore_index=True)
    rows, classes = found["row"].to_numpy(), data.classes
    columns = [] if classes is None else [f"p({label})" for label in classes]
    return ModelPredictions(
        y=data.y[rows],
        predicted=found["prediction"].to_numpy() if "prediction" in found else None,
        probability=found[columns].to_numpy() if columns and set(columns) <= set(found) else None,
        classes=classes,
        groups=None if data.groups is None else data.groups[rows],
        weight=None if data.weight is None else data.weight[rows],
        folds=found["split"].to_numpy() if several else None,
        pos_label=pos_label,
    )
