"""truefit curve on real files: the labelling loop, what it says, and how much it fits."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from tests.cli.command import truefit

COLUMNS = [f"x{i}" for i in range(6)]


def table(n=1200):
    X, y = make_classification(n, 6, n_informative=4, flip_y=0.15, random_state=0)
    frame = pd.DataFrame(X.round(3), columns=COLUMNS)
    frame["label"] = [["no", "yes"][label] for label in y]
    return frame


def fits(done):
    """How many fits were run and restored."""
    assert done.returncode == 0, done.stderr
    found = re.search(r"(\d+) run, \d+ shared, (\d+) restored", done.stdout)
    return int(found[1]), int(found[2])


def label_next(done):
    return int(re.search(r"Label ([\d,]+) more rows", done.stdout)[1].replace(",", ""))


CURVE = ("curve", "rows.csv", "--target", "label", "--model", "naive_bayes", "--cv", 5, "--tolerance", 0.001)


def test_the_example_in_the_help_works(tmp_path):
    helped = " ".join(truefit("curve", "--help").stdout.replace("│", " ").split())
    example = "truefit curve breast_cancer --unlabelled 40000 --store runs.db --plot curve.svg"
    assert f"Example: {example}" in helped
    assert "auc" not in helped
    done = truefit(*example.split()[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^(Stop labelling\.|Label [\d,]+ more rows, then rerun\.)", done.stdout, re.MULTILINE)
    assert (tmp_path / "curve.svg").read_text().lstrip().startswith("<")


def test_truth_values_of_which_some_are_missing_are_classes(tmp_path):
    frame = table(200)
    frame["label"] = [None if i % 40 == 0 else label == "yes" for i, label in enumerate(frame["label"])]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = truefit("curve", "rows.csv", "--target", "label", "--model", "naive_bayes", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["unlabelled"] == 5


def test_the_labelling_loop_fits_only_what_is_new(tmp_path):
    frame = table()
    frame[:300].to_csv(tmp_path / "rows.csv", index=False)
    loop = (*CURVE, "--store", "runs.db", "--unlabelled")
    first = truefit(*loop, 900, cwd=tmp_path)
    run, restored = fits(first)
    assert run > 30
    assert restored == 0
    more = label_next(first)
    # What was labelled is added, and the sheet is sorted by a column on the way.
    grown = frame[: 300 + more].sort_values("x0")
    grown.to_csv(tmp_path / "rows.csv", index=False)
    second = truefit(*loop, 900 - more, cwd=tmp_path)
    assert "Note" not in second.stderr
    run_again, restored = fits(second)
    assert run_again == 5
    assert restored >= run
    assert measured(second)[:-1] == measured(first)
    assert list(measured(second)[-1]) == [300 + more, pytest.approx(measured(second)[-1][1])]
    third = truefit(*loop, 900 - more, cwd=tmp_path)
    assert fits(third)[0] == 0
    assert measured(third) == measured(second)


def measured(done):
    """Sizes and errors that were measured."""
    lines = done.stdout.split("Measured:\n")[1].split("\nerror of")[0].splitlines()
    return [(int(size.replace(",", "")), float(error)) for size, error in (line.split(" rows ") for line in lines)]


def test_a_cell_that_is_filled_in_is_a_row_that_is_labelled(tmp_path):
    frame = table(400)
    frame.assign(label=frame["label"].where(frame.index % 2 == 0)).to_csv(tmp_path / "rows.csv", index=False)
    first = truefit(*CURVE, "--store", "runs.db", "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    found = json.loads(first.stdout)
    assert (found["rows"], found["unlabelled"]) == (200, 200)
    (one,) = found["curves"]
    assert one["kind"] == "learning_curve"
    assert one["horizon"] == 400
    assert one["label"]["rows"] == 200
    frame.assign(label=frame["label"].where(frame.index % 4 > 0)).to_csv(tmp_path / "rows.csv", index=False)
    # Labels that were taken away again: their rows are gone.
    second = truefit(*CURVE, "--store", "runs.db", cwd=tmp_path)
    assert "Edited or removed since the last call: 100 of the 200 sampled rows of 'rows'" in second.stderr
    assert second.returncode == 0, second.stderr


def test_rows_that_were_edited_are_said_and_fitted_again(tmp_path):
    frame = table(300)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    run, _ = fits(truefit(*CURVE, "--store", "runs.db", cwd=tmp_path))
    frame.loc[7, "x1"] += 1
    frame.to_csv(tmp_path / "rows.csv", index=False)
    done = truefit(*CURVE, "--store", "runs.db", cwd=tmp_path)
    assert done.stderr.count("Edited or removed since the last call: 1 of the 300 sampled rows") == 1
    again, _ = fits(done)
    assert 5 <= again <= run
    assert "Edited" not in truefit(*CURVE, "--store", "runs.db", cwd=tmp_path).stderr
    frame["x2"] = "a"
    frame.to_csv(tmp_path / "rows.csv", index=False)
    other = truefit("curve", "rows.csv", "--target", "label", "--model", "dummy", "--store", "runs.db", cwd=tmp_path)
    assert "The columns of 'rows' or their types have changed" in other.stderr


def test_a_sample_of_another_version_begins_anew_and_nobody_is_said_to_have_edited_it(tmp_path):
    table(300).to_csv(tmp_path / "rows.csv", index=False)
    truefit(*CURVE, "--store", "runs.db", cwd=tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as store, store:
        (name, note), *others = store.execute("SELECT name, value FROM meta WHERE name LIKE 'note: %'").fetchall()
        assert others == []
        older = {**json.loads(note), "keys": ["0" * 32] * 300}
        del older["identity"]
        store.execute("UPDATE meta SET value = ? WHERE name = ?", (json.dumps(older), name))
    done = truefit(*CURVE, "--store", "runs.db", cwd=tmp_path)
    assert "were sampled by another version of truefit" in done.stderr
    assert "Edited" not in done.stderr
    assert fits(done)[0] == 0
    assert "version" not in truefit(*CURVE, "--store", "runs.db", cwd=tmp_path).stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_growing_file_that_is_read_in_parts(tmp_path, monkeypatch, ending):
    frame, command = table(), ("curve", f"rows.{ending}", *CURVE[2:], "--store", "runs.db")

    def write(rows):
        path = tmp_path / f"rows.{ending}"
        rows.to_csv(path, index=False) if ending == "csv" else rows.to_parquet(path)

    with monkeypatch.context() as small:
        small.setattr("truefit.sources.on_demand.WHOLE_BYTES", 1000)
        write(frame[:300])
        run, _ = fits(truefit(*command, cwd=tmp_path))
        assert run > 30
    # By its size it would now be read whole, but its rows are known by their positions.
    write(frame[:400])
    done = truefit(*command, cwd=tmp_path)
    assert fits(done)[0] == 5
    assert "Note" not in done.stderr
    frame.loc[3, "x1"] += 1
    write(frame[:400])
    assert "some of the 400 sampled rows of 'rows'" in truefit(*command, cwd=tmp_path).stderr
    write(frame[:390])
    assert "10 of the 400 sampled rows of 'rows'" in truefit(*command, cwd=tmp_path).stderr


def test_a_growing_database(tmp_path):
    frame = table(600)

    def add(rows):
        with contextlib.closing(sqlite3.connect(tmp_path / "lab.db")) as connection, connection:
            rows.to_sql("samples", connection, if_exists="append", index=False)

    add(frame[:300])
    command = ("curve", "sqlite:///lab.db", *CURVE[2:], "--store", "runs.db")
    run, _ = fits(truefit(*command, cwd=tmp_path))
    add(frame[300:400])
    done = truefit(*command, cwd=tmp_path)
    assert "Note" not in done.stderr
    assert fits(done) == (5, fits(done)[1])
    assert run > 30


def test_several_models_sizes_and_a_target(tmp_path):
    table(300).to_parquet(tmp_path / "rows.parquet")
    command = ("curve", "rows.parquet", "--target", "label", "--model", "linear", "--model", "tree", "--cv", 5)
    command += ("--schedule", "60,90,130,180,240,300", "--target-error", 0.001, "--plot", "curves.png")
    done = truefit(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("linear", "tree"):
        assert f"error of {name} with 300 rows" in done.stdout
    assert "60 fits requested" in done.stdout
    assert "an error of 0.001" in done.stdout
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_a_budget_ends_the_labelling(tmp_path):
    table(300).to_csv(tmp_path / "rows.csv", index=False)
    done = truefit(*CURVE, "--budget", "money=50,price_per_row=0.25", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Stop here. Budget of 50 exhausted: 200 rows at 0.25 each." in done.stdout


@pytest.mark.slow
def test_a_killed_curve_goes_on_where_it_was(tmp_path):
    frame = table()
    frame[:900].to_csv(tmp_path / "rows.csv", index=False)
    command = ("curve", "rows.csv", "--target", "label", "--model", "random_forest", "--tolerance", 0.001)
    command += ("--cv", 5, "--seed", 1, "--json")
    running = subprocess.Popen(
        [sys.executable, "-m", "truefit", *map(str, command), "--store", "runs.db"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while kept(tmp_path / "runs.db") < 12:
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = kept(tmp_path / "runs.db")
    # Rows that come meanwhile do not disturb what was begun.
    frame[:1000].to_csv(tmp_path / "rows.csv", index=False)
    resumed = truefit(*command, "--store", "runs.db", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    counted = json.loads(resumed.stdout)
    distinct = sum(each["fits"] for each in counted["curves"])
    assert counted["fits"]["run"] <= distinct - before


def kept(path):
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file,
    ):
        return file.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    return 0


BAD = {
    "target": (("rows.csv", "--target", "lable"), "'rows' has no column 'lable'. Did you mean 'label'?"),
    "no target": (("rows.csv",), "'rows' needs a target"),
    "no file": (("row.csv", "--target", "label"), "There is no file 'row.csv'"),
    "unknown ending": (("rows.txt", "--target", "label"), "'rows.txt' must end in one of .arrow, .csv"),
    "no database": (("sqlite:///no.db", "--target", "label"), "There is no database 'no.db'. Check the path."),
    "database elsewhere": (
        ("postgresql://localhost:1/x", "--target", "y"),
        "The database 'postgresql://localhost:1/x'",
    ),
    "too few rows": (("few.csv", "--target", "label"), "A learning curve with 10 folds needs at least 10 rows"),
    "no rows": (("empty.csv", "--target", "label"), "must have rows to learn from"),
    "budget": (("rows.csv", "--target", "label", "--budget", "much"), "--budget must be a number of rows"),
    "budget part": (
        ("rows.csv", "--target", "label", "--budget", "weeks=2"),
        "some of rows, seconds, money, price",
    ),
    "schedule": (
        ("rows.csv", "--target", "label", "--schedule", "some"),
        "--schedule must be adaptive, paper",
    ),
    "sizes": (("rows.csv", "--target", "label", "--schedule", "50,900"), "must not exceed the 100 rows"),
    "metric": (("rows.csv", "--target", "label", "--metric", "accuracy"), "must be a loss"),
    "unlabelled": (("rows.csv", "--target", "label", "--unlabelled", "-1"), "--unlabelled"),
    "table": (("rows.csv", "--target", "label", "--table", "t"), "A table and a key are for databases"),
    "model": (("rows.csv", "--target", "label", "--model", "trees"), "--model must be one of"),
    "picture": (("rows.csv", "--target", "label", "--plot", "x.doc"), "The name of a plot must end in"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    frame = table(100)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_csv(folder / "rows.txt", index=False)
    frame[:8].to_csv(folder / "few.csv", index=False)
    frame[:0].to_csv(folder / "empty.csv", index=False)
    return folder


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_said_in_a_sentence_and_the_store_is_not_touched(folder, case):
    arguments, message = BAD[case]
    done = truefit("curve", *arguments, "--store", "runs.db", cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not (folder / "runs.db").exists()
