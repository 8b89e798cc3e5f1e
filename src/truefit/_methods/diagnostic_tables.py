"""Tables of the diagnostics of predictions on a page, from their plain data.

Reading a stored study needs this module: it imports nothing that fits or computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from truefit._core.errors import InvalidInput
from truefit._methods.text import MetricText, interval_name, number, threshold_text

Table = dict[str, Any]
Plain = Mapping[str, Any]

#: With more classes a line for each is too much to read, and their calibration is not judged one by one.
MOST_CLASSES: Final = 32
#: Rules of the thresholds that a page has by itself.
RULES: Final = ("youden", {"sensitivity": 0.9})
_RATES: Final = ("sensitivity", "specificity", "precision")
_SLOPE: Final = "Of the truth regressed on the predictions: below 1 these are too extreme, above 1 not extreme enough."


def or_none(diagnose: Callable[[], Any]) -> Any:
    """Return a diagnosis; None where the predictions do not allow it: no probabilities, or no rows of a class."""
    try:
        return diagnose()
    except InvalidInput:
        return None


def calibration_table(plain: Plain) -> Table:
    """Return all numbers of one model, or a line for each of several models or classes."""
    interval, models, of_numbers = interval_name(plain["level"]), plain["models"], plain["task"] == "regression"
    large = "Mean of the true minus the predicted values." if of_numbers else (
        "How much the log-odds are too low on average: above 0 the class is more frequent than predicted."
    )  # fmt: skip
    if len(models) > 1:
        named = _several(models)
        by_class = len({each["class"] for each in models}) > 1
        columns = ["slope", interval, "in the large", interval, "calibration error"]
        columns = [*(["model"] if named else []), *(["class against the rest"] if by_class else []), *columns]
        rows = [
            [
                *([each["name"]] if named else []),
                *([str(each["class"])] if by_class else []),
                each["slope"],
                _ends(each, "slope"),
                each["in_the_large"],
                _ends(each, "in_the_large"),
                each["ece"],
            ]
            for each in models
        ]
        caption = "Calibration by class" if by_class else "Calibration"
        meanings = {"slope": _SLOPE, "in the large": large}
        return {"columns": columns, "rows": rows, "caption": caption, "meanings": meanings}
    (each,) = models
    score = "mean squared error" if of_numbers else "Brier score"
    rows = [
        ["slope", each["slope"], _ends(each, "slope"), "1"],
        ["intercept", each["intercept"], _ends(each, "intercept"), "0"],
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


def threshold_table(plain: Sequence[Plain]) -> Table:
    """Return a line for each rule, and model if there are several."""
    lines = [(each, model) for each in plain for model in each["models"]]
    named = _several([model for _, model in lines])
    rows = [
        [
            *([model["name"]] if named else []),
            each["rule"],
            model["threshold"],
            *(_share(model, rate, f"{rate}_low", f"{rate}_high") for rate in _RATES),
        ]
        for each, model in lines
    ]
    label, chosen = plain[0]["pos_label"], [bool(model["of_folds"]) for _, model in lines]
    how = "It is chosen on all rows." if all(chosen) else "A chosen one is chosen on all rows."
    nested = "For all rates" if all(chosen) else "For the rates of a chosen threshold"
    return {
        "columns": [*(["model"] if named else []), "threshold by", "threshold", *_RATES],
        "rows": rows,
        "texts": {"threshold": [threshold_text(model["threshold"]) for _, model in lines]},
        "caption": f"Thresholds on the probability of class {label!r}, with {interval_name(plain[0]['level'])}s",
        "meanings": {
            "threshold": f"Rows with at least this probability are called positive. {how}",
            "sensitivity": f"Share of the positive rows that are called positive. {nested} each fold has a "
            "threshold chosen on the other folds; the intervals include that choice.",
            "precision": "Share of the rows called positive that are positive.",
        },
    }


def benefit_table(plain: Plain) -> Table:
    """Return net benefit at each threshold, of each model."""
    named = _several(plain["models"])
    rows = [
        [
            *([model["name"]] if named else []),
            at,
            model["net_benefit"][i],
            _pair(model["low"][i], model["high"][i]),
            all_,
        ]
        for model in plain["models"]
        for i, (at, all_) in enumerate(zip(plain["thresholds"], plain["treat_all"], strict=True))
    ]
    columns = ["threshold", "net benefit", interval_name(plain["level"]), "of treating all"]
    return {
        "columns": [*(["model"] if named else []), *columns],
        "rows": rows,
        "caption": f"Net benefit for class {plain['pos_label']!r}; that of treating none is 0",
    }


def class_table(plain: Plain) -> Table:
    """Return recall and precision of each class, of each model."""
    named = _several(plain["models"])
    rows = [
        [
            *([each["name"]] if named else []),
            str(each["class"]),
            each["rows"],
            *(_share(each, rate, f"{rate}_low", f"{rate}_high") for rate in ("recall", "precision")),
            _text(each["most_often_called"]),
        ]
        for each in plain["models"]
    ]
    return {
        "columns": [*(["model"] if named else []), "class", "rows", "recall", "precision", "most frequent error"],
        "rows": rows,
        "caption": f"Recall and precision of each class, with {interval_name(plain['level'])}s",
        "meanings": {
            "recall": "Share of the rows of the class that are predicted so: a line of the confusion matrix in shares.",
            "precision": "Share of the rows predicted to be of the class that are of it.",
            "most frequent error": "The class that rows of this class are mistaken for most often.",
        },
    }


def confusion_tables(plain: Plain) -> list[Table]:
    """Return the confusion matrix of each model: a line per true class, a column per predicted one, with intervals."""
    cells = plain.get("confusion") or ()  # reports of earlier versions have none
    names = list(dict.fromkeys(cell["name"] for cell in cells))
    found = []
    for name in names:
        own = [cell for cell in cells if cell["name"] == name]
        predicted = list(dict.fromkeys(str(cell["predicted"]) for cell in own))
        lines: dict[str, list[str]] = {}
        for cell in own:
            share = _share(cell, "share", "low", "high")
            text = f"{cell['rows']:,}" if share is None else f"{cell['rows']:,}: {share}"
            lines.setdefault(str(cell["class"]), []).append(text)
        of_model = f" of {name}" if len(names) > 1 else ""
        found.append(
            {
                "columns": ["true class", *(f"predicted {label}" for label in predicted)],
                "rows": [[label, *texts] for label, texts in lines.items()],
                "caption": f"Confusion matrix{of_model}: rows, and their share of the true class with its "
                f"{interval_name(plain['level'])}",
            }
        )
    return found


def subgroup_table(plain: Plain) -> Table:
    """Return the metric in each subgroup, of each model."""
    fmt, groups = MetricText.from_name(plain["metric"]), plain["subgroups"]
    named, reasons = len({each["estimator"] for each in groups}) > 1, any(each["reason"] for each in groups)
    what, interval = plain["column"] or "subgroup", f"simultaneous {interval_name(plain['level'])}"
    rows = [
        [
            *([each["estimator"]] if named else []),
            each["group"],
            each["rows"],
            each["estimate"],
            _pair(each["low"], each["high"]),
            *([each["reason"] or ""] if reasons else []),
        ]
        for each in groups
    ]
    columns = [what, "rows", fmt.name, interval]
    return {
        "columns": [*(["model"] if named else []), *columns, *(["why there is no value"] if reasons else [])],
        "rows": rows,
        "texts": {
            fmt.name: ["" if each["estimate"] is None else fmt.value(each["estimate"]) for each in groups],
            interval: ["" if each["low"] is None else fmt.between((each["low"], each["high"])) for each in groups],
        },
        "caption": f"{fmt.name} by {what}",
        "meanings": {interval: "The intervals hold for all subgroups together (Bonferroni)."},
    }


def _several(models: Sequence[Plain]) -> bool:
    return len({each["name"] for each in models}) > 1


def _text(label: Any) -> str:
    return "" if label is None else str(label)


def _pair(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]


def _ends(each: Plain, key: str) -> list[float] | None:
    return _pair(each[f"{key}_low"], each[f"{key}_high"])


def _share(each: Plain, rate: str, low: str, high: str) -> str | None:
    if each[rate] is None:
        return None
    return f"{100 * each[rate]:.1f}% ({100 * each[low]:.1f}% to {100 * each[high]:.1f}%)"


def _short(value: float | None) -> str:
    return "–" if value is None else number(value).replace("-", "−")
