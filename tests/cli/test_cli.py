import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from tests.cli.command import truefit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    X, y = make_classification(120, 4, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "<script>alert(1)</script>"])
    frame["city"] = ["Ulm", "Jena", None] * 40
    frame["outcome"] = [["no", "yes"][label] for label in y]
    frame.to_csv(folder / "rows.csv", index=False)
    (folder / "mine.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "candidates = {'nb': GaussianNB(), 'stump': DecisionTreeClassifier(max_depth=1)}\n"
        "def make():\n    return [GaussianNB(), GaussianNB(var_smoothing=0.1)]\n"
    )
    (folder / "other.html").write_text("a table")
    return folder


def test_study_of_a_built_in_table_writes_a_report(folder):
    models = ("--model", "naive_bayes", "--model", "tree", "--no-tune", "--workers", 1)
    done = truefit("study", "iris", *models, "--out", folder / "report.html")
    assert done.returncode == 0, done.stderr
    assert "Which model?\n  Use " in done.stdout
    assert "Would more data help?" in done.stdout
    page = (folder / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Which model?" in page
    assert "<svg" in page


@pytest.mark.slow
def test_a_raw_table_works_as_it_is_and_stays_text_in_the_page(folder):
    models = ("--model", "linear", "--model", "dummy", "--no-tune", "--cv", 3, "--workers", 1)
    done = truefit("study", "rows.csv", "--target", "outcome", *models, "--out", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "<script>alert(1)" not in (folder / "r.html").read_text()


def test_a_store_answers_the_second_time(folder):
    command = ("assess", "iris", "--model", "linear", "--store", folder / "runs.db")
    assert "5 run, 0 shared, 0 restored" in truefit(*command).stdout
    assert "0 run, 0 shared, 5 restored" in truefit(*command).stdout


def test_json_is_for_machines(folder):
    done = truefit("assess", "diabetes", "--model", "linear", "--json", "--metric", "r2")
    found = json.loads(done.stdout)
    assert found["metric"] == "r2"
    assert 0.3 < found["estimators"][0]["estimate"] < 0.6


@pytest.mark.parametrize("name", ["candidates", "make"])
def test_models_of_ones_own(folder, name):
    done = truefit("assess", "iris", "--model", f"mine.py:{name}", "--workers", 2, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert ("stump" if name == "candidates" else "GaussianNB 2") in done.stdout


BAD = {
    "no such data": (("study", "irs"), "iris"),
    "misspelt target": (("study", "rows.csv", "--target", "outcom"), "outcome"),
    "unknown model": (("assess", "iris", "--model", "magic"), "--model must be one of"),
    "unknown metric": (("assess", "iris", "--metric", "eror"), "Did you mean 'error'"),
    "unknown design": (("assess", "iris", "--design", "x"), "--design must be kfold, "),
    "task": (("assess", "iris", "--task", "x"), "--task must be"),
    "no own models": (("assess", "iris", "--model", "nowhere.py:x"), "There is no file nowhere.py"),
    "no such name": (("assess", "iris", "--model", "mine.py:x"), "has no attribute 'x'"),
    "store is a folder": (("assess", "iris", "--store", "."), "directory"),
    "no folder for the report": (("study", "iris", "--out", "nowhere/r.html"), "folder of r.html must exist"),
    "report over the data": (("study", "rows.csv", "--target", "outcome", "--out", "rows.csv"), "would overwrite"),
    "report that is no HTML": (("study", "iris", "--out", "report.pdf"), "must end in .html or .htm"),
    "report over another file": (("study", "iris", "--out", "other.html"), "is not a report"),
    "report is a folder": (("study", "iris", "--out", "."), "is a folder"),
    "positive class": (("assess", "iris", "--metric", "f1", "--pos-label", "x"), "--pos-label must be a class of y"),
    "no positive class": (
        ("assess", "rows.csv", "--target", "outcome", "--metric", "f1"),
        "pass one of them as --pos-label",
    ),
    "budget": (("study", "iris", "--budget", "soon"), "such as '90s', '10m' or '1h'"),
    "option": (("assess", "iris", "--magic"), "No such option"),
    "k": (("assess", "iris", "--cv", "151"), "number of rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence_and_exit_code_2(folder, case):
    arguments, message = BAD[case]
    done = truefit(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [(), ("assess",), ("study",)])
def test_help_has_an_example_that_works(command):
    done = truefit(*command, "--help")
    assert done.returncode == 0
    assert command == () or "Example: truefit" in done.stdout


def test_ctrl_c_keeps_finished_fits_and_says_how_to_go_on(folder):
    slow = folder / "slow.py"
    slow.write_text(
        "import time\n"
        "from sklearn.naive_bayes import GaussianNB\n"
        "class Slow(GaussianNB):\n"
        "    def fit(self, X, y):\n"
        "        time.sleep(0.3)\n"
        "        return super().fit(X, y)\n"
        "candidates = {'slow': Slow()}\n"
    )
    store = folder / "interrupted.db"
    command = [sys.executable, "-m", "truefit", "assess", "iris", "--model", "slow.py:candidates"]
    command += ["--repeats", "20", "--store", str(store)]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while not store.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted.db" in said
    assert "Rerun to resume." in said


def test_assess_has_every_design_and_interval(folder):
    for options, method in (
        (["--design", "nested", "--cv", "3"], "triangle + τ"),
        (["--design", ".632+", "--repeats", "10"], "bootstrap of 10 samples"),
        (["--conservative"], "corrected t"),
        (["--interval", "nested_cv"], "nested cross-validation"),
    ):
        done = truefit("assess", folder / "rows.csv", "--target", "outcome", "--model", "naive_bayes", *options)
        assert done.returncode == 0, done.stderr
        assert method in done.stdout


def test_further_metrics_predictions_and_a_picture_come_from_the_same_fits(folder, tmp_path):
    done = truefit(
        "assess", folder / "rows.csv", "--target", "outcome", "--model", "naive_bayes", "--also", "all",
        "--pos-label", "yes", "--predictions", tmp_path / "left_out.csv", "--plot", tmp_path / "roc.svg",
        "--kind", "roc", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"f1", "auc", "tnr"} <= set(found["metrics"]["naive_bayes"])
    assert found["fits"]["run"] == 5
    assert len(pd.read_csv(tmp_path / "left_out.csv")) == 120
    assert "<svg" in (tmp_path / "roc.svg").read_text()


def test_a_picture_of_no_known_kind_is_refused_before_the_work(folder, tmp_path):
    done = truefit("assess", folder / "rows.csv", "--target", "outcome", "--plot", tmp_path / "x.doc")
    assert done.returncode == 2
    assert "must end in" in done.stderr


@pytest.mark.parametrize("limit", ["lots", "1MB", "-4GB"])
def test_a_memory_limit_that_cannot_be_read_is_said(limit):
    done = truefit("assess", "iris", "--model", "naive_bayes", f"--memory={limit}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: --memory must be")


def test_a_fit_beyond_the_memory_limit_is_said(tmp_path):
    (tmp_path / "large.py").write_text(
        "import numpy as np\n"
        "from sklearn.naive_bayes import GaussianNB\n"
        "class Large(GaussianNB):\n"
        "    def fit(self, X, y):\n"
        "        np.ones(2 << 30, dtype=np.uint8)\n"
        "        return super().fit(X, y)\n"
        "large = Large()\n"
    )
    done = truefit("assess", "iris", "--model", "large.py:large", "--memory", "1GB", cwd=tmp_path)
    assert done.returncode == 1
    assert "The fit used more than the memory limit of 1 GB" in done.stderr


def test_the_old_option_for_folds_works_with_a_warning():
    new = truefit("assess", "iris", "--model", "naive_bayes", "--cv", 3)
    for old in (("--k", 3), ("--k=3",)):
        done = truefit("assess", "iris", "--model", "naive_bayes", *old)
        assert done.stdout.splitlines()[:-1] == new.stdout.splitlines()[:-1]  # the last line has the seconds
        assert "Warning: --k was renamed to --cv in 0.3 and will be removed in 0.4: write --cv." in done.stderr
    assert "Warning" not in new.stderr
    shown = truefit("assess", "--help").stdout
    assert "--cv" in shown
    assert "--k " not in shown


def test_help_has_the_exit_codes_and_names_of_extras():
    for words in ((), ("study",)):
        assert "Exit codes: 0 success" in " ".join(truefit(*words, "--help").stdout.split())
    assert "truefit[skops]" in truefit("agghoo", "--help").stdout


def test_python_m_truefit_is_the_command():
    done = subprocess.run([sys.executable, "-m", "truefit", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("truefit ")
