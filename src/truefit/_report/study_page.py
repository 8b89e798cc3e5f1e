"""The page of a study: its plain data laid out as sections, with the tables behind each answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Table = dict[str, Any]
Part = Mapping[str, Any]

#: What a candidate that only guesses is called among the default candidates.
GUESSING = "dummy"

_VERDICTS = {"worse": "worse", "better": "better", "tie": "tie", "equivalent": "as good"}


def tables_of(study: Part, section: str) -> list[Table]:
    """Return the tables of one section: ``which``, ``how_good``, ``fit`` or ``more_data``."""
    made = {
        "which": (_candidates, _dropped),
        "how_good": (_ways_to_say_it, _folds),
        "fit": (_perturbed, _bias_and_variance),
        "more_data": (_outlook,),
    }[section]
    tables = [make(study) for make in made]
    return [table for table in tables if table is not None and table["rows"]]


def notes_of(study: Part, section: str) -> list[str]:
    """Return what the methods of one section say about their own numbers."""
    parts = study["parts"]
    match section:
        case "which":
            return _unique(_notes(parts, "assessment"), _notes(parts, "comparison"))
        case "how_good":
            return _unique(_notes(parts, "honest"), _notes(parts, "cross_test"))
        case "fit":
            why = [f"{each['name']}: {each['reason']}" for each in _estimators(parts, "perturbation") if each["reason"]]
            return _unique(why, _notes(parts, "perturbation"), _notes(parts, "bias_variance"))
        case _:
            return _unique(*([*_curve_notes(curve), *curve["warnings"]] for curve in _curves(parts)))


def guessing(study: Part) -> float | None:
    """Return how a candidate does that only guesses, if there was one."""
    found = [each["estimate"] for each in _estimators(study["parts"], "assessment") if each["name"] == GUESSING]
    return found[0] if found else None


def _candidates(study: Part) -> Table | None:
    parts, metric = study["parts"], study["metric"]
    estimators = _estimators(parts, "assessment")
    if not estimators:
        return None
    interval, best = _interval(study), study["best"]
    compared = parts.get("comparison")
    against = {} if compared is None else {
        pair["candidate"]: pair for pair in compared["differences"] if pair["reference"] == best
    }  # fmt: skip
    columns = ["candidate", metric, interval]
    meanings = {
        metric: f"Estimated: {parts['assessment']['estimand']}.",
        interval: "Where the true value lies, as far as these rows tell; drawn to one scale, ▸ for one far off.",
    }
    if against:
        columns += ["difference", "p", "against the best"]
        adjusted = f", adjusted for {len(against)} comparisons" if len(against) > 1 else ""
        meanings |= {
            "difference": f"How much larger the {metric} is than that of {best}, on the same folds.",
            "p": f"How often chance alone would show such a difference{adjusted}.",
            "against the best": "A tie: these rows cannot tell it apart from the best.",
        }
    rows = []
    for each in _best_first(estimators, best):
        row = [each["name"], each["estimate"], each["interval"]]
        if against:
            pair = against.get(each["name"])
            if pair is None:
                row += [None, None, "the best" if each["name"] == best else None]
            else:
                row += [pair["difference"], pair["p_adjusted"], _VERDICTS.get(pair["verdict"], pair["verdict"])]
        rows.append(row)
    return {
        "columns": columns,
        "rows": rows,
        "caption": f"All candidates by {parts['assessment']['design']}, on the same folds",
        "highlight": [i for i, row in enumerate(rows) if row[0] == best],
        "drawn": {"value": metric, "interval": interval},
        "meanings": meanings,
        "places": {"p": 4},
    }


def _dropped(study: Part) -> Table:
    return {
        "columns": ["candidate", "folds seen", "why"],
        "rows": [[each["name"], each["after"], each["reason"]] for each in study["dropped"]],
        "caption": "Dropped before the end, to spend the time on the others",
    }


def _ways_to_say_it(study: Part) -> Table | None:
    parts, metric, interval = study["parts"], study["metric"], _interval(study)
    own = {each["name"]: each for each in _estimators(parts, "assessment")}
    rows: list[list[Any]] = []
    if "honest" in parts:
        honest = parts["honest"]
        rows.append(["the choice, made anew without each fold", honest["estimate"], honest["interval"], "believe this"])
    else:
        rows.append(["the choice, allowing for its luck", study["estimate"], study["interval"], "believe this"])
    if study["best"] in own:
        best = own[study["best"]]
        flatters = "flatters: the best of several" if len(own) > 1 else ""
        rows.append([f"{study['best']} alone, by cross-validation", best["estimate"], best["interval"], flatters])
    if "cross_test" in parts:
        cross = parts["cross_test"]
        rows.append(
            ["Agghoo: the best of each split, averaged", cross["estimate"], cross["interval"], "another way to choose"]
        )
    if GUESSING in own and study["best"] != GUESSING:
        guess = own[GUESSING]
        rows.append(["guessing (dummy)", guess["estimate"], guess["interval"], "what no model at all gives"])
    return {
        "columns": ["of what", metric, interval, "how to take it"],
        "rows": rows,
        "caption": "The same question, asked in several ways",
        "highlight": [0],
        "drawn": {"value": metric, "interval": interval},
    }


def _folds(study: Part) -> Table | None:
    honest = study["parts"].get("honest")
    if honest is None:
        return None
    metric = study["metric"]
    return {
        "columns": ["fold", "chosen without it", f"{metric} on it"],
        "rows": [
            [f"fold {fold}", name, score]
            for fold, (name, score) in enumerate(zip(honest["chosen"], honest["scores"], strict=True), start=1)
        ],
        "caption": "Fold by fold",
        "meanings": {f"{metric} on it": f"Estimated: {honest['estimand']}."},
    }


def targets_of(study: Part) -> str:
    """Return what the target's values are called."""
    return "labels" if study["task"] == "classification" else "targets"


def _perturbed(study: Part) -> Table | None:
    found = study["parts"].get("perturbation")
    if found is None:
        return None
    interval = f"{found['level']:.0%} interval"
    # What it was judged by on rows left out has the metric's name.
    judged = next((key for key in found["estimators"][0] if key.startswith("cv_")), None)
    columns, targets = ["candidate", "verdict", "noise followed", interval, "rate", "trained on"], targets_of(study)
    meanings = {
        "noise followed": f"The share of the disturbed {targets} that the model takes over: 0 learns none, 1 all.",
        "rate": f"How fast its agreement with the disturbed {targets} falls as the noise grows; 1 is ideal.",
        "trained on": "How well it does on the rows that it was trained on, undisturbed.",
    }
    if judged is not None:
        columns.append("left out")
        meanings["left out"] = f"Its {judged.removeprefix('cv_')} by cross-validation, on rows that were left out."
    rows = [
        [each["name"], each["verdict"], each["memorisation"],
         _pair(each["memorisation_low"], each["memorisation_high"]), each["estimate"], each["training"],
         *([] if judged is None else [each[judged]])]
        for each in found["estimators"]
    ]  # fmt: skip
    return {
        "columns": columns,
        "rows": rows,
        "caption": f"What each learns when {targets} are disturbed on purpose",
        "drawn": {"value": "noise followed", "interval": interval, "ends": [0, 1]},
        "highlight": [i for i, row in enumerate(rows) if row[0] == study["best"]],
        "meanings": meanings,
    }


def _bias_and_variance(study: Part) -> Table | None:
    found = study["parts"].get("bias_variance")
    if found is None:
        return None
    noise = found["noise_known"]
    bias = "bias" if noise else "bias and noise"
    return {
        "columns": ["candidate", "expected loss", bias, "variance"],
        "rows": [
            [each["name"], each["estimate"], each["bias"], each["variance"]] for each in found["estimators"]
        ],
        "caption": f"Bias and variance under the {found['loss']} loss, from {found['rounds']:,} samples of the rows",
        "meanings": {
            "expected loss": "What a model fitted on a sample like this one loses on new rows, on average.",
            bias: "What is left when many such models are averaged: too simple a model, or noise in the target.",
            "variance": "What comes from the models differing: too rich a model, or too few rows.",
        },
    }  # fmt: skip


def _outlook(study: Part) -> Table | None:
    metric = study["metric"]
    rows = []
    for curve in _curves(study["parts"]):
        last, error = curve["sizes"][-1], curve["errors"][-1]
        rows.append([curve["name"], int(last), error, None, "measuring"])
        rows += [
            [curve["name"], int(each["rows"]), each["estimate"], _pair(each["low"], each["high"]), "the curve"]
            for each in curve["outlook"] or ()
        ]
    level = next((curve["level"] for curve in _curves(study["parts"])), study["level"])
    interval = f"{level:.0%} interval"
    return {
        "columns": ["candidate", "rows", metric, interval, "known by"],
        "rows": rows,
        "caption": f"The {metric} with the rows there are, and what more rows would bring",
        "drawn": {"value": metric, "interval": interval},
    }


def _curve_notes(curve: Part) -> list[str]:
    refused = [f"{curve['name']}: {curve['refused']}"] if curve["refused"] else []
    return [f"{curve['name']}: {curve['reason']}", *refused] if curve["reason"] else refused


def _curves(parts: Part) -> list[Part]:
    found = parts.get("curves")
    if found is None:
        return []
    return list(found["curves"].values()) if "curves" in found else [found]


def _estimators(parts: Part, part: str) -> list[Part]:
    return list(parts[part]["estimators"]) if part in parts else []


def _notes(parts: Part, part: str) -> list[str]:
    return list(parts.get(part, {}).get("notes") or ())


def _unique(*groups: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(note for group in groups for note in group))


def _interval(study: Part) -> str:
    return f"{study['level']:.0%} interval"


def _pair(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [low, high]


def _best_first(estimators: Sequence[Part], best: str) -> list[Part]:
    """Order candidates from the best on; whether small or large is good is seen from where the best stands."""
    values = [each["estimate"] for each in estimators if each["estimate"] is not None]
    top = next((each["estimate"] for each in estimators if each["name"] == best), None)
    down = top is not None and bool(values) and sum(value < top for value in values) * 2 > len(values)
    known = [each for each in estimators if each["estimate"] is not None]
    ordered = sorted(known, key=lambda each: (each["name"] != best, -each["estimate"] if down else each["estimate"]))
    return [*ordered, *(each for each in estimators if each["estimate"] is None)]


#: Pictures by the section they belong to: the caption of each, its markup, and that for a phone.
Pictures = Mapping[str, Sequence[Sequence[str]]]

_LEADS: Final = {
    "which": "Every candidate was fitted on the same folds and judged on rows that it had not seen.",
    "how_good": (
        "The best of several estimates flatters its owner. So the choice was made anew without each fold, and what was "
        "chosen then was judged on that fold."
    ),
    "fit": (
        "Some {targets} are disturbed on purpose: a model that follows the disturbance memorises, one that hardly "
        "follows the true {targets} is too simple. Bias and variance say the same from another side."
    ),
    "more_data": "The model was fitted on growing samples of the rows: where the curve still falls, more rows help.",
}
_ALERTS: Final = ("predicts", "id", "duplicates")


def study_page_content(
    study: Mapping[str, Any], *, title: str, pictures: Pictures, made: Mapping[str, Any]
) -> dict[str, Any]:
    """Lay out what ``Study.to_dict`` gives (version 2) for ``render_page``.

    Parameters
    ----------
    study : mapping
    title : str
    pictures : mapping
        By section (``which``, ``how_good``, ``fit`` and ``more_data``): caption, SVG, and SVG for a phone, of each.
    made : mapping
        What it takes to make this again; see ``render_page``.
    """
    suspects = study["suspects"]
    return {
        "version": 2,
        "title": title,
        "facts": _facts(study),
        "answers": [_answer(answer, study) for answer in study["answers"]],
        "alert": {
            "title": "Look at this before you believe the numbers",
            "items": [each["text"] for each in suspects if each["kind"] in _ALERTS],
        },
        "sections": [
            *(_section(answer, study, pictures.get(answer["section"], ())) for answer in study["answers"]),
            *_lists(study),
        ],
        "made": made,
    }


def _facts(study: Mapping[str, Any]) -> list[str]:
    return [
        f"{study['rows']:,} rows",
        f"{study['columns']:,} columns",
        str(study["task"]),
        f"judged by {study['metric']}",
        f"{study['level']:.0%} intervals",
    ]


def _answer(answer: Mapping[str, Any], study: Mapping[str, Any]) -> dict[str, Any]:
    # The first sentence says why; the others stand in the section.
    shown = {**answer, "sentences": answer["sentences"][:1]}
    if answer["section"] == "how_good" and study["interval"] is not None:
        shown["scale"] = {
            "value": study["estimate"],
            "interval": study["interval"],
            "guess": guessing(study),
            "percent": study.get("percent", False),
        }
    return shown


def _section(answer: Mapping[str, Any], study: Mapping[str, Any], pictures: Sequence[Sequence[str]]) -> dict[str, Any]:
    name = answer["section"]
    tables = tables_of(study, name)
    there = bool(tables or pictures)
    return {
        "id": name.replace("_", "-"),
        "title": answer["question"],
        "headline": answer["headline"],
        "sentences": answer["sentences"],
        "lead": _lead(name, study) if there else "This was not looked into: there was no time left for it.",
        "figures": [{"svg": wide, "narrow": narrow, "caption": caption} for caption, wide, narrow in pictures],
        "tables": tables,
        "notes": notes_of(study, name),
    }


def _lead(name: str, study: Mapping[str, Any]) -> str:
    if name == "how_good" and "honest" not in study["parts"]:
        return "The best of several estimates flatters its owner; what is said above allows for that."
    return _LEADS[name].format(targets=targets_of(study))


def _lists(study: Mapping[str, Any]) -> list[dict[str, Any]]:
    minor = [each["text"] for each in study["suspects"] if each["kind"] not in _ALERTS]
    reported = {each["text"] for each in study["suspects"]}
    caveats = [caveat for caveat in study["caveats"] if caveat not in reported]
    sections = [
        {"id": "next", "title": "What to try next", "items": study["next_steps"]},
        {"id": "caveats", "title": "What to keep in mind", "items": [*caveats, *minor]},
        {
            "id": "not-done",
            "title": "What was not done",
            "lead": "Where time was short, the same command with a larger budget and the same store goes on from here.",
            "items": study["not_done"],
        },
    ]
    return [section for section in sections if section["items"]]
