"""The page: self-contained, escaped, well formed."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from truefit._core.errors import InvalidInput
from truefit._report import render_fragment, render_page
from truefit._report.page import check_page_path, write_page

ATTACK = "<script>alert(1)</script>"
QUOTE = '"><img src=x onerror=alert(1)>'
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Checks that tags nest, and collects what the page is made of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: dict[str, list[str]] = {}
        #: What is to be read, in order: no style, no script, no picture.
        self.text: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice in {tag}"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.setdefault(self.open[-1] if self.open else "", []).append(data.strip())
            if not {"head", "style", "script", "svg"} & set(self.open):
                self.text.append(data.strip())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def content(text: str = "plain", **changes: Any) -> dict[str, Any]:
    section = {
        "title": f"section {text}",
        "lead": f"lead {text}",
        "figures": [{"svg": '<svg role="img"><title>t</title><path d="M 0 0"/></svg>', "caption": f"figure {text}"}],
        "tables": [
            {
                "columns": ["model", f"error {text}", "interval", "fits"],
                "rows": [["ridge", 0.125, [0.1, 0.16], 1200], [f"cell {text}", None, None, 7]],
                "caption": f"caption {text}",
                "highlight": [0],
                "drawn": {"value": f"error {text}", "interval": "interval"},
                "meanings": {f"error {text}": f"meaning {text}"},
            }
        ],
        "items": [f"item {text}"],
        "findings": [],
        "terms": [[f"term {text}", f"meant {text}"]],
        "notes": [f"note {text}"],
    }
    made = {
        "Command": f"truefit study {text}",
        "Fits": {"asked": 1210, "run": 275},
        f"label {text}": ["a", 2, {"numpy": f"2.0 {text}"}],
    }
    answer = {"question": f"question {text}", "headline": f"headline {text}", "sentences": [f"why {text}"]}
    scale = {"value": 0.1, "interval": [0.05, 0.2], "baseline": 0.5, "end": f"end {text}"}
    finding = {"code": "TF1", "severity": "error"} | {key: f"{key} {text}" for key in ("title", "text", "advice")}
    whole = {
        "title": f"title {text}",
        "facts": [[f"fact {text}", "seed 0"]],
        "key": [[f"label {text}", f"value {text}", f"remark {text}"]],
        "verdict": [f"first {text}", "second"],
        "answers": [answer | {"section": "section_1", "scale": scale}],
        "findings": {"title": f"check {text}", "items": [finding]},
        "made": made,
    }
    return whole | {"sections": [section]} | changes


def test_structure() -> None:
    page = render_page(content())
    reader = Reader(page)
    assert page.startswith("<!doctype html>\n")
    assert reader.all("html") == [{"lang": "en"}]
    assert reader.words["h1"] == ["title plain"]
    heads = ["Result", "Result", "check plain", "The answers", "section plain", "How to reproduce this"]
    assert reader.words["h2"] == heads
    assert [tag for tag, _ in reader.tags].count("main") == 1
    assert reader.words["figcaption"] == ["figure plain"]
    assert reader.words["code"] == ["truefit study plain"]
    assert reader.words["dd"] == [
        "value plain", "meant plain", "meaning plain", "1,210 asked · 275 run", "a, 2, numpy 2.0 plain"
    ]  # fmt: skip


def test_the_reading_order_is_result_findings_answers_evidence() -> None:
    text = Reader(render_page(content())).text
    order = ["title plain", "fact plain", "value plain", "first plain", "title plain", "text plain", "headline plain"]
    places = [text.index(each) for each in [*order[:4], *order[5:], "lead plain", "How to reproduce this"]]
    assert places[:-1] == sorted(places[:-1])


def test_tables_align_numbers_and_name_rows() -> None:
    reader = Reader(render_page(content()))
    assert reader.words["td"] == ["0.1250", "0.1000 to 0.1600", "1,200", "–", "–", "7"]
    headers = reader.all("th")
    assert [h.get("scope") for h in headers] == ["col"] * 4 + ["row"] * 2
    assert [h.get("class") for h in headers[:4]] == [None, "tf-number", "tf-number", "tf-number"]
    assert [cell.get("data-sort") for cell in reader.all("td")] == ["0.125", "0.1", "1200.0", None, None, "7.0"]
    assert [row.get("class") for row in reader.all("tr")] == [None, "tf-best", None]


@pytest.mark.parametrize("text", [ATTACK, QUOTE, "</title>", "</style><b>", "{{ 7 * 7 }}", "&lt;"])
def test_everything_is_escaped(text: str) -> None:
    reader, plain = Reader(render_page(content(text))), Reader(render_page(content()))
    assert [tag for tag, _ in reader.tags] == [tag for tag, _ in plain.tags]
    assert reader.words["title"][0] == reader.words["h1"][0] == f"title {text}"
    assert reader.words["figcaption"] == [f"figure {text}"]
    assert reader.words["h3"] == [f"title {text}", f"question {text}"]
    assert reader.words["code"] == [f"truefit study {text}"]
    assert next(div for div in reader.all("div") if "aria-label" in div)["aria-label"] == f"caption {text}"
    assert {f"note {text}", f"item {text}"} <= set(reader.words["li"])
    assert {f"text {text}", f"advice {text}"} <= set(reader.words["p"])
    assert f"cell {text}" in reader.words["th"]


def test_the_page_needs_nothing_else() -> None:
    page = render_page(content())
    reader = Reader(page)
    for tag, attrs in reader.tags:
        for name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            assert (attrs.get(name) or "#").startswith(("#", "data:")), f"{tag} {name} {attrs[name]}"
    assert not re.search(r"@import|url\((?!#|data:)|https?://", page)


def test_only_the_script_of_the_page_may_run() -> None:
    page = render_page(content())
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 1
    policy = next(m["content"] for m in Reader(page).all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_identifiers_are_unique_and_links_lead_somewhere() -> None:
    section = content()["sections"][0]
    reader = Reader(render_page(content(sections=[section] * 3)))
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in reader.all("a")]
    assert links == ["#main", "#section-1", "#section-1", "#section-2", "#section-3", "#made"]
    assert {str(link)[1:] for link in links} <= set(ids)
    named = {attrs["aria-labelledby"] for _, attrs in reader.tags if "aria-labelledby" in attrs}
    assert named <= set(ids)


def test_a_page_may_be_nearly_empty() -> None:
    reader = Reader(render_page({"title": "t"}))
    assert "table" not in [tag for tag, _ in reader.tags]
    assert reader.words.get("h2") is None


def test_the_same_content_gives_the_same_page() -> None:
    assert render_page(content()) == render_page(content())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"title": ""}, "'title' of a page"),
        ({"verdict": "one text"}, "'verdict'.*list of sentences"),
        ({"sections": [{"lead": "x"}]}, "'title' of a section"),
        ({"sections": [{"title": "s", "figures": [{"svg": ATTACK}]}]}, "begins with '<svg'"),
        ({"sections": [{"title": "s", "tables": [{"columns": ["a"], "rows": [[1, 2]]}]}]}, "1 values.*Got 2 in row 0"),
    ],
)
def test_what_is_no_content_is_said(changes: Mapping[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        render_page(content(**changes))


def test_fragment_is_small_scoped_and_escaped() -> None:
    section = content(ATTACK)["sections"][0]
    html = render_fragment(
        f"title {ATTACK}", f"headline {ATTACK}", terms=[(f"term {ATTACK}", "x")], lines=[f"line {ATTACK}"],
        table=section["tables"][0], figure_svg=section["figures"][0]["svg"],
    )  # fmt: skip
    reader = Reader(html)
    assert reader.words["h3"] == [f"title {ATTACK}"]
    assert reader.words["p"] == [f"headline {ATTACK}", f"line {ATTACK}"]
    tags = [tag for tag, _ in reader.tags]
    assert "script" not in tags
    assert [svg.get("role") for svg in reader.all("svg")].count("img") == 1
    assert not [attrs for _, attrs in reader.tags if "id" in attrs], "cells of a notebook share one page"
    rules = re.findall(r"^([^{}@]+)\{", "\n".join(reader.words["style"]), flags=re.MULTILINE)
    selectors = [part.strip() for rule in rules for part in rule.split(",")]
    assert selectors
    assert all(selector.startswith(".tf-result") for selector in selectors)


def test_fragment_of_a_title_and_a_headline_alone() -> None:
    assert [tag for tag, _ in Reader(render_fragment("t", "h")).tags] == ["div", "style", "h3", "p"]


BAD_PATHS = {
    "a folder": (".", "is a folder. Name a file in it."),
    "another ending": ("report.pdf", "must end in .html or .htm. Got 'report.pdf'"),
    "no ending": ("report", "must end in .html or .htm. Got 'report'"),
    "no such folder": ("none/report.html", "The folder of report.html must exist"),
}


@pytest.mark.parametrize("case", BAD_PATHS)
def test_a_path_without_room_for_a_page_is_a_sentence(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, message = BAD_PATHS[case]
    with pytest.raises(InvalidInput, match=re.escape(message)):
        check_page_path(Path(path))


def test_a_page_replaces_a_file_once_it_is_complete(tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.write_text("old")
    place.chmod(0o640)
    with pytest.raises(UnicodeEncodeError):
        write_page(place, "\ud800")
    assert place.read_text() == "old"
    write_page(place, "<p>new</p>")
    assert (place.read_text(), place.stat().st_mode & 0o777) == ("<p>new</p>", 0o640)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_page_that_cannot_be_written_is_a_sentence() -> None:
    with pytest.raises(InvalidInput, match=r"could not be written: .*\. Name another file\."):
        write_page(Path("/proc/report.html"), "text")


def test_intervals_are_drawn_to_one_scale_and_take_the_same_room_where_missing() -> None:
    reader = Reader(render_page(content()))
    drawn = [svg for svg in reader.all("svg") if svg.get("class") == "tf-bar"]
    assert len(drawn) == 2
    assert all(svg["aria-hidden"] == "true" for svg in drawn)
    lines = [(line["x1"], line["x2"]) for line in reader.all("line") if line.get("class") is None]
    assert lines == [("4.0%", "96.0%")]
