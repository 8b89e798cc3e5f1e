"""Columns that are not features, on every command that takes a table; and the test rows of a study."""

import contextlib
import json
import re
import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.cli.command import Said, truefit

from truefit import AgghooClassifier, assess, compare, cross_test, learning_curve, perturb
from truefit._cli.stored_reports import request_key
from truefit._methods.selection.default_candidates import default_candidates
from truefit.sources.load import load
from truefit.sources.on_demand import open_rows

OPTIONS = ("--groups", "patient_id", "--weights", "weight", "--drop", "note", "--drop", "visit")
MODELS = ("--model", "linear", "--model", "tree", "--seed", 3)
FEATURES = ["age", "bmi"]


def visits(patients=60, seed=0):
    """Two visits of each patient, alike in everything that a model sees."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(patients), 2)
    frame = pd.DataFrame(rng.normal(size=(patients, 2))[person], columns=FEATURES)
    frame += rng.normal(0, 0.05, frame.shape)
    sick = np.repeat(rng.normal(size=patients), 2) + frame["age"] > 0
    return frame.assign(
        patient_id=[f"P{i:02d}" for i in person],
        visit=pd.date_range("2024-01-01", periods=len(frame)).strftime("%Y-%m-%d"),
        weight=rng.uniform(0.5, 2, len(frame)).round(2),
        note=["seen", "seen again"] * patients,
        relapse=np.where(sick, "yes", "no"),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roles")
    visits().to_csv(folder / "visits.csv", index=False)
    with contextlib.closing(sqlite3.connect(folder / "clinic.db")) as clinic:
        visits().to_sql("visits", clinic, index=False)
    return folder


def agghoo(models, X, y, *, level, random_state, **roles):
    fitted = AgghooClassifier(list(models.items()), cv=5, random_state=random_state).fit(X, y, **roles)
    return cross_test(fitted, X, y, level=level, random_state=random_state, **roles)


#: For every command: further options, the function, its further arguments, and where the JSON has its result.
COMMANDS = {
    "study": (("--workers", 1, "--cv", 3, "--no-tune"), assess, {"cv": 3}, lambda found: found["parts"]["assessment"]),
    "assess": ((), assess, {}, None),
    "compare": ((), compare, {}, None),
    "perturb": (("--levels", "0.1,0.3", "--repeats", 2), perturb, {"levels": [0.1, 0.3], "repeats": 2}, None),
    "agghoo": ((), agghoo, {}, lambda found: found["cross_test"]),
}


def numbers(found):
    """The result in plain types, without what differs between two runs."""
    if isinstance(found, dict):
        return {name: numbers(each) for name, each in found.items() if not re.search("seconds|fits|task", name)}
    return [numbers(each) for each in found] if isinstance(found, list) else found


@pytest.mark.parametrize("command", COMMANDS)
def test_columns_reach_the_method_as_in_python(folder, command):
    options, function, arguments, part = COMMANDS[command]
    call = (command, "visits.csv", "--target", "relapse", *OPTIONS, *MODELS, "--level", 0.9, *options)
    done = truefit(*call, "--store", f"{command}.db", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    frame = pd.read_csv(folder / "visits.csv")
    X, y, roles = frame[FEATURES], frame["relapse"], {"groups": frame["patient_id"], "sample_weight": frame["weight"]}
    known = default_candidates(X, "classification")
    models = {name: known[name] for name in ("linear", "tree")}
    expected = json.loads(json.dumps(function(models, X, y, level=0.9, random_state=3, **roles, **arguments).to_dict()))
    assert numbers(part(found) if part else found) == numbers(expected)
    listed = truefit("runs", f"{command}.db", cwd=folder).stdout
    assert "visits: 120 rows, 2 columns, target: relapse, 60 groups (patient_id), weights weight" in listed
    assert f"truefit {command} visits.csv --target relapse --groups patient_id --weights weight --drop note" in listed
    assert truefit("show", f"{command}.db", "--out", f"{command}.html", "--quiet", cwd=folder) == Said(0, "", "")
    page = (folder / f"{command}.html").read_text()
    assert "60 groups (patient_id), weights weight" in page
    assert command != "study" or "2 columns, 60 groups (patient_id), weighted (weight)" in page


@pytest.mark.parametrize("command", ["study", "assess", "compare", "perturb"])
def test_time_reaches_the_method_as_in_python(folder, command):
    options, function, arguments, part = COMMANDS[command]
    call = (command, "visits.csv", "--target", "relapse", "--time", "visit", "--drop", "patient_id", "--drop", "note")
    call = (*call, "--drop", "weight", *MODELS, "--level", 0.9, *options)
    done = truefit(*call, "--store", f"time_{command}.db", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    frame = pd.read_csv(folder / "visits.csv")
    known = default_candidates(frame[FEATURES], "classification")
    models = {name: known[name] for name in ("linear", "tree")}
    call = {"time": frame["visit"], "level": 0.9, "random_state": 3}
    expected = json.loads(
        json.dumps(function(models, frame[FEATURES], frame["relapse"], **call, **arguments).to_dict())
    )
    assert numbers(part(found) if part else found) == numbers(expected)
    assert "2 columns, target: relapse, time visit" in truefit("runs", f"time_{command}.db", cwd=folder).stdout
    if command == "study":
        assert truefit("show", f"time_{command}.db", "--out", "time.html", cwd=folder).returncode == 0
        assert "2 columns, ordered by time (visit)" in (folder / "time.html").read_text()


def test_a_study_from_the_store_is_of_the_same_groups_weights_and_level(folder):
    call = ("study", "visits.csv", "--target", "relapse", *OPTIONS, *MODELS, "--no-tune", "--workers", 1, "--cv", 3)
    level = ("--level", 0.9, "--store", "study.db")
    assert "From the store" in truefit(*call, *level, cwd=folder).stderr
    frame = visits()
    for changed, column in (("other_groups", "patient_id"), ("other_weights", "weight")):
        frame.assign(**{column: frame[column].to_numpy()[::-1]}).to_csv(folder / f"{changed}.csv", index=False)
    keys = set()
    for name, options in (
        ("visits", OPTIONS),
        ("other_groups", OPTIONS),
        ("other_weights", OPTIONS),
        ("visits", OPTIONS[2:]),
    ):
        table = load(folder / f"{name}.csv", "relapse")
        given = dict(zip(options[::2], options[1::2], strict=True))
        table = table.with_roles(groups=given.get("--groups"), weights=given.get("--weights"), drop=["note", "visit"])
        keys.add(request_key(replace(table, name="visits"), {}))
    assert len(keys) == 4


@pytest.mark.parametrize("data", ["visits.csv", "sqlite:///clinic.db#visits"])
def test_a_curve_with_groups_reads_all_rows_of_a_file_or_a_database(folder, data):
    call = ("--model", "linear", "--cv", 3, "--schedule", "60,120", "--seed", 3, "--json")
    done = truefit("curve", data, "--target", "relapse", *OPTIONS, *call, cwd=folder)
    assert done.returncode == 0, done.stderr
    with contextlib.chdir(folder):
        table = open_rows(data, "relapse", seed=3).table(120)
    X, linear = table.X[FEATURES], default_candidates(table.X[FEATURES], "classification")["linear"]
    roles = {"groups": table.X["patient_id"], "sample_weight": table.X["weight"]}
    expected = learning_curve(linear, X, table.y, schedule=[60, 120], cv=3, random_state=3, **roles)
    assert json.loads(done.stdout)["curves"][0]["errors"] == expected.errors.tolist()


def test_a_curve_of_rows_on_demand_leaves_columns_out(folder):
    visits()[[*FEATURES, "relapse"]].to_csv(folder / "features.csv", index=False)
    options = ("--target", "relapse", *MODELS[:2], "--cv", 3, "--schedule", "60,120", "--json")
    drop = [word for name in ("patient_id", "visit", "weight", "note") for word in ("--drop", name)]
    dropped = truefit("curve", "sqlite:///clinic.db#visits", *options, *drop, cwd=folder)
    assert dropped.returncode == 0, dropped.stderr
    with contextlib.closing(sqlite3.connect(folder / "clinic.db")) as clinic:
        visits()[[*FEATURES, "relapse"]].to_sql("few", clinic, index=False)
    few = truefit("curve", "sqlite:///clinic.db#few", *options, cwd=folder)
    assert numbers(json.loads(dropped.stdout)["curves"]) == numbers(json.loads(few.stdout)["curves"])


@pytest.mark.parametrize("agghoo", [(), ("--agghoo",)])
def test_a_saved_model_needs_its_features_only(folder, agghoo):
    pytest.importorskip("skops")
    call = ("study", "visits.csv", "--target", "relapse", *OPTIONS, "--model", "tree", "--cv", 3, "--workers", 1)
    done = truefit(*call, "--no-tune", "--save", "model.skops", *agghoo, cwd=folder)
    assert done.returncode == 0, done.stderr
    new = visits(seed=1)
    new.to_csv(folder / "all.csv", index=False)
    new[FEATURES[::-1]].to_csv(folder / "few.csv", index=False)
    predicted = [truefit("predict", "model.skops", name, cwd=folder) for name in ("all.csv", "few.csv")]
    assert predicted[0].returncode == 0, predicted[0].stderr
    assert predicted[0].stdout == predicted[1].stdout


def test_default_models_with_weights_are_those_that_take_weights(folder):
    call = ("compare", "visits.csv", "--target", "relapse", "--weights", "weight", "--cv", 2)
    done = truefit(*call, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Note: knn left out: with --weights every model must take weights." in done.stderr
    assert [(name in done.stdout) for name in ("linear", "tree", "boosting", "knn")] == [True, True, True, False]


def test_a_note_says_that_groups_of_one_row_change_nothing(folder):
    done = truefit("assess", "visits.csv", "--target", "relapse", "--groups", "age", "--model", "tree", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Note: every row is a group of its own: no two rows have the same 'age'." in done.stderr


def bad(**columns):
    return visits(12).assign(**columns)


BAD = {
    "unknown groups": ({}, ("--groups", "patientid"), "'visits' has no column 'patientid'. Did you mean 'patient_id'?"),
    "unknown weights": ({}, ("--weights", "wieght"), "has no column 'wieght'. Did you mean 'weight'?"),
    "unknown column to drop": ({}, ("--drop", "nope"), "has no column 'nope'. Did you mean 'note'?"),
    "the target as groups": ({}, ("--groups", "relapse"), "Got 'relapse' as the target and as groups."),
    "the target to drop": ({}, ("--drop", "relapse"), "Got 'relapse' as the target and to drop."),
    "two uses": ({}, ("--groups", "note", "--weights", "note"), "Got 'note' as groups and as weights. Name it once."),
    "dropped twice": ({}, ("--drop", "note", "--drop", "note"), "Got 'note' to drop twice."),
    "nothing left": (
        {},
        (
            "--groups",
            "patient_id",
            *(word for name in (*FEATURES, "visit", "weight", "note") for word in ("--drop", name)),
        ),
        "must keep a column with values beside the target 'relapse'. Got none",
    ),
    "only empty columns left": (
        {"age": None},
        tuple(word for name in ("bmi", "patient_id", "visit", "weight", "note") for word in ("--drop", name)),
        "Got empty ones.",
    ),
    "constant groups": (
        {"patient_id": "P1"},
        ("--groups", "patient_id"),
        "groups ('patient_id') must name at least 2 groups. Got 'P1' for all 24 rows.",
    ),
    "gaps in groups": (
        {"patient_id": [None, "a"] * 12},
        ("--groups", "patient_id"),
        "groups ('patient_id') must have a value for every row. Got 12 missing of 24.",
    ),
    "fewer groups than folds": (
        {"patient_id": ["a", "b", "c"] * 8},
        ("--groups", "patient_id"),
        "3 groups",
    ),
    "negative weights": (
        {"weight": -1},
        ("--weights", "weight"),
        "--weights ('weight') must be finite and not negative. 24 of 24 are not, such as -1.",
    ),
    "no weight at all": ({"weight": 0}, ("--weights", "weight"), "--weights ('weight') must leave some weight."),
    "weights with gaps": (
        {"weight": [None, 1.0] * 12},
        ("--weights", "weight"),
        "--weights ('weight') must be finite and not negative. 12 of 24 are not, such as nan.",
    ),
    "weights that are text": (
        {},
        ("--weights", "note"),
        "--weights ('note') must be one number per row. Got values",
    ),
    "unknown time": ({}, ("--time", "visits"), "has no column 'visits'. Did you mean 'visit'?"),
    "gaps in time": ({"visit": ["2024-01-01", None] * 12}, ("--time", "visit"), "time ('visit') must have a value"),
    "time that is text": ({}, ("--time", "note"), "time ('note') must be numbers or dates."),
    "constant time": ({"visit": "2024-01-01"}, ("--time", "visit"), "time ('visit') must have different values"),
    "two times": ({"visit": ["2024-01-01", "2024-02-01"] * 12}, ("--time", "visit"), "Got 2. Use a finer time, or"),
    "groups and time": ({}, ("--groups", "patient_id", "--time", "visit"), "groups and time cannot be given together"),
    "a model without weights": ({}, ("--weights", "weight", "--model", "knn"), "These do not: knn."),
    "level": ({}, ("--level", "95"), "evel"),
}


@pytest.mark.parametrize("command", ["study", "curve", "agghoo"])
@pytest.mark.parametrize("case", BAD)
def test_bad_columns_are_a_sentence_and_exit_code_2(tmp_path, command, case):
    columns, options, message = BAD[case]
    if "--time" in options and command != "study":
        message = "This command takes no --time: "
    bad(**columns).to_csv(tmp_path / "visits.csv", index=False)
    model = () if "--model" in options else ("--model", "linear")
    done = truefit(command, "visits.csv", "--target", "relapse", "--cv", 5, *model, *options, "--quiet", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["study", "assess"])
def test_windows_and_gaps(folder, command):
    call = (command, "visits.csv", "--target", "relapse", "--time", "visit", "--drop", "note", *MODELS, "--cv", 4)
    plain = ("--no-tune",) if command == "study" else ()
    done = truefit(*call, *plain, "--window", 50, "--gap", 2, "--json", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "forward-chaining over 4 periods (TimeSeriesSplit)" in done.stdout
    if command == "study":
        return  # which checks its options in the same place
    for options, message in (
        (("--window", 0), "--window must be a number of rows of at least 1. Got 0."),
        (("--gap", -1), "--gap must be a number of rows of at least 0. Got -1."),
        (("--gap", 5000), "test rows with --gap 5000, which leave none"),
    ):
        assert message in truefit(*call, *options, cwd=folder).stderr
    without = truefit(command, "visits.csv", "--target", "relapse", *MODELS, "--gap", 2, cwd=folder)
    assert (without.returncode, "Name their column with --time" in without.stderr) == (2, True)


@pytest.mark.parametrize("command", [*COMMANDS, "curve"])
def test_help_has_the_columns_after_the_target(command):
    helped = re.findall(r"│ (--\w+)", truefit(command, "--help").stdout)
    assert helped[:5] == ["--target", "--groups", "--time", "--weights", "--drop"]
    assert {"--level", "--quiet"} < set(helped)


CREDIT = ("study", "visits.csv", "--target", "relapse", *OPTIONS, "--model", "tree", "--model", "linear", "--cv", 3,
          "--no-tune")  # fmt: skip


def test_the_test_rows_of_a_study(folder):
    new = visits(30, seed=2)
    new[["relapse", "note", "patient_id", *FEATURES[::-1]]].assign(height=1).to_csv(folder / "test.csv", index=False)
    call = (*CREDIT, "--workers", 1, "--test", "test.csv", "--store", "test.db")
    done = truefit(*call, "--out", "test.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Note: 'test' has columns that 'visits' lacks: 'height'. They are not used." in done.stderr
    assert "; test rows of test.csv: 60" in (folder / "test.html").read_text()
    found = json.loads(truefit(*call, "--json", cwd=folder).stdout)
    frame = visits()
    assert "60 of the 60 test rows are of groups that have training rows too" in done.stdout  # P00 to P29
    tree = default_candidates(frame[FEATURES], "classification")[found["best"]]
    tree.fit(frame[FEATURES], frame["relapse"], **{f"{tree.steps[-1][0]}__sample_weight": frame["weight"]})
    assert found["test"]["estimate"] == pytest.approx((tree.predict(new[FEATURES]) != new["relapse"]).mean())
    new.assign(age=0).to_csv(folder / "test.csv", index=False)
    assert "From the store" not in truefit(*call, cwd=folder).stderr


BAD_TESTS = {
    "no target": (lambda new: new.drop(columns="relapse"), "'test' has no column 'relapse'."),
    "a column less": (
        lambda new: new.drop(columns="age"),
        "'test' must have every column that 'visits' has. Missing: 'age'.",
    ),
    "text for numbers": (lambda new: new.assign(age="old"), "The column 'age' of 'test' must contain numbers"),
    "gaps in the target": (lambda new: new.assign(relapse=[None, "no"] * 30), "missing"),
    "no rows": (lambda new: new.iloc[:0], "rows"),
}


@pytest.mark.parametrize("case", BAD_TESTS)
def test_bad_test_rows_are_a_sentence_and_exit_code_2(folder, case):
    change, message = BAD_TESTS[case]
    change(visits(30, seed=2)).to_csv(folder / "test.csv", index=False)
    done = truefit(*CREDIT, "--workers", 1, "--test", "test.csv", "--quiet", cwd=folder)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
