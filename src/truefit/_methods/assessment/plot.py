"""Plots of an assessment, from its stored predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array
from truefit._methods.text import MetricText
from truefit._metrics.row_loss import is_share
from truefit._plots.classification import confusion, precision_recall, roc
from truefit._plots.curve import periods
from truefit._plots.regression import predicted_vs_true, residuals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truefit._methods.assessment.result import Assessment


def _roc(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    ranked = assessment.ranked(pos_label=pos_label)
    return roc(list(ranked), [[_points(roc_curve, fold) for fold in folds] for folds in ranked.values()], ax=ax)


def _precision_recall(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    ranked = assessment.ranked(pos_label=pos_label)
    curves = [[_points(precision_recall_curve, fold)[::-1] for fold in folds] for folds in ranked.values()]
    base_rate = float(np.mean(np.concatenate([y01 for y01, _ in next(iter(ranked.values()))])))
    return precision_recall(list(ranked), curves, base_rate=base_rate, ax=ax)


def _points(curve: Callable[..., Any], fold: tuple[Array, Array]) -> tuple[Array, Array]:
    y01, scores = fold
    if len(np.unique(y01)) < 2:  # left out of the picture
        return np.array([np.nan]), np.array([np.nan])
    first, second, _ = curve(y01, scores)
    return first, second


def _calibration(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    return assessment.calibration(pos_label=pos_label).plot(ax=ax)


def _decision_curve(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    return assessment.decision_curve(pos_label=pos_label).plot(ax=ax)


def _confusion(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    counts = _only(assessment, assessment.confusion())
    return confusion(counts.to_numpy(), [str(label) for label in counts.index], ax=ax)


def _residuals(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    return residuals(*_numbers(assessment), ax=ax)


def _predicted(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    return predicted_vs_true(*_numbers(assessment), ax=ax)


def _numbers(assessment: Assessment) -> tuple[Array, Array]:
    if assessment.task != "regression":
        raise InvalidInput("This plot is of a regression. This is a classification; use kind='confusion' or 'roc'.")
    found = _only(assessment, assessment.predictions)
    return found["y"].to_numpy(), found["prediction"].to_numpy()


def _time(assessment: Assessment, pos_label: Any, ax: Axes | None) -> Axes:
    if not assessment.splits.chronological:
        raise InvalidInput("This plot is of rows in time order. The assessment has none; pass time= to the function.")
    best_first = {name: assessment.split_scores()[name] for name in assessment.from_best_to_worst}
    return periods(
        assessment.periods,
        best_first,
        xlabel=assessment.time_name,
        ylabel=MetricText.from_name(assessment.metric).name,
        percent=is_share(assessment.metric),
        ax=ax,
    )


def _only(assessment: Assessment, found: Any) -> Any:
    if isinstance(found, Mapping) and len(found) == 1:
        return next(iter(found.values()))
    if isinstance(found, Mapping):
        raise InvalidInput(
            f"This plot is of one estimator. Got {len(assessment.names)}; assess one alone (the fits are shared on one "
            "engine)."
        )
    return found


#: The kinds of plots.
KINDS: dict[str, Callable[[Assessment, Any, Axes | None], Axes]] = {
    "roc": _roc,
    "precision_recall": _precision_recall,
    "calibration": _calibration,
    "decision_curve": _decision_curve,
    "confusion": _confusion,
    "residuals": _residuals,
    "predicted": _predicted,
    "time": _time,
}
