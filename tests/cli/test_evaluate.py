"""truefit evaluate and truefit validate."""

import contextlib
import json
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from tests.cli.command import truefit

from truefit import evaluate
from truefit._cli.evaluate import models_in
from truefit._core.errors import InvalidInput


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, random, n = tmp_path_factory.mktemp("evaluate"), np.random.default_rng(0), 200
    ill = random.random(n) < 0.4
    chance = (1 / (1 + np.exp(-(3 * ill - 1.5 + random.normal(size=n))))).round(3)
    frame = pd.DataFrame({"outcome": np.where(ill, "ill", "well"), "patient": np.arange(n) // 4, "weight": 1.0})
    frame["forest:well"], frame["forest:ill"] = (1 - chance).round(3), chance
    frame["rule"] = np.where(random.random(n) < 0.8, frame["outcome"], "well")
    frame.to_csv(folder / "predictions.csv", index=False)
    frame.to_parquet(folder / "predictions.parquet")
    frame.to_json(folder / "predictions.jsonl", orient="records", lines=True)
    with contextlib.closing(sqlite3.connect(folder / "base.db")) as base, base:
        frame.to_sql("predictions", base, index=False)
    base.close()
    numbers = pd.DataFrame({"price": random.normal(size=n)})
    numbers.assign(a=numbers["price"] + 0.1, b=0.0).to_csv(folder / "numbers.csv", index=False)
    return folder


def test_the_example_of_the_help_works(folder):
    helped = " ".join(truefit("evaluate", "--help").stdout.replace("│", " ").split())
    example = "truefit evaluate predictions.csv --truth outcome --groups patient"
    assert f"Example: {example}" in helped
    frame = pd.read_csv(folder / "predictions.csv").drop(columns="weight")
    (folder / "help").mkdir()
    frame.to_csv(folder / "help" / "predictions.csv", index=False)
    done = truefit(*example.split()[1:], cwd=folder / "help")
    assert done.returncode == 0, done.stderr
    assert "error on 200 rows in 50 groups" in done.stdout
    expected = evaluate(frame["outcome"], frame["forest:ill"], pos_label="ill", groups=frame["patient"])
    assert expected.estimates["model"].text(0.95) in done.stdout


@pytest.mark.parametrize("source", ["predictions.csv", "predictions.parquet", "predictions.jsonl", "sqlite:///base.db"])
def test_every_source_gives_the_same_numbers(folder, source):
    if source.startswith("sqlite"):
        pytest.importorskip("adbc_driver_sqlite")
    arguments = ("--truth", "outcome", "--drop", "patient", "--weights", "weight", "--pos-label", "ill", "--json")
    done = truefit("evaluate", source, *arguments, "--metric", "error", "--metric", "f1", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [each["name"] for each in found["models"]] == ["forest", "rule"]
    frame = pd.read_csv(folder / "predictions.csv")
    models = {"forest": frame["forest:ill"], "rule": frame["rule"]}
    expected = evaluate(frame["outcome"], models, pos_label="ill", sample_weight=frame["weight"])
    assert found["models"][0]["estimate"] == pytest.approx(expected.estimate["forest"])
    assert found["metrics"]["f1"][1]["interval"] == pytest.approx(expected.score("f1")["rule"].interval)
    assert found["ties"] == expected.ties


def test_numbers_a_page_and_a_plot(folder):
    done = truefit("evaluate", "numbers.csv", "--truth", "price", "--out", "p.html", "--plot", "p.svg", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "RMSE on 200 rows" in done.stdout
    assert "b is significantly worse." in done.stdout
    done = truefit("evaluate", "numbers.csv", "--truth", "price", "--drop", "b", "--out", "one.html", cwd=folder)
    assert "Predicted against true values" in (folder / "one.html").read_text()
    assert "<html" in (folder / "p.html").read_text()
    assert (folder / "p.svg").is_file()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--truth", "outcom"), "has no column 'outcom'. Did you mean 'outcome'?"),
        (("--truth", "outcome", "--groups", "site"), "has no column 'site'"),
        (("--truth", "outcome", "--groups", "outcome"), "can have one use"),
        (("--truth", "outcome"), "The predictions of 'patient' must lie within 0 and 1"),
        (("--truth", "patient", "--drop", "forest:ill"), "The predictions of 'outcome' must be"),
        (("--truth", "outcome", "--drop", "patient", "--class", "dead"), "Missing: 'forest:dead'"),
        (("--truth", "outcome", "--as", "odds"), "--as"),
        (("--truth", "outcome", "--drop", "patient", "--metric", "f1"), "The positive class must be named"),
        (
            ("--truth", "outcome", "--drop", "patient", "--threshold", "best"),
            "cost=5:1 (one above 0), or a probability",
        ),
        (("--truth", "outcome", "--drop", "patient", "--threshold", "1.5"), "a probability between 0 and 1"),
        (("--truth", "outcome", "--drop", "patient", "--threshold", "precision=0"), "Got 'precision=0' instead"),
        (("--truth", "outcome", "--drop", "patient", "--groups", "patient"), "Got 'patient' as groups and to drop."),
        (("--truth", "outcome", "--drop", "patient", "--threshold", "0.2.1"), "Got '0.2.1' instead"),
        (("--truth", "outcome", "--drop", "patient", "--by", "site"), "has no column 'site'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(folder, arguments, sentence):
    done = truefit("evaluate", "predictions.csv", "--drop", "weight", *arguments, cwd=folder)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_diagnostics_are_printed_are_in_the_json_and_on_the_page(folder):
    frame = pd.read_csv(folder / "predictions.csv")
    frame["site"] = np.where(frame["patient"] < 25, "north", "south")
    frame[["outcome", "patient", "site", "forest:ill"]].to_csv(folder / "sites.csv", index=False)
    asked = ("--calibration", "--threshold", "cost=5:1", "--threshold", "0.3", "--net-benefit", 0.2, "--by", "site")
    command = ("evaluate", "sites.csv", "--truth", "outcome", "--groups", "patient", "--pos-label", "ill", *asked)
    done = truefit(*command, "--out", "sites.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    expected = evaluate(frame["outcome"], frame["forest:ill"], pos_label="ill", groups=frame["patient"])
    found = json.loads(truefit(*command, "--json", cwd=folder).stdout)["diagnostics"]
    assert found["calibration"][0]["models"][0]["slope"] == pytest.approx(expected.calibration().slope)
    called = frame["forest:ill"] >= 0.3
    chosen, given = found["thresholds"]
    assert chosen["models"][0]["threshold"] == expected.threshold({"cost": (5, 1)}).threshold
    assert given["models"][0]["sensitivity"] == pytest.approx(called[frame["outcome"] == "ill"].mean())
    benefit = expected.decision_curve([0.2])
    assert found["decision_curve"][0]["models"][0]["net_benefit"] == benefit.net_benefit.tolist()
    assert {each["group"] for each in found["subgroups"][0]["subgroups"]} == {"north", "south"}
    for sentence in (
        "slope", "Threshold 0.3, as given, class 'ill'", "Net benefit on 200", "error by site in 2 subgroups",
        f"{benefit.net_benefit[0]:.3f} (",
    ):  # fmt: skip
        assert sentence in done.stdout
    page = (folder / "sites.html").read_text()
    assert len(page) < 2_000_000
    for part in ("ROC curve", "Calibration", "Thresholds", "Decision curve", "Recall and precision per class"):
        assert f"<summary><h3>{part}</h3></summary>" in page
    assert "Subgroups: site" in page
    assert f"Error on 200 rows in 50 groups: {expected.estimate:.4g} (95% confidence interval" in page
    assert "Confusion matrix: rows, and their share of the true class" in page


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"f:ill": 0.4, "f:well": 0.5, "f:sick": 0.1}, "Name the class, if the truth lacks it (--class sick)"),
        (
            {"f:Ill": 0.4, "f:Well": 0.6},
            "as it is written in the truth: 'ill', 'well'. Rename the",
        ),
        ({"f:krank": 0.4, "f:gesund": 0.6}, "'f:krank' must end in a class"),
    ],
)
def test_a_column_of_no_class_of_a_model_is_no_model(columns, sentence):
    frame = pd.DataFrame(columns, index=range(3))
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        models_in(frame, ["ill", "well"])
    assert set(models_in(frame, [])) == set(columns)  # such as of labels
    assert set(models_in(pd.DataFrame({"a:1": [0.2], "a:2": [0.3]}), ["ill", "well"])) == {"a:1", "a:2"}  # two models


def test_files_without_rows_or_models(folder):
    (folder / "empty.csv").write_text("y,a\n")
    (folder / "nothing.csv").write_text("")
    (folder / "alone.csv").write_text("y\n1\n2\n")
    (folder / "gap.csv").write_text("y,a\nno,no\n,no\nyes,no\n")
    (folder / "text.csv").write_text("y,a:no,a:yes\nno,0.6,0.4\nyes,0.2,maybe\n")
    for name, sentence in (
        ("empty", "must have rows"), ("nothing", "is empty"), ("alone", "a column of predictions"),
        ("gap", "The truth 'y' of 'gap' must have a value in every row. Got 1 of 3 missing"),
        ("text", "Column 'a:yes' must hold probabilities. Got 'maybe' in 1 row."),
    ):  # fmt: skip
        done = truefit("evaluate", f"{name}.csv", "--truth", "y", cwd=folder)
        assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


def test_a_saved_study_is_validated(folder):
    pytest.importorskip("skops.io")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = X.iloc[:, :4].assign(kind=y.map({0: "malignant", 1: "benign"}))
    frame[:300].to_csv(folder / "train.csv", index=False)
    frame[300:].assign(site=np.arange(269) % 30).to_csv(folder / "cohort.csv", index=False)
    study = ("study", "train.csv", "--target", "kind", "--model", "naive_bayes", "--metric", "auc")
    done = truefit(*study, "--pos-label", "malignant", "--save", "model.skops", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    asked = ("--calibration", "--threshold", "youden", "--by", "mean texture")
    arguments = ("--groups", "site", "--metric", "auc", "--metric", "sensitivity", "--out", "v.html", *asked)
    done = truefit("validate", "model.skops", "cohort.csv", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "AUC on 269 rows in 30 groups" in done.stdout
    assert "not fitted on" not in done.stderr
    assert "Its study promised AUC 0.9" in done.stdout
    assert "sensitivity on 269 rows" in done.stdout
    assert "AUC by mean texture in 4 subgroups" in done.stdout  # a feature may name subgroups too
    page = (folder / "v.html").read_text()
    assert all(text in page for text in ("External validation", "Its study promised AUC 0.9", "Decision curve"))
    assert "columns that the model was not fitted on: 'site'" not in done.stderr
    found = json.loads(truefit("validate", "model.skops", "cohort.csv", "--json", cwd=folder).stdout)
    assert found["promise"]["pos_label"] == "malignant"
    for table, sentence in (
        (frame[300:].drop(columns=["mean area"]), "Missing: 'mean area'"),
        (frame[300:].rename(columns={"kind": "class"}), "has no column 'kind'"),
        (frame[:0], "must have rows"),
    ):
        table.to_csv(folder / "other.csv", index=False)
        done = truefit("validate", "model.skops", "other.csv", cwd=folder)
        assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr
