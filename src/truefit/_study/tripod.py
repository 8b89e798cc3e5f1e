"""TRIPOD+AI: what a report of a prediction model should state, filled in where the study knows it.

G. S. Collins et al. (2024), TRIPOD+AI statement: updated guidance for reporting clinical prediction models that use
regression or machine learning methods, BMJ 385:e078378. The topics are in truefit's words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from truefit._methods.diagnostic_tables import Table
from truefit._methods.text import counted, interval_name, listed, percent
from truefit._study.page_tables import Part, baseline_text, is_in_time, metric_text, new_rows_of

AUTHORS: Final = "To be written by the authors."
REST: Final = "to be written by the authors."
#: Preprocessing of every candidate.
_PREPROCESSING: Final = "Preprocessing is part of each candidate, and is fitted on its training rows alone."


def tripod_table(study: Part, made: Mapping[str, Any]) -> Table:
    """Return the items with what the study knows of each, or that the authors have to write it."""
    rows = []
    for item, topic, text in _ITEMS:
        found = text(study, made) if text is not None else None
        rows.append([item, topic, found or AUTHORS])
    return {"columns": ["item", "topic", "text"], "rows": rows, "caption": "TRIPOD+AI items"}


def _title(study: Part, made: Mapping[str, Any]) -> str:
    return (
        f"Development and internal validation of a model that predicts {study['target'] or 'the outcome'} "
        f"({study['task']}). The population: {REST}"
    )


def _data(study: Part, made: Mapping[str, Any]) -> str:
    return f"{made.get('data') or counted(study['rows'], 'row')}. The source and the dates: {REST}"


def _preparation(study: Part, made: Mapping[str, Any]) -> str | None:
    findings = [each for each in study["findings"] if each["code"].startswith("TF1")]
    if not findings:
        return f"The checks of the table found nothing to report. {_PREPROCESSING}"
    found = " ".join(f"{each['title']} ({each['code']}): {each['text']}" for each in findings)
    return f"Checks of the table: {found} {_PREPROCESSING}"


def _outcome(study: Part, made: Mapping[str, Any]) -> str:
    return f"{study['target'] or 'The target'}, a {study['task']}. Its definition and assessment: {REST}"


def _predictors(study: Part, made: Mapping[str, Any]) -> str:
    return f"{counted(study['columns'], 'column')} of the table. Their definitions: {REST}"


def _sample_size(study: Part, made: Mapping[str, Any]) -> str:
    return f"{counted(study['rows'], 'row')}, all of the table. {_answer(study, 'more_data')}"


def _analysis(study: Part, made: Mapping[str, Any]) -> str:
    design = study["parts"]["assessment"]["design"]
    test = study.get("test")
    held = "" if test is None else f" A separate test set of {counted(test['rows'], 'row')} was used once, at the end."
    return f"All rows were used for development and for internal validation by {design}.{held}"


def _model(study: Part, made: Mapping[str, Any]) -> str:
    seed = "the default seed" if study["seed"] is None else f"seed {study['seed']}"
    if study["candidates"] == 1:
        design = study["parts"]["assessment"]["design"]
        return f"{study['best']}, the only candidate. Internal validation by {design}, with {seed}."
    nested = "honest" in study["parts"]
    how = (
        "nested cross-validation, which repeats the selection without each outer fold" if nested else "cross-validation"
    )
    kind = "setting" if study.get("settings") else "candidate"
    return (
        f"{study['best']}, selected among {counted(study['candidates'], kind)} by its cross-validated "
        f"{study['metric_name']}. Internal validation by {how}, with {seed}."
    )


def _clusters(study: Part, made: Mapping[str, Any]) -> str:
    if study.get("groups") is None:
        order = " but for their order in time" if is_in_time(study) else ""
        return f"No groups were named: rows were treated as independent{order}."
    return f"{study['groups']:,} groups of rows, none in training and test rows alike. Estimates are for new groups."


def _measures(study: Part, made: Mapping[str, Any]) -> str:
    found = [study["metric_name"]]
    predictions = study.get("predictions") or {}
    found += ["calibration slope, intercept and curve"] * ("calibration" in predictions)
    found += ["net benefit"] * ("decision_curve" in predictions)
    found += ["sensitivity, specificity and precision at chosen thresholds"] * ("thresholds" in predictions)
    found += ["recall and precision of each class"] * ("per_class" in predictions)
    text = listed(found)
    compared = " Candidates were compared by a paired test." if "comparison" in study["parts"] else ""
    return f"{text[:1].upper()}{text[1:]}, with {study['level']:.0%} confidence intervals.{compared}"


def _imbalance(study: Part, made: Mapping[str, Any]) -> str | None:
    per_class = (study.get("predictions") or {}).get("per_class")
    if per_class is None:
        return None
    counts = listed([f"{each['class']} {each['rows']:,}" for each in per_class["models"]])
    return f"Rows by class: {counts}. No resampling or reweighting beyond what candidates do themselves."


def _output(study: Part, made: Mapping[str, Any]) -> str | None:
    thresholds = (study.get("predictions") or {}).get("thresholds")
    if study["task"] == "regression":
        return "A number."
    if not thresholds:
        return "A class."
    chosen = listed([f"{each['models'][0]['threshold']:.3g} by {each['rule']}" for each in thresholds])
    return f"The probability of class {thresholds[0]['pos_label']!r}. Thresholds: {chosen}."


def _versions(study: Part, made: Mapping[str, Any]) -> str | None:
    versions = made.get("versions")
    if not versions:
        return None
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    command = f" Command: {made['command']}." if made.get("command") else ""
    return f"Software: {named}.{command} Availability of the code of the authors: {REST}"


def _development(study: Part, made: Mapping[str, Any]) -> str:
    imbalance = _imbalance(study, made)
    return f"{counted(study['rows'], 'row')}." + ("" if imbalance is None else f" {imbalance.split('. ')[0]}.")


def _performance(study: Part, made: Mapping[str, Any]) -> str:
    fmt = metric_text(study)
    ends = ""
    if study["interval"] is not None:
        ends = f" ({interval_name(study['level'])} {fmt.between(tuple(study['interval']))})"
    text = f"{fmt.name[:1].upper()}{fmt.name[1:]} on {new_rows_of(study)}: {fmt.value(study['estimate'])}{ends}"
    if study["baseline"] is not None:
        text += f"; baseline, which {baseline_text(study)}: {fmt.value(study['baseline'])}"
    return f"{text}. {_calibration(study)}{_rates(study)}".strip()


def _calibration(study: Part) -> str:
    plain = (study.get("predictions") or {}).get("calibration")
    if plain is None or len(plain["models"]) > 1 or plain["models"][0]["slope"] is None:
        return ""
    each = plain["models"][0]
    return f"Calibration slope {each['slope']:.2f} ({each['slope_low']:.2f} to {each['slope_high']:.2f}). "


def _rates(study: Part) -> str:
    thresholds = (study.get("predictions") or {}).get("thresholds") or ()
    texts = []
    for each in thresholds:
        (model,) = each["models"]
        rates = [
            f"{rate} {percent(model[rate])} ({percent(model[f'{rate}_low'])} to {percent(model[f'{rate}_high'])})"
            for rate in ("sensitivity", "specificity")
        ]
        texts.append(f"At the threshold by {each['rule']}: {listed(rates)}.")
    return " ".join(texts)


def _limitations(study: Part, made: Mapping[str, Any]) -> str:
    found = [f"{each['title']} ({each['code']})" for each in study["findings"] if each["severity"] != "info"]
    if not found:
        return f"No finding of a severity above info. Others: {REST}"
    return f"Findings: {listed(found)}. Others: {REST}"


def _answer(study: Part, section: str) -> str:
    return next((str(answer["headline"]) for answer in study["answers"] if answer["section"] == section), "")


#: Number of the item, its topic, and what the study knows of it; None where it knows nothing.
_ITEMS: Final[tuple[tuple[str, str, Callable[[Part, Mapping[str, Any]], str | None] | None], ...]] = (
    ("1", "Title: development or evaluation, population, outcome", _title),
    ("2", "Abstract", None),
    ("3", "Background: context, rationale, target population, known inequalities", None),
    ("4", "Objectives", None),
    ("5", "Data: sources and dates", _data),
    ("6", "Participants: setting, eligibility, treatments", None),
    ("7", "Data preparation, and whether it was alike in all groups", _preparation),
    ("8", "Outcome: definition, horizon, assessment", _outcome),
    ("9", "Predictors: choice, definition, measurement", _predictors),
    ("10", "Sample size", _sample_size),
    ("11", "Missing data", None),
    ("12a", "Analysis: which data for which purpose", _analysis),
    ("12c", "Analysis: type of model, its building and internal validation", _model),
    ("12d", "Analysis: heterogeneity between clusters", _clusters),
    ("12e", "Analysis: measures of performance", _measures),
    ("12f", "Analysis: updating after evaluation", None),
    ("13", "Class imbalance", _imbalance),
    ("14", "Fairness", None),
    ("15", "Model output and thresholds", _output),
    ("16", "Differences between development and evaluation data", None),
    ("17", "Ethical approval", None),
    ("18a–e", "Funding, conflicts, protocol, registration, data sharing", None),
    ("18f", "Code sharing", _versions),
    ("19", "Patient and public involvement", None),
    ("20", "Participants: flow and characteristics", None),
    ("21", "Number of participants and outcomes in each analysis", _development),
    ("22", "Full model, or access to it", None),
    ("23", "Performance with confidence intervals", _performance),
    ("24", "Results of model updating", None),
    ("25", "Interpretation, fairness included", None),
    ("26", "Limitations", _limitations),
    ("27", "Usability: poor or missing input, users, next steps", None),
)
