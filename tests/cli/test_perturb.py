import json

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from tests.cli.command import truefit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("perturb")
    X, y = make_classification(90, 4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["city"] = ["Ulm", "Jena", None] * 30
    frame["outcome"] = [["no", "yes"][label] for label in y]
    frame.to_csv(folder / "rows.csv", index=False)
    return folder


def test_the_example_in_the_help_works(folder):
    helped = " ".join(truefit("perturb", "--help").stdout.replace("│", " ").split())
    assert "Example: truefit perturb breast_cancer" in helped
    command = ("perturb", "breast_cancer", "--model", "linear", "--model", "tree", "--levels", "adaptive")
    done = truefit(*command, "--plot", "rates.svg", "--kind", "rate", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "linear has a significantly larger rate than all others (paired t-tests, Holm-corrected)." in done.stdout
    assert "tree: overfitted;" in done.stdout
    assert (folder / "rates.svg").read_text().lstrip().startswith("<")


def test_json_levels_and_a_store(folder):
    command = ("perturb", "rows.csv", "--target", "outcome", "--model", "naive_bayes", "--levels", "0.2,0.4")
    command += ("--repeats", 2, "--cv", 0, "--store", "runs.db", "--seed", 3)
    done = truefit(*command, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["kind"], found["levels"], found["repeats"]) == ("perturbation", [0, 0.2, 0.4], 2)
    (one,) = found["estimators"]
    assert one["name"] == "naive_bayes"
    again = truefit(*command, cwd=folder).stdout
    assert "6 fits requested: 0 run, 0 shared, 6 restored" in again
    assert "than all others" not in again  # there are none


def test_paper_mode_measures_once_without_folds(folder):
    command = ("perturb", "rows.csv", "--target", "outcome", "--model", "naive_bayes", "--mode", "paper", "--json")
    found = json.loads(truefit(*command, cwd=folder).stdout)
    assert (found["mode"], found["repeats"], len(found["levels"])) == ("paper", 1, 11)


BAD = {
    "levels in words": (("--levels", "some"), "--levels must be adaptive or numbers"),
    "levels too large": (("--levels", "0.9"), "shares from 0 to 0.5"),
    "perturbation": (("--perturbation", "x"), "--perturbation must be"),
    "cv": (("--cv", 1), "--cv must be"),
    "kind": (("--kind", "roc"), "--kind must be rate or errors"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence_and_exit_code_2(case):
    arguments, message = BAD[case]
    done = truefit("perturb", "iris", "--model", "tree", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
