"""Tables that cannot be studied: a clear sentence, exit code 2, and no traceback."""

import numpy as np
import pandas as pd
import pytest
from tests.cli.command import truefit

GOOD = "size,kind\n1,a\n2,b\n3,a\n4,b\n"
CASES = {
    "no target": ("t.csv", GOOD, (), "needs a target: say which column is to be predicted. Columns: size, kind."),
    "a misspelt target": ("t.csv", GOOD, ("--target", "knd"), "has no column 'knd'. Did you mean 'kind'?"),
    "an empty file": ("t.csv", "", ("--target", "kind"), "'t.csv' is empty: it has 0 bytes."),
    "a header only": ("t.csv", "size,kind\n", ("--target", "kind"), "Got columns but no rows."),
    "one row": ("t.csv", "size,kind\n1,a\n", ("--target", "kind"), "Got one row only."),
    "a constant target": (
        "t.csv",
        "size,kind\n1,a\n2,a\n",
        ("--target", "kind"),
        "Got 'a' in every row.",
    ),
    "gaps in the target": ("t.csv", "size,kind\n1,a\n2,\n3,b\n", ("--target", "kind"), "Got 1 of 3 missing."),
    "another delimiter": (
        "t.csv",
        "size^kind\n1^a\n2^b\n",
        ("--target", "kind"),
        "one column only, named 'size^kind'",
    ),
    "not UTF-8": ("t.csv", "size,kind\n1,ä\n2,b\n".encode("latin1"), ("--target", "kind"), "must be UTF-8 text."),
    "no table at all": ("t.csv", "\x00\x01\x02", ("--target", "kind"), "'t.csv'"),
}
ADDRESSES = {
    "postgresql://localhost:1/shop#people": "must answer",
    "mysql://localhost/shop": "Got mysql:// instead",
    "https://example.org/rows.csv": "download it first",
    "sqlite:///nowhere.db": "There is no database",
    "nowhere.csv": "There is no file",
}


@pytest.mark.parametrize("command", ["study", "assess"])
@pytest.mark.parametrize("case", CASES)
def test_bad_tables(tmp_path, command, case):
    file, content, options, message = CASES[case]
    (tmp_path / file).write_bytes(content.encode() if isinstance(content, str) else content)
    done = truefit(command, file, *options, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_that_cannot_be_read(tmp_path, address):
    done = truefit("study", address, "--target", "kind", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert ADDRESSES[address] in done.stderr
    assert "Traceback" not in done.stderr


def test_semicolons_just_work_and_are_said(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"acid": rng.normal(size=60).round(2), "sugar": rng.normal(size=60).round(2)})
    frame["good"] = np.where(frame["acid"] > 0, "yes", "no")
    frame.to_csv(tmp_path / "wine.csv", sep=";", index=False)
    done = truefit("assess", "wine.csv", "--target", "good", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "'wine.csv' has semicolons between its columns; it was read so." in done.stderr


def test_ten_thousand_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10_000))
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(10_000)]).round(3)
    frame["kind"] = np.where(X[:, 0] > 0, "a", "b")
    frame.to_csv(tmp_path / "wide.csv", index=False)
    done = truefit("assess", "wide.csv", "--target", "kind", "--model", "tree", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = truefit("assess", "wide.csv", "--target", "kinds", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'kind'? Columns: c0, c1" in done.stderr
    assert "and 9,981 more." in done.stderr
