"""The page of a study: everything that the study says is on it, and nothing that it says is markup."""

from __future__ import annotations

import json
import re

import pytest
from tests.report.study_example import ATTACK, MADE, made_study, study_page
from tests.report.test_page import Reader

from truefit._cli.study_report import render_study, study_report
from truefit._report.study_page import tables_of

QUESTIONS = ["Which model?", "How good is it, really?", "Does it fit?", "Would more data help?"]


@pytest.fixture(scope="module", params=["classification", "regression"])
def page(request):
    return study_page(made_study(request.param), MADE, title="Study of iris")


def test_the_answers_come_first_and_lead_to_their_evidence(page):
    reader = Reader(page)
    assert reader.words["h3"] == QUESTIONS
    lists = ["What to try next", "What to keep in mind", "What was not done", "How this was made"]
    assert reader.words["h2"][2:] == [*QUESTIONS, *lists]
    links = [link["href"] for link in reader.all("a")]
    ids = {attrs["id"] for _, attrs in reader.tags if "id" in attrs}
    assert {"#which", "#how-good", "#fit", "#more-data", "#made"} <= set(links)
    assert {str(link)[1:] for link in links} <= ids
    assert page.index('class="answer"') < page.index('class="alert"') < page.index('id="which"')


def test_every_picture_is_there_wide_and_for_a_phone(page):
    reader = Reader(page)
    pictures = [attrs for attrs in reader.all("svg") if attrs.get("role") == "img"]
    # Estimates, differences, disturbed labels, bias and variance, and the curve twice; mistakes once.
    assert len(pictures) == 11
    assert len(reader.all("figcaption")) == 6
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_everything_is_text(page):
    assert "<script>alert" not in page
    assert "<img" not in page
    assert len(Reader(page).all("script")) == 1


def test_it_is_small_and_reaches_for_nothing(page):
    assert len(page) < 2_000_000
    assert not re.search(r"@import|url\((?!#|data:)|https?://", page)


def test_all_that_a_study_says_is_on_the_page():
    study = made_study().to_dict()
    reader = Reader(study_page(made_study(), MADE, title="Study of iris"))
    said = " ".join(word for words in reader.words.values() for word in words)
    for sentence in (
        *study["caveats"],
        *study["next_steps"],
        *study["not_done"],
        *(each["text"] for each in study["suspects"]),
        *(each["reason"] for each in study["dropped"]),
        *(answer["headline"] for answer in study["answers"]),
        MADE["command"],
        "150 rows",
        "judged by error",
    ):
        assert sentence in said, sentence


def test_candidates_stand_from_the_best_on_with_their_differences():
    table = tables_of(made_study().to_dict(), "which")[0]
    assert table["columns"] == ["candidate", "error", "95% interval", "difference", "p", "against the best"]
    assert [row[0] for row in table["rows"]] == [ATTACK, "tree", "dummy"]
    assert table["rows"][0][3:] == [None, None, "the best"]
    assert table["rows"][2][5] == "worse"
    assert table["highlight"] == [0]


def test_where_more_is_better_the_best_still_comes_first():
    study = made_study().to_dict()
    for each in study["parts"]["assessment"]["estimators"]:
        each["estimate"] = 1 - each["estimate"]
    assert [row[0] for row in tables_of(study, "which")[0]["rows"]] == [ATTACK, "tree", "dummy"]


def test_what_there_was_no_time_for_is_said():
    study = made_study(whole=False)
    assert tables_of(study.to_dict(), "fit") == []
    page = study_page(study, MADE)
    assert page.count("This was not looked into: there was no time left for it.") == 2


def test_a_report_is_plain_data_and_gives_the_same_page_later():
    report = study_report(made_study(), title="Study of iris")
    again = json.loads(json.dumps(report))
    assert again == report
    assert render_study(again, MADE) == study_page(made_study(), MADE, title="Study of iris")
