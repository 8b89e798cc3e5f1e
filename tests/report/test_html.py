"""Pictures for a page: ours come through as they are, and of others' only what draws."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.study_example import made_study

from truefit._core.errors import InvalidInput
from truefit._plots.classification import confusion
from truefit._plots.regression import SHAPES, predicted_vs_true
from truefit._plots.svg import to_svg
from truefit._report import render_fragment, render_page
from truefit._report.html import safe_svg

#: Markup inside an svg element, and what is left of it.
HOSTILE = {
    "script": ("<script>alert(1)</script>", ""),
    "script elsewhere": ('<script href="https://a.example/x.js" />', ""),
    "meta refresh": ('<meta http-equiv="refresh" content="0;url=https://a.example" />', ""),
    "meta in HTML in SVG": (
        '<foreignObject><meta http-equiv="refresh" content="0;url=https://a.example" /></foreignObject>',
        "",
    ),
    "meta in a title": ('<title>a<meta http-equiv="refresh" content="0" />b</title>', "<title>a</title>"),
    "iframe": ('<foreignObject><iframe src="https://a.example" /></foreignObject>', ""),
    "base": ('<base href="https://a.example" />', ""),
    "style sheet": ("<style>@import url(https://a.example/x.css); * { display: none }</style>", ""),
    "event handler": ('<g onload="alert(1)" onclick="alert(2)" />', "<g />"),
    "link": ('<a href="javascript:alert(1)"><text>x</text></a>', ""),
    "use elsewhere": ('<use href="https://a.example/x.svg#a" />', ""),
    "use of data": ('<use href="data:image/svg+xml,a#b" />', ""),
    "use of a part of the page": ('<use href="#main" />', ""),
    "image elsewhere": ('<image href="https://a.example/x.png" />', ""),
    "image of SVG": ('<image href="data:image/svg+xml;base64,AAAA" />', ""),
    "old link": ('<image xmlns:x="http://www.w3.org/1999/xlink" x:href="https://a.example/x.png" />', ""),
    "animated link": ('<set attributeName="href" to="javascript:alert(1)" />', ""),
    "animation": ('<animate attributeName="href" values="javascript:alert(1)" />', ""),
    "fill from elsewhere": ('<path d="M0 0" fill="url(https://a.example/x#y)" />', '<path d="M0 0" />'),
    "style that loads": ('<path style="fill: url(https://a.example); stroke: red" />', '<path style="stroke: red" />'),
    "style in capitals": ('<path style="fill: URL(//a.example)" />', "<path />"),
    "style with an escape": ('<path style="fill: u\\72l(//a.example)" />', "<path />"),
    "style with a comment": ('<path style="fill: /**/red" />', "<path />"),
    "style with a function": ('<path style="fill: image-set(x)" />', "<path />"),
    "style over the page": ('<g style="position: fixed; inset: 0; opacity: 0.5" />', '<g style="opacity: 0.5" />'),
    "class": ('<g class="unseen" />', "<g />"),
    "id of the page": ('<g id="main" />', "<g />"),
    "HTML's own": ('<p xmlns="http://www.w3.org/1999/xhtml">x</p>', ""),
    "namespace of others": ('<g xmlns="http://a.example" />', ""),
    "nested": ('<svg onload="alert(1)" />', ""),
    "text is escaped": ("<text>&lt;img onerror=alert(1)&gt;</text>", "<text>&lt;img onerror=alert(1)&gt;</text>"),
    "capitals": ("<SCRIPT>alert(1)</SCRIPT>", ""),
    "filter": ('<filter><feImage href="https://a.example/x.png" /></filter>', ""),
    "handler": ('<handler type="text/javascript">alert(1)</handler>', ""),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_only_what_draws_is_kept(case):
    markup, left = HOSTILE[case]
    assert safe_svg(f"<svg>{markup}</svg>") == (f"<svg>{left}</svg>" if left else "<svg />")


BAD = {
    "no SVG": ("<p>text</p>", "begins with '<svg'"),
    "a declaration": ('<svg><!DOCTYPE svg [<!ENTITY a "b">]></svg>', "declarations"),
    "an entity": ("<svg>&xxe;</svg>", "well-formed"),
    "an instruction": ('<svg><?xml-stylesheet href="https://a.example"?></svg>', "instructions"),
    "CDATA": ("<svg><![CDATA[<script>]]></svg>", "declarations"),
    "not closed": ("<svg><g></svg>", "well-formed"),
    "HTML behind it": ("<svg></svg><script>alert(1)</script>", "well-formed"),
    "too deep": (f"<svg>{'<g>' * 100}{'</g>' * 100}</svg>", "nested at most 64 deep"),
    "much too deep": (f"<svg>{'<g>' * 100_000}", "nested at most 64 deep"),
    "too many": (f"<svg>{'<g/>' * 200_001}</svg>", "at most 200,000 elements"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_picture_is_refused(case):
    markup, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        safe_svg(markup)
    with pytest.raises(InvalidInput, match=message):
        render_fragment("title", "headline", figure_svg=markup)


def test_parts_that_repeat_parts_are_not_repeated():
    """Ten steps of ten would be ten thousand million drawings."""
    steps = [f'<g id="tf0-{i + 1}">{f"""<use href="#tf0-{i}" />""" * 10}</g>' for i in range(10)]
    safe = safe_svg(f'<svg><path id="tf0-0" d="M0 0" />{"".join(steps)}</svg>')
    assert [use.attrib["href"] for use in ElementTree.fromstring(safe).iter("use")] == ["#tf0-0"] * 10
    itself = '<svg><g id="tf0-1"><use href="#tf0-1" /></g></svg>'
    assert "<use" not in safe_svg(itself)
    chain = '<svg><defs><pattern id="tf0-1"><path style="fill: url(#tf0-2)" /></pattern></defs></svg>'
    assert "url" not in safe_svg(chain)


def pictures():
    for task in ("classification", "regression"):
        for section in made_study(task).pictures.values():
            yield from (svg for _, *svgs in section for svg in svgs if svg)
    rng = np.random.default_rng(0)
    many = rng.normal(size=(2, SHAPES + 1))
    yield to_svg(predicted_vs_true(*many), title="many", description="many points, as pixels")
    yield to_svg(confusion(np.eye(12) * 50, [str(i) for i in range(12)]), title="classes", description="pixels")


def test_our_own_pictures_come_through_as_they_are():
    seen = list(pictures())
    assert len(seen) > 15
    assert any("<image" in svg for svg in seen)
    assert any("<use" in svg for svg in seen)
    for svg in seen:
        assert safe_svg(svg) == svg


def test_every_picture_goes_through_it_on_its_way_into_a_page():
    markup = "".join(itertools.chain.from_iterable((each, left) for each, left in HOSTILE.values()))
    section = {"title": "s", "figures": [{"svg": f"<svg>{markup}</svg>", "narrow": f"<svg>{markup}</svg>"}]}
    page = render_page({"title": "t", "sections": [section]})
    assert page.count("<script") == 1
    for word in ("a.example", "javascript:", "refresh", "foreignObject", "iframe", "onload", "animate"):
        assert word not in page.replace(page[page.index("<script>") :], "")
