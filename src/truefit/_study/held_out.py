"""Held-out predictions of the selected model: what the page says of them, computed once and without fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from truefit._core.errors import InvalidInput
from truefit._methods.text import number
from truefit._study.page_tables import Table, interval_name

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
    thresholds = [_or_none(partial(study.threshold, rule)) for rule in RULES] if binary else []
    return Diagnoses(
        _or_none(study.calibration),
        _or_none(study.decision_curve) if binary else None,
        tuple(each for each in thresholds if each is not None),
        None if classes is None else _or_none(study.per_class),
    )


def _or_none(diagnose: Callable[[], Any]) -> Any:
    """Return a diagnosis; None where there are no probabilities, or no rows of a class."""
    try:
        return diagnose()
    except InvalidInput:
        return None


def held_out_pictures(study: Study) -> Iterator[tuple[str, str, Callable[..., Axes], str]]:
    """Yield part, caption, function that draws, and description of each picture."""
    found, best = study.diagnoses, study.best
    folds = "periods" if study.assessment.splits.chronological else "folds"
    alone = study.assessment.of(best)
    if _or_none(alone.ranked) is not None:  # scores are enough
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
        "calibration": [_calibration(plain["calibration"])] if "calibration" in plain else [],
        "decisions": [_thresholds(plain["thresholds"])] if "thresholds" in plain else [],
        "classes": [_classes(plain["per_class"])] if "per_class" in plain else [],
    }
    return {part: tables for part, tables in made.items() if tables}


def _calibration(plain: Mapping[str, Any]) -> Table:
    interval, models = interval_name(plain["level"]), plain["models"]
    if len(models) > 1:
        rows = [[str(each["class"]), each["slope"], _ends(each, "slope"), each["ece"]] for each in models]
        columns = ["class against the rest", "slope", interval, "calibration error"]
        return {"columns": columns, "rows": rows, "caption": "Calibration by class", "meanings": {"slope": _SLOPE}}
    (each,) = models
    of_numbers = plain["task"] == "regression"
    score = "mean squared error" if of_numbers else "Brier score"
    rows = [
        ["slope", each["slope"], _ends(each, "slope"), "1"],
        ["calibration in the large", each["in_the_large"], _ends(each, "in_the_large"), "0"],
        ["calibration error (ECE)", each["ece"], None, f"{_short(each['ece_expected'])} by chance alone"],
        ["integrated calibration index", each["ici"], None, "0"],
        [score, each["score"], None, ""],
        [f"{score}: miscalibration", each["miscalibration"], None, "0"],
        [f"{score}: discrimination", each["discrimination"], None, "high"],
        [f"{score}: uncertainty", each["uncertainty"], None, "of the target itself"],
    ]
    texts = {
        "value": [_short(row[1]) for row in rows],
        interval: ["" if row[2] is None else f"{_short(row[2][0])} to {_short(row[2][1])}" for row in rows],
    }
    large = "Mean of the true minus the predicted values." if of_numbers else (
        "How much the log-odds are too low on average: above 0 the class is more frequent than predicted."
    )  # fmt: skip
    return {
        "columns": ["quantity", "value", interval, "ideal"],
        "rows": rows,
        "texts": texts,
        "caption": "Calibration",
        "meanings": {
            "slope": _SLOPE,
            "in the large": large,
            "ECE": "Mean distance between prediction and observation over 10 bins of equally many rows.",
            score: "Miscalibration − discrimination + uncertainty.",
        },
    }


_SLOPE: Final = "Of the truth regressed on the predictions: below 1 these are too extreme, above 1 not extreme enough."


def _thresholds(plain: list[Mapping[str, Any]]) -> Table:
    rates = ("sensitivity", "specificity", "precision")
    rows = []
    for each in plain:
        (model,) = each["models"]
        rows.append([each["rule"], model["threshold"], *(_share(model, rate) for rate in rates)])
    label = plain[0]["pos_label"]
    return {
        "columns": ["threshold by", "threshold", *rates],
        "rows": rows,
        "texts": {"threshold": [f"{row[1]:.3g}" for row in rows]},
        "caption": f"Thresholds on the probability of class {label!r}, with {interval_name(plain[0]['level'])}s",
        "meanings": {
            "threshold": "Rows with at least this probability are called positive. It is chosen on all rows.",
            "sensitivity": "Share of the positive rows that are called positive. For all rates each fold has a "
            "threshold chosen on the other folds; the intervals include that choice.",
            "precision": "Share of the rows called positive that are positive.",
        },
    }


def _classes(plain: Mapping[str, Any]) -> Table:
    rows = [
        [
            str(each["class"]),
            each["rows"],
            _share(each, "recall"),
            _share(each, "precision"),
            _text(each["most_often_called"]),
        ]
        for each in plain["models"]
    ]
    return {
        "columns": ["class", "rows", "recall", "precision", "most frequent error"],
        "rows": rows,
        "caption": f"Recall and precision of each class, with {interval_name(plain['level'])}s",
        "meanings": {
            "recall": "Share of the rows of the class that are predicted so: a line of the confusion matrix in shares.",
            "precision": "Share of the rows predicted to be of the class that are of it.",
            "most frequent error": "The class that rows of this class are mistaken for most often.",
        },
    }


def _text(label: Any) -> str:
    return "" if label is None else str(label)


def _ends(each: Mapping[str, Any], key: str) -> list[float] | None:
    low, high = each[f"{key}_low"], each[f"{key}_high"]
    return None if low is None or high is None else [low, high]


def _share(each: Mapping[str, Any], rate: str) -> str | None:
    value, low, high = (each[key] for key in (rate, f"{rate}_low", f"{rate}_high"))
    return None if value is None else f"{100 * value:.1f}% ({100 * low:.1f}% to {100 * high:.1f}%)"


def _short(value: float | None) -> str:
    return "–" if value is None else number(value).replace("-", "−")
