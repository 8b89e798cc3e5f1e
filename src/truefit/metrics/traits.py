"""What is known about score functions: their bounds, their values of single rows, and what they are smooth in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics as sk

from truefit.metrics import row_loss as by_row
from truefit.metrics.confusion import false_positive_rate, specificity
from truefit.metrics.regression import relative_squared_error
from truefit.metrics.row_loss import RowLoss
from truefit.metrics.smooth import Explained, Ratio, Ratios, RootMeanSquare, Smooth

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
    sk.r2_score, sk.explained_variance_score, sk.d2_absolute_error_score, sk.d2_brier_score, sk.d2_log_loss_score,
)  # fmt: skip


@dataclass(frozen=True)
class Traits:
    """What a score function is, as far as that is known."""

    row_loss: RowLoss | None = None
    zero_one: bool = False
    smooth: Smooth | None = None
    bounds: tuple[float, float] = ANY
    two_classes: bool = False
    needs_positive: bool = False


def traits_of(function: Any, options: Mapping[str, Any], sign: int = 1) -> Traits:
    """Return what is known of a score function with these options, times ``sign``.

    Examples
    --------
    >>> traits_of(sk.f1_score, {"average": "macro"}).smooth
    Ratios(ratio='f1', classes='all', pos_label=None, actual_only=False)
    >>> traits_of(sk.mean_squared_error, {}, sign=-1).bounds
    (-inf, 0.0)
    """
    if function in _RATIOS or function is sk.fbeta_score:
        return _ratio(function, options, sign)
    if function in (specificity, false_positive_rate):
        ratio: Ratio = "recall" if function is specificity else "miss"
        smooth = Ratios(ratio, "negative", options.get("pos_label")) if sign == 1 else None
        return Traits(smooth=smooth, bounds=_signed(SHARE, sign), two_classes=True, needs_positive=True)
    bounds = _signed(_bounds(function, options), sign)
    if function in (sk.roc_auc_score, sk.average_precision_score):
        return Traits(
            bounds=bounds,
            two_classes=function is sk.roc_auc_score and "multi_class" not in options,
            needs_positive=function is sk.average_precision_score,
        )
    if options:
        return Traits(bounds=bounds)
    if function in _ROWS:
        known = _ROWS[function]
        zero_one = function in (sk.accuracy_score, sk.zero_one_loss) and sign == 1
        return Traits(RowLoss(known.of, known.response, sign), zero_one, bounds=bounds)
    return Traits(smooth=_smooth(function, sign), bounds=bounds)


def _smooth(function: Any, sign: int) -> Smooth | None:
    if function is sk.root_mean_squared_error:
        return RootMeanSquare(sign)
    if sign == 1 and function is sk.balanced_accuracy_score:
        return Ratios("recall", "all", actual_only=True)
    if sign == 1 and function in (sk.r2_score, relative_squared_error):
        return Explained(relative=function is relative_squared_error)
    return None


def _ratio(function: Any, options: Mapping[str, Any], sign: int) -> Traits:
    average = options.get("average", "binary")
    binary = average == "binary"
    found = Traits(bounds=_signed(SHARE, sign), two_classes=binary, needs_positive=binary)
    unusual = set(options) - {"average", "pos_label", "zero_division"} or options.get("zero_division", 0) not in (
        0,
        "warn",
    )
    if unusual or sign != 1:
        return found
    smooth, row_loss = None, None
    if average in ("binary", "macro"):
        smooth = Ratios(
            _RATIOS[function], "positive" if binary else "all", options.get("pos_label") if binary else None
        )
    elif average == "micro" and function is not sk.jaccard_score:
        row_loss = RowLoss(by_row.right)  # over all classes together each of the three is the share of right rows
    return Traits(row_loss, row_loss is not None, smooth, found.bounds, found.two_classes, found.needs_positive)


def _bounds(function: Any, options: Mapping[str, Any]) -> tuple[float, float]:
    if function in (sk.accuracy_score, sk.zero_one_loss) or (function in _SHARES and not options.get("adjusted")):
        return SHARE
    if function in _GAINS:
        return GAIN
    return LOSS if function in _ROWS or function in _LOSSES else ANY


def _signed(bounds: tuple[float, float], sign: int) -> tuple[float, float]:
    low, high = bounds
    return (low, high) if sign == 1 else (-high + 0.0, -low + 0.0)
