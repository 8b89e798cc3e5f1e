"""Contributions of rows to a metric on one test set: one value per row, from which standard errors are computed.

The mean of the values is the metric, and the spread of their mean is that of the metric by the delta method. So the
standard error of any metric, its error when rows come in groups, and that of the difference of two models all follow
from plain means.
"""

from __future__ import annotations

import numpy as np
from sklearn import metrics as sk

from truefit._core.data import Data
from truefit._core.typing import Floats, Positions
from truefit._metrics.metric import Metric
from truefit._metrics.scorers import StoredPredictor, positive_label
from truefit._metrics.smooth import Smooth
from truefit._stats.auc import auc_contributions, average_precision_contributions


def row_contributions(metric: Metric, replay: StoredPredictor, data: Data, index: Positions) -> Floats | None:
    """Return the contributions of the rows at ``index``; None for a metric that has no known ones.

    Weights are in the values: their plain mean is the weighted metric. NaN where the metric has no slope, such as the
    RMSE of predictions without an error.

    Examples
    --------
    >>> from truefit._metrics.metric import get_metric
    >>> data = Data([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0], task="regression")
    >>> replay = StoredPredictor({"predict": np.array([1.0, 2.0, 5.0])}, data)
    >>> row_contributions(get_metric("mse", "regression"), replay, data, np.arange(3)).tolist()
    [0.0, 0.0, 4.0]
    """
    weight = data.weights_of(index)
    if metric.row_loss is not None:
        each = metric.rows_of(replay, data, index)
        centre = float(np.average(each, weights=weight))
        return each if weight is None else centre + weight * (each - centre) / weight.mean()
    if metric.smooth is not None:
        return _of_means(metric.smooth, replay, data, index, weight)
    function, options = getattr(metric.scorer, "_score_func", None), getattr(metric.scorer, "_kwargs", {})
    sign = metric.sign * getattr(metric.scorer, "_sign", 1)
    if function is sk.roc_auc_score and data.classes is not None:
        found = _of_auc(options, replay, data, index, weight)
        return None if found is None else sign * found
    if function is sk.average_precision_score and data.classes is not None and len(data.classes) == 2:
        positive = positive_label(data, options.get("pos_label"))
        scores = replay.response_values(("decision_function", "predict_proba"), positive)
        return sign * average_precision_contributions(data.y[index] == positive, scores, weight)
    return None


def _of_means(smooth: Smooth, replay: StoredPredictor, data: Data, index: Positions, weight: Floats | None) -> Floats:
    """Linearise a function of means: its value, plus its slope times what a row adds to each mean."""
    parts = smooth.parts(data.y[index], replay.answer("predict"), data)
    means: Floats = np.average(parts, axis=0, weights=weight)
    linear = (parts - means) @ np.asarray(smooth.slopes(means), dtype=np.float64)
    if weight is not None:
        linear *= weight / weight.mean()
    linear += smooth.value(means)
    return linear


def _of_auc(
    options: dict[str, object], replay: StoredPredictor, data: Data, index: Positions, weight: Floats | None
) -> Floats | None:
    """Placements of the rows; of several classes the mean over each class against the others."""
    assert data.classes is not None
    assert data.codes is not None
    codes = data.codes[index]
    if len(data.classes) == 2:
        return auc_contributions(codes == 1, replay.response_values(("decision_function", "predict_proba")), weight)
    present = np.unique(codes)
    average = options.get("average", "macro")
    if options.get("multi_class") != "ovr" or average != "macro" or len(present) < 2:
        return None
    proba = replay.answer("predict_proba")
    total = np.zeros(len(index))
    for code in present:
        total += auc_contributions(codes == code, proba[:, code], weight)
    return total / len(present)
