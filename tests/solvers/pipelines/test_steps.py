import inspect
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skrub
from scipy import sparse
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from truefit._core.data import Data
from truefit._core.protocols import Fit, private_key
from truefit._core.rows import Rows
from truefit._solvers.pipelines.steps import (
    IGNORING_LABELS,
    FittedSteps,
    TransformedData,
    chain_of,
    ignores_labels,
    last_of,
    put_together,
    rest_of,
)

SKLEARN = dict(all_estimators(type_filter="transformer"))
TEXTS = ["a rose", "is a rose", "is a", "daisy"] * 5


class OwnScaler(StandardScaler):
    pass


def same(a, b):
    a, b = (t.toarray() if hasattr(t, "toarray") else np.asarray(t) for t in (a, b))
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def made(name, cls):
    step = cls()
    if "random_state" in inspect.signature(cls).parameters:
        step.set_params(random_state=0)
    if name == "FeatureHasher":
        step.set_params(input_type="string")
    if name in ("QuantileTransformer", "Nystroem"):
        step.set_params(**{"n_quantiles" if name == "QuantileTransformer" else "n_components": 5})
    if "RandomProjection" in name:
        step.set_params(n_components=2)
    if name == "FunctionTransformer":
        step.set_params(func=np.abs)
    return step


def table_for(name):
    X = np.random.default_rng(0).normal(size=(20, 4))
    if name in ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"):
        return TEXTS
    if name == "FeatureHasher":
        return [text.split() for text in TEXTS]
    if name == "DictVectorizer":
        return [{"a": i % 3, "b": str(i % 2)} for i in range(20)]
    if name in ("KNNImputer", "SimpleImputer", "MissingIndicator"):
        X[:5, 0] = np.nan
    return np.round(X) if name in ("OneHotEncoder", "OrdinalEncoder") else X


def find(name):
    if name in SKLEARN:
        return SKLEARN[name]
    from sklearn.feature_extraction import text

    return getattr(text, name)


@pytest.mark.parametrize("name", IGNORING_LABELS["sklearn"].split())
@pytest.mark.filterwarnings("ignore")
def test_what_is_said_to_be_blind_is_blind(name):
    cls, X = find(name), table_for(name)
    assert ignores_labels(made(name, cls))
    outputs = []
    for labels in (np.arange(20) % 2, np.arange(20.0)[::-1]):
        step = made(name, cls)
        outputs.append((step.fit_transform(X, labels), step.transform(X)))
    assert all(same(one, other) for one, other in zip(*outputs, strict=True))


@pytest.mark.parametrize("name", [*IGNORING_LABELS["skrub"].split(), "TableVectorizer"])
@pytest.mark.filterwarnings("ignore")
def test_what_is_said_to_be_blind_in_skrub_is_blind(name):
    words = pd.Series([f"word {i % 7} and {i % 3}" for i in range(60)], name="text")
    frame = pd.DataFrame({"text": words, "number": np.arange(60.0), "day": pd.date_range("2026-01-01", periods=60)})
    tables = {"Cleaner": frame, "TableVectorizer": frame, "DatetimeEncoder": frame["day"]}
    X = {**tables, "SquashingScaler": frame[["number"]]}.get(name, words)
    cls = type(skrub.TableVectorizer().numeric) if name == "PassThrough" else getattr(skrub, name)
    step = cls() if "random_state" not in inspect.signature(cls).parameters else cls(random_state=0)
    if name == "TableVectorizer":
        step.set_params(cardinality_threshold=5, high_cardinality=skrub.StringEncoder(3, random_state=0))
    if name in ("StringEncoder", "GapEncoder"):
        step.set_params(n_components=3)
    assert ignores_labels(step)
    outputs = []
    for labels in (np.arange(60) % 2, np.arange(60.0)[::-1]):
        one = clone(step)
        outputs.append((one.fit_transform(X, labels), one.transform(X)))
    for first, second in zip(*outputs, strict=True):
        pd.testing.assert_frame_equal(pd.DataFrame(first), pd.DataFrame(second))


def test_what_looks_at_the_labels_or_may_do_so_is_not_blind():
    for step in (SelectKBest(), TargetEncoder(), OwnScaler(), object(), "oops", StandardScaler):
        assert not ignores_labels(step)


def test_containers_are_as_blind_as_what_is_in_them():
    for inner, label_free in ((OneHotEncoder(), True), (TargetEncoder(), False)):
        columns = ColumnTransformer([("a", StandardScaler(), [0]), ("b", inner, make_column_selector())])
        rest = ColumnTransformer([("a", StandardScaler(), [0]), ("b", "drop", [1])], remainder=inner)
        union = FeatureUnion([("a", StandardScaler()), ("b", inner), ("c", "passthrough")])
        nested = Pipeline([("a", "passthrough"), ("b", make_pipeline(StandardScaler(), inner)), ("c", None)])
        vectorizer = skrub.TableVectorizer(low_cardinality=inner)
        specific = skrub.TableVectorizer(specific_transformers=[(inner, ["a"])])
        for container in (columns, rest, union, nested, vectorizer, specific):
            assert ignores_labels(container) is label_free


def test_a_class_that_only_has_the_name_is_not_blind():
    impostor = type("StandardScaler", (), {"__module__": "sklearn.preprocessing._data"})
    assert not ignores_labels(impostor())


TREE = DecisionTreeClassifier()


def chain(estimator, key=None):
    key = private_key().encode() if key is None else key
    return chain_of(Fit("", key, b"", estimator, Rows.all(1), ()))


def test_steps_are_known_by_content():
    steps = [("a", "passthrough"), ("b", StandardScaler()), ("c", None), ("d", SelectKBest()), ("e", TREE)]
    links = chain(Pipeline(steps))
    assert [(link.place, link.label_free) for link in links.links] == [(1, True), (3, False)]
    same, other = (chain(make_pipeline(StandardScaler(with_std=flag), TREE)) for flag in (True, False))
    assert same.links[0].key == links.links[0].key != other.links[0].key
    assert same.last == links.last


def test_nothing_is_shared_behind_a_step_that_cannot_be_known():
    unknown = FunctionTransformer(np.abs, kw_args={"out": threading.Lock()})
    links = chain(make_pipeline(StandardScaler(), unknown, PCA(), TREE))
    assert ([link.place for link in links.links], links.last) == ([0], None)
    assert chain(make_pipeline(unknown, StandardScaler(), TREE)) is None


def test_pipelines_that_are_left_as_they_are():
    steps = [("a", StandardScaler()), ("b", TREE)]
    watched = Pipeline(steps).set_callbacks(ProgressBar())
    for estimator in (
        TREE, make_pipeline(TREE), make_pipeline("passthrough", TREE), Pipeline(steps, memory="x"),
        Pipeline(steps, verbose=True), Pipeline(steps, transform_input=["sample_weight"]), watched,
    ):  # fmt: skip
        assert chain(estimator) is None
    assert chain(Pipeline(steps)) is not None


def test_a_chain_is_worked_out_again_where_the_pipeline_has_become_another():
    pipeline = make_pipeline(StandardScaler(), TREE)
    before = chain(pipeline, b"before")
    assert chain(pipeline, b"before") is before
    pipeline.set_params(standardscaler__with_std=False)
    after = chain(pipeline, b"after")
    assert after.links[0].key != before.links[0].key
    pipeline.verbose = True
    assert chain(pipeline, b"after") is None


def test_the_rest_keeps_its_seeds():
    forest = RandomForestClassifier()
    pipeline = Pipeline([("a", StandardScaler()), ("b", "passthrough"), ("c", PCA()), ("d", forest)])
    seeds = (("c__random_state", 1), ("d__random_state", 2))
    rest, left = rest_of(pipeline, seeds, 1)
    assert ([name for name, _ in rest.steps], left) == (["c", "d"], seeds)
    assert rest_of(pipeline, seeds, 3) == (forest, (("random_state", 2),))


def test_the_last_of_the_last():
    assert last_of(make_pipeline(StandardScaler(), make_pipeline(PCA(), TREE))) is TREE
    assert last_of(TREE) is TREE


def test_put_together_is_what_was_taken_apart():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.arange(30) % 2
    pipeline = Pipeline(
        [("a", StandardScaler()), ("b", None), ("c", PCA(2)), ("d", DecisionTreeClassifier(random_state=0))]
    )
    whole = Pipeline(list(pipeline.steps)).fit(X, y)
    expected = whole.predict_proba(X)
    steps = [step for _, step in whole.steps]
    for used, rest in ((1, Pipeline([("c", steps[2]), ("d", steps[3])])), (3, steps[3])):
        fitted = [(0, steps[0])] + ([(2, steps[2])] if used == 3 else [])
        model = put_together(Pipeline(list(pipeline.steps)), fitted, used, rest)
        assert [name for name, _ in model.steps] == list("abcd")
        np.testing.assert_array_equal(model.predict_proba(X), expected)


X = np.arange(20.0).reshape(10, 2)
TRAIN = np.array([0, 0, 3, 5])
ASKED = [Rows.of([5, 6, 7]), Rows.of([0, 9])]


def transformed(**options):
    data = Data(X, np.arange(10) % 2, task="classification", **options)
    step = MinMaxScaler()
    fitted = step.fit_transform(X[TRAIN]) + 100  # so that it can be told from what transform does
    return TransformedData(data, TRAIN, FittedSteps([step], fitted), ASKED), step


def test_training_rows_come_first_then_those_asked_about():
    table, step = transformed(weight=np.arange(10.0), groups=np.arange(10))
    assert table.n == 9
    assert table.train == Rows.of(range(4))
    first, second = table.asked(ASKED)
    assert (first, second) == (Rows.of(range(4, 7)), Rows.of(range(7, 9)))
    np.testing.assert_array_equal(table.take(table.train.index), step.transform(X[TRAIN]) + 100)
    np.testing.assert_array_equal(table.take(first.index), step.transform(X[[5, 6, 7]]))
    np.testing.assert_array_equal(table.take(second.index), step.transform(X[[0, 9]]))
    where = [0, 0, 3, 5, 5, 6, 7, 0, 9]
    np.testing.assert_array_equal(table.tokens, table.source.tokens[where])
    assert table.y.tolist() == [i % 2 for i in where] == table.codes.tolist()
    assert table.weight.tolist() == table.groups.tolist() == where
    assert table.digest(table.train) == table.source.digest(Rows.of(TRAIN))


def test_what_is_taken_is_a_copy():
    table, _ = transformed()
    for index in (table.train.index, np.arange(4, 7)):
        before = table.take(index)
        table.take(index)[:] = -1
        np.testing.assert_array_equal(table.take(index), before)


def test_the_layout_stays():
    data = Data(X, np.arange(10) % 2, task="classification")
    fitted = np.asfortranarray(X[TRAIN])
    table = TransformedData(data, TRAIN, FittedSteps([], fitted), ASKED)
    assert table.take(table.train.index).flags.f_contiguous


def test_rows_are_kept_while_there_is_room(monkeypatch):
    table, step = transformed()
    calls = []
    transform = step.transform
    step.transform = lambda rows: calls.append(len(rows)) or transform(rows)
    for room, expected in ((1000, [3, 2]), (50, [3, 2, 3, 2])):
        monkeypatch.setattr("truefit._solvers.pipelines.steps.KEPT_BYTES", room)
        table.steps._kept.clear()
        table.steps._kept_bytes = 0
        calls.clear()
        for _ in range(2):
            table.take(np.arange(4, 7))
            table.take(np.arange(7, 9))
        assert calls == expected


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse.csr_array, pl.DataFrame, np.asarray])
def test_tables_of_all_kinds(kind):
    data = Data(kind(X), np.arange(10) % 2, task="classification")
    table = TransformedData(data, TRAIN, FittedSteps([], data.take(TRAIN)), ASKED)
    for index in (table.train.index, np.arange(4, 7)):
        for _ in range(2):
            got, expected = table.take(index), data.take(table.origin[index])
            assert type(got) is type(expected)
            assert got.shape == expected.shape
    assert table.steps.nbytes >= 3 * 2 * 8
