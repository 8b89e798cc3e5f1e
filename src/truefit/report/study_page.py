"""The study's page: a study's plain data, laid out as a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from truefit.report.study_sections import guessing, notes_of, tables_of, targets_of

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
    said = {each["text"] for each in study["suspects"]}
    caveats = [caveat for caveat in study["caveats"] if caveat not in said]
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
