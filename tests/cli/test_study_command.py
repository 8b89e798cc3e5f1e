import json

from sklearn.datasets import load_diabetes
from tests.cli.command import truefit


def test_json_is_the_study_in_plain_types(tmp_path):
    load_diabetes(as_frame=True).frame.head(120).to_csv(tmp_path / "rows.csv", index=False)
    command = ("study", "rows.csv", "--target", "target", "--models", "linear,dummy", "--workers", 1, "--json")
    done = truefit(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["kind"], found["version"], found["best"], found["metric"]) == ("study", 2, "linear", "rmse")
    assert [name["name"] for name in found["parts"]["assessment"]["estimators"]] == ["linear", "dummy"]
    assert found["fits"]["run"] > 0


def test_a_finished_study_is_read_from_its_store(tmp_path):
    command = ("study", "iris", "--model", "linear", "--model", "dummy", "--store", tmp_path / "s.db", "--workers", 1)
    first, second = truefit(*command).stdout, truefit(*command).stdout
    assert " 0 restored" in first
    assert ": 0 run, 0 shared" in second
    assert first.splitlines()[:-1] == second.splitlines()[:-1]


def test_a_budget_that_is_too_short_for_anything_is_exit_code_1():
    done = truefit("study", "iris", "--model", "linear", "--workers", 1, "--budget", "0.000001s")
    assert done.returncode == 1
    assert "budget" in done.stderr
    assert "Traceback" not in done.stderr
