"""Models are saved, and predict new rows by the names of their columns."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer
from tests.cli.command import truefit

from truefit._cli.saved_model import check_model_file, write_model
from truefit._core.errors import InvalidInput
from truefit._methods.selection.default_candidates import default_candidates
from truefit.sources import load

skops = pytest.importorskip("skops.io")

RAW = """age,city,joined,spent,left
31,Ulm,2020-01-03,10.5,no
45,Jena,2021-04-05,3.25,yes
28,,2019-07-01,8.0,no
61,Ulm,2022-02-11,1.5,yes
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    rows = RAW.splitlines()
    (folder / "raw.csv").write_text("\n".join([rows[0], *rows[1:] * 10]))
    table = load(folder / "raw.csv", "left")
    for name in ("linear", "boosting"):
        model = default_candidates(table.X, "classification")[name].fit(table.X, table.y)
        write_model(model, folder / f"{name}.skops", table=table)
    return folder


@pytest.mark.parametrize("name", ["linear", "boosting"])
def test_new_rows_are_predicted_in_their_order_whatever_the_order_of_columns(folder, name):
    new = pd.read_csv(folder / "raw.csv").iloc[:7]
    new.drop(columns="left").assign(extra="x")[["city", "extra", "spent", "joined", "age"]].to_csv(
        folder / "new.csv", index=False, sep=";"
    )
    done = truefit("predict", f"{name}.skops", "new.csv", "--out", "p.csv", "--proba", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Predictions of 7 rows written to p.csv." in done.stderr
    assert "semicolons" in done.stderr
    written = pd.read_csv(folder / "p.csv")
    assert written.columns.tolist() == ["prediction", "probability of no", "probability of yes"]
    np.testing.assert_allclose(written.iloc[:, 1:].sum(axis=1), 1)
    place = folder / f"{name}.skops"
    model = skops.load(place, trusted=skops.get_untrusted_types(file=place))
    np.testing.assert_array_equal(written["prediction"], model.predict(new.drop(columns="left")))


def test_without_a_file_they_are_printed(folder):
    done = truefit("predict", "linear.skops", "raw.csv", cwd=folder)
    assert done.stdout.splitlines()[0] == "prediction"
    assert len(done.stdout.splitlines()) == 41


def test_one_row_that_reads_as_other_types_is_predicted(folder):
    (folder / "one.csv").write_text("spent,age,city,joined\n,40,,2020-01-01\n")
    done = truefit("predict", "linear.skops", "one.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] in ("no", "yes")


BAD = {
    "no model": (("nowhere.skops", "raw.csv"), "There is no model 'nowhere.skops'"),
    "no data": (("linear.skops", "rwa.csv"), "Did you mean 'raw.csv'"),
    "no file of a model": (("raw.csv", "raw.csv"), "does not read as one"),
    "over the model": (("linear.skops", "raw.csv", "--out", "linear.skops"), "would overwrite"),
    "a missing column": (("linear.skops", "misspelt.csv"), "Missing: 'city'. Is it 'City'?"),
    "no rows": (("linear.skops", "empty.csv"), "must have rows to predict"),
    "text for numbers": (("linear.skops", "words.csv"), "The column 'age' of 'words' must contain numbers"),
    "no probabilities": (("svm.skops", "iris", "--proba"), "--proba needs a model with predict_proba"),
    "gaps": (("svm.skops", "gaps.csv"), "The model cannot predict the rows of 'gaps'"),
    "something else": (("list.skops", "iris"), "must contain a fitted estimator. Got a list"),
    "unknown types": (("evil.skops", "iris"), "also holds numpy.fromfile"),
    "another width": (("array.skops", "raw.csv"), "must have the 4 columns"),
}


@pytest.fixture(scope="module")
def bad(folder):
    raw = pd.read_csv(folder / "raw.csv")
    raw.rename(columns={"city": "City"}).to_csv(folder / "misspelt.csv", index=False)
    raw.iloc[:0].to_csv(folder / "empty.csv", index=False)
    raw.assign(age="old").to_csv(folder / "words.csv", index=False)
    iris = load("iris")
    write_model(
        default_candidates(iris.X, "classification")["svm"].fit(iris.X, iris.y), folder / "svm.skops",
        table=iris,
    )  # fmt: skip
    iris.X.where(iris.X > 1).to_csv(folder / "gaps.csv", index=False)
    skops.dump([1, 2], folder / "list.skops")
    skops.dump(FunctionTransformer(np.fromfile), folder / "evil.skops")
    X, y = load_iris(return_X_y=True)
    skops.dump(GaussianNB().fit(X, y), folder / "array.skops")
    return folder


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence_and_exit_code_2(bad, case):
    arguments, message = BAD[case]
    done = truefit("predict", *arguments, cwd=bad)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_skops_wrote_is_known_by_its_own_columns(bad):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    skops.dump(default_candidates(X, "classification")["linear"].fit(X, y), bad / "own.skops")
    done = truefit("predict", "own.skops", "breast_cancer", cwd=bad)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 570


def test_a_type_that_one_vouches_for(bad):
    done = truefit("predict", "evil.skops", "iris", "--trust", "numpy.fromfile", cwd=bad)
    assert "must contain a fitted estimator" in done.stderr  # it was read: a transformer predicts nothing


def test_what_is_noted_beside_the_model(folder):
    with zipfile.ZipFile(folder / "linear.skops") as file:
        notes = json.loads(file.read("truefit.json"))
    assert notes["target"] == "left"
    assert notes["columns"] == {"age": "int64", "city": "str", "joined": "str", "spent": "float64"}


def test_a_place_is_refused_before_the_work(tmp_path):
    check_model_file(tmp_path / "m.skops", ())
    with pytest.raises(InvalidInput, match=r"must end in \.skops"):
        check_model_file(tmp_path / "m.pkl", ())


def test_intervals_are_saved_with_a_model(tmp_path):
    call = ("study", "diabetes", "--model", "linear", "--no-tune", "--workers", 1, "--quiet", "--seed", 0)
    truefit(*call, "--save", "plain.skops", cwd=tmp_path)
    saved = truefit(*call, "--save", "model.skops", "--intervals", cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    sizes = [(tmp_path / name).stat().st_size for name in ("model.skops", "plain.skops")]
    assert sizes[0] <= 6 * sizes[1]
    found = truefit("predict", "model.skops", "diabetes", "--interval", "--out", "out.csv", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    frame = pd.read_csv(tmp_path / "out.csv")
    assert list(frame) == ["prediction", "low", "high"]
    assert (frame["low"] < frame["prediction"]).all()
    narrow = truefit("predict", "model.skops", "diabetes", "--interval", "--level", 0.5, cwd=tmp_path)
    narrow_frame = pd.read_csv(io.StringIO(narrow.stdout))
    assert ((narrow_frame["high"] - narrow_frame["low"]) < (frame["high"] - frame["low"])).all()
    np.testing.assert_allclose(narrow_frame["prediction"], frame["prediction"])
    for arguments, message in [
        (
            ("plain.skops", "--interval"),
            "--interval needs a model that was saved with prediction intervals. 'plain.skops'",
        ),
        (("model.skops", "--level", 0.9), "--level is for --interval."),
        (("model.skops", "--interval", "--level", 0.999), "Intervals of level 0.999 need at least 999 rows"),
    ]:
        refused = truefit("predict", arguments[0], "diabetes", *arguments[1:], cwd=tmp_path)
        assert refused.returncode == 2
        assert message in refused.stderr
    frame = load_diabetes(as_frame=True).data.drop(columns="bmi")
    frame.to_csv(tmp_path / "short.csv", index=False)
    short = truefit("predict", "model.skops", "short.csv", "--interval", cwd=tmp_path)
    assert short.returncode == 2
    assert "bmi" in short.stderr
    frame.assign(bmi=0.1, more=1, target=2).to_csv(tmp_path / "long.csv", index=False)
    longer = truefit("predict", "model.skops", "long.csv", "--interval", cwd=tmp_path)
    assert longer.returncode == 0
    assert "Note: 'long' has columns that the model was not fitted on: 'more'. They are not used." in longer.stderr
    in_time = truefit("study", "diabetes", "--time", "age", "--save", "m.skops", "--intervals", cwd=tmp_path)
    assert "--intervals needs new rows that are like those of the table, and with --time" in in_time.stderr
    alone = truefit("study", "diabetes", "--intervals", cwd=tmp_path)
    assert "--intervals is for the model that is saved" in alone.stderr


def test_sets_of_a_classifier_have_a_column_for_each_class(tmp_path):
    truefit("study", "iris", "--model", "naive_bayes", "--workers", 1, "--quiet", "--save", "m.skops", "--intervals",
            cwd=tmp_path)  # fmt: skip
    found = truefit("predict", "m.skops", "iris", "--interval", "--level", 0.99, "--proba", cwd=tmp_path)
    frame = pd.read_csv(io.StringIO(found.stdout))
    sets = frame.filter(like="possible: ")
    assert sets.shape == (150, 3)
    assert sets.sum(axis=1).min() == 1
    assert sets.to_numpy().sum() > 150


def test_a_study_is_shown_where_its_model_can_have_no_intervals(tmp_path):
    (tmp_path / "own.py").write_text("from sklearn.linear_model import RidgeClassifier\nridge = RidgeClassifier()\n")
    call = ("study", "iris", "--model", "own.py:ridge", "--workers", 1, "--quiet", "--cv", 3, "--intervals")
    done = truefit(*call, "--save", "m.skops", "--out", "page.html", cwd=tmp_path)
    assert done.returncode == 2
    assert "needs a classifier with predict_proba. RidgeClassifier has none; recalibrate it" in done.stderr
    assert "How good is it" in done.stdout
    assert (tmp_path / "page.html").exists()
    assert not (tmp_path / "m.skops").exists()
