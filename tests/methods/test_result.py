"""Every result as a page and in a notebook."""

from __future__ import annotations

import pytest
from sklearn.naive_bayes import GaussianNB
from tests.report.study_example import ATTACK, made_study
from tests.report.test_page import Reader

from truefit import assess
from truefit._core.errors import InvalidInput

PARTS = ["assessment", "honest", "comparison", "perturbation", "bias_variance", "cross_test", "curves"]


@pytest.mark.parametrize("name", PARTS)
def test_every_result_is_a_page_with_its_text_table_and_picture(name):
    result = made_study().parts[name]
    page = result.to_html()
    reader = Reader(page)
    assert page.startswith("<!doctype html>")
    assert reader.words["h1"] == [result.title]
    assert reader.words["h2"] == ["Result", "Details", "How to reproduce this"]
    assert result.headline in reader.text
    assert len(reader.all("table")) == 1
    assert [svg.get("role") for svg in reader.all("svg")].count("img") == 1
    assert len(reader.all("script")) == 1


@pytest.mark.parametrize("name", PARTS)
def test_every_result_in_a_notebook_has_a_heading_a_headline_and_a_table(name):
    result = made_study().parts[name]
    reader = Reader(result._repr_html_())
    assert reader.words["h3"] == [result.title]
    assert reader.words["p"][0] == result.headline
    assert len(reader.all("table")) == 1


def test_a_path_gets_the_page_and_is_returned(tmp_path):
    place = tmp_path / "report.HTML"
    result = made_study().assessment
    assert result.to_html(str(place)) == place
    assert ATTACK in Reader(place.read_text("utf-8")).text


@pytest.mark.parametrize("name", ["report.pdf", "report", "", "none/report.html"])
def test_a_path_that_is_no_page_is_refused_before_anything_is_drawn(tmp_path, name, monkeypatch):
    result = made_study().assessment
    monkeypatch.setattr(type(result), "plot", lambda *_: pytest.fail("drawn"))
    with pytest.raises(InvalidInput, match=r"^[^\n]+\.$"):
        result.to_html(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_headline_of_one_estimator_has_its_number():
    result = assess(GaussianNB(), [[0.0], [1.0]] * 10, [0, 1] * 10)
    assert result.headline.startswith("GaussianNB 0")
    assert result.heading in Reader(result.to_html()).text
