import json
import shutil
import subprocess
import sys
from unittest import mock

import pytest
from sklearn.datasets import load_diabetes, load_iris
from tests.cli.command import truefit

from truefit import AgghooClassifier
from truefit._cli.saved_model import read_model
from truefit._methods.selection.default_candidates import default_candidates


def test_json_is_the_study_in_plain_types(tmp_path):
    load_diabetes(as_frame=True).frame.head(120).to_csv(tmp_path / "rows.csv", index=False)
    command = ("study", "rows.csv", "--target", "target", "--models", "linear,dummy", "--workers", 1)
    command += ("--no-tune", "--json")
    done = truefit(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["kind"], found["version"], found["best"], found["metric"]) == ("study", 3, "linear", "rmse")
    assert [name["name"] for name in found["parts"]["assessment"]["estimators"]] == ["linear", "dummy"]
    assert found["fits"]["run"] > 0


STUDY = ("study", "rows.csv", "--target", "target", "--models", "linear,dummy", "--no-tune", "--workers", 1,
         "--store", "s.db")  # fmt: skip


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studied")
    load_iris(as_frame=True).frame[::2].to_csv(folder / "rows.csv", index=False)
    first = truefit(*STUDY, "--out", "first.html", cwd=folder)
    assert " 0 restored" in first.stdout, first.stderr
    return folder, first.stdout


def test_a_finished_study_is_answered_from_its_store_without_an_engine(studied):
    folder, first = studied
    with mock.patch("truefit._api.engine.Engine", side_effect=AssertionError("An engine was made.")):
        again = truefit(*STUDY, "--out", "again.html", cwd=folder).stdout
        found = json.loads(truefit(*STUDY, "--json", cwd=folder).stdout)
    assert again.splitlines() == first.splitlines()[:-1]
    assert found["best"] == "linear"
    pages = [(folder / name).read_text() for name in ("first.html", "again.html")]
    assert len({page[: page.index('id="made"')] for page in pages}) == 1
    assert "s.db holds 1 report" in truefit("runs", "s.db", cwd=folder).stdout


@pytest.mark.parametrize("option", [("--budget", "1h"), ("--save", "model.skops")])
def test_what_may_have_more_to_say_is_asked_anew(studied, tmp_path, option):
    if "--save" in option:
        pytest.importorskip("skops")
    folder = shutil.copytree(studied[0], tmp_path / "copy")
    assert " fits requested: " in truefit(*STUDY, *option, cwd=folder).stdout


def test_the_aggregate_is_saved_in_the_place_of_a_single_model(tmp_path):
    pytest.importorskip("skops")
    frame = load_iris(as_frame=True).frame[::2]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    command = ("study", "rows.csv", "--target", "target", "--models", "linear,naive_bayes", "--workers", 1)
    command += ("--no-tune", "--store", "runs.db")
    done = truefit(*command, "--save", "m.skops", "--agghoo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    saved = read_model(tmp_path / "m.skops").estimator
    assert type(saved).__name__ == "AgghooClassifier"
    assert len(saved.members_) == 5
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    models = default_candidates(X, "classification")
    alone = AgghooClassifier([(name, models[name]) for name in ("linear", "naive_bayes")], path=None).fit(X, y)
    assert saved.selection_["name"].tolist() == alone.selection_["name"].tolist()
    assert (saved.predict(X) == alone.predict(X)).all()
    predicted = truefit("predict", "m.skops", "rows.csv", cwd=tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    done = truefit(*command, "--save", "sure.skops", "--agghoo", "--intervals", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sure = read_model(tmp_path / "sure.skops").estimator
    assert {type(each).__name__ for each in (sure.estimator_, *sure.members_)} == {"AgghooClassifier"}
    predicted = truefit("predict", "sure.skops", "rows.csv", "--interval", cwd=tmp_path)
    assert predicted.stdout.startswith("prediction,possible: 0,")


def test_the_ensemble_of_a_tuned_study_is_saved_with_its_own_estimate(tmp_path):
    pytest.importorskip("skops")
    load_iris(as_frame=True).frame[::2].to_csv(tmp_path / "rows.csv", index=False)
    command = ("study", "rows.csv", "--target", "target", "--models", "linear,knn", "--workers", 1)
    options = ("--ensemble", "--intervals", "--out", "page.html", "--json")
    done = truefit(*command, "--save", "m.skops", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    tested = found["parts"]["averaged"]
    saved = read_model(tmp_path / "m.skops")
    members = [saved.estimator.estimator_, *saved.estimator.members_]
    assert {type(each).__name__ for each in members} == {"EnsembleClassifier"}
    assert [name for name, _ in saved.estimator.estimator.estimators] == tested["members"]
    assert saved.promise.estimate == tested["estimate"]
    assert found["intervals"]["model"] == "the ensemble"
    assert (
        "Coverage of the prediction intervals of the ensemble on held-out rows" in (tmp_path / "page.html").read_text()
    )
    predicted = truefit("predict", "m.skops", "rows.csv", "--interval", cwd=tmp_path)
    assert predicted.returncode == 0, predicted.stderr


@pytest.mark.parametrize("options", [("--agghoo",), ("--ensemble",), ("--no-tune", "--ensemble", "--save", "a.skops")])
def test_which_model_to_save_needs_a_file_to_save_it_in(options):
    done = truefit("study", "iris", *options)
    assert done.returncode == 2
    assert "--save model.skops" in done.stderr


def test_a_study_with_fits_that_failed_tries_them_again(tmp_path):
    load_iris(as_frame=True).frame[::2].to_csv(tmp_path / "rows.csv", index=False)
    with mock.patch("sklearn.dummy.DummyClassifier.fit", side_effect=ValueError("out of luck")):
        assert "TF202" in truefit(*STUDY, cwd=tmp_path).stdout
    again = truefit(*STUDY, cwd=tmp_path).stdout
    assert " fits requested: " in again
    assert "TF202" not in again


def test_a_store_is_read_without_loading_scikit_learn(studied):
    folder, _ = studied
    script = (
        "import sys; from truefit.__main__ import app; sys.argv[1:] = {}; app(standalone_mode=False); "
        "sys.exit(', '.join({{'sklearn', 'scipy.stats', 'matplotlib'}} & set(sys.modules)) or 0)"
    )
    for words in (["runs", "s.db"], ["show", "s.db", "--out", "shown.html"], [str(word) for word in STUDY]):
        command = [sys.executable, "-c", script.format(words)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_budget_that_is_too_short_for_anything_is_exit_code_1():
    done = truefit("study", "iris", "--model", "linear", "--workers", 1, "--budget", "0.000001s")
    assert done.returncode == 1
    assert "budget" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaking")
    frame = load_iris(as_frame=True).frame[::2]
    frame.assign(copied=frame["target"] * 2.0, site="Ulm").to_csv(folder / "rows.csv", index=False)
    return folder


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-on", "error"), 3)])
def test_findings_come_first_and_fail_on_sets_the_exit_code(leaking, options, code):
    done = truefit(*STUDY, *options, cwd=leaking)
    assert done.returncode == code, done.stderr
    assert 0 < done.stdout.index("TF101") < done.stdout.index("Which model?") < done.stdout.index("TF104")
    assert ("Exit code 3: findings of severity" in done.stderr) is (code == 3)


def test_ignored_findings_are_not_reported(leaking):
    done = truefit(*STUDY, "--ignore", "TF101", "--ignore", "tf104", "--fail-on", "error", "--json", cwd=leaking)
    assert done.returncode == 0, done.stderr
    codes = {finding["code"] for finding in json.loads(done.stdout)["findings"]}
    assert not codes & {"TF101", "TF104"}


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--fail-on", "panic"), "--fail-on must be warning or error. Got 'panic' instead."),
     (("--ignore", "TF999"), "TF101, TF102"),
     (("--report", "strobe", "--out", "a.html"), "--report must be tripod. Got 'strobe' instead."),
     (("--report", "tripod"), "Name a file for the page with --out report.html.")],
)  # fmt: skip
def test_an_unknown_choice_is_one_sentence(leaking, options, message):
    done = truefit(*STUDY, *options, cwd=leaking)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_quiet_prints_results_only(leaking):
    done = truefit(*STUDY, "--quiet", "--out", "quiet.html", cwd=leaking)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Which model?" in done.stdout
    assert " s of fitting" not in done.stdout
    assert (leaking / "quiet.html").exists()
