"""SVG that is put into pages."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from truefit._plots.canvas import INK
from truefit._plots.classification import confusion
from truefit._plots.forest import forest
from truefit._plots.regression import predicted_vs_true
from truefit._plots.svg import to_svg


def picture(best: str | None = None):
    return forest(["ridge", "a & <b>"], [0.3, 0.1], [0.2, 0.05], [0.4, 0.15], xlabel="error", best=best)


def svg(ax, title: str = "Errors", description: str = "Ridge is worse.") -> str:
    return to_svg(ax, title=title, description=description)


def test_markup_is_for_a_page() -> None:
    text = svg(picture())
    root = ElementTree.fromstring(text)
    assert text.startswith("<svg")
    assert root.attrib["role"] == "img"
    assert "http" not in text
    assert "<style" not in text
    title, description = root[0], root[1]
    assert (title.tag, title.text) == ("title", "Errors")
    assert (description.tag, description.text) == ("desc", "Ridge is worse.")
    assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], description.attrib["id"]]


def test_text_is_text_in_the_font_of_the_page() -> None:
    text = svg(picture())
    words = [element.text for element in ElementTree.fromstring(text).iter("text")]
    assert {"ridge", "a & <b>", "error", "0.30 (0.20 to 0.40)"} <= set(words)
    assert "font-family" not in text


def test_ink_becomes_the_colour_of_the_page() -> None:
    text = svg(picture())
    assert "currentColor" in text
    assert INK not in text
    own = Figure().add_subplot()
    own.plot([0, 1])
    assert "#000" not in svg(own)


def test_words_of_the_user_are_escaped() -> None:
    text = svg(picture(), title="<script>alert(1)</script>", description='"><img src=x>')
    assert "<script" not in text
    assert "<img" not in text


def test_the_same_figure_gives_the_same_string() -> None:
    assert svg(picture()) == svg(picture())


@pytest.mark.parametrize(
    "draw",
    [picture, lambda: confusion([[3, 1], [0, 4]], ["a", "b"]), lambda: predicted_vs_true([1, 2], [2, 1])],
)
def test_every_reference_is_met_and_no_identifier_is_idle(draw) -> None:
    text = svg(draw())
    ids = re.findall(r'\bid="([^"]+)"', text)
    referred = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    assert len(ids) == len(set(ids))
    assert {a or b for a, b in referred} == {i for i in ids if not i.endswith(("-title", "-desc"))}


def test_figures_of_one_page_share_no_identifier() -> None:
    first, second = (set(re.findall(r'\bid="([^"]+)"', svg(picture(best)))) for best in (None, "ridge"))
    assert not first & second
    again = set(re.findall(r'\bid="([^"]+)"', svg(picture(), title="Others")))
    assert not first & again


def test_many_points_stay_small() -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    text = svg(predicted_vs_true(x, x))
    assert len(text) < 150_000
    assert "data:image/png;base64," in text


def test_the_background_is_left_out() -> None:
    assert "#ffffff" not in svg(picture())


def test_subfigures_are_drawn_with_their_figure() -> None:
    left, _ = Figure().subfigures(1, 2)
    assert "<svg" in svg(left.add_subplot())
