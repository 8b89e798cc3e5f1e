import inspect

import numpy as np
import pandas as pd
import pytest
import skrub
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.utils import all_estimators

from truefit._solvers.blind_steps import BLIND, is_blind

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


@pytest.mark.parametrize("name", sorted(BLIND["sklearn"]))
@pytest.mark.filterwarnings("ignore")
def test_what_is_said_to_be_blind_is_blind(name):
    cls, X = find(name), table_for(name)
    assert is_blind(made(name, cls))
    outputs = []
    for labels in (np.arange(20) % 2, np.arange(20.0)[::-1]):
        step = made(name, cls)
        outputs.append((step.fit_transform(X, labels), step.transform(X)))
    assert all(same(one, other) for one, other in zip(*outputs, strict=True))


@pytest.mark.parametrize("name", sorted(BLIND["skrub"] | {"TableVectorizer"}))
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
    assert is_blind(step)
    outputs = []
    for labels in (np.arange(60) % 2, np.arange(60.0)[::-1]):
        one = clone(step)
        outputs.append((one.fit_transform(X, labels), one.transform(X)))
    for first, second in zip(*outputs, strict=True):
        pd.testing.assert_frame_equal(pd.DataFrame(first), pd.DataFrame(second))


def test_what_looks_at_the_labels_or_may_do_so_is_not_blind():
    for step in (SelectKBest(), TargetEncoder(), OwnScaler(), object(), "oops", StandardScaler):
        assert not is_blind(step)


def test_containers_are_as_blind_as_what_is_in_them():
    for inner, blind in ((OneHotEncoder(), True), (TargetEncoder(), False)):
        columns = ColumnTransformer([("a", StandardScaler(), [0]), ("b", inner, make_column_selector())])
        rest = ColumnTransformer([("a", StandardScaler(), [0]), ("b", "drop", [1])], remainder=inner)
        union = FeatureUnion([("a", StandardScaler()), ("b", inner), ("c", "passthrough")])
        nested = Pipeline([("a", "passthrough"), ("b", make_pipeline(StandardScaler(), inner)), ("c", None)])
        vectorizer = skrub.TableVectorizer(low_cardinality=inner)
        specific = skrub.TableVectorizer(specific_transformers=[(inner, ["a"])])
        for container in (columns, rest, union, nested, vectorizer, specific):
            assert is_blind(container) is blind


def test_a_class_that_only_has_the_name_is_not_blind():
    impostor = type("StandardScaler", (), {"__module__": "sklearn.preprocessing._data"})
    assert not is_blind(impostor())
