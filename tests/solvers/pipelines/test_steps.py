import inspect
import threading

import numpy as np
import pandas as pd
import pytest
import skrub
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from truefit._core.protocols import Fit, private_key
from truefit._core.rows import Rows
from truefit._solvers.pipelines.steps import IGNORING_LABELS, chain_of, ignores_labels, last_of, put_together, rest_of

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
