"""TF210: whether the predicted probabilities of the selected model are calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.finding import Finding
from truefit._methods.calibration import calibration_of
from truefit._stats.calibration import CalibrationEstimate
from truefit._study.checks.base import ResultCheck, quoted
from truefit._study.evidence import StudyEvidence

#: With more classes, or fewer rows of a class or of the others, nothing is claimed.
MOST_CLASSES: Final = 32
LEAST_ROWS: Final = 20
#: So few different probabilities in a fold are those of a tree or of votes, whose slope varies from fit to fit.
FEW_VALUES: Final = 20


class Miscalibrated(ResultCheck, code="TF210", title="Probabilities are not calibrated", severity="warning"):
    """Compares the calibration slope of the selected model with 1, for each class against the rest."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield one finding where the interval of the slope of a class is above 0 and excludes 1."""
        found = _slopes(evidence)
        if not found:
            return
        label, worst = max(found.items(), key=lambda item: _distance(item[1]))
        assert worst.slope_interval is not None
        low, high = worst.slope_interval
        of_class = "" if evidence.data.classes is None or len(evidence.data.classes) == 2 else f" for class {label!r}"
        others = [each for each in found if each != label]
        also = f" It excludes 1 for {quoted(others)} too." if others else ""
        what = "too extreme: near 0 and 1 too often" if worst.slope < 1 else "not extreme enough: too far from 0 and 1"
        few = ""
        if _few_values(evidence):
            few = (
                " It predicts few different probabilities, as a tree does: the slope may vary from fit to fit by more "
                "than this interval."
            )
        name, family = evidence.best, evidence.family(evidence.best)
        known = "it" if family == name else family  # the name of a setting is not one of a candidate
        yield self.finding(
            f"The calibration slope of {name}{of_class} is {worst.slope:.2f} ({evidence.level:.0%} confidence interval "
            f"{low:.2f} to {high:.2f}), where 1 is ideal: its probabilities are {what}.{also}{few}",
            f"Where probabilities are used, and not only labels or ranks, recalibrate {name}: study {known} with "
            "log_loss as the metric, beside itself with +platt and +isotonic after its name, or "
            "CalibratedClassifierCV of it.",
            slopes={str(each): [one.slope, *(one.slope_interval or ())] for each, one in found.items()},
        )


def _slopes(evidence: StudyEvidence) -> dict[Any, CalibrationEstimate]:
    """Return the classes whose slope's interval is above 0 and excludes 1; the intervals of several hold together."""
    classes = evidence.data.classes
    if classes is None or len(classes) > MOST_CLASSES:
        return {}
    tested = 1 if len(classes) == 2 else len(classes)
    try:
        predictions = evidence.assessment._predictions_of(evidence.best)
        level = 1 - (1 - evidence.level) / tested
        by_class = calibration_of({evidence.best: predictions}, single=True, level=level).estimates[evidence.best]
    except InvalidInput:  # no probabilities, or a class that no row is of
        return {}
    found = {}
    for label, each in by_class.items():
        rows = int((predictions.y == label).sum())
        enough = min(rows, len(predictions.y) - rows) >= LEAST_ROWS
        if not enough or each.slope_interval is None:
            continue
        low, high = each.slope_interval
        # With 0 inside or above, the probabilities have no relation to the class that recalibration could bring out.
        if low > 0 and not low <= 1 <= high:
            found[label] = each
    return found


def _few_values(evidence: StudyEvidence) -> bool:
    """Whether the model of each fold predicts few different probabilities for many rows."""
    own = evidence.assessment._predictions_of(evidence.best)
    if own.probability is None or own.folds is None:
        return False
    folds = [own.probability[own.folds == fold] for fold in np.unique(own.folds)]
    return all(len(np.unique(each[:, 0])) <= min(FEW_VALUES, len(each) / 2) for each in folds)


def _distance(each: CalibrationEstimate) -> float:
    return abs(each.slope - 1)
