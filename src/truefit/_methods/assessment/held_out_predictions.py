"""Held-out predictions of an estimator: all of them as a frame, or the first of each row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._methods.predictions import ModelPredictions
from truefit._methods.splitting.splits import Split
from truefit._metrics.scorers import StoredPredictor

if TYPE_CHECKING:
    import pandas as pd

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
