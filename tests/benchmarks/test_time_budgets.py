import json
import subprocess
import sys

from benchmarks import time_budgets as benchmark

SAYS = ["Use linear.", "Expect an error of 5%.", "No sign of over- or underfitting.", "Hardly."]


def line(**changes):
    found = {"table": "iris", "rows": 150, "budget": 60, "cores": 2, "load": 0.5, "command_seconds": 62.0}
    found |= {"study_seconds": 57.0, "answers": SAYS, "not_run": [], "nested": True, "settings": 66, "searched": 60}
    found |= {"left_out": 0, "repeats": 10, "rounds": 100, "machine": "x86_64"}
    return found | changes


def test_verdicts():
    assert benchmark.verdict(line()) == "met"
    assert benchmark.verdict(line(study_seconds=30.0)) == "met: everything done"
    assert benchmark.verdict(line(study_seconds=30.0, left_out=3)) == "missed: time left"
    assert benchmark.verdict(line(study_seconds=30.0, repeats=5)) == "missed: time left"
    assert benchmark.verdict(line(study_seconds=64.0)) == "missed: too long"
    assert benchmark.verdict(line(answers=[*SAYS[:2], "Not run: no time.", "Hardly."])) == "missed: not all answered"
    assert benchmark.verdict(line(failed="no time")) == "missed: failed"


def test_the_page_counts_every_run(tmp_path):
    store, out = tmp_path / "s.jsonl", tmp_path / "page.md"
    lines = [
        line(),
        line(budget=90, failed="Error: no time"),
        line(table="adult", not_run=[{"what": "x", "why": "y."}]),
    ]
    store.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    benchmark.main(["--store", str(store), "--out", str(out), "--minutes", "0", "--load", "Nothing else ran."])
    text = out.read_text()
    assert "**3 of 12 runs were made.**" in text
    assert "Met in 2 of 3." in text
    assert "| 57.0 | 95% | 62.0 | 4 of 4 | yes | 60 of 66 | 0 | 10 | 100 | yes | met |" in text
    assert "Nothing else ran." in text
    assert "*Not run:* x (y)." in text


def test_the_command_is_the_real_one(tmp_path):
    arguments, rows = benchmark.command_of("iris", tmp_path, 60)
    assert (arguments[:2], rows) == (["study", "iris"], 150)
    ran = subprocess.run([sys.executable, "-c", benchmark.COMMAND, "study", "--help"], capture_output=True, check=False)
    assert (ran.returncode, b"--budget" in ran.stdout) == (0, True)
