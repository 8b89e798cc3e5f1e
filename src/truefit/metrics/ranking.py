"""Ranking: how high a model places the rows of the positive class, for ROC curves and their area."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.core.outcome import Outcome
from truefit.core.rows import Rows
from truefit.metrics.metric import Metric
from truefit.metrics.positive import positive_label
from truefit.metrics.replay import Replay

Array = npt.NDArray[Any]


def is_auc(metric: Metric, data: Data) -> bool:
    """Whether a metric is the area under the ROC curve of two classes."""
    same = getattr(metric.scorer, "_score_func", None) is roc_auc_score
    return same and data.classes is not None and len(data.classes) == 2


def positive_class(data: Data, pos_label: Any = None) -> Any:
    """Return the positive class of a two-class target: the one named, or the second in order."""
    if data.classes is None or len(data.classes) != 2:
        found = "a regression" if data.classes is None else f"{len(data.classes)} classes"
        raise InvalidInput(f"A ROC curve is of 2 classes. This is {found}. See .confusion() or .predictions.")
    return positive_label(data, data.classes[1] if pos_label is None else pos_label)


def ranked(
    outcome: Outcome, data: Data, rows: Rows, positive: Any, *, probabilities: bool = False
) -> tuple[Array, Array]:
    """Return whether each row is of the positive class, and how strongly the model takes it to be.

    ``probabilities`` says that nothing but a probability will do.
    """
    assert data.classes is not None
    replay: Any = Replay.of(outcome, data, rows)
    second = positive == data.classes[1]
    if hasattr(replay, "decision_function") and not probabilities:  # as scikit-learn's scorer of the AUC prefers
        score = replay.decision_function(None) * (1 if second else -1)
    elif hasattr(replay, "predict_proba"):
        score = replay.predict_proba(None)[:, 1 if second else 0]
    else:
        wanted = "predict_proba" if probabilities else "predict_proba or decision_function"
        raise InvalidInput(f"This needs {wanted}. The estimator was not asked for it; choose one that has it.")
    return (data.y[rows.index] == positive).astype(np.int8), np.asarray(score, dtype=np.float64)
