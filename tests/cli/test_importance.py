"""truefit importance, and the importances of truefit study."""

import json

import pandas as pd
from sklearn.datasets import load_diabetes
from tests.cli.command import truefit

X, Y = load_diabetes(return_X_y=True, as_frame=True)


def test_importance_of_the_columns_of_a_file(tmp_path):
    X.assign(target=Y, visit=range(len(Y))).iloc[:200].to_csv(tmp_path / "table.csv", index=False)
    found = truefit(
        "importance", "table.csv", "--target", "target", "--drop", "visit", "--repeats", 2, "--out", "page.html",
        "--plot", "plot.svg", cwd=tmp_path,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "By how much worse it gets when a column is permuted" in found.stdout
    assert "visit" not in found.stdout
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "plot.svg").stat().st_size > 1000
    data = truefit("importance", "table.csv", "--target", "target", "--repeats", 1, "--json", cwd=tmp_path)
    assert len(json.loads(data.stdout)["columns"]) == 11
    several = truefit("importance", "diabetes", "--model", "linear", "--model", "tree")
    assert several.returncode == 2
    assert "importance is of one model. Got linear, tree; give --model once." in several.stderr


def test_a_study_stores_its_importances(tmp_path):
    pd.DataFrame(X[["bmi", "bp", "s5"]]).assign(target=Y).iloc[:150].to_csv(tmp_path / "table.csv", index=False)
    call = ("study", "table.csv", "--target", "target", "--model", "linear", "--store", "runs.db", "--workers", 1)
    call += ("--no-tune",)
    plain = truefit(*call, cwd=tmp_path)
    assert "Which columns matter?" not in plain.stdout
    first = truefit(*call, "--importance", "--out", "page.html", cwd=tmp_path)
    assert "Which columns matter?" in first.stdout
    assert 'id="columns"' in (tmp_path / "page.html").read_text()
    again = truefit(*call, "--importance", cwd=tmp_path)
    assert "From the store" in again.stderr
    assert "Which columns matter?" in again.stdout
