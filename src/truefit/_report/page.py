"""The page: one HTML file that needs nothing else, to be opened, sent and printed; files replaced once complete."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from truefit._core.errors import InvalidInput, TruefitError, WriteFailed
from truefit._report.html import asset, figure, render
from truefit._report.tables import TableCells, column

#: What the name of a page's file ends in.
SUFFIXES: Final = (".html", ".htm")
#: Room beyond the larger end of a scale, as a share of the line.
_ROOM: Final = 1.06
#: From this many sections on the page has a list of them.
_LISTED_FROM: Final = 3
#: No space, or a failing disk: another name in the same folder would not help.
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def check_page_name(path: Path) -> None:
    """Refuse a file name that is not that of an HTML page."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"The name of a report must end in {' or '.join(SUFFIXES)}. Got {path.name!r} instead.")


def check_page_path(path: Path) -> None:
    """Refuse a path to which no page can be written, before the work of rendering it."""
    if path.is_dir():
        raise InvalidInput(f"The output must be a file. {path} is a folder. Name a file in it.")
    check_page_name(path)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InvalidInput(f"The folder of {path.name} must exist. There is no {folder}. Create it first.")


def write_page(path: Path, page: str) -> None:
    """Write a page; a file that is already there is replaced once the new one is complete."""
    with replaced_file(path) as new:
        new.write_text(page, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class ScaleBar:
    """Places on a line, in percent of its length, and the texts at its ends."""

    low: float
    high: float
    value: float
    baseline: float | None
    start_text: str
    end_text: str


def scale_of(scale: Mapping[str, Any]) -> ScaleBar | None:
    """Place an estimate, its interval and the baseline on one line; None where all of them are equal.

    Examples
    --------
    >>> bar = scale_of({"value": 0.1, "interval": [0.05, 0.2], "baseline": 0.5, "end": "baseline 50.0%"})
    >>> round(bar.value), round(bar.baseline), bar.end_text
    (19, 94, 'baseline 50.0%')
    """
    low, high = map(float, scale["interval"])
    value, baseline = float(scale["value"]), scale.get("baseline")
    numbers = [low, high, value, *([] if baseline is None else [float(baseline)])]
    start, end = min(0.0, *numbers), max(numbers)
    end = start + (end - start) * _ROOM
    if not end > start:
        return None

    def place(number: float) -> float:
        return 100 * (number - start) / (end - start)

    return ScaleBar(
        place(low),
        place(high),
        place(value),
        None if baseline is None else place(float(baseline)),
        column([start])[0].text if start else "0",
        str(scale.get("end") or ""),
    )


def render_page(content: Mapping[str, Any]) -> str:
    """Render a report to one self-contained HTML page.

    The page loads nothing: style and script are in it, and its security policy allows no others. It follows the
    light or dark preference of the reader, prints, and its tables can be sorted. All text is escaped. ``content`` has
    plain types::

        {"title": str,
         "facts": [[str, ...], ...],                # optional, like all below: lines under the title
         "key": [[label, value, note], ...],        # the result in a few numbers
         "verdict": [str, ...],                     # or in sentences
         "findings": {"title": str,                 # what undermines the numbers
                      "items": [{"code", "title", "severity", "text", "advice"}, ...]},
         "answers": [{"question": str,              # cards, each leading to its section
                      "headline": str,
                      "sentences": [str, ...],
                      "section": str,
                      "scale": {"value": float, "interval": [low, high], "baseline": float, "end": str}}],
         "sections": [{"id": str,
                       "title": str,
                       "headline": str,
                       "sentences": [str, ...],
                       "lead": str,
                       "findings": [...],           # as above
                       "terms": [[what, text], ...],
                       "figures": [{"svg": str,     # as plots.to_svg makes it; only what draws is kept
                                    "narrow": str,  # the same for a phone
                                    "caption": str}],
                       "tables": [...],             # see TableCells.of
                       "items": [str, ...],
                       "parts": [{"title": str,     # can be opened and closed
                                  "figures": [...],
                                  "tables": [...]}],
                       "notes": [str, ...]}],
         "made": {label: value}}                    # command, versions, data, fits: text, numbers, lists, mappings

    Examples
    --------
    >>> page = render_page({"title": "Wine <2024>", "verdict": ["Ridge is best."]})
    >>> page[:15], "Wine &lt;2024&gt;" in page
    ('<!doctype html>', True)
    """
    sections = [_section(section, number) for number, section in enumerate(content.get("sections") or (), start=1)]
    findings = content.get("findings") or {}
    script = asset("sort.js")
    return render(
        "page.html.j2",
        title=_title(content, "a page"),
        facts=content.get("facts") or [],
        key=content.get("key") or [],
        verdict=_sentences(content, "verdict"),
        findings={"title": findings.get("title"), "items": _findings(findings, "items")},
        answers=[_answer(answer, sections) for answer in content.get("answers") or ()],
        sections=sections,
        listed=len(sections) >= _LISTED_FROM,
        made=_made(content.get("made") or {}),
        style=asset("page.css"),
        script=script,
        # Only this script may run: should markup ever slip in with a figure, a script in it would not.
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def render_result(report: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """Render a method's result: ``title``, ``headline``, ``table``, optionally ``lines`` and a ``picture`` as SVG.

    ``made`` is what it takes to compute it again: ``date``, ``command``, ``data``, ``fits``, ``versions``.
    """
    run = [str(made["date"])] if made.get("date") else []
    facts = [[*run, f"truefit {made.get('versions', {}).get('truefit', '')}"]]
    return render_page(
        {
            "title": report["title"],
            "facts": facts,
            "verdict": [report["headline"]],
            "sections": [details_of(report)],
            "made": made,
        }
    )


def details_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section with the picture, the table and the lines of a method's result."""
    svg = report.get("picture")
    return {
        "title": "Details",
        "figures": [] if svg is None else [{"svg": svg}],
        "tables": [report["table"]],
        "notes": [str(line).strip().removeprefix("Note: ") for line in report.get("lines") or ()],
    }


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
        "findings": _findings(section, "findings"),
        "terms": section.get("terms") or [],
        **_evidence(section),
        "parts": [{"title": _title(part, "a part"), **_evidence(part)} for part in section.get("parts") or ()],
        "items": _sentences(section, "items"),
        "notes": _sentences(section, "notes"),
    }


def _evidence(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures and tables of a section, or of a part of it."""
    return {
        "figures": [
            {"svg": figure(each["svg"]), "narrow": figure(each.get("narrow")), "caption": each.get("caption")}
            for each in section.get("figures") or ()
        ],
        "tables": [TableCells.of(table) for table in section.get("tables") or ()],
    }


def _findings(part: Mapping[str, Any], key: str) -> list[dict[str, str]]:
    names = ("code", "title", "severity", "text", "advice")
    return [{name: str(finding[name]) for name in names} for finding in part.get(key) or ()]


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
    """Label, value as text, and whether the value is code."""
    return [(str(label), _text(value), str(label).lower() == "command") for label, value in made.items()]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        counts = {name: isinstance(part, int) and not isinstance(part, bool) for name, part in value.items()}
        texts = {name: _text(part) for name, part in value.items()}
        return " · ".join(f"{texts[name]} {name}" if counts[name] else f"{name} {texts[name]}" for name in texts)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text(part) for part in value)
    return column([value])[0].text


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file to write to; it replaces ``path`` when the block ends without an error.

    On an error the old file is unchanged and the temporary one is deleted. A new file can be read and written by its
    owner only; an existing one keeps its mode. A link is followed.
    """
    target = Path(os.path.realpath(path))
    try:
        handle, name = tempfile.mkstemp(prefix=".truefit-", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise not_written(path, error) from error
    temporary = Path(name)
    try:
        yield temporary
        _copy_mode(temporary, target)
        os.replace(temporary, target)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def not_written(path: Path, error: OSError) -> TruefitError:
    """Return the error that says why a file could not be written."""
    if error.errno in _NO_SPACE:
        return WriteFailed(
            f"{path} could not be written: {error.strerror}. The old file is unchanged. Free some space, or name a "
            "file on another disk."
        )
    return InvalidInput(f"{path} could not be written: {error.strerror}. Name another file.")


def _copy_mode(temporary: Path, target: Path) -> None:
    """Give a new file the mode of the one that it replaces, and flush it to the disk."""
    old = target.stat() if target.exists() else None
    with temporary.open("rb+") as file:
        if old is not None and hasattr(os, "fchown"):
            with contextlib.suppress(PermissionError):  # a file of another owner that we may write keeps its readers
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
        temporary.chmod(0o600 if old is None else stat.S_IMODE(old.st_mode))
        os.fsync(file.fileno())
