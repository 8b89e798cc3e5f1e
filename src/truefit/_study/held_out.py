"""Held-out predictions of the selected model: what the page says of them, computed once and without fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from truefit._methods.diagnostic_tables import (
    Table,
    calibration_table,
    class_table,
    confusion_tables,
    or_none,
    threshold_table,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truefit._methods.calibration import Calibration
    from truefit._methods.decision_curve import DecisionCurve
    from truefit._methods.per_class import PerClass
    from truefit._methods.threshold import Threshold
    from truefit._study.result import Study

#: With more classes their calibration is not judged one by one, and a table of them is too long to read.
MOST_CLASSES: Final = 32
#: Rules of the thresholds on the page.
RULES: Final = ("youden", {"sensitivity": 0.9})
#: Titles of the parts, in the order of the page.
TITLES: Final = {
    "roc": "ROC curve",
    "calibration": "Calibration",
    "decisions": "Thresholds and decision curve",
    "classes": "Recall and precision of each class",
}


class Diagnoses(NamedTuple):
    """Diagnoses of the selected model; None where its predictions do not allow them."""

    calibration: Calibration | None
    decision_curve: DecisionCurve | None
    thresholds: tuple[Threshold, ...]
    per_class: PerClass | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; nothing of what is not there."""
        found = {name: getattr(self, name) for name in ("calibration", "decision_curve", "per_class")}
        plain: dict[str, Any] = {name: each.to_dict() for name, each in found.items() if each is not None}
        return plain | ({"thresholds": [each.to_dict() for each in self.thresholds]} if self.thresholds else {})


def diagnosed(study: Study) -> Diagnoses:
    """Diagnose the held-out predictions of the selected model."""
    classes = study.assessment.classes
    if classes is not None and len(classes) > MOST_CLASSES:
        return Diagnoses(None, None, (), None)
    binary = classes is not None and len(classes) == 2
    thresholds = [or_none(partial(study.threshold, rule)) for rule in RULES] if binary else []
    return Diagnoses(
        or_none(study.calibration),
        or_none(study.decision_curve) if binary else None,
        tuple(each for each in thresholds if each is not None),
        None if classes is None else or_none(study.per_class),
    )


def held_out_pictures(study: Study) -> Iterator[tuple[str, str, Callable[..., Axes], str]]:
    """Yield part, caption, function that draws, and description of each picture."""
    found, best = study.diagnoses, study.best
    folds = "periods" if study.assessment.splits.chronological else "folds"
    alone = study.assessment.of(best)
    if or_none(alone.ranked) is not None:  # scores are enough
        caption = f"ROC curve of {best}: mean of the curves of the {folds}, which are not pooled."
        yield "roc", caption, partial(alone.plot, "roc"), caption
    if found.calibration is not None:
        caption = f"Calibration of {best}, {folds} pooled: what is observed where a value is predicted."
        if len(found.calibration.labels) > 1:
            caption = f"Calibration slope of {best} for each class against the rest, {folds} pooled. 1 is ideal."
        yield "calibration", caption, found.calibration.plot, found.calibration.summary()
    if found.decision_curve is not None:
        curve = found.decision_curve
        caption = (
            f"Decision curve of {best}, {folds} pooled: net benefit of acting on rows whose probability of class "
            f"{curve.pos_label!r} reaches the threshold. Where the curve is above both lines, the model is of use."
        )
        yield "decisions", caption, curve.plot, curve.summary()
    if found.per_class is not None and len(found.per_class.table) > 2:
        caption = f"Recall of {best} for each class with its {study.level:.0%} confidence interval, {folds} pooled."
        yield "classes", caption, found.per_class.plot, found.per_class.summary()


def held_out_tables(study: Mapping[str, Any]) -> dict[str, list[Table]]:
    """Return the tables of each part, from the plain data of a study."""
    plain = study.get("predictions") or {}
    made = {
        "calibration": [calibration_table(plain["calibration"])] if "calibration" in plain else [],
        "decisions": [threshold_table(plain["thresholds"])] if "thresholds" in plain else [],
        "classes": [class_table(plain["per_class"]), *confusion_tables(plain["per_class"])]
        if "per_class" in plain
        else [],
    }
    return {part: tables for part, tables in made.items() if tables}
