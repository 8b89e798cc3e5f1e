"""Predictions in a CSV file hold no formulas, and numbers stay numbers."""

import io

import numpy as np
import pandas as pd
import pytest
from tests.cli.command import truefit

from truefit._cli.outputs import csv_text

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"]
LATER = ["a=b", "-1", "+1.5e3", "a\r=1", ""]


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_text_that_would_be_a_formula_gets_an_apostrophe(kind):
    frame = pd.DataFrame({"=x": pd.Series([*FORMULAS, *LATER, None], dtype=kind)})
    back = pd.read_csv(io.StringIO(csv_text(frame), newline=""), dtype=str, keep_default_na=False)
    assert back.columns.tolist() == ["'=x"]
    assert back["'=x"].tolist() == [*(f"'{each}" for each in FORMULAS), *LATER, ""]


def test_numbers_stay_numbers():
    frame = pd.DataFrame({"a": [-1.5, np.nan], "b": [-1, 2], "c": [True, False], "d": pd.array([-1, None], "Int64")})
    assert csv_text(frame) == frame.to_csv(index=False)


def test_the_frame_itself_is_not_changed_and_names_may_repeat():
    frame = pd.DataFrame([["=a", "=b"]], columns=["x", "x"])
    assert csv_text(frame) == "x,x\n'=a,'=b\n"
    assert frame.iloc[0].tolist() == ["=a", "=b"]


def test_class_labels_in_what_the_commands_write(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=60)})
    frame["kind"] = np.where(frame["size"] > 0, "=HYPERLINK(1)", "@no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = truefit("assess", "t.csv", "--target", "kind", "--predictions", "p.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = pd.read_csv(tmp_path / "p.csv")
    assert set(written["y"]) == {"'=HYPERLINK(1)", "'@no"}
    assert set(written["prediction"]) <= {"'=HYPERLINK(1)", "'@no"}
    pytest.importorskip("skops.io")
    done = truefit("agghoo", "t.csv", "--target", "kind", "--model", "linear", "--save", "m.skops", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for options in (("--out", "q.csv"), ()):
        done = truefit("predict", "m.skops", "t.csv", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "q.csv").read_text() if options else done.stdout
        assert set(pd.read_csv(io.StringIO(text))["prediction"]) == {"'=HYPERLINK(1)", "'@no"}
