"""Finished reports are listed and reopened from a store, without fitting anything."""

import json
from unittest import mock

import pandas as pd
import pytest
from tests.cli.command import truefit
from tests.report.study_example import ATTACK, MADE, made_study

from truefit import Engine
from truefit._cli.stored_reports import open_store, request_key
from truefit._core.provenance import store_report
from truefit._study.page import study_report
from truefit.sources.table import Table
from truefit.testing.store_contract import some_outcome


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    with Engine(folder / "study.db") as engine:
        engine.store.put([some_outcome()])
        report = study_report(made_study())
        first = store_report(engine.store, report, MADE)
        # The same again: only how fast it was has changed.
        report["result"]["fits"]["seconds"] = 0.1
        assert store_report(engine.store, report, MADE) == first
    done = truefit("assess", "iris", "--model", "linear", "--store", "runs.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    done = truefit("compare", "iris", "--model", "linear", "--model", "tree", "--store", "runs.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_runs_lists_what_when_and_how_many_fits(folder):
    done = truefit("runs", "runs.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "runs.db holds 2 reports and 10 fits." in done.stdout
    assert "truefit compare iris --model linear --model tree --store runs.db" in done.stdout
    assert "iris: 150 rows, 4 columns, target: target" in done.stdout
    listed = json.loads(truefit("runs", "runs.db", "--json", cwd=folder).stdout)
    assert listed["fits"] == 10
    assert sorted(report["kind"] for report in listed["reports"]) == ["assessment", "comparison"]
    assert "scikit-learn" in listed["reports"][0]["made"]["versions"]


def test_a_report_made_again_is_there_once(folder):
    done = truefit("runs", "study.db", cwd=folder)
    assert "study.db holds 1 report and 1 fit." in done.stdout
    assert f"Use {ATTACK}. Expect an error of" in done.stdout


def test_show_reopens_the_last_or_the_named_one_without_fitting(folder):
    listed = json.loads(truefit("runs", "runs.db", "--json", cwd=folder).stdout)["reports"]
    for report in listed:
        done = truefit("show", "runs.db", report["id"][:6], cwd=folder)
        assert done.returncode == 0, done.stderr
        assert report["headline"] in " ".join(done.stdout.split())
        assert report["made"]["command"] in done.stdout
    found = json.loads(truefit("show", "runs.db", "--json", cwd=folder).stdout)
    assert found["kind"] == listed[0]["kind"]
    assert json.loads(truefit("runs", "runs.db", "--json", cwd=folder).stdout)["fits"] == 10


def test_the_page_comes_back_as_it_was(folder):
    done = truefit("show", "study.db", "--out", "again.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    again = (folder / "again.html").read_text()
    assert again == made_study().to_html()
    done = truefit("show", "runs.db", "--out", "compared.html", cwd=folder)
    assert "Report written to compared.html." in done.stderr
    assert "<table" in (folder / "compared.html").read_text()


BAD = {
    "no store to list": (("runs", "none.db"), "There is no store 'none.db'"),
    "no store to show": (("show", "none.db"), "There is no store 'none.db'"),
    "no store of ours": (("runs", "text.db"), "no SQLite database"),
    "no report": (("show", "empty.db"), "holds no finished report yet"),
    "no such report": (("show", "runs.db", "zz"), "no report whose id begins with 'zz'. Ids: "),
    "over the store": (("show", "runs.db", "--out", "runs.db"), "would overwrite"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence_and_exit_code_2(folder, case):
    (folder / "text.db").write_text("text")
    with Engine(folder / "empty.db") as engine:
        engine.store.put([some_outcome()])
    arguments, message = BAD[case]
    done = truefit(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr


def test_a_store_is_opened_for_what_is_there(tmp_path):
    with Engine(tmp_path / "runs.db") as engine:
        engine.store.put([some_outcome()])
    store = open_store(tmp_path / "runs.db")
    assert (store.reports(), store.count_fits()) == ([], 1)
    store.close()


@pytest.mark.parametrize("command", ["runs", "show", "predict"])
def test_help_has_an_example(command):
    assert "Example: truefit" in truefit(command, "--help").stdout


FRAME = pd.DataFrame({"size": [1.0, 2.5, 3.0, 2.0], "kind": ["a", "b", "b", "a"], "colour": list("rgrg")})
OPTIONS = {"models": ["linear"], "cv": 5, "seed": None}


def asked(frame=FRAME, name="shells", target="kind", **options):
    return request_key(Table.of(frame, name=name, target=target), {**OPTIONS, **options})


def test_the_same_question_is_known_again():
    assert asked() == asked(FRAME.copy())


def test_whatever_may_change_the_answer_makes_another_question():
    found = {
        "as it was": asked(),
        "a seed": asked(seed=1),
        "another model": asked(models=["tree"]),
        "another target": asked(target="colour"),
        "another label": asked(FRAME.assign(kind=["a", "b", "b", "b"])),
        "another value": asked(FRAME.assign(size=[1.0, 2.5, 3.0, 2.1])),
        "another type": asked(FRAME.astype({"size": "float32"})),
        "another column name": asked(FRAME.rename(columns={"size": "width"})),
        "another order": asked(FRAME[::-1]),
        "another file": asked(name="snails"),
    }
    with mock.patch("truefit._cli.stored_reports._code", return_value="edited"):
        found["edited code"] = asked()
    with mock.patch("truefit._cli.stored_reports.versions", return_value={"scikit-learn": "0.1"}):
        found["another version"] = asked()
    assert len(set(found.values())) == len(found)
