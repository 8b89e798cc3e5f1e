"""The page of a study: one story, all that the study reports, and nothing of it as markup."""

from __future__ import annotations

import json
import re

import pytest
from tests.report.study_example import ATTACK, MADE, QUOTE, made_study
from tests.report.test_page import Reader

from truefit import Engine, study
from truefit._core.errors import InvalidInput
from truefit._study.page import held_out_tables, render_study, study_report
from truefit._study.page_tables import notes_of, tables_of
from truefit._study.tripod import tripod_table

QUESTIONS = ["Which model?", "How good is it, really?", "Does it fit?", "Would more data help?"]


@pytest.fixture(scope="module", params=["classification", "regression"])
def page(request):
    return made_study(request.param).to_html()


def test_findings_come_before_the_answers_and_these_before_the_evidence(page):
    reader = Reader(page)
    heads = ["Result", "Check this before you use the numbers", "The answers"]
    lists = ["Held-out predictions", "Next steps", "Other findings", "Not run", "How to reproduce this"]
    assert reader.words["h2"] == [*heads, *QUESTIONS, *lists]
    assert [word for word in reader.words["h3"] if word in QUESTIONS] == QUESTIONS
    links = [link["href"] for link in reader.all("a")]
    ids = {attrs["id"] for _, attrs in reader.tags if "id" in attrs}
    assert {"#which", "#how-good", "#fit", "#more-data", "#made"} <= set(links)
    assert {str(link)[1:] for link in links} <= ids
    assert page.index('class="finding error"') < page.index('class="finding warning"') < page.index('class="answer"')
    assert page.index('class="answer"') < page.index('id="which"') < page.index('class="finding info"')


def test_the_first_screen_names_target_data_model_score_baseline_and_run(page):
    text = Reader(page).text
    first = text[: text.index("Check this before you use the numbers")]
    for label in ("Target", "Data", "Selected model", "Baseline", "of 4 candidates"):
        assert label in first
    assert {"2026-01-02 03:04 UTC", "seed 0"} <= set(first)
    assert any(each.startswith("truefit 0.") for each in first)
    assert f"kind {QUOTE}" in first
    assert any(each.endswith("(95% confidence interval)") for each in first)


def test_findings_have_their_code_text_and_advice():
    text = Reader(made_study().to_html()).text
    start = text.index("Error")
    wanted = ["Error", f"Leak {QUOTE}", "TF101", f"{ATTACK!r} alone predicts the target.", "What to do:"]
    assert text[start : start + 6] == [*wanted, f"Drop {ATTACK}."]


def test_every_picture_is_there_wide_and_for_a_phone(page):
    reader = Reader(page)
    pictures = [attrs for attrs in reader.all("svg") if attrs.get("role") == "img"]
    # Estimates, differences, outer folds, noise, bias and variance, and the learning curve twice; mistakes once, and
    # calibration; of several classes the recall of each twice.
    classes = "Recall and precision of each class" in reader.words["h3"]
    assert len(pictures) == 14 + 2 * classes
    assert len(reader.all("figcaption")) == 8 + classes
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_everything_is_text(page):
    assert "<script>alert" not in page
    assert "<img" not in page
    assert len(Reader(page).all("script")) == 1


def test_it_is_small_and_reaches_for_nothing(page):
    assert len(page) < 2_000_000
    assert not re.search(r"@import|url\((?!#|data:)|https?://", page)


def test_all_that_a_study_reports_is_on_the_page():
    plain = made_study().to_dict()
    text = " ".join(Reader(made_study().to_html()).text)
    for sentence in (
        *plain["next_steps"],
        *(each[key] for each in plain["findings"] for key in ("code", "title", "text", "advice")),
        *(each[key] for each in plain["not_run"] for key in ("what", "why")),
        *(each["reason"] for each in plain["dropped"]),
        *(answer["headline"] for answer in plain["answers"]),
        *(sentence for answer in plain["answers"] for sentence in answer["sentences"]),
        MADE["command"],
        "150 rows",
    ):
        assert sentence in text, sentence


def test_candidates_are_ordered_from_the_best_on_with_their_differences():
    table = tables_of(made_study().to_dict(), "which")[0]
    assert table["columns"][:4] == ["candidate", "error", "95% confidence interval", "difference (points)"]
    assert table["columns"][4:] == ["p", f"compared with {ATTACK}"]
    assert [row[0] for row in table["rows"]] == [ATTACK, "tree", "dummy"]
    assert table["rows"][0][3:] == [None, None, "selected"]
    assert table["rows"][2][5] == "significantly worse"
    assert table["highlight"] == [0]


def test_where_more_is_better_the_best_still_comes_first():
    plain = made_study().to_dict() | {"greater_is_better": True}
    for each in plain["parts"]["assessment"]["estimators"]:
        each["estimate"] = 1 - each["estimate"]
    assert [row[0] for row in tables_of(plain, "which")[0]["rows"]] == [ATTACK, "tree", "dummy"]


def cells(table):
    return [text for texts in table.get("texts", {}).values() for text in texts if text]


def test_shares_are_in_percent_and_other_metrics_in_their_units():
    plain, other = made_study().to_dict(), made_study("regression").to_dict()
    shares = [table for section in ("which", "how_good", "more_data") for table in tables_of(plain, section)]
    for table in shares:
        assert all("%" in text or text[0] in "+−0<1" for text in cells(table)), table["caption"]
    assert "%" not in "".join(cells(tables_of(other, "which")[0]))
    noise, _ = tables_of(plain, "fit")
    assert noise["columns"][1:] == [
        "memorised noise", "95% confidence interval", "decrease rate", "training accuracy", "held-out error"
    ]  # fmt: skip
    assert all("%" in text for text in cells(noise))


def test_nested_cross_validation_is_the_one_to_report():
    first, second, *_ = tables_of(made_study().to_dict(), "how_good")[0]["rows"]
    assert (first[0], first[3]) == ("nested cross-validation over all 4 candidates", "report this one")
    assert (second[0], second[3]) == (f"{ATTACK}: its own CV score", "optimistically biased: the best of 4")


def test_sizes_of_the_learning_curve_are_measured_or_extrapolated():
    (table,) = tables_of(made_study().to_dict(), "more_data")
    sources = {(row[0], row[1]): row[4] for row in table["rows"]}
    assert len(sources) == len(table["rows"])
    assert set(sources.values()) <= {"measured", "extrapolated"}


def test_the_learning_curve_starts_at_the_estimate_and_agrees_with_the_headline():
    plain = made_study("regression").to_dict()
    now, twice = [row for row in tables_of(plain, "more_data")[0]["rows"] if row[0] == plain["best"]][:2]
    assert (now[1:3], now[4]) == ([plain["rows"], plain["estimate"]], "measured")
    assert (twice[1], twice[4]) == (2 * plain["rows"], "extrapolated")
    headline = plain["answers"][3]["headline"]
    fmt = made_study("regression").metric_text
    assert f"from {fmt.value(now[2])} to about {fmt.value(twice[2])}" in headline
    assert f"by {fmt.change(now[2] - twice[2])}" in headline


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_curves_start_at_the_scores_of_the_other_tables(task):
    plain = made_study(task).to_dict()
    own = {each["name"]: each["estimate"] for each in plain["parts"]["assessment"]["estimators"]}
    fmt = made_study(task).metric_text
    measured = {row[0]: row[2] for row in tables_of(plain, "more_data")[0]["rows"] if row[4] == "measured"}
    nested = f"{plain['best']} (nested)"
    assert (nested in measured) == (fmt.value(plain["estimate"]) != fmt.value(own[plain["best"]]))
    for name, value in measured.items():
        assert fmt.value(value) == fmt.value(plain["estimate"] if name == nested else own[name])


def test_p_values_and_shares_stay_in_their_range():
    plain = made_study().to_dict()
    plain["parts"]["comparison"]["differences"][0]["p_adjusted"] = 0.0
    assert "< 0.001" in tables_of(plain, "which")[0]["texts"]["p"]
    noise = plain["parts"]["perturbation"]["estimators"][0]
    noise |= {"memorisation": -0.1, "memorisation_low": -0.2, "memorisation_high": -0.05}
    texts = tables_of(plain, "fit")[0]["texts"]
    assert (texts["memorised noise"][0], texts["95% confidence interval"][0]) == ("0%", "")


def test_all_candidates_on_the_same_folds_is_claimed_only_where_it_is_true():
    plain = study_report(made_study())
    claim = "Every candidate was fitted on the same folds"
    assert claim not in render_study(plain, MADE)
    plain["result"]["dropped"] = []
    assert claim in render_study(plain, MADE)


def test_what_was_not_run_has_no_evidence():
    short = made_study(whole=False)
    assert tables_of(short.to_dict(), "fit") == notes_of(short.to_dict(), "fit") == []
    text = Reader(short.to_html()).text
    assert text[text.index("Not run", text.index("Not run") + 1) + 1] == "Learning curve of tree"


def test_a_report_is_plain_data_and_gives_the_same_page_later():
    report = study_report(made_study())
    again = json.loads(json.dumps(report))
    assert again == report
    assert render_study(again, MADE) == made_study().to_html()


def test_a_study_in_python_is_in_its_store(tmp_path, iris_models):
    X, y, models = iris_models
    with Engine(tmp_path / "runs.db") as engine:
        result = study(X, y, models, random_state=0, engine=engine)
        (report,) = engine.store.reports()
    assert report.content["headline"] == result.headline
    assert report.made["command"] == "truefit.study(X, y, models, cv=5, level=0.95, random_state=0)"
    assert render_study(report.content, report.made) == result.to_html()
    assert result.title == "Predicting species"


def test_a_study_shows_itself_in_a_notebook():
    html = made_study()._repr_html_()
    reader = Reader(html)
    assert reader.words["h3"] == [f"Study of {ATTACK}"]
    assert reader.words["dt"] == QUESTIONS[2:]
    assert made_study().headline in reader.words["p"]
    assert len(reader.all("table")) == 1
    assert "TF101" in html
    assert "TF104" not in html
    assert not [attrs for tag, attrs in reader.tags if tag == "script"]


@pytest.fixture(scope="module")
def iris_models():
    from sklearn.datasets import load_iris
    from sklearn.dummy import DummyClassifier
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.rename("species"), {"naive Bayes": GaussianNB(), "dummy": DummyClassifier()}


def test_prose_has_no_code():
    """Parameters such as interval='triangle' are for docstrings."""
    for task in ("classification", "regression"):
        text = Reader(made_study(task).to_html()).text
        prose = [each for each in text[: text.index("How to reproduce this", text.index("Not run"))] if " " in each]
        assert not [each for each in prose if re.search(r"\b[a-z_]+=['\w]", each.replace(QUOTE, ""))]


def test_tripod_has_every_item_filled_in_or_named(page):
    study_of = made_study("regression" if "RMSE" in page else "classification")
    report = study_of.to_html(report="tripod")
    assert "TRIPOD+AI" in Reader(report).words["h2"]
    assert "TRIPOD+AI" not in page
    rows = {row[0]: row[2] for row in tripod_table(study_of.to_dict(), study_of.made)["rows"]}
    assert all(rows.values())
    assert {str(number) for number in range(1, 28)} <= {re.match(r"\d+", item)[0] for item in rows}
    assert rows["2"] == rows["17"] == "To be written by the authors."
    fmt = study_of.metric_text
    assert fmt.value(study_of.estimate) in rows["23"]
    assert fmt.between(study_of.interval) in rows["23"]
    assert f"{study_of.rows} rows" in rows["21"]
    alone = tripod_table({**study_of.to_dict(), "candidates": 1}, study_of.made)["rows"]
    (model,) = (text for item, _, text in alone if item == "12c")
    assert model.startswith(f"{study_of.best}, the only candidate. Internal validation by 5-fold cross-")
    assert "truefit 0.1.0" in rows["18f"]
    if study_of.task == "classification":
        assert f"{QUOTE} 50" in rows["13"]
    with pytest.raises(InvalidInput, match=r"must be .tripod. or None\. Got .strobe."):
        study_of.to_html(report="strobe")


def test_details_have_calibration_and_classes():
    tables = held_out_tables(made_study().to_dict())
    assert set(tables) == {"calibration", "classes"}
    assert [row[0] for row in tables["calibration"][0]["rows"]] == [QUOTE, ATTACK, "virginica"]
    assert [row[1] for row in tables["classes"][0]["rows"]] == [50, 50, 50]
    (numbers,) = held_out_tables(made_study("regression").to_dict())["calibration"]
    assert numbers["rows"][0][:2] == ["slope", made_study("regression").calibration().slope]
    older = made_study().to_dict()
    del older["predictions"]  # as a report that an earlier version stored
    assert held_out_tables(older) == {}
