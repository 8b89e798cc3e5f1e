"""Properties of score functions: their bounds, their values of single rows, and the means they are functions of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics as sk

from truefit._metrics import row_loss as by_row
from truefit._metrics.row_loss import RowLoss
from truefit._metrics.smooth import Explained, Ratio, Ratios, RootMeanSquare, Smooth
from truefit._sklearn import d2_brier_score


def specificity(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, pos_label: Any = 1, sample_weight: npt.ArrayLike | None = None
) -> float:
    """TN / (FP + TN), the true negative rate; 0 without negative rows.

    Examples
    --------
    >>> specificity([1, 1, 0, 0, 0], [1, 0, 0, 0, 1])
    0.666...
    """
    fp, tn = _negatives(y_true, y_pred, pos_label, sample_weight)
    return tn / (fp + tn) if fp + tn > 0 else 0.0


def false_positive_rate(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, pos_label: Any = 1, sample_weight: npt.ArrayLike | None = None
) -> float:
    """FP / (FP + TN), which is 1 - specificity; so 1 without negative rows.

    Examples
    --------
    >>> false_positive_rate([1, 1, 0, 0, 0], [1, 0, 0, 0, 1])
    0.333...
    """
    fp, tn = _negatives(y_true, y_pred, pos_label, sample_weight)
    return fp / (fp + tn) if fp + tn > 0 else 1.0


def _negatives(
    y: npt.ArrayLike, predicted: npt.ArrayLike, pos_label: Any, weight: npt.ArrayLike | None
) -> tuple[float, float]:
    """Count false positives and true negatives, or sum their weights."""
    negative, assigned = np.asarray(y) != pos_label, np.asarray(predicted) == pos_label
    weights = np.ones(len(negative), dtype=np.int64) if weight is None else np.asarray(weight, dtype=np.float64)
    return weights[negative & assigned].sum().item(), weights[negative & ~assigned].sum().item()


def relative_squared_error(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Squared residuals over squared distances from the mean of y: 0 for exact predictions, 1 for that mean itself.

    Examples
    --------
    Residuals 1, 0, 1 against distances 2, 0, 2: 2 / 8.

    >>> relative_squared_error([0.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    0.25
    """
    return 1 - float(sk.r2_score(y_true, y_pred, sample_weight=sample_weight))


SHARE, LOSS, GAIN, ANY = (0.0, 1.0), (0.0, np.inf), (-np.inf, 1.0), (-np.inf, np.inf)

_RATIOS: dict[Any, Ratio] = {
    sk.f1_score: "f1",
    sk.precision_score: "precision",
    sk.recall_score: "recall",
    sk.jaccard_score: "jaccard",
}
_ROWS: dict[Any, RowLoss] = {
    sk.accuracy_score: RowLoss(by_row.right),
    sk.zero_one_loss: RowLoss(by_row.wrong),
    sk.mean_squared_error: RowLoss(by_row.squared),
    sk.mean_absolute_error: RowLoss(by_row.absolute),
    sk.log_loss: RowLoss(by_row.log_loss, "predict_proba"),
    sk.brier_score_loss: RowLoss(by_row.brier, "predict_proba"),
}
_SHARES = (sk.average_precision_score, sk.top_k_accuracy_score, sk.roc_auc_score, sk.balanced_accuracy_score)
_LOSSES = (
    sk.root_mean_squared_error, sk.median_absolute_error, sk.max_error, sk.mean_squared_log_error,
    sk.root_mean_squared_log_error, sk.mean_absolute_percentage_error, relative_squared_error,
)  # fmt: skip
_GAINS = (
    sk.r2_score, sk.explained_variance_score, sk.d2_absolute_error_score, d2_brier_score, sk.d2_log_loss_score,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MetricProperties:
    """Known properties of a score function."""

    row_loss: RowLoss | None = None
    zero_one: bool = False
    smooth: Smooth | None = None
    bounds: tuple[float, float] = ANY
    two_classes: bool = False
    needs_positive: bool = False


def metric_properties(function: Any, options: Mapping[str, Any], sign: int = 1) -> MetricProperties:
    """Return the known properties of a score function with these options, times ``sign``.

    Examples
    --------
    >>> metric_properties(sk.f1_score, {"average": "macro"}).smooth
    Ratios(ratio='f1', classes='all', pos_label=None, actual_only=False)
    >>> metric_properties(sk.mean_squared_error, {}, sign=-1).bounds
    (-inf, 0.0)
    """
    if function in _RATIOS or function is sk.fbeta_score:
        return _ratio(function, options, sign)
    if function in (specificity, false_positive_rate):
        ratio: Ratio = "recall" if function is specificity else "miss"
        smooth = Ratios(ratio, "negative", options.get("pos_label")) if sign == 1 else None
        return MetricProperties(smooth=smooth, bounds=_signed(SHARE, sign), two_classes=True, needs_positive=True)
    bounds = _signed(_bounds(function, options), sign)
    if function in (sk.roc_auc_score, sk.average_precision_score):
        return MetricProperties(
            bounds=bounds,
            two_classes=function is sk.roc_auc_score and "multi_class" not in options,
            needs_positive=function is sk.average_precision_score,
        )
    if options:
        return MetricProperties(bounds=bounds)
    if function in _ROWS:
        known = _ROWS[function]
        zero_one = function in (sk.accuracy_score, sk.zero_one_loss) and sign == 1
        return MetricProperties(row_loss=RowLoss(known.of, known.response, sign), zero_one=zero_one, bounds=bounds)
    return MetricProperties(smooth=_smooth(function, sign), bounds=bounds)


def _smooth(function: Any, sign: int) -> Smooth | None:
    if function is sk.root_mean_squared_error:
        return RootMeanSquare(sign)
    if sign == 1 and function is sk.balanced_accuracy_score:
        return Ratios("recall", "all", actual_only=True)
    if sign == 1 and function in (sk.r2_score, relative_squared_error):
        return Explained(relative=function is relative_squared_error)
    return None


def _ratio(function: Any, options: Mapping[str, Any], sign: int) -> MetricProperties:
    average = options.get("average", "binary")
    binary = average == "binary"
    found = MetricProperties(bounds=_signed(SHARE, sign), two_classes=binary, needs_positive=binary)
    usual = set(options) <= {"average", "pos_label", "zero_division"} and options.get("zero_division", 0) in (0, "warn")
    if not usual or sign != 1:
        return found
    if average == "binary":
        return replace(found, smooth=Ratios(_RATIOS[function], "positive", options.get("pos_label")))
    if average == "macro":
        return replace(found, smooth=Ratios(_RATIOS[function], "all"))
    if average == "micro" and function is not sk.jaccard_score:
        # Over all classes together each of the three is the share of right rows.
        return replace(found, row_loss=RowLoss(by_row.right), zero_one=True)
    return found


def _bounds(function: Any, options: Mapping[str, Any]) -> tuple[float, float]:
    if function in (sk.accuracy_score, sk.zero_one_loss) or (function in _SHARES and not options.get("adjusted")):
        return SHARE
    if function in _GAINS:
        return GAIN
    return LOSS if function in _ROWS or function in _LOSSES else ANY


def _signed(bounds: tuple[float, float], sign: int) -> tuple[float, float]:
    low, high = bounds
    return (low, high) if sign == 1 else (-high + 0.0, -low + 0.0)
