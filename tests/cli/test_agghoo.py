import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, make_friedman1
from tests.cli.command import truefit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agghoo")
    X, y = make_friedman1(80, noise=1.0, random_state=0)
    pd.DataFrame(X).assign(outcome=y).to_csv(folder / "rows.csv", index=False)
    (folder / "mine.py").write_text(
        "from sklearn.ensemble import GradientBoostingRegressor\n"
        "model = GradientBoostingRegressor(n_estimators=12, random_state=0)\n"
    )
    return folder


def test_the_example_in_the_help_works_and_the_model_comes_back(folder):
    skops = pytest.importorskip("skops.io")
    helped = " ".join(truefit("agghoo", "--help").stdout.replace("│", " ").split())
    example = "truefit agghoo breast_cancer --model linear --model tree --model knn --save model.skops"
    assert f"Example: {example}" in helped
    done = truefit(*example.split()[1:], cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Selected on each split, by error" in done.stdout
    assert "error of Agghoo over 3 candidates" in done.stdout
    assert "truefit predict model.skops NEW.csv" in done.stderr
    place = folder / "model.skops"
    model = skops.load(place, trusted=skops.get_untrusted_types(file=place))
    frame = load_breast_cancer(as_frame=True).data
    assert model.predict_proba(frame).shape == (569, 2)
    assert len(model.members_) == 5


def test_json_stages_a_picture_and_a_store(folder):
    command = ("agghoo", "rows.csv", "--target", "outcome", "--model", "mine.py:model", "--cv", 4, "--seed", 1)
    command += ("--store", "runs.db", "--correction", "learning_curve")
    done = truefit(*command, "--json", "--plot", "curves.svg", "--kind", "validation", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kind"] == "agghoo"
    assert len(found["selection"]) == 4
    assert 1 <= found["selection"][0]["stage"] <= 12
    mean = np.mean([each["validation_score"] for each in found["selection"]])
    assert found["mean_validation_score"] == pytest.approx(mean)
    tested = found["cross_test"]
    assert tested["mean_validation"] == pytest.approx(mean)
    assert tested["correction"] == "learning_curve"
    assert tested["interval"][0] < tested["estimate"] < tested["interval"][1]
    assert (found["fits"]["run"], found["fits"]["refitted"]) == (6 + 4, 0)
    assert (folder / "curves.svg").read_text().lstrip().startswith("<")
    again = truefit(*command, "--plot", "members.png", "--kind", "members", cwd=folder)
    assert " 0 run," in again.stdout
    assert (folder / "members.png").stat().st_size > 1000


BAD = {
    "path": (("--path", "some"), "--path must be auto, none or a positive number"),
    "aggregate": (("--aggregate", "vote"), "must be 'mean'"),
    "kind": (("--kind", "roc"), "--kind must be validation, members or estimates"),
    "correction": (("--correction", "x"), "--correction must be"),
    "save": (("--save", "model.pkl"), "must end in .skops"),
    "save over the data": (("--save", "nowhere/model.skops"), "must exist"),
    "folds": (("--cv", 1), "number of folds"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence_and_exit_code_2(case, folder):
    arguments, message = BAD[case]
    done = truefit("agghoo", "rows.csv", "--target", "outcome", "--model", "linear", *arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
