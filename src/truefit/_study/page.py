"""The page of a study: first what was predicted, how well, and what undermines the numbers; then the evidence.

A page is rendered from plain data (``study_report``), so that it can be stored and rendered again without fitting. What
it says of held-out predictions is computed once (``diagnosed``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from truefit._core.finding import at_least
from truefit._core.provenance import keeps_reports, store_report
from truefit._methods.diagnostic_tables import (
    MOST_CLASSES,
    RULES,
    Table,
    calibration_table,
    class_table,
    confusion_tables,
    or_none,
    threshold_table,
)
from truefit._methods.text import interval_name
from truefit._report.page import render_page
from truefit._study.page_tables import (
    baseline_text,
    estimators_of,
    fold_of,
    is_in_time,
    metric_text,
    new_rows_of,
    notes_of,
    tables_of,
    targets_of,
)
from truefit._study.tripod import tripod_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truefit._methods.calibration import Calibration
    from truefit._methods.decision_curve import DecisionCurve
    from truefit._methods.per_class import PerClass
    from truefit._methods.threshold import Threshold
    from truefit._study.result import Study


#: Titles of the parts, in the order of the page.
TITLES: Final = {
    "roc": "ROC curve",
    "calibration": "Calibration",
    "decisions": "Thresholds and decision curve",
    "classes": "Recall and precision of each class",
}


class _Picture(NamedTuple):
    """A picture: its section, its caption, the function that draws it, and what it shows in words."""

    section: str
    caption: str
    draw: Callable[..., Axes]
    description: str
    #: Whether it keeps its shape on a phone.
    fixed: bool = False


#: By section: caption, SVG, and SVG for a phone, of each picture.
Pictures = Mapping[str, Sequence[Sequence[str | None]]]


def study_report(study: Study) -> dict[str, Any]:
    """Return all that the page is rendered from, as plain JSON types."""
    return {
        "kind": "study",
        "version": 2,
        "title": study.title,
        "headline": study.headline,
        "summary": study.summary(),
        "result": study.to_dict(),
        "pictures": study.pictures,
    }


def store_study(store: object, study: Study, **extra: Any) -> str | None:
    """Store the report of a study, with further plain data, where the store keeps reports; return its id."""
    if not keeps_reports(store):
        return None
    return store_report(store, {**study_report(study), **extra}, study.made)


def draw_pictures(study: Study) -> Pictures:
    """Return all pictures of the page, by section."""
    drawn: dict[str, list[list[str | None]]] = {}
    for picture in _pictures(study):
        drawn.setdefault(picture.section, []).append([picture.caption, *_svgs(picture)])
    return drawn


def render_study(report: Mapping[str, Any], made: Mapping[str, Any], *, tripod: bool = False) -> str:
    """Render the page of a report; ``made`` is what it takes to compute it again, as in ``Study.made``.

    With ``tripod`` it has the items of TRIPOD+AI too.
    """
    study, pictures = report["result"], report["pictures"]
    severe = [finding for finding in study["findings"] if at_least(finding["severity"], "warning")]
    return render_page(
        {
            "title": report["title"],
            "facts": _facts(study, made),
            "key": _key_numbers(study),
            "findings": {"title": "Check this before you use the numbers", "items": severe},
            "answers": [_answer(answer, study) for answer in study["answers"]],
            "sections": [
                *(_section(answer, study, pictures.get(answer["section"], ())) for answer in _answers(study)),
                *_held_out(study, pictures),
                *_lists(study),
                *([_tripod(study, made)] if tripod else ()),
            ],
            "made": made,
        }
    )


def _svgs(picture: _Picture) -> tuple[str, str | None]:
    from truefit._plots.svg import to_svgs

    return to_svgs(picture.draw, title=picture.caption, description=picture.description, fixed=picture.fixed)


def _pictures(study: Study) -> Iterator[_Picture]:
    """All pictures of the methods that were run, in the order of the page."""
    assessment, best = study.assessment, study.best
    name, level = study.metric_text.name, f"{study.level:.0%}"
    in_time = assessment.splits.chronological
    folds = "periods" if in_time else "folds"
    caption = f"{name} of each candidate with its {level} confidence interval."
    if study.comparison is not None:
        caption += " To compare candidates, see the paired test below."
    yield _Picture("which", _capitalized(caption), assessment.plot, assessment.summary())
    if study.comparison is not None:
        caption = (
            f"Difference in {name} between each candidate and {best} on the same {folds}, with its {level} "
            "confidence interval. A diamond marks a significant difference in the paired test."
        )
        yield _Picture("which", caption, study.comparison.plot, study.comparison.summary())
    if in_time:
        caption = f"{name} against time: each stroke is a period, predicted by a model trained on the rows before it."
        yield _Picture("how_good", _capitalized(caption), partial(assessment.plot, "time"), assessment.summary())
    elif study.honest is not None and len(study.assessment.names) > 1:
        caption = f"{name} on each outer fold of nested cross-validation, of the model selected on the other folds."
        yield _Picture("how_good", _capitalized(caption), study.honest.plot, study.honest.summary())
    yield from _prediction_errors(assessment, best)
    if study.interval_coverage is not None:
        from truefit._study.prediction_intervals import draw_coverage

        by = "size of prediction" if study.task == "regression" else "predicted class"
        name = study.interval_coverage["model"]
        caption = f"Coverage of the prediction intervals of {name} on held-out rows by {by}."
        yield _Picture("how_good", caption, partial(draw_coverage, study.interval_coverage), caption)
    if study.perturbation is not None:
        targets = "labels" if study.task == "classification" else "targets"
        caption = (
            f"{study.perturbation.measure} as noise is injected into the {targets}. A model that does not memorise "
            "falls with the noise; a flat line memorises it."
        )
        yield _Picture("fit", _capitalized(caption), study.perturbation.plot, study.perturbation.summary())
    if study.bias_variance is not None:
        caption = "Expected loss as the sum of bias and variance."
        yield _Picture("fit", caption, study.bias_variance.plot, study.bias_variance.summary())
    if study.curves is not None:
        caption = "Learning curves: error on held-out rows by number of rows. Bands are two standard errors."
        yield _Picture("more_data", caption, study.curves.plot, study.curves.summary())
    columns = study.parts.get("importance")
    if columns is not None:
        caption = (
            f"Importance of each column with its {level} confidence interval. A diamond marks an interval above 0; "
            "at the end, sets of correlated columns permuted together."
        )
        yield _Picture("columns", caption, columns.plot, columns.summary())
    for part, caption, draw, description in held_out_pictures(study):
        # Squares keep their shape.
        yield _Picture(part, caption, draw, description, fixed=part in ("roc", "calibration"))


def _held_out(study: Mapping[str, Any], pictures: Pictures) -> Iterator[dict[str, Any]]:
    """Yield the section about the held-out predictions of the selected model, with parts that can be opened."""
    tables = held_out_tables(study)
    parts = [
        {"title": title, "figures": _figures(pictures.get(part, ())), "tables": tables.get(part, [])}
        for part, title in TITLES.items()
        if part in tables or part in pictures
    ]
    if parts:
        rows = "the periods" if is_in_time(study) else "the folds"
        lead = f"Of {study['best']}, from its predictions of {rows}: each row by a model that was not trained on it."
        yield {"id": "predictions", "title": "Held-out predictions", "lead": lead, "parts": parts}


def _figures(pictures: Sequence[Sequence[str | None]]) -> list[dict[str, Any]]:
    return [{"svg": wide, "narrow": narrow, "caption": caption} for caption, wide, narrow in pictures]


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _prediction_errors(assessment: Any, best: str) -> Iterator[_Picture]:
    """Yield the confusion matrix of the selected model, or its predictions over the true values."""
    held_out = "each row predicted by a model that was not trained on it"
    if assessment.task == "classification":
        from truefit._plots.classification import confusion

        counts = assessment.confusion()[best]
        if len(counts) <= MOST_CLASSES:
            labels = [str(label) for label in counts.index]
            caption = f"Confusion matrix of {best}: true classes in rows, predicted classes in columns; {held_out}."
            draw = partial(confusion, counts.to_numpy(), labels)
            yield _Picture("how_good", caption, draw, counts.to_string(), fixed=True)
        return
    from truefit._plots.regression import predicted_vs_true

    found = assessment.predictions[best]
    caption = f"Predictions of {best} against the true values; {held_out}."
    draw = partial(predicted_vs_true, found["y"].to_numpy(), found["prediction"].to_numpy())
    yield _Picture("how_good", caption, draw, caption, fixed=True)


def _facts(study: Mapping[str, Any], made: Mapping[str, Any]) -> list[list[str]]:
    seed = "default seed" if study["seed"] is None else f"seed {study['seed']}"
    run = [str(made["date"])] if made.get("date") else []
    return [[*run, seed, f"truefit {study['truefit']}"]]


def _key_numbers(study: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what was predicted, from what, by which model, and how well: label, value and note of each."""
    fmt = metric_text(study)
    ends = "no confidence interval"
    if study["interval"] is not None:
        ends = f"{fmt.between(tuple(study['interval']))} ({interval_name(study['level'])})"
    candidates = study["candidates"]
    no_better = any(finding["code"] == "TF201" for finding in study["findings"])
    among = "settings" if study.get("settings") else "candidates"
    best = "Best candidate" if no_better else "Selected model"
    rows = [
        ("Target", study["target"] or "y", study["task"]),
        ("Data", f"{study['rows']:,} rows", ", ".join(_columns(study))),
        (best, study["best"], f"of {candidates:,} {among}" if candidates > 1 else "the only candidate"),
        (_capitalized(f"{fmt.name} on {new_rows_of(study)}"), fmt.value(study["estimate"]), ends),
    ]
    test = study.get("test")
    if test is not None and test["estimate"] is not None:
        ends = "no confidence interval" if test["interval"] is None else fmt.between(tuple(test["interval"]))
        rows.append(("Separate test set", fmt.value(test["estimate"]), f"{ends}, {test['rows']:,} rows"))
    if study["baseline"] is not None:
        rows.append(("Baseline", fmt.value(study["baseline"]), baseline_text(study)))
    return rows


def _columns(study: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of columns, and what the rows have besides: groups, time, weights."""
    yield f"{study['columns']:,} columns"
    words = {"groups": f"{study['groups'] or 0:,} groups", "time": "ordered by time", "sample_weight": "weighted"}
    for role, column in study["roles"].items():
        yield f"{words[role]} ({column})" if column else words[role]


def _answer(answer: Mapping[str, Any], study: Mapping[str, Any]) -> dict[str, Any]:
    # The first sentence gives the reason; the others are in the section.
    shown = {**answer, "sentences": answer["sentences"][:1]}
    if answer["section"] == "how_good" and study["interval"] is not None:
        baseline = study["baseline"]
        end = "" if baseline is None else f"baseline {metric_text(study).value(baseline)}"
        shown["scale"] = {"value": study["estimate"], "interval": study["interval"], "baseline": baseline, "end": end}
    return shown


def _answers(study: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the answers that have a section; reports of earlier versions have the four questions."""
    further = study.get("columns_answer")
    return [*study["answers"], *([] if further is None else [further])]


def _section(
    answer: Mapping[str, Any], study: Mapping[str, Any], pictures: Sequence[Sequence[str | None]]
) -> dict[str, Any]:
    name = answer["section"]
    tables = tables_of(study, name)
    return {
        "id": name.replace("_", "-"),
        "title": answer["question"],
        "headline": answer["headline"],
        "sentences": answer["sentences"],
        "lead": _lead(name, study) if tables or pictures else "",
        "figures": _figures(pictures),
        "tables": tables,
        "notes": notes_of(study, name),
    }


def _lead(name: str, study: Mapping[str, Any]) -> str:
    """Return how the numbers of a section were computed."""
    parts, targets = study["parts"], targets_of(study)
    completed, count = len(estimators_of(study)), study["candidates"]
    settings = study.get("settings") or ()
    fold, in_time = fold_of(study), is_in_time(study)
    match name:
        case "which":
            if settings:
                done = sum(each["estimate"] is not None for each in settings)
                families = f"{count:,} settings of {len({each['family'] for each in settings})} model families"
                compared = "of each family the best setting is compared"
                if done < count:
                    return f"{done:,} of {families} completed every {fold}, the others stopped early; {compared}."
                return f"{families} were fitted on the same folds and scored on the held-out rows; {compared}."
            if study["dropped"]:
                return f"{completed} of {count} candidates completed every {fold}; the others stopped early."
            if in_time:
                return "Rows are in time order. Each period is predicted by models trained on the rows before it."
            if count < 2:
                return "For each fold, the model was fitted on the other folds and scored on this one."
            return "Every candidate was fitted on the same folds and scored on the held-out rows."
        case "how_good":
            if count < 2:
                return "There is one candidate, so its cross-validation score has no selection bias."
            biased = f"The score of the selected model is the best of {count}: optimistically biased."
            if "honest" not in parts:
                return f"{biased} Nested cross-validation was not run."
            if in_time:
                return f"{biased} Nested cross-validation selects for each period by the periods before it."
            return (
                f"{biased} Nested cross-validation repeats the selection without each outer fold, and scores the "
                "selected model on that fold."
            )
        case "fit":
            noise = (
                f"Noise is injected into the {targets} on purpose: a model that memorises it overfits, a model that "
                f"hardly learns the original {targets} underfits."
            )
            split = "Bias and variance are estimated on bootstrap samples."
            return " ".join(text for part, text in (("perturbation", noise), ("bias_variance", split)) if part in parts)
        case "columns":
            return (
                "The model of each fold predicts its held-out rows with the values of one column permuted among them. "
                "A column is important if the predictions get worse. A column that others can replace shows little."
            )
        case _:
            return (
                "The model was fitted on increasing numbers of rows. Where the learning curve still falls, more rows "
                "help. Beyond the measured sizes the curve is extrapolated."
            )


def _tripod(study: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    lead = (
        "What a report of a prediction model should state (Collins et al. 2024), filled in where the study knows it. "
        "The other items are for the authors to write."
    )
    return {"id": "tripod", "title": "TRIPOD+AI", "lead": lead, "tables": [tripod_table(study, made)]}


def _lists(study: Mapping[str, Any]) -> list[dict[str, Any]]:
    sections = [
        {"id": "next", "title": "Next steps", "items": study["next_steps"]},
        {
            "id": "info",
            "title": "Other findings",
            "findings": [each for each in study["findings"] if not at_least(each["severity"], "warning")],
        },
        {"id": "not-run", "title": "Not run", "terms": [(each["what"], each["why"]) for each in study["not_run"]]},
    ]
    return [section for section in sections if any(section.get(key) for key in ("items", "findings", "terms"))]


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
