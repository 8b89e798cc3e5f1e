import json

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from tests.cli.command import truefit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    X, y = make_classification(90, 4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["city"] = ["Ulm", "Jena", None] * 30
    frame["outcome"] = [["no", "yes"][label] for label in y]
    frame.to_csv(folder / "rows.csv", index=False)
    return folder


def test_the_example_in_the_help_works():
    helped = " ".join(truefit("compare", "--help").stdout.replace("│", " ").split())
    assert "Example: truefit compare" in helped
    done = truefit("compare", "breast_cancer", "--model", "linear", "--model", "tree", "--repeats", 4, "--rope", 0.01)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("linear is best")
    assert "tree is significantly worse." in done.stdout
    assert "4 times 5-fold" in done.stdout
    assert "40 run" in done.stdout


def test_json_a_store_and_a_reference(folder):
    command = ("compare", "rows.csv", "--target", "outcome", "--model", "linear", "--model", "dummy", "--cv", 3)
    command += ("--reference", "dummy", "--store", "runs.db", "--rope", "0.02", "--metric", "accuracy")
    done = truefit(*command, "--json", cwd=folder)
    found = json.loads(done.stdout)
    assert (found["kind"], found["reference"], found["rope"]) == ("comparison", "dummy", 0.02)
    (difference,) = found["differences"]
    assert (difference["candidate"], difference["verdict"]) == ("linear", "better")
    assert difference["difference"] > 0
    assert "0 run, 0 shared, 6 restored" in truefit(*command, cwd=folder).stdout


def test_without_models_the_default_ones_are_compared(folder):
    done = truefit("compare", "rows.csv", "--target", "outcome", "--cv", 2, "--design", "holdout", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    names = [each["name"] for each in json.loads(done.stdout)["assessment"]["estimators"]]
    assert {"dummy", "linear", "random_forest"} <= set(names)


BAD = {
    "one model": (("--model", "linear"), "at least 2 estimators"),
    "reference": (("--model", "linear", "--model", "tree", "--reference", "tre"), "Did you mean 'tree'"),
    "rope": (("--model", "linear", "--model", "tree", "--rope", "-1"), "--rope must be"),
    "test": (("--model", "linear", "--model", "tree", "--test", "x"), "--test must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence_and_exit_code_2(case):
    arguments, message = BAD[case]
    done = truefit("compare", "iris", *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.filterwarnings("default")
def test_a_model_that_cannot_be_fitted_does_not_stop_the_comparison(folder):
    frame = pd.read_csv(folder / "rows.csv").assign(outcome=["yes"] + ["no"] * 89)
    frame.to_csv(folder / "one.csv", index=False)
    done = truefit("compare", "one.csv", "--target", "outcome", "--model", "linear", "--model", "tree", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "linear is not comparable with it." in done.stdout
    assert "1 of 10 fits failed: All its training rows are of class 'no', and it needs two classes" in done.stderr
