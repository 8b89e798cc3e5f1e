"""The page: one HTML file that needs nothing else, to be opened, sent and printed."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truefit._core.errors import InvalidInput
from truefit._report.html import asset, figure, render
from truefit._report.tables import TableCells, column

#: Room beyond the larger end, as a share of the line.
ROOM = 1.06


@dataclass(frozen=True, slots=True)
class ScaleBar:
    """Places on a line, in percent, and the words at its ends."""

    low: float
    high: float
    value: float
    guess: float | None
    start_text: str
    guess_text: str


def scale_of(found: Mapping[str, Any]) -> ScaleBar | None:
    """Place an estimate, its interval and what guessing gives on one line; None where there is no room for them.

    Examples
    --------
    >>> scale = scale_of({"value": 0.1, "interval": [0.05, 0.2], "guess": 0.5})
    >>> round(scale.value), round(scale.guess), scale.guess_text
    (19, 94, 'guessing 0.5000')
    >>> scale_of({"value": 0.1, "interval": [0.05, 0.2], "guess": 0.5, "percent": True}).guess_text
    'guessing 50.0%'
    """
    low, high = map(float, found["interval"])
    value, guess = float(found["value"]), found.get("guess")
    numbers = [low, high, value, *([] if guess is None else [float(guess)])]
    start, end = min(0.0, *numbers), max(numbers)
    end = start + (end - start) * ROOM
    if not end > start:
        return None

    def place(number: float) -> float:
        return 100 * (number - start) / (end - start)

    def text_of(number: float) -> str:
        return f"{number:.1%}" if found.get("percent") else str(column([number])[0].text)

    return ScaleBar(
        place(low),
        place(high),
        place(value),
        None if guess is None else place(float(guess)),
        text_of(start) if start else "0",
        "" if guess is None else f"guessing {text_of(float(guess))}",
    )


#: The layout of ``content`` that this release renders.
VERSION = 2

#: So many sections make a list of them worth having.
LISTED_FROM = 3


def render_page(content: Mapping[str, Any]) -> str:
    """Render a report to one self-contained HTML page.

    The page loads nothing: style and script are in it, and its security policy allows no others. It follows the
    light or dark preference of the reader, prints, and its tables can be sorted.

    Parameters
    ----------
    content : mapping
        Plain types, version 2::

            {"version": 2,
             "title": str,
             "facts": [str, ...],                       # optional, like all below: one line under the title
             "verdict": [str, ...],                     # the answer first, in sentences
             "answers": [{"question": str,              # or as cards, each leading to its section
                          "headline": str,
                          "sentences": [str, ...],
                          "section": str,
                          "scale": {"value": float, "interval": [low, high], "guess": float, "percent": bool}}],
             "alert": {"title": str, "items": [str, ...]},
             "sections": [{"id": str,
                           "title": str,
                           "headline": str,
                           "sentences": [str, ...],
                           "lead": str,
                           "figures": [{"svg": str,     # as plots.to_svg makes it; only what draws is kept
                                        "narrow": str,  # the same for a phone
                                        "caption": str}],
                           "tables": [{"columns": [str, ...],
                                       "rows": [[value, ...], ...],
                                       "caption": str,
                                       "highlight": [row number, ...],
                                       "drawn": {"value": column, "interval": column, "ends": [from, to]},
                                       "meanings": {column: str},
                                       "places": {column: int}}],
                           "items": [str, ...],
                           "notes": [str, ...]}],
             "made": {label: value}}                    # command, versions, data, fits

        Values of tables are text, numbers, pairs of numbers (intervals), booleans, or None. Values of ``made``
        are text, numbers, lists, or mappings. All text is escaped, whatever is in it.

    Returns
    -------
    str
        The page, from its doctype on.

    Examples
    --------
    >>> page = render_page({"version": 2, "title": "Wine <2024>", "verdict": ["Ridge is best."]})
    >>> page[:15], "Wine &lt;2024&gt;" in page
    ('<!doctype html>', True)
    """
    version = content.get("version")
    if version != VERSION:
        raise InvalidInput(f"The 'version' of a page's content must be {VERSION}. Got {version!r} instead.")
    sections = [_section(section, number) for number, section in enumerate(content.get("sections") or (), start=1)]
    alert = content.get("alert") or {}
    script = asset("sort.js")
    return render(
        "page.html.j2",
        title=_title(content, "a page"),
        facts=_sentences(content, "facts"),
        verdict=_sentences(content, "verdict"),
        answers=[_answer(answer, sections) for answer in content.get("answers") or ()],
        alert={"title": str(alert.get("title") or ""), "items": _sentences(alert, "items")},
        sections=sections,
        listed=len(sections) >= LISTED_FROM,
        made=_made(content.get("made") or {}),
        style=asset("page.css"),
        script=script,
        # Only this script may run: should markup ever slip in with a figure, a script in it would not.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _answer(answer: Mapping[str, Any], sections: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    place = str(answer.get("section") or "").replace("_", "-")
    scale = answer.get("scale")
    return {
        "question": str(answer["question"]),
        "headline": str(answer["headline"]),
        "sentences": _sentences(answer, "sentences"),
        "href": place if any(section["id"] == place for section in sections) else None,
        "scale": None if scale is None else scale_of(scale),
    }


def _section(section: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": section.get("id") or f"section-{number}",
        "title": _title(section, "a section"),
        "headline": section.get("headline"),
        "sentences": _sentences(section, "sentences"),
        "lead": section.get("lead"),
        "figures": [
            {"svg": figure(each["svg"]), "narrow": figure(each.get("narrow")), "caption": each.get("caption")}
            for each in section.get("figures") or ()
        ],
        "tables": [TableCells.of(table) for table in section.get("tables") or ()],
        "items": _sentences(section, "items"),
        "notes": _sentences(section, "notes"),
    }


def _title(part: Mapping[str, Any], what: str) -> str:
    title = part.get("title")
    if not title:
        raise InvalidInput(f"The 'title' of {what} must be text. Got {title!r} instead.")
    return str(title)


def _sentences(part: Mapping[str, Any], key: str) -> list[str]:
    sentences = part.get(key) or []
    if isinstance(sentences, str):
        raise InvalidInput(f"The {key!r} of a page must be a list of sentences. Got one text: {sentences[:40]!r}.")
    return [str(sentence) for sentence in sentences]


def _made(made: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Label, value in words, and whether the value is to be read by a machine."""
    return [(str(label), _words(value), str(label).lower() == "command") for label, value in made.items()]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return " · ".join(
            f"{_words(part)} {name}" if _counted(part) else f"{name} {_words(part)}" for name, part in value.items()
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_words(part) for part in value)
    return column([value])[0].text


def _counted(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
