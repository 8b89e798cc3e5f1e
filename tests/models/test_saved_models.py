"""Every model that a study can save is loaded again, without a word from the caller, and predicts the same."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)  # fmt: skip
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.svm import SVC, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from tests.models.nodes import edited, found, node, thing, write

from truefit import AgghooClassifier, AgghooRegressor, IntervalClassifier, IntervalRegressor
from truefit._cli.saved_model import read_model, write_model
from truefit._core.errors import InvalidInput
from truefit._core.stages import AtStage
from truefit._methods.selection.default_candidates import EncodedLabels, NumpyColumns, default_candidates
from truefit._models import archive
from truefit._models.types import RENAMED
from truefit.sources import load

skops = pytest.importorskip("skops.io")

ROWS = 120


def tables():
    """Numbers, and everything that a CSV file may hold."""
    rng = np.random.default_rng(0)
    words = ["alpha", "beta", "gamma", "delta"]
    mixed = pd.DataFrame(
        {
            "number": rng.normal(size=ROWS),
            "whole": rng.integers(0, 9, ROWS),
            "gaps": np.where(rng.random(ROWS) < 0.2, np.nan, rng.normal(size=ROWS)),
            "empty": np.nan,
            "city": rng.choice(["Ulm", "Jena", "Köln"], ROWS),
            "text": [" ".join(rng.choice(words, 4)) for _ in range(ROWS)],
            "day": pd.date_range("2020-01-01", periods=ROWS, freq="13h").astype(str),
            "truth": rng.random(ROWS) < 0.5,
        }
    )
    mixed.loc[3, "city"] = None
    return {"numbers": mixed[["number", "whole"]], "mixed": mixed}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    for name, table in tables().items():
        kinds = np.select([table["number"] < -0.3, table["number"] > 0.3], ["low", "high"], "middle")
        table.assign(target=kinds).to_csv(folder / f"{name}-classification.csv", index=False)
        table.assign(target=table["number"] * 2 + table["whole"]).to_csv(folder / f"{name}-regression.csv", index=False)
    return folder


CANDIDATES = [
    (kind, task, name)
    for kind in ("numbers", "mixed")
    for task in ("classification", "regression")
    for name in default_candidates(tables()[kind], task)
]


def shortened(candidate):
    """The same candidate, trained for a few steps."""
    few = {"max_iter": 5, "n_estimators": 5}
    return candidate.set_params(
        **{
            name: few[name.rpartition("__")[2]]
            for name, value in candidate.get_params().items()
            if name.rpartition("__")[2] in few and isinstance(value, int) and "table" not in name and value > 5
        }
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("kind", "task", "name"), CANDIDATES)
def test_a_default_candidate(folder, tmp_path, kind, task, name):
    if name in ("lightgbm", "xgboost"):
        pytest.skip("needs --trust: its own format is parsed by its own compiled code")
    table = load(folder / f"{kind}-{task}.csv", "target")
    fitted = shortened(default_candidates(table.X, task)[name]).fit(table.X, table.y)
    write_model(fitted, tmp_path / "m.skops", table=table)
    saved = read_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(saved.estimator.predict(table.X), fitted.predict(table.X))
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(saved.estimator.predict_proba(table.X), fitted.predict_proba(table.X))
    assert list(saved.columns) == list(table.X.columns)
    assert saved.target == "target"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("kind", "task"), [("mixed", "classification"), ("numbers", "regression")])
def test_an_average_of_several(folder, tmp_path, kind, task):
    table = load(folder / f"{kind}-{task}.csv", "target")
    candidates = default_candidates(table.X, task)
    make = AgghooClassifier if task == "classification" else AgghooRegressor
    fitted = make([(name, candidates[name]) for name in ("linear", "tree")], cv=2).fit(table.X, table.y)
    write_model(fitted, tmp_path / "m.skops", table=table)
    loaded = read_model(tmp_path / "m.skops").estimator
    np.testing.assert_array_equal(loaded.predict(table.X), fitted.predict(table.X))
    assert loaded.selection_.equals(fitted.selection_)


X, y = make_classification(80, 5, random_state=0)
OTHERS = [
    AdaBoostClassifier(n_estimators=3),
    BaggingClassifier(DecisionTreeClassifier(), n_estimators=3, max_features=3),
    ExtraTreesClassifier(n_estimators=3),
    GradientBoostingClassifier(n_estimators=3),
    GradientBoostingClassifier(n_estimators=3, init=LogisticRegression()),
    GradientBoostingClassifier(n_estimators=3, init="zero"),
    IsolationForest(n_estimators=3),
    IsolationForest(n_estimators=3, max_features=2),
    StackingClassifier([("tree", DecisionTreeClassifier()), ("linear", LogisticRegression())], cv=2),
    VotingClassifier([("tree", DecisionTreeClassifier()), ("linear", LogisticRegression())]),
    GaussianProcessClassifier(),
    SGDClassifier(),
    GridSearchCV(Ridge(), {"alpha": [1, 2]}, scoring="neg_mean_squared_error", cv=2),
    TunedThresholdClassifierCV(LogisticRegression(), cv=2),
    KNeighborsClassifier(algorithm="brute"),
    KNeighborsClassifier(algorithm="ball_tree", p=1),
    KNeighborsClassifier(algorithm="kd_tree", p=3),
    SVC(kernel="poly"),
    NuSVR(),
    OneClassSVM(),
    make_pipeline(FunctionTransformer(np.arcsinh), SplineTransformer(), StandardScaler(), Ridge()),
    make_pipeline(OneHotEncoder(handle_unknown="ignore", min_frequency=2), LogisticRegression()),
]


@pytest.mark.parametrize("estimator", OTHERS, ids=lambda estimator: type(estimator).__name__)
def test_other_estimators_of_scikit_learn(tmp_path, estimator):
    fitted = estimator.fit(X, y)
    skops.dump(fitted, tmp_path / "m.skops")
    np.testing.assert_array_equal(read_model(tmp_path / "m.skops").estimator.predict(X), fitted.predict(X))


def test_sparse_tables_and_three_classes(tmp_path):
    texts = ["a word or two", "another word", "something else here"] * 10
    labels = ["a", "b", "c"] * 10
    for last in (
        SVC(),
        KNeighborsClassifier(3),
        SGDClassifier(),
        GradientBoostingClassifier(n_estimators=2),
    ):
        fitted = make_pipeline(TfidfVectorizer(), last).fit(texts, labels)
        skops.dump(fitted, tmp_path / "m.skops")
        np.testing.assert_array_equal(read_model(tmp_path / "m.skops").estimator.predict(texts), fitted.predict(texts))


def test_a_compressed_file_and_parts_that_are_shared(tmp_path):
    scaler = StandardScaler().fit(X)
    fitted = make_pipeline(scaler, scaler, DecisionTreeClassifier()).fit(X, y)
    fitted.steps[1] = ("again", fitted.steps[0][1])
    skops.dump(fitted, tmp_path / "m.skops", compression=zipfile.ZIP_DEFLATED)
    loaded = read_model(tmp_path / "m.skops").estimator
    assert loaded.steps[0][1] is loaded.steps[1][1]
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


def interval_cases():
    """Models whose files differ: small ones with many scores, trees, text with a long description, sparse matrices."""
    text = make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=(1, 4)), KNeighborsRegressor(3))
    few = {"n_estimators": 10, "random_state": 0}
    return {
        "bayes": (GaussianNB(), 5000),
        "forest": (RandomForestClassifier(**few), 400),
        "boosting": (GradientBoostingClassifier(**few), 400),
        "scaled": (make_pipeline(StandardScaler(), Ridge()), 5000),
        "text": (make_pipeline(ColumnTransformer([("text", text[0], "words")]), text[1]), 200),
    }


@pytest.mark.parametrize(
    ("kind", "stored"), [*((kind, False) for kind in interval_cases()), ("text", True), ("forest", True)]
)
def test_a_file_with_intervals_of_5_folds_is_at_most_6_times_the_model_alone(tmp_path, monkeypatch, kind, stored):
    if stored:  # as for models that are too large to be compressed
        monkeypatch.setattr(archive, "VALUES", 1000)
    estimator, rows = interval_cases()[kind]
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(rows, 4)), columns=list("abcd"))
    target = frame["a"] + random.normal(size=rows)
    if kind == "text":
        frame = pd.DataFrame({"words": ["".join(random.choice(list("abcdefgh "), 30)) for _ in range(rows)]})
    make, ends = (IntervalClassifier, "predict_set")
    if kind in ("scaled", "text"):
        make, ends = (IntervalRegressor, "predict_interval")
    frame["target"] = target if make is IntervalRegressor else target > 0
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = load(tmp_path / "t.csv", "target")
    write_model(clone(estimator).fit(table.X, table.y), tmp_path / "plain.skops", table=table)
    fitted = make(estimator).fit(table.X, table.y)
    write_model(fitted, tmp_path / "m.skops", table=table)
    loaded = read_model(tmp_path / "m.skops").estimator
    np.testing.assert_array_equal(loaded.predict(table.X), fitted.predict(table.X))
    np.testing.assert_array_equal(getattr(loaded, ends)(table.X, 0.8), getattr(fitted, ends)(table.X, 0.8))
    sizes = [(tmp_path / name).stat().st_size for name in ("m.skops", "plain.skops")]
    assert sizes[0] <= 6.1 * sizes[1]  # how well files are compressed differs a little between systems
    with zipfile.ZipFile(tmp_path / "m.skops") as file:
        assert {each.compress_type for each in file.infolist()} == {0 if stored else zipfile.ZIP_DEFLATED}


@pytest.mark.filterwarnings("ignore:Persisting input arguments took")  # on a busy machine
def test_a_cache_of_fits_is_not_taken_over(tmp_path):
    fitted = make_pipeline(StandardScaler(), Ridge(), memory=str(tmp_path / "cache")).fit(X, y)
    skops.dump(fitted, tmp_path / "m.skops")
    assert read_model(tmp_path / "m.skops").estimator.memory is None


def test_types_of_columns_that_are_not_known_are_left_as_they_are(tmp_path):
    fitted = Ridge().fit(pd.DataFrame(X, columns=list("abcde")), y)
    skops.dump(fitted, tmp_path / "m.skops")
    kinds = [
        "float64",
        "U1000000000",
        "datetime64[ns, dateutil//etc/passwd]",
        "datetime64[ns, Europe/Berlin]",
        "category",
    ]
    with zipfile.ZipFile(tmp_path / "m.skops", "a") as file:
        file.writestr("truefit.json", json.dumps({"columns": dict(zip("abcde", kinds, strict=True)), "target": None}))
    columns = read_model(tmp_path / "m.skops").columns
    assert list(columns.values()) == ["float64", "", "", "datetime64[ns, Europe/Berlin]", "category"]


def test_what_is_written_says_what_has_to_be_trusted(tmp_path, capsys, folder):
    table = load(folder / "numbers-regression.csv", "target")
    fitted = make_pipeline(FunctionTransformer(np.nan_to_num), Ridge()).fit(table.X, table.y)
    write_model(fitted, tmp_path / "m.skops", table=table)
    assert "NEW.csv --trust numpy.nan_to_num" in capsys.readouterr().err
    assert read_model(tmp_path / "m.skops", ["numpy.nan_to_num"]).estimator.predict(table.X).shape == (ROWS,)


def test_a_file_with_blanks_between_is_read_like_one_without(tmp_path):
    fitted = Ridge().fit(X, y)
    content = io.BytesIO(skops.dumps(fitted))
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(tmp_path / "m.skops", "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, json.dumps(json.loads(text)) if name == "schema.json" else text)
    np.testing.assert_array_equal(read_model(tmp_path / "m.skops").estimator.predict(X), fitted.predict(X))


@pytest.mark.parametrize("old", sorted(RENAMED))
def test_a_class_under_the_name_that_version_02_wrote(tmp_path, old):
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = {
        "AtStage": AtStage(SGDClassifier(random_state=0), stage=3),
        "EncodedLabels": EncodedLabels(LogisticRegression()),
        "NumpyColumns": make_pipeline(NumpyColumns(), LogisticRegression()),
    }[old.rpartition(".")[2]].fit(frame, y)
    place = tmp_path / "m.skops"
    skops.dump(fitted, place)
    module, _, own = RENAMED[old].rpartition(".")

    def rename(schema):
        nodes = list(found(schema, lambda node: (node["__module__"], node["__class__"]) == (module, own)))
        assert nodes
        for each in nodes:
            each["__module__"] = old.rpartition(".")[0]

    edited(place, rename)
    np.testing.assert_array_equal(read_model(place).estimator.predict(frame), fitted.predict(frame))


@pytest.mark.parametrize("name", ["truefit.core.stages.clone", "truefit.core.stages.copy", "truefit.core.AtStage"])
def test_another_name_in_a_module_of_version_02_is_refused(tmp_path, name):
    place = write(tmp_path / "m.skops", thing(name))
    with pytest.raises(InvalidInput, match=rf"also holds {name}"):
        read_model(place)


@pytest.mark.parametrize("kind", ["FunctionNode", "TypeNode"])
def test_an_old_name_stands_for_an_object_only(tmp_path, kind):
    place = write(tmp_path / "m.skops", node(kind, sorted(RENAMED)[0]))
    with pytest.raises(InvalidInput, match=r"also holds truefit\._core\.stages\.AtStage"):
        read_model(place)
